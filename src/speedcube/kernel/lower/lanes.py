"""Whether lanes of a kernel of many results lie along a result's elements, or across results."""

from __future__ import annotations

from typing import Final

from ...dataclass import dataclass
from ...expr.space import Space, Tiling, forwards, with_lanes

_MOST_IN_A_ROW: Final = 1 << 22  # elements of a row; beyond, a record costs nothing beside them
# An element's cost in vectors' steps: gathered from lines read anyway, from others.
_GATHERED, _SCATTERED = 3.0, 5.0
_NEAR: Final = 8  # elements from one to the next
_VECTOR: Final = 8


@dataclass(frozen=True)
class Layout:
    """The loops of a kernel that finishes its results, and whether its tiles are rows.

    ``any_length``: so that it may be given another number of terms.
    """

    space: Space
    tiling: Tiling
    rows: bool
    any_length: bool = False


def lanes_over(space: Space, count: int, along: int, across: int, row_end: float) -> Layout | None:
    """Lanes along the ``count`` elements of a result, in tiles of ``along``, or across results.

    Those in tiles of ``across``; ``row_end`` is what the end of a row costs. None where rows are
    so long that records cost nothing.
    """
    last = len(space.extents) - 1
    kept = [k for k, reduced in enumerate(space.reduced) if not reduced]
    lane = min(kept, key=lambda k: _cost(space, k))
    if _cost(space, last) + row_end / count < _cost(space, lane):
        if count > _MOST_IN_A_ROW:
            return None
        return Layout(space, Tiling(last, along, 1), True)
    return Layout(forwards(with_lanes(space, lane)), Tiling(last, across, 1), False)


def _cost(space: Space, loop: int) -> float:
    """Of an element where ``loop`` is that of the lanes."""
    extent = space.extents[loop]
    steps = [abs(strides[loop]) for strides in space.strides]
    each = max((_step(s) for s in steps), default=1.0)
    return each * -(-extent // _VECTOR) * _VECTOR / extent


def _step(stride: int) -> float:
    return 1.0 if stride <= 1 else _GATHERED if stride <= _NEAR else _SCATTERED
