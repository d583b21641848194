"""How the elements of many results are dealt out to a GPU's threads: loops, teams and parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from .... import dtypes
from ....dataclass import dataclass
from ....expr.nodes import Position, Random, Reduced, Stored
from ....expr.space import TILE, Space, Tiling, with_lanes
from ...lower.certificates import OPS, is_exact
from ...lower.lanes import Layout
from ...lower.together import is_fold
from ...many import Many
from ...program import Program, Sink
from ..prelude import THREADS
from .near import AT_ONCE

_WARP: Final = 32
_SECTOR: Final = 8  # elements side by side that use what memory brings
_WAVES: Final = 4  # blocks that a GPU should have for each one there is room for
_FEW_PARTS: Final = 8
_MOST: Final = 1 << 30  # rows of a part, and steps: kernels count them in 32 bits


def gpu_layout(space: Space, source: Reduced) -> Layout | None:
    """How ``source`` over ``space`` is computed without records on a GPU; None where it is not.

    Neighbouring threads take what lies near in memory: elements of a result, or of several.
    """
    return _laid_out(space) if is_fold(source) or _certain(source) or _in_pairs(source) else None


def together_layout(space: Space, sources: Sequence[Reduced]) -> Layout | None:
    """The same of several of the same elements."""
    return _laid_out(space) if all(is_fold(one) or _certain(one) for one in sources) else None


def _laid_out(space: Space) -> Layout | None:
    results = math.prod(n for n, r in zip(space.extents, space.reduced, strict=True) if not r)
    if space.size == 0:
        return None
    kinds = {type(leaf.source) for leaf in space.leaves}
    made = Random in kinds or (Position in kinds and Stored not in kinds)
    if results == 1 and made:
        return None  # one record costs nothing
    last = len(space.extents) - 1
    across = [k for k, reduced in enumerate(space.reduced) if not reduced]
    lane = min(across, key=lambda k: _step(space, k), default=last)
    if _step(space, last) <= _step(space, lane):
        return Layout(space, Tiling(last, TILE, 1), True)
    return Layout(with_lanes(space, lane), Tiling(last, TILE, 1), False)


def folded(program: Program, layout: Layout, source: Reduced) -> Program:
    """The kernel that finishes the results of a simple fold, from the one that makes records."""
    return replace(program, sink=finished_fold(program.sink, layout, source))


def finished_fold(sink: Sink, layout: Layout, source: Reduced) -> Sink:
    """The sink that finishes the results of a simple fold, from the one that makes records."""
    many = Many(source.op, layout.rows, False, False, False, -1)
    unit = layout.rows or layout.space.out_strides[-1] == 1
    dtype = dtypes.carrier(source.dtype)  # of float16 the results are float32 yet
    return replace(sink, dtype=dtype, unit_stride=unit, many=many)


def is_short(program: Program, loops: tuple[int, int, int]) -> bool:
    """Whether a thread takes all elements of a row at once: ``loops`` are kept, reduced, steps."""
    many = program.sink.many
    assert many is not None
    return many.rows and loops[1] == 1 and loops[2] <= AT_ONCE and loops[0] >= THREADS


def _step(space: Space, loop: int) -> int:
    return max((abs(strides[loop]) for strides in space.strides), default=0)


def _certain(source: Reduced) -> bool:
    """Whether there is a certificate for the results of ``source``."""
    if source.op not in OPS or source.count == 0:
        return False
    if source.op in ("var", "std"):
        freedom = source.count - source.ddof
        if not float(source.ddof).is_integer() or freedom <= 0:
            return False
    if dtypes.is_float(source.arg.dtype):
        return True
    return source.op != "sum" and is_exact(source.arg)


def _in_pairs(source: Reduced) -> bool:
    """Whether its elements are two doubles each: products of a dot, wide integers of a mean."""
    wide_mean = source.op == "mean" and source.dtype == "float64" and not is_exact(source.arg)
    return source.count > 0 and (source.op == "dot" or wide_mean)


@dataclass(frozen=True)
class Extents:
    """What a kernel walks over, with so many words a result.

    ``short``: a thread takes a row, as `is_short` says.
    ``mixed``: memory is walked along the steps and along the reduced positions at once.
    ``tiles``: of a row, where a block takes whole segments of a stream; else 0.
    """

    rows: bool
    short: bool
    mixed: bool
    words: int
    kept: int
    reduced: int
    steps: int
    tiles: int = 0


@dataclass(frozen=True)
class Team:
    """A block's threads (`nest.py`), and the parts that the elements of a result are cut into."""

    side: int
    deep: int
    parts: int
    part_rows: int
    part_steps: int
    blocks: int  # of results
    slots: int  # results of a block

    @property
    def units(self) -> int:
        return self.blocks * self.parts

    def partial_words(self, words: int) -> int:
        """Words in which parts wait that have ``words`` a result."""
        return 0 if self.parts == 1 else self.units * self.slots * words

    def geometry(self, loops: Extents) -> list[int]:
        """The first words of the geometry; the first two, the units, are set for each launch."""
        counts = [0, self.units, loops.reduced, loops.kept, loops.steps]
        side, deep = self.side.bit_length() - 1, self.deep.bit_length() - 1
        return [*counts, loops.tiles or side, deep, self.parts, self.part_rows, self.part_steps]


