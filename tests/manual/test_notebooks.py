"""The gallery as notebooks: nbmake executes all twelve."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from manual import notebooks, staging

from tests.manual.test_pages import BLOCK

GALLERY = notebooks.GALLERY


@pytest.mark.slow
@pytest.mark.cluster
def test_nbmake_executes_all_twelve(tmp_path: Path) -> None:
    """In Jupyter's kernel: no script for the sweep's ranks to read again, no pytest."""
    made = notebooks.write(tmp_path)
    assert len(made) == 12
    options = ["-p", "no:cacheprovider", "--nbmake-timeout=300", "--rootdir", str(tmp_path)]
    command = [sys.executable, "-m", "pytest", "--nbmake", "-q", *options, *map(str, made)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1200, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "12 passed" in done.stdout


@pytest.mark.slow
def test_nbmake_sees_a_program_that_fails(tmp_path: Path) -> None:
    (tmp_path / "bad.ipynb").write_text(notebooks.notebook("# Bad\n```python\nassert False\n```\n"))
    command = [sys.executable, "-m", "pytest", "--nbmake", "-q", "-p", "no:cacheprovider", "."]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.returncode == 1
    assert "1 failed" in done.stdout


def test_a_notebook_has_the_programs_and_the_text_of_its_page() -> None:
    names = notebooks.names()
    assert len(names) == len(set(names)) == 12
    pages = {page.stem for page in GALLERY.glob("*.md")}
    assert set(names) == pages - {"index", "then-and-now"}
    for name in names:
        page = (GALLERY / f"{name}.md").read_text()
        made = json.loads(notebooks.notebook(page))
        cells = made["cells"]
        programs = [cell["source"] + "\n" for cell in cells if cell["cell_type"] == "code"]
        assert programs == BLOCK.findall(page)
        assert cells[0]["source"].startswith("# ")
        assert len({cell["id"] for cell in cells}) == len(cells)
        text = "".join(cell["source"] for cell in cells if cell["cell_type"] == "markdown")
        assert not re.search(r"\]\((?!https?:)", text)


def test_the_manual_offers_each_notebook(tmp_path: Path) -> None:
    staging.stage(tmp_path / "source", {})
    notebooks.offer(tmp_path / "source")
    for name in notebooks.names():
        page = (tmp_path / "source/gallery" / f"{name}.md").read_text()
        (link,) = re.findall(r"\{download\}`[^<]+<(\S+\.ipynb)>`", page)
        file = (tmp_path / "source/gallery" / link).resolve()
        assert file.read_text() == notebooks.notebook((GALLERY / f"{name}.md").read_text())
