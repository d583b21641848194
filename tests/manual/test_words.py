"""Pages are read once: their sentences are short."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.manual.test_pages import DOCS, ROOT

MOST_WORDS: Final = 30  # names in backticks that stand in a row count as one
# Pages that programs write, and two for readers who look something up.
OTHERS: Final = {
    "functions.md": "made by tools/functions_page.py",
    "speed.md": "made by bench/floors.py",
    "accuracy.md": "made by tools/accuracy_page.py",
    "randomness.md": "made by bench/randomness.py",
    "stream-v1.md": "it defines numbers, and never changes",
}
PAGES: Final = [
    page
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md")))
    if page.name not in OTHERS
]


def sentences(page: str) -> Iterator[str]:
    """What is read aloud of a page, up to a full stop or a colon: no programs, no tables."""
    text = re.sub(r"^```.*?^```", "", page, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^\|.*$|<!--.*?-->", "", text, flags=re.MULTILINE)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"^#+ .*$", "\n", text, flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:\*|\d+\.) )", text):
        line = " ".join(paragraph.split())
        line = re.sub(r"`[^`]*`(?:,? (?:and |or )?`[^`]*`)*", "`x`", line)
        yield from re.split(r"(?<=[.?!:]) +|(?<=[.?!]\)) +", line)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_sentence_of_a_page_is_long(page: Path) -> None:
    long = [one for one in sentences(page.read_text()) if len(one.split()) > MOST_WORDS]
    assert long == []


def test_the_pages_that_are_left_out_are_there() -> None:
    assert all((DOCS / name).exists() for name in OTHERS)
    assert len(PAGES) > 80


def test_a_long_sentence_is_seen() -> None:
    long = "word " * (MOST_WORDS + 1)
    page = f"# {long}\nShort.\n* `a`, `b` and `c` count\n| {long} |\n```\n{long}\n```\n\n{long}"
    assert [len(one.split()) for one in sentences(page) if one] == [1, 3, MOST_WORDS + 1]
