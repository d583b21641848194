"""The programs of the gallery run, and draw pictures that tell the truth."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import matplotlib.pyplot as plt
import numpy as np
import pytest
from manual import pictures
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from tests.manual.test_pages import BLOCK, DOCS, ROOT, SAID, run

GALLERY: Final = DOCS / "gallery"
# Those that start processes take longer, and need a script that these can read again.
TRAIN: Final = [GALLERY / "petnames.md", GALLERY / "sweep.md"]
PROGRAMS: Final = [
    page
    for page in sorted(GALLERY.glob("*.md"))
    if page.name not in ("index.md", "then-and-now.md") and page not in TRAIN
]
LOOKED_AT: Final = """
if __name__ == "__main__":
    from tests.manual.test_gallery import faults

    assert faults(plt.gcf()) == []
"""


@pytest.fixture(autouse=True)
def _no_figures_left() -> Iterator[None]:
    plt.switch_backend("agg")
    plt.close("all")
    yield
    plt.close("all")


def faults(figure: Figure) -> list[str]:
    """What in a figure would mislead, or leave the reader without words."""
    found = []
    for axes in figure.axes:
        if axes.get_label() == "<colorbar>":
            continue
        found += [what for what in ("xlabel", "ylabel") if not getattr(axes, f"get_{what}")()]
        bars = [box for box in axes.containers if isinstance(box, BarContainer)]
        low = axes.get_ylim()[0]
        if bars and (axes.get_yscale() != "linear" or low != 0):
            found.append("bars that do not begin at zero")
        lines = [line for line in axes.get_lines() if not line.get_label().startswith("_")]  # type: ignore[union-attr]
        if len(lines) > 1 and axes.get_legend() is None:
            found.append("no legend")
    return found


@pytest.mark.parametrize("page", PROGRAMS, ids=lambda page: page.name)
@pytest.mark.filterwarnings("ignore")  # what xarray, Zarr and torch say
def test_a_program_of_the_gallery(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    names: dict[str, Any] = {"__name__": "page"}
    for program_text in BLOCK.findall(page.read_text()):
        assert run(program_text, names, capsys) == SAID.findall(program_text)
    (number,) = plt.get_fignums()
    assert faults(plt.figure(number)) == []


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.parametrize("page", TRAIN, ids=lambda page: page.name)
def test_a_program_of_the_gallery_that_trains(page: Path, tmp_path: Path) -> None:
    programs = BLOCK.findall(page.read_text())
    script = tmp_path / "program.py"
    script.write_text("\n".join([*programs, LOOKED_AT]))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script)],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'tools'}", "MPLBACKEND": "agg"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [line for text in programs for line in SAID.findall(text)]


def test_every_picture_of_the_gallery_is_there() -> None:
    """Each of the twelve pages shows one, made by its own program (manual.pictures)."""
    assert len(pictures.pages()) == 12
    for page in GALLERY.glob("*.md"):
        for name in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", page.read_text()):
            picture = page.parent / name
            assert 2_000 < picture.stat().st_size < 150_000
            assert plt.imread(picture).std() > 0
    assert {path.stem for path in (GALLERY / "pictures").iterdir()} == {
        name.removesuffix(".md") for name in pictures.pages()
    }


def test_a_picture_that_misleads_is_seen() -> None:
    figure, axes = plt.subplots()
    axes.bar([1, 2], [31, 33])
    axes.set_ylim(30, 34)
    axes.plot([1], [2], label="a")
    axes.plot([1], [3], label="b")
    assert faults(figure) == ["xlabel", "ylabel", "bars that do not begin at zero", "no legend"]
    assert np.isfinite(axes.get_ylim()).all()
