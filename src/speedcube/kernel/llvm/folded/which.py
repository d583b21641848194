"""Which kernel folds the elements of results that lie one after the other."""

from __future__ import annotations

from ...program import Folded
from .compared import ComparedRows
from .counts import CountedRows
from .rows import FoldedRows


def rows_of(folded: Folded | None) -> type[FoldedRows]:
    """What emits the kernel of ``folded`` along rows."""
    if folded is not None and folded.floats:
        return ComparedRows
    return CountedRows if folded is not None and folded.op == "count" else FoldedRows
