"""Print the lines of every source file, largest first, and their sum: growth shows in review.

Usage: ``python tools/sizes.py [folder]``; blank lines and comments do not
count.
"""

from __future__ import annotations

import sys
from pathlib import Path


def code_lines(text: str) -> int:
    """Return the number of lines of ``text`` that hold something besides a comment."""
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith("#"))


def main(folder: str = "src") -> None:
    """Print one row for each Python file below ``folder``: all lines, counted lines, path."""
    rows = []
    for path in Path(folder).rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        rows.append((len(text.splitlines()), code_lines(text), path.as_posix()))
    print("lines   code  file")
    for lines, code, name in sorted(rows, reverse=True):
        print(f"{lines:5}  {code:5}  {name}")
    print(f"{sum(r[0] for r in rows):5}  {sum(r[1] for r in rows):5}  in {len(rows)} files")


if __name__ == "__main__":
    main(*sys.argv[1:2])
