"""docs/_static/: arrays and pages on narrow and wide, light and dark screens.

    python tools/screenshots.py [--out docs/_static] [--only arrays]

Arrays are drawn as a notebook shows them; of the manual, which `make docs` builds first, some pages
down to a height; and the page of a training. Needs Chromium (Debian: ``apt-get install chromium``)
and Pillow, which matplotlib brings.
``tests/api/pictures/test_screenshots.py`` looks for what overflows at each width.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from html import escape, unescape
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np

import speedcube as sc

STATIC: Final = Path(__file__).parents[1] / "docs" / "_static"
MANUAL: Final = Path(__file__).parents[1] / "build" / "manual" / "html"
# Pages that are looked at, by the names of their pictures; those without are only measured.
PAGES: Final = {
    "readme": "readme.html",
    "start": "start.html",
    "gallery": "gallery/then-and-now.html",
}
MEASURED: Final = (
    *PAGES.values(),
    "index.html",
    "questions.html",
    "comparison.html",
    "functions.html",
    "speed.html",
    "ladder.html",
    "design.html",
    "glossary.html",
    "changelog.html",
    "tutorial/arrays.html",
    "howto/zarr-xarray.html",
    "gallery/index.html",
    "gallery/heat.html",
    "reference/errors.html",
    "reference/index.html",
)
HEIGHT: Final = 1400  # of a picture of a page
WIDTHS: Final = (400, 800, 1600)
SCHEMES: Final = ("dark", "light")  # by Chromium's own numbers
HOSTILE: Final = "<script>document.title='hostile'<|script>&\"'" + "unbreakable" * 15
_LEAST: Final = 500  # units: no window of Chromium is narrower, so pages stand in a frame
_SECONDS: Final = 120.0
_FLAGS: Final = ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars")
_LOOK: Final = """
addEventListener("load", () => {
  const page = document.querySelector("iframe").contentDocument, root = page.documentElement
  const wide = [...page.querySelectorAll("*")].filter(one =>
    one.getBoundingClientRect().right > root.clientWidth + 1).map(one => one.tagName)
  const outside = [...page.querySelectorAll("svg text")].filter(one => {
    const own = one.getBoundingClientRect(), all = one.closest("svg").getBoundingClientRect()
    return own.left < all.left - 1 || own.right > all.right + 1
      || own.top < all.top - 1 || own.bottom > all.bottom + 1}).map(one => one.textContent)
  const colour = getComputedStyle(page.querySelector("td")).color
  document.body.dataset.found = JSON.stringify({scroll: root.scrollWidth, client: root.clientWidth,
    height: root.scrollHeight, wide, outside, colour, title: page.title,
    scripts: page.querySelectorAll("script").length, pictures: page.querySelectorAll("svg").length})
})
"""


# What lies outside a page, and is not in a box that scrolls for itself.
_LOOK_PAGES: Final = """
addEventListener("load", () => {
  const scrolls = one => {
    for (let up = one.parentElement; up; up = up.parentElement) {
      const how = up.ownerDocument.defaultView.getComputedStyle(up)
      if (how.overflowX != "visible" && up.tagName != "BODY" && up.tagName != "HTML") return true
      if (how.position == "fixed") return true
    }
    return false
  }
  const bright = colour => colour.match(/[\\d.]+/g).slice(0, 3).map(Number).reduce((a, b) => a + b)
  const found = [...document.querySelectorAll("iframe")].map(frame => {
    const page = frame.contentDocument, root = page.documentElement, how = frame.contentWindow
    const wide = [...page.querySelectorAll("body *")].filter(one => {
      const box = one.getBoundingClientRect()
      return box.width && box.right > root.clientWidth + 1 && !scrolls(one)
        && how.getComputedStyle(one).position != "fixed"}).map(one => one.tagName)
    const ground = how.getComputedStyle(page.body).backgroundColor
    return {scroll: root.scrollWidth, client: root.clientWidth, wide, title: page.title,
      text: bright(how.getComputedStyle(page.querySelector("h1")).color), ground: bright(ground)}
  })
  document.body.dataset.found = JSON.stringify(found)
})
"""


def chromium() -> str | None:
    """The program, under one of its names."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    return next(filter(None, map(shutil.which, names)), None)


def arrays() -> list[Any]:
    """Arrays of 0, 1, 2, 3 and 5 axes, long and thin and empty ones, small and hostile ones."""
    rng = sc.random.default_rng(0)
    x = rng.normal(10, 1, size=(500_000, 500_000), chunks=(50_000, 50_000))
    part = sc.exp(x[1::2, 1::2]) + x[::2, 1::2] / 7
    return [
        (x + 1)[::2, ::2],
        ((x + 1)[::2, ::2] * part).sum(axis=0),
        sc.zeros((30, 200, 400), chunks=(10, 50, 100)) + 1,
        sc.asarray(np.arange(12.0).reshape(3, 4)),
        sc.asarray(3.5) * 2,
        sc.zeros((3, 5, 30, 200, 400)),
        sc.ones((1, 2_000_000)),
        sc.ones((2_000_000, 1)),
        sc.zeros((0, 5)),
        sc.asarray(np.linspace(-1e-300, 1e300, 900).reshape(30, 30)),
        of_hostile_name(),
    ]


