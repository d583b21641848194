r"""Text that others wrote, made fit to be shown: nothing of it can steer a terminal or a page.

Names of files, of metrics and of workers, what a server answers, a cell of a table: whoever wrote
them may have put control characters there (ESC colours, moves and hides), marks that turn the
direction of what follows, halves of characters, or a hundred thousand letters. Each character that
does not print is shown as Python writes it in a string, such as ``\x1b``, so it can still be seen.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

LINE: Final = 200  # characters of a name, a URL, a value
LONG: Final = 4000  # characters of one line of a message
_SPACES: Final = "Zs"  # Unicode's kind of the spaces that are not " "
_SUSPECT: Final = re.compile(r"[^ -~]")


def line(text: object, most: int = LINE) -> str:
    """``text`` on one line of about ``most`` characters: a longer one loses its middle."""
    return shortened(_SUSPECT.sub(_visible, str(text)), most)


def quoted(text: object, most: int = LINE) -> str:
    """``text`` as Python writes it, in quotation marks."""
    return shortened(repr(str(text)), most)


def lines(text: object, most: int = LONG) -> str:
    """``text`` with its lines and tabs, each line of about ``most`` characters."""
    whole = str(text)
    if whole.isascii() and whole.isprintable() and len(whole) <= most:
        return whole
    return "\n".join(
        shortened("\t".join(_SUSPECT.sub(_visible, part) for part in each.split("\t")), most)
        for each in whole.split("\n")
    )


def shortened(text: str, most: int) -> str:
    """``text``, or its beginning and its end with its length between them."""
    if len(text) <= most:
        return text
    middle = f" ... ({len(text):,} characters) ... "
    end = max(0, most - len(middle)) // 2
    return text[:end] + middle + text[len(text) - end :]


def _visible(match: re.Match[str]) -> str:
    letter = match[0]
    if letter.isprintable() or unicodedata.category(letter) == _SPACES:
        return letter
    return ascii(letter)[1:-1]
