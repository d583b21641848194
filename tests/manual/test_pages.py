"""Every program of the manual runs, and prints what its page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest

ROOT: Final = Path(__file__).parents[2]
DOCS: Final = ROOT / "docs"
BLOCK: Final = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
SAID: Final = re.compile(r"^ *(?:print\(.*\)|\))  # (.*)$", re.MULTILINE)
# What cannot run here: only read. The first line of the program tells the reader.
ELSEWHERE: Final = ("# Needs a GPU.\n", "# Needs a cluster.\n")
FOLDERS: Final = ("tutorial", "howto", "explanation", "reference")
# Other pages whose programs belong together; tests/test_docs.py runs those of the others.
TOP: Final = ("start.md", "order.md", "indexing.md", "then-and-now.md")
PAGES: Final = [
    page
    for page in sorted(DOCS.rglob("*.md"))
    if (page.parent.name in FOLDERS or page.name in TOP) and BLOCK.search(page.read_text())
]


def run(program: str, names: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What a program prints, in the names that those before it on the page left."""
    exec(compile(program, "a page", "exec"), names)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
@pytest.mark.filterwarnings("ignore:Consolidated metadata")
def test_a_page_says_what_its_programs_print(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    for program in BLOCK.findall(page.read_text()):
        if program.startswith(ELSEWHERE):
            compile(program, str(page), "exec")
            continue
        assert "# Needs " not in program
        assert run(program, names, capsys) == SAID.findall(program)


def test_a_page_that_says_something_else_is_seen(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("print(1 + 1)  # 3", {}, capsys) == ["2"]
    assert SAID.findall("print(1 + 1)  # 3\nprint(\n    4\n)  # 4\n# 5\n") == ["3", "4"]
    assert len(PAGES) >= 25
