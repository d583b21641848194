"""Simple folds: what lowering, both printers and the engines know of them, in one table.

A simple fold needs no rounding. Its record has an int64 word for each output of the element body
that it folds; every word begins at the same number. Two records are combined by adding them (words
wrap), or by taking the lesser, which is decided by the first word, then by the second. So the
order of elements cannot matter, and lanes, threads and parts fold for themselves first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

MOST: Final = 2**63 - 1


@dataclass(frozen=True)
class Fold:
    """How ``outputs`` of the element body are folded into a record that begins at ``start``."""

    combine: Literal["add", "least"]
    start: int
    outputs: tuple[str, ...] = ("x",)


# By the kind of a program's sink.
FOLDS: Final[dict[str, Fold]] = {
    "isum": Fold("add", 0),
    "min": Fold("least", MOST),
    "argmin": Fold("least", MOST, ("x", "at")),
}

# Reductions that fold order keys (`lower/rules.py`): to which sink, and whether the highest
# element has the least key.
KEYED: Final[dict[str, tuple[str, bool]]] = {
    "min": ("min", False),
    "max": ("min", True),
    "argmin": ("argmin", False),
    "argmax": ("argmin", True),
}
