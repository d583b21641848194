"""Simple folds: what lowering, both printers and the engines know of them, in one table.

A simple fold needs no rounding. Its record has an int64 word for each output of the element body
that it folds; every word begins at the same number. Two records are combined by adding them (words
wrap), or by taking the lesser, which is decided by the first word, then by the second. So the
order of elements cannot matter, and lanes, threads and parts fold for themselves first.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from ..dataclass import dataclass

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


class Keyed(NamedTuple):
    """A reduction that folds order keys (`lower/rules.py`).

    To which sink, whether the highest element has the least key, and whether NaN has the last key
    instead of the first: it is the result where nothing else is there.
    """

    kind: str
    highest: bool
    skips: bool = False


KEYED: Final[dict[str, Keyed]] = {
    "min": Keyed("min", False),
    "max": Keyed("min", True),
    "nanmin": Keyed("min", False, True),
    "nanmax": Keyed("min", True, True),
    "argmin": Keyed("argmin", False),
    "argmax": Keyed("argmin", True),
}
EXTREMES: Final = tuple(name for name, keyed in KEYED.items() if keyed.kind == "min")
