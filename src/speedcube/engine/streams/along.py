"""Exact sums of many results, along axes that blocks cut: added up block by block, then rounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field, replace
from itertools import islice
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ... import dtypes
from ...dataclass import dataclass
from ...expr.nodes import Expr, Reduced
from ...kernel.lower.certificates import SPREADS
from ...kernel.many import NEAR
from ...plan.cutting.grouped import ALONG
from ...plan.reads import BlockRoom, chunk_along
from ...plan.stages import Stage
from ...plan.streams import room_down, tiled
from ..boxes import Box, Stop, result_boxes
from ..cpu import address_of, calling, initial_records, run_some
from ..finished.cpu import result_tile, run_onto, run_together
from ..prepare import Prepared, prepare, prepare_open
from ..results import is_exact_sum, merge, values
from ..several import Joint, merged_records
from ..tasks import Inputs
from .adding import add, can_add
from .fed import Feed
from .own import PIECE, Item, Own, pieces, places
from .rounding import rounded
from .sums import Bounded, finished, given, nothing
from .takers import Taker

Array: TypeAlias = NDArray[Any]
Blocks: TypeAlias = Iterable[tuple[Item, Stage, Inputs]]

# Bytes that are read of a row, and then of the next, to be added at once: to ask for 64 KiB takes
# as long as to copy 30 more. Of short elements fewer, but so many at least: their sums, of 24 bytes
# each, leave the cache. And how many tiles there are in what is read for sums alone.
_PIECE: Final = 1 << 18
_LEAST_PIECE: Final = 1 << 16
_TILES: Final = 4
_AT_ONCE: Final = 1 << 16  # records in memory; of a spread one has 1,152 bytes


@dataclass(frozen=True, eq=False)
class PartSums(Joint):
    """What a part knows of some sums; ``again`` makes the records of results, which rise."""

    sums: Sequence[Bounded]
    again: Callable[[Array], Array]

    def joined(self, stage: Stage, parts: Sequence[Any]) -> Array:
        """The sums of all ``parts``, rounded once; by all digits where that is not certain."""
        source, size = stage.source, self.sums[0].high.size
        assert isinstance(source, Reduced)
        if not all(isinstance(one, PartSums) for one in parts):
            return _by_records(stage, parts, np.arange(size))
        result, certain = np.empty(size, source.dtype), np.empty(size, np.bool_)
        for first in range(0, size, PIECE):
            here = slice(first, first + PIECE)
            each = [[one.sums[k].flat(here) for one in parts] for k in range(len(self.sums))]
            if rounded(source.op, each[0], source.count, result[here], certain[here]):
                continue
            with np.errstate(all="ignore"):
                totals = [_total(some) for some in each]
            made = finished(source.op, totals, source.count, source.ddof, source.dtype)
            result[here], certain[here] = made
        wanted = np.flatnonzero(~certain)
        for first in range(0, len(wanted), _AT_ONCE):
            some = wanted[first : first + _AT_ONCE]
            result[some] = _by_records(stage, parts, some)
        return result


def _total(each: Sequence[Bounded]) -> Bounded:
    """The sum of ``each``, which stay as they are."""
    if len(each) == 1 or not can_add(each[0]):
        return sum(each[1:], each[0])
    whole = Bounded(*(x.copy() for x in (each[0].high, each[0].low, each[0].bound)))
    for one in each[1:]:
        add(whole, one)
    return whole


def _by_records(stage: Stage, parts: Sequence[Any], wanted: Array) -> Array:
    """The results at the places ``wanted`` from records of all ``parts``."""
    records = [one.again(wanted) if isinstance(one, PartSums) else one[wanted] for one in parts]
    assert isinstance(stage.source, Reduced)
    return values(stage.source, merged_records(stage, records))


@dataclass(eq=False)
class Added:
    """Sums of many results, of stages of the same elements: each block's, added up.

    ``again`` makes the records of a stage's results by reading the blocks once more, ``instead``
    what takes the blocks where there is no kernel for such sums.
    """

    owns: Sequence[Own]
    kept: tuple[int, ...]
    stop: Stop
    again: Sequence[Callable[[Array], Array]]
    instead: Callable[[Own], Taker]
    sums: list[Bounded] = field(default_factory=list)
    others: list[Taker] = field(default_factory=list)
    lost: bool = False
    memory: list[Array] = field(default_factory=list)  # for what a block gives
    way: tuple[Expr, tuple[Prepared, Box] | None] | None = None  # of tiles that are fed

    @property
    def feeds(self) -> bool:
        """Sums of elements do; those of squares cost more by the tile than the cache saves."""
        return self.op == "mean" and not any(own.extra for own in self.owns)

    def tile_room(self, root: Expr, size: int) -> BlockRoom:
        """Pieces of rows, whose sums stay in the cache, or whole rows: of one file."""
        own = self.owns[0]
        root = own.root_in(root)
        short = min(dtypes.itemsize(leaf.dtype) for leaf in tiled(root)) * _PIECE // 8
        piece = min(_PIECE, max(short, _LEAST_PIECE))
        room = room_down(root, own.stage.axes, _TILES * size, piece)
        if room is None:
            return BlockRoom(size)
        rows = min(chunk_along(leaf, room.down)[0] for leaf in tiled(root))
        return replace(room, size=min(_TILES * size, rows * piece))

    def fed(self, feed: Feed) -> Sequence[int]:
        """Add the sums of the tiles of ``feed``; the numbers of those that were not added."""
        block = feed.at(0)
        if self.way is None or self.way[0] is not block.root:
            self.way = block.root, self._way(block.item, block.root)
        if self.way[1] is None:
            return range(feed.count)
        prepared, box = self.way[1]
        self._begin()
        first, second = (self._places(feed.at(k).item) for k in (0, 1))
        if first is None or second is None:
            return range(feed.count)
        table = first + np.arange(feed.count, dtype=np.uint64)[:, None] * (second - first)
        with calling(prepared, feed.inputs) as call:
            done, _ = feed.run(call, box, address_of(table), table.strides[0])
        return range(done, feed.count)

    def _way(self, item: Item, root: Expr) -> tuple[Prepared, Box] | None:
        """The kernel for blocks of ``root``, and the one box in which it takes all of one."""
        one = self._summed(item, root)
        prepared = None if self.others else prepare_open(one, one.parts[0], onto=True)
        if prepared is None:
            return None
        box, *others = islice(result_boxes(prepared.loops, result_tile(prepared)), 2)
        return None if others else (prepared, box)

    def _places(self, item: Item) -> Array | None:
        """Where the words of a block's sums lie; None where they do not lie in a row."""
        here = places(item, self.owns[0].axes[0])
        words = [x[here] for near in self.sums for x in (near.high, near.low, near.bound)]
        if not words[0].flags.c_contiguous:
            return None
        return np.array([*map(address_of, words)], np.uint64)

    @property
    def op(self) -> str:
        """What the kernel makes sums for: those of elements, or of squares, too."""
        ops = {one.stage.op for one in self.owns}
        return "dot" if "dot" in ops else "var" if ops.intersection(SPREADS) else "mean"

    def take(self, item: Item, root: Expr, read: Inputs) -> None:
        """Add the block's sums."""
        if self.lost:
            return
        if not self.others and not self._added(item, root, read):
            self.lost = bool(self.sums)
            if not self.lost:
                self.others = [self.instead(one) for one in self.owns]
        for one in self.others:
            one.take(item, root, read)

    def _added(self, item: Item, root: Expr, read: Inputs) -> bool:
        """Whether there is a kernel for the sums of a block, which are added then."""
        one = self._summed(item, root)
        if self._added_onto(item, one, read):
            return True
        prepared = prepare_open(one, one.parts[0])
        if prepared is None:
            return False
        self._begin()
        here = places(item, one.axes)
        shares = [near.at(here) for near in self.sums]
        self._make_room(shares)
        size = shares[0].high.size
        outs = [memory[:size] for memory in self.memory]
        found = run_together(prepared, read, self.stop, outs)
        for k, share in enumerate(shares):
            more = [x.reshape(share.high.shape) for x, _ in found[3 * k : 3 * k + 3]]
            unknown = len(found[3 * k + 2][1]) > 0
            if can_add(share):
                add(share, given(*more) if unknown else Bounded(*more))
                continue
            with np.errstate(all="ignore"):
                for piece in pieces(share.high.shape):
                    mine = share.at(piece)
                    mine.set(mine + given(*(x[piece] for x in more)))
        return True

    def _added_onto(self, item: Item, one: Stage, read: Inputs) -> bool:
        """Whether the kernel of ``one`` could add its sums to what is known, and did."""
        prepared = prepare_open(one, one.parts[0], onto=True) if self.feeds else None
        if prepared is None:
            return False
        self._begin()
        words = self._places(item)
        if words is not None:
            run_onto(prepared, read, self.stop, words)
        return words is not None

    def _summed(self, item: Item, root: Expr) -> Stage:
        """The sums of a block alone."""
        one = self.owns[0].at(item, root)
        assert isinstance(one.source, Reduced)
        return replace(one, source=replace(one.source, op=self.op, dtype="float64", ddof=0.0))

    def _begin(self) -> None:
        if not self.sums:
            self.sums = [nothing(self.kept) for _ in range(2 if self.op == "var" else 1)]

    def _make_room(self, shares: Sequence[Bounded]) -> None:
        """Memory for what a block gives, which is used again."""
        size = shares[0].high.size
        if not self.memory or self.memory[0].size < size:
            self.memory.clear()
            self.memory += [np.empty(size) for _ in range(len(NEAR) * len(shares))]

    def given(self) -> Sequence[Any]:
        """The sums of all blocks, or their records."""
        self.memory.clear()
        if self.others:
            return [one.given()[0] for one in self.others]
        if self.lost:
            return [again(np.arange(math.prod(self.kept))) for again in self.again]
        return [PartSums(self.sums, again) for again in self.again]


