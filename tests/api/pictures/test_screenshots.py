"""Arrays in a notebook, pages of the manual and of a training fit every screen: in Chromium."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[3]


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("screenshots", ROOT / "tools/screenshots.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


tool: Final = _tool()
needs_chromium = pytest.mark.skipif(
    tool.chromium() is None, reason="there is no Chromium here (Debian: apt-get install chromium)"
)


def _light(colour: str) -> bool:
    red, green, blue = (int(part) for part in colour.strip("rgb()").split(",")[:3])
    return red + green + blue > 3 * 128


@pytest.mark.slow
@needs_chromium
@pytest.mark.parametrize("scheme", tool.SCHEMES)
@pytest.mark.parametrize("width", tool.WIDTHS)
def test_nothing_overflows(width: int, scheme: str) -> None:
    shown = tool.arrays()
    found = tool.measured(tool.page(shown), width, scheme)
    assert found["client"] == width
    assert found["scroll"] <= found["client"]
    assert found["wide"] == []
    assert found["outside"] == []  # labels of drawings
    assert found["pictures"] == len(shown)
    assert _light(found["colour"]) == (scheme == "dark")
    assert (found["scripts"], found["title"]) == (0, "")


@pytest.mark.slow
@needs_chromium
@pytest.mark.skipif(not tool.MANUAL.is_dir(), reason="the manual is not built (make docs)")
@pytest.mark.parametrize("scheme", tool.SCHEMES)
@pytest.mark.parametrize("width", tool.WIDTHS)
def test_pages_fit_the_screen(width: int, scheme: str, tmp_path: Path) -> None:
    files = [tool.MANUAL / page for page in tool.MEASURED]
    files.append(tool.report(tmp_path / "report.html"))
    for file, found in zip(files, tool.pages_measured(files, width, scheme), strict=True):
        assert found["client"] == width, file
        assert found["scroll"] <= width, file
        assert found["wide"] == [], file
        brighter = found["text"] > found["ground"]
        assert brighter == (scheme == "dark"), file


@pytest.mark.slow
@needs_chromium
def test_a_page_that_is_too_wide_is_seen(tmp_path: Path) -> None:
    """Not what scrolls in a box of its own."""
    wide = "<p style='width:900px'>wide</p>"
    start = "<!doctype html><body style='background:rgb(255,255,255)'><h1>x</h1>"
    files = [tmp_path / "bad.html", tmp_path / "good.html"]
    files[0].write_text(start + wide)
    files[1].write_text(f"{start}<div style='overflow-x:auto'>{wide}</div>")
    bad, good = tool.pages_measured(files, 400, "light")
    assert bad["scroll"] > 400
    assert bad["wide"] == ["P"]
    assert (good["scroll"], good["wide"]) == (400, [])


@pytest.mark.slow
@needs_chromium
def test_what_overflows_is_seen() -> None:
    """A look that sees nothing cannot pass."""
    wide = (
        "<!doctype html><p style='white-space:nowrap'>" + "wide " * 200 + "</p><table><tr><td>x"
        "</table><svg width='40' height='20'><text x='30' y='10'>outside</text></svg>"
    )
    found = tool.measured(wide, 400, "light")
    assert found["scroll"] > found["client"]
    assert found["outside"] == ["outside"]


def test_the_committed_pictures_are_small_and_of_these_widths() -> None:
    names = ("array", "report", *tool.PAGES)
    pictures = {
        f"{name}-{width}-{scheme}.png": width
        for name in names
        for width in tool.WIDTHS
        for scheme in tool.SCHEMES
    }
    assert {file.name for file in (ROOT / "docs/_static").glob("*.png")} == set(pictures)
    for name, width in pictures.items():
        data = (ROOT / "docs/_static" / name).read_bytes()
        assert data.startswith(b"\x89PNG")
        assert int.from_bytes(data[16:20], "big") == width
        assert len(data) < 200_000
