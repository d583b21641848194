"""The gallery as Jupyter notebooks: each page's text and programs, without its pictures.

    PYTHONPATH=tools python -m manual.notebooks FOLDER

The pages stay the source. The manual offers these files; ``tests/manual/test_notebooks.py`` has
nbmake execute them.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, Final

from .staging import DOCS, FILES

GALLERY: Final = DOCS / "gallery"
BLOCK: Final = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
PICTURE: Final = re.compile(r"^!\[.*\]\(pictures/.*\)\n", re.MULTILINE)
LINK: Final = re.compile(r"\[([^\]]*)\]\((?!https?:)[^)\s]+\)")  # pages are not beside a notebook
KERNEL: Final = {"display_name": "Python 3", "language": "python", "name": "python3"}


def names() -> list[str]:
    """The programs of the gallery, in the order of its own page."""
    page = (GALLERY / "index.md").read_text().partition("## Twelve programs")[2]
    return re.findall(r"\]\((\w+)\.md\)", page)


def cell(kind: str, number: int, text: str) -> dict[str, Any]:
    """A cell of a notebook, before anybody has run it."""
    made = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text.strip("\n")}
    return made | ({"execution_count": None, "outputs": []} if kind == "code" else {})


def notebook(page: str) -> str:
    """A page's Markdown as the text of an ``.ipynb`` file."""
    cells: list[dict[str, Any]] = []
    for k, part in enumerate(BLOCK.split(page)):
        text = part if k % 2 else LINK.sub(r"\1", PICTURE.sub("", part))
        if text.strip():
            cells.append(cell("code" if k % 2 else "markdown", len(cells), text))
    whole = {
        "cells": cells,
        "metadata": {"kernelspec": KERNEL},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(whole, indent=1) + "\n"


def write(folder: Path) -> list[Path]:
    """The twelve notebooks, put into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    made = [folder / f"{name}.ipynb" for name in names()]
    for path in made:
        path.write_text(notebook((GALLERY / f"{path.stem}.md").read_text()))
    return made


def offer(source: Path) -> None:
    """Put the notebooks where Sphinx reads, and a link to each at the end of its page."""
    for file in write(source / FILES / "notebooks"):
        link = f"\n{{download}}`This page as a notebook <../{FILES}/notebooks/{file.name}>`\n"
        with (source / "gallery" / f"{file.stem}.md").open("a") as page:
            page.write(link)


if __name__ == "__main__":
    print(*write(Path(sys.argv[1])), sep="\n")