def records_of(
    stage: Stage, kept: tuple[int, ...], blocks: Blocks, stop: Stop, wanted: Array
) -> Array:
    """The records of results at the places ``wanted``, which rise, of all ``blocks``."""
    source = stage.source
    assert isinstance(source, Reduced)
    whole: Array | None = None
    for item, one, inputs in blocks:
        prepared = prepare(one, one.parts[0], None)
        if whole is None:
            whole = initial_records(prepared.program, len(wanted))
        mine, there = _inside(wanted, kept, item, stage.axes)
        for at, records in run_some(prepared, inputs, stop, there):
            rows = mine[np.searchsorted(there, at)]
            whole[rows] = merge(source.op, is_exact_sum(source), [whole[rows], records])
    assert whole is not None
    return whole


def _inside(
    wanted: Array, kept: tuple[int, ...], item: Item, axes: Sequence[int]
) -> tuple[Array, Array]:
    """Which of ``wanted`` are results of the block ``item``, and which of its own they are."""
    here = [one for k, one in enumerate(item) if k not in axes]
    indices = np.unravel_index(wanted, kept) if kept else ()
    inside = np.ones(len(wanted), bool)
    own = np.zeros(len(wanted), np.int64)
    for index, one in zip(indices, here, strict=True):
        inside &= (index >= one.start) & (index < one.stop)
        own = own * (one.stop - one.start) + (index - one.start)
    mine = np.flatnonzero(inside)
    return mine, own[mine]


def is_sum(stage: Stage) -> bool:
    """Whether ``stage`` is a sum of floats, or what is made of such sums."""
    return isinstance(stage.source, Reduced) and (
        stage.op == "dot" or (stage.op in ALONG and is_exact_sum(stage.source))
    )
