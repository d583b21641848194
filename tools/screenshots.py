"""docs/_static/: arrays as a notebook shows them, on narrow and wide, light and dark pages.

    python tools/screenshots.py [--out docs/_static]

Needs Chromium (Debian: ``apt-get install chromium``) and Pillow, which matplotlib brings.
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
from pathlib import Path
from typing import Any, Final

import numpy as np

import speedcube as sc

STATIC: Final = Path(__file__).parents[1] / "docs" / "_static"
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
    out: Path = parser.parse_args().out
    if chromium() is None:
        print("there is no Chromium on this machine", file=sys.stderr)
        return 1
    out.mkdir(parents=True, exist_ok=True)
    inner = page(arrays()[:6])
    for width in WIDTHS:
        for scheme in SCHEMES:
            draw(inner, width, scheme, out / f"array-{width}-{scheme}.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
