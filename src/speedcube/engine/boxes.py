"""The pieces in which a part is computed: boxes of its loops, and a flag to leave between two."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from ..expr.space import TILE

Box: TypeAlias = tuple[int, ...]  # begin and end of kept, of reduced, of tile steps

# Elements in one call: about a tenth of a second, so that Ctrl-C and other threads get a turn.
CALL: Final = 1 << 25


def boxes(loops: tuple[int, int, int], per_step: int, limit: int = CALL) -> Iterator[Box]:
    """Boxes of about ``limit`` elements that cover the loops; ``per_step`` elements a tile step."""
    kept, reduced, steps = loops
    row = steps * per_step
    if row > limit:
        step = max(1, limit // per_step)
        for o in range(kept):
            for r in range(reduced):
                for j in range(0, steps, step):
                    yield o, o + 1, r, r + 1, j, min(j + step, steps)
    elif row * reduced > limit:
        step = max(1, limit // max(1, row))
        for o in range(kept):
            for r in range(0, reduced, step):
                yield o, o + 1, r, min(r + step, reduced), 0, steps
    else:
        step = max(1, limit // max(1, row * reduced))
        for o in range(0, kept, step):
            yield o, min(o + step, kept), 0, reduced, 0, steps


def column_boxes(loops: tuple[int, int, int], limit: int) -> Iterator[Box]:
    """Boxes that cover the loops, some steps of every column before more of any.

    A line of memory holds elements of several columns: it is still in the cache when the next
    column is read.
    """
    kept, reduced, steps = loops
    columns = max(1, limit // TILE)
    for r in range(reduced):
        for j in range(0, steps, TILE):
            for o in range(0, kept, columns):
                yield o, min(o + columns, kept), r, r + 1, j, min(j + TILE, steps)


def result_boxes(loops: tuple[int, int, int], tile: int, limit: int = CALL) -> Iterator[Box]:
    """Boxes of about ``limit`` elements, each with all elements of its results.

    The steps are results, too, ``tile`` of them side by side; 0: they are elements of a result.
    """
    kept, reduced, steps = loops
    if reduced * steps <= limit or not tile:
        step = max(1, limit // (reduced * steps))
        for o in range(0, kept, step):
            yield o, min(o + step, kept), 0, reduced, 0, steps
        return
    step = max(1, limit // (reduced * tile)) * tile
    for o in range(kept):
        for j in range(0, steps, step):
            yield o, o + 1, 0, reduced, j, min(j + step, steps)


def span_boxes(
    loops: tuple[int, int, int], per_step: int, start: int, stop: int, limit: int
) -> Iterator[tuple[int, int, Box]]:
    """Boxes that hold elements ``[start, stop)`` of a stored part: (first element, end, box).

    Each has about ``limit`` elements. The first and the last may hold a few more than asked for.
    """
    row, at = loops[2] * per_step, start
    while at < stop:
        o, within = divmod(at, row)
        o_end = min(o + max(1, limit // row), stop // row)
        if within == 0 and row <= limit and o_end > o:
            yield o * row, o_end * row, (o, o_end, 0, 1, 0, loops[2])
            at = o_end * row
            continue
        j = within // per_step
        j_end = min(loops[2], j + max(1, limit // per_step), -(-(stop - o * row) // per_step))
        yield o * row + j * per_step, o * row + j_end * per_step, (o, o + 1, 0, 1, j, j_end)
        at = o * row + j_end * per_step


class Stop:
    """The flag that makes running parts leave after their current call: raised, never lowered.

    A plain attribute, because every small compute makes one.
    """

    __slots__ = ("counts", "points", "raised")

    def __init__(self) -> None:
        self.raised = False
        self.counts = False  # whether somebody looks how far it is
        self.points = 0  # that were visited

    def passed(self, box: Box, inner: int) -> None:
        """All of ``box`` was visited, of which a step has ``inner`` points."""
        o, o_end, r, r_end, j, j_end = box
        self.points += (o_end - o) * (r_end - r) * (j_end - j) * inner

    def set(self) -> None:
        self.raised = True

    def is_set(self) -> bool:
        return self.raised