def team_of(loops: Extents, resident: int) -> Team:
    """Threads for ``loops`` on a device that holds ``resident`` blocks at once."""
    if loops.tiles:
        return _cut(loops, THREADS, 1, loops.tiles, resident)
    if loops.short:
        return _cut(loops, 1, 1, loops.steps, resident)
    if loops.mixed and loops.steps >= _SECTOR:
        deep = min(THREADS // _SECTOR, _power(loops.reduced))
        return _cut(loops, _SECTOR, deep, loops.steps if loops.rows else 1, resident)
    return (_row_team if loops.rows else _column_team)(loops, resident)


def _column_team(loops: Extents, resident: int) -> Team:
    side = min(THREADS, _power(loops.steps))
    while (
        side > _WARP
        and loops.kept * -(-loops.steps // side) < resident
        and loops.reduced * side >= 4 * AT_ONCE * THREADS
    ):
        side //= 2
    deep = min(THREADS // side, _power(-(-loops.reduced // AT_ONCE)))
    return _cut(loops, side, deep, 1, resident)


def _row_team(loops: Extents, resident: int) -> Team:
    # Sums that few threads share cost less to put together, if there are threads enough.
    side = min(THREADS // 4, max(min(16, _floor(loops.steps // 25)), _floor(loops.steps // 256)))
    deep = 1  # more threads where rows are few: first each with other rows, for it reads in batches
    while (
        side * deep < THREADS
        and loops.kept * side * deep < resident * THREADS
        and loops.reduced >= 2 * deep
    ):
        deep *= 2
    while (
        side * deep < THREADS
        and 2 * side <= loops.steps
        and loops.kept * side * deep < resident * THREADS
    ):
        side *= 2
    return _cut(loops, side, deep, loops.steps, resident)


def _cut(loops: Extents, side: int, deep: int, steps: int, resident: int) -> Team:
    """The team of these threads, its rows of ``steps`` cut where blocks would be too few."""
    groups = THREADS // (side * deep)
    blocks = -(-loops.kept // groups)
    if not loops.rows:
        blocks *= -(-loops.steps // side)
    wanted = _wanted_parts(blocks, resident)
    least = 2 * AT_ONCE * deep  # rows of a part
    part_rows = min(_MOST, max(min(loops.reduced, least), -(-loops.reduced // wanted)))
    across = -(-loops.reduced // part_rows)
    least = 1 if loops.tiles else 2 * AT_ONCE * side
    part_steps = min(_MOST, max(min(steps, least), -(-steps // -(-wanted // across))))
    parts = across * -(-steps // part_steps)
    slots = groups if loops.rows else groups * side
    return Team(side, deep, parts, part_rows, part_steps, blocks, slots)


def _wanted_parts(blocks: int, resident: int) -> int:
    """Parts of a result: a few waves of blocks, but not many parts of one for a second wave."""
    if blocks * _FEW_PARTS < resident:
        return resident // blocks
    return min(_FEW_PARTS, -(-_WAVES * resident // blocks)) if blocks < _WAVES * resident else 1


def _floor(number: int) -> int:
    """The largest power of two that is ``number`` or less, at least 1."""
    return 1 << max(0, number.bit_length() - 1)


def _power(number: int) -> int:
    """The least power of two that is ``number`` or more."""
    return 1 << max(0, number - 1).bit_length()