def of_hostile_name() -> Any:
    """An array in a file whose name is what somebody put there."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"{HOSTILE}.npy")
        np.save(file, np.ones((4, 6)))
        return sc.open(file) + 1


def page(shown: Sequence[Any]) -> str:
    """What a notebook shows of ``shown``, one below the other, on a page of its own."""
    inner = "<hr>".join(one._repr_html_() for one in shown)
    return (
        "<!doctype html><html><head><meta charset='utf-8'><style>:root{color-scheme:light dark}"
        "body{font:14px 'DejaVu Sans',sans-serif;margin:12px}hr{opacity:0.3}</style></head>"
        f"<body>{inner}</body></html>"
    )


def framed(inner: str, width: int, height: int = 400) -> str:
    """A page with ``inner`` in a frame of ``width``, and what looks for overflow in it."""
    return (
        "<!doctype html><html><head><meta charset='utf-8'><style>:root{color-scheme:light dark}"
        f"body{{margin:0}}</style><script>{_LOOK}</script></head><body><iframe style='border:0;"
        f'width:{width}px;height:{height}px\' srcdoc="{escape(inner)}"></iframe></body></html>'
    )


def run(html: str, scheme: str, *options: str) -> str:
    """What Chromium writes about ``html``."""
    program = chromium()
    assert program is not None, "there is no Chromium"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "page.html")
        file.write_text(html, encoding="utf-8")
        settings = f"--blink-settings=preferredColorScheme={SCHEMES.index(scheme)}"
        done = subprocess.run(
            [program, *_FLAGS, f"--user-data-dir={folder}/user", settings, *options, str(file)],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=True,
        )
    return done.stdout


def measured(inner: str, width: int, scheme: str) -> dict[str, Any]:
    """How wide and high ``inner`` is on a page of ``width``, and what of it lies outside."""
    size = f"--window-size={max(width, _LEAST)},900"
    dom = run(framed(inner, width), scheme, size, "--dump-dom")
    found = re.search(r'data-found="([^"]*)"', dom)
    assert found is not None, dom[:2000]
    return dict(json.loads(unescape(found[1])))


def pages_measured(files: Sequence[Path], width: int, scheme: str) -> list[dict[str, Any]]:
    """The same of pages in files, each in a frame of ``width``."""
    frames = "".join(
        f"<iframe style='border:0;width:{width}px;height:900px' src='{file.as_uri()}'></iframe>"
        for file in files
    )
    html = (
        "<!doctype html><html><head><meta charset='utf-8'><style>:root{color-scheme:light dark}"
        f"</style><script>{_LOOK_PAGES}</script></head><body>{frames}</body></html>"
    )
    size = f"--window-size={max(width, _LEAST)},900"
    dom = run(html, scheme, size, "--allow-file-access-from-files", "--dump-dom")
    found = re.search(r'data-found="([^"]*)"', dom)
    assert found is not None, dom[:2000]
    return list(json.loads(unescape(found[1])))


def report(path: Path) -> Path:
    """The page of a training, whose curves and settings are made up, in a file."""
    from speedcube.train import reports
    from speedcube.train.metrics.rows import MetricsFile

    out = path.with_suffix("")
    out.mkdir()
    with MetricsFile(out / "metrics.jsonl") as file:
        file.write({"event": "start", "time": 0.0})
        for step in range(1, 60):
            row = {"step": step, "rank": 0, "attempt": 0, "time": float(step)}
            file.write({**row, "seconds": float(step), "metrics": {"loss": 2 / step}})
    loss = reports.series(reports.points(reports.read_run(out)), "loss")
    curves = reports.curves_figure([("a training", loss)], "the loss", target=0.1)
    settings = {"learning rate": 0.001, "batch size": 16_384, "data": "a-long-file-name" * 9}
    parts = [reports.heading("Curves"), reports.drawing(curves, "loss"), reports.facts(settings)]
    path.write_text(reports.html_page("A training", parts), encoding="utf-8")
    return path


def draw_page(file: Path, width: int, scheme: str, path: Path) -> None:
    """A picture of the first `HEIGHT` of a page at ``width``."""
    from PIL import Image

    html = (
        "<!doctype html><html><head><style>:root{color-scheme:light dark}body{margin:0}</style>"
        f"</head><body><iframe style='border:0;width:{width}px;height:{HEIGHT}px' "
        f"src='{file.as_uri()}'></iframe></body></html>"
    )
    size = f"--window-size={max(width, _LEAST)},{HEIGHT}"
    flags = ("--allow-file-access-from-files", "--virtual-time-budget=5000")
    run(html, scheme, size, *flags, f"--screenshot={path}")
    with Image.open(path) as picture:
        small = picture.convert("RGB").crop((0, 0, width, HEIGHT)).quantize(32)
    small.save(path, optimize=True)


def draw(inner: str, width: int, scheme: str, path: Path) -> None:
    """A picture of ``inner`` at ``width`` into ``path``, as high as it is."""
    from PIL import Image

    height = int(measured(inner, width, scheme)["height"])
    size = f"--window-size={max(width, _LEAST)},{height}"
    run(framed(inner, width, height), scheme, size, f"--screenshot={path}")
    with Image.open(path) as picture:
        small = picture.convert("RGB").crop((0, 0, width, height)).quantize(64)
    small.save(path, optimize=True)


def main() -> int:
    """Draw them all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=STATIC)
    parser.add_argument("--only", choices=("arrays", "pages"))
    asked = parser.parse_args()
    out: Path = asked.out
    if chromium() is None:
        print("there is no Chromium on this machine", file=sys.stderr)
        return 1
    out.mkdir(parents=True, exist_ok=True)
    if asked.only != "pages":
        inner = page(arrays()[:6])
        for width, scheme in product(WIDTHS, SCHEMES):
            draw(inner, width, scheme, out / f"array-{width}-{scheme}.png")
    if asked.only == "arrays":
        return 0
    if not MANUAL.is_dir():
        print(f"there is no manual in {MANUAL}: make docs", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        files = {name: MANUAL / place for name, place in PAGES.items()}
        files["report"] = report(Path(folder, "report.html"))
        for name, width, scheme in product(files, WIDTHS, SCHEMES):
            draw_page(files[name], width, scheme, out / f"{name}-{width}-{scheme}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
