"""What takes the elements of each block as it is read, and gives results when all have come by.

Whatever several results need of a block they take while it is in memory, so it is read once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...expr.nodes import Expr, Map, Reduced
from ...plan.reads import BlockRoom, StreamBlock
from ...plan.stages import Part, Stage
from ...plan.streams import cuts_results
from ..cpu import address_of, initial_records
from ..finished.cpu import failed_places
from ..finished.ends import End, all_of
from ..finished.near import Partial
from ..prepare import prepare
from ..results import is_exact_sum, merge
from ..several import Joint, run_part
from ..tasks import Inputs, Worker
from .fed import Feed, reduces, run_fed
from .folds import FOLDS
from .own import Item, Joined, Own, pieces, places
from .records import OneRecord, merged

Array: TypeAlias = NDArray[Any]
_TOGETHER: Final = 256  # records that are merged at once


class Taker(Protocol):
    """Takes blocks, which are ``item`` of a part and ``root`` over the memory in ``read``."""

    def take(self, item: Item, root: Expr, read: Inputs) -> None:
        """Take the elements of a block."""

    def given(self) -> Sequence[Any]:
        """What its stages' parts give, after the last block; None where it lies in its place."""


@dataclass(eq=False)
class Placed:
    """Results of which each block has its own: they are put where they belong."""

    own: Own
    share: Any
    worker: Worker
    room: BlockRoom  # of blocks that have all elements of their results

    @property
    def feeds(self) -> bool:
        """Reductions do, on CPUs."""
        stage = self.own.stage
        return reduces(stage) and not self.own.extra and self.worker.device is None

    def tile_room(self, root: Expr, size: int) -> BlockRoom:
        """Whole lines; all elements of their results, however many bytes these are."""
        less, own = BlockRoom(size), self.own.root_in(root)
        return self.room if cuts_results(own, self.own.stage.axes, less) else less

    def fed(self, feed: Feed) -> Sequence[int]:
        """Make what the tiles of ``feed`` have; the numbers of those that were not made."""
        block = feed.at(0)
        one = self.own.at(block.item, block.root)
        there = (self.share[places(feed.at(k).item, one.axes)] for k in (0, 1))
        first, second = there
        step = address_of(second) - address_of(first)
        found = run_fed(one, feed, first, step)
        if found is None:
            return range(feed.count)
        done, failures = found
        again = [k for k in range(done) if failures and self._failed(one, feed.at(k))]
        return [*again, *range(done, feed.count)]

    def _failed(self, one: Stage, block: StreamBlock) -> bool:
        """Whether the kernel left a result of ``block`` to others."""
        share = self.share[places(block.item, one.axes)].reshape(-1)
        return bool(len(failed_places(share, share.dtype.name, 1)))

    def take(self, item: Item, root: Expr, read: Inputs) -> None:
        """Make what the block has."""
        one = self.own.at(item, root)
        if one.source is None:
            self.worker.store_into(one, one.parts[0], self.share[(*item, ...)], read, False)
            return
        share = self.share[places(item, one.axes)]
        self.worker.reduce_into(one, one.parts[0], share, read)

    def given(self) -> Sequence[Any]:
        """Nothing: they lie in their place."""
        return (None,)


@dataclass(frozen=True, eq=False)
class Extremes(Joint):
    """Extremes, or sums of integers, of a part, of whose results others have elements, too."""

    found: Array

    def joined(self, stage: Stage, parts: Sequence[Any]) -> Array:
        """Those of all ``parts``."""
        whole = parts[0].found
        for one in parts[1:]:
            whole = FOLDS[str(stage.op)](whole, one.found)
        return np.asarray(whole)


@dataclass(eq=False)
class FoldedBlocks:
    """Folds of many results, of which blocks have some of the elements: each block's, folded."""

    own: Own
    kept: tuple[int, ...]
    worker: Worker
    whole: Any = None
    seen: Any = None

    def take(self, item: Item, root: Expr, read: Inputs) -> None:
        """Fold the block's extremes into the others."""
        one = self.own.at(item, root)
        if self.whole is None:
            self.whole = np.empty(self.kept, one.dtype)
            self.seen = np.zeros(self.kept, bool)
        here = places(item, one.axes)
        share, seen = self.whole[here], self.seen[here]
        if not seen.any():
            self.worker.reduce_into(one, one.parts[0], share, read)
        else:
            found = self.worker.reduced(one, one.parts[0], read, share.shape)
            fold = FOLDS[str(one.op)]
            for piece in pieces(share.shape):
                share[piece] = fold(share[piece], found[piece])
        seen[...] = True

    def given(self) -> Sequence[Any]:
        """The extremes of all blocks."""
        return (Extremes(self.whole),)


@dataclass(eq=False)
class Records:
    """Records of results of which blocks have some of the elements: each block's, merged."""

    own: Own
    kept: tuple[int, ...]
    worker: Worker
    whole: Array | None = None
    waiting: list[Array] = field(default_factory=list)  # of one result: merging takes so long
    one: OneRecord | None = None

    @property
    def feeds(self) -> bool:
        """One record does, on a CPU."""
        return not self.kept and not self.own.extra and self.worker.device is None

    def tile_room(self, _: Expr, size: int) -> BlockRoom:
        """Whole lines."""
        return BlockRoom(size)

    def fed(self, feed: Feed) -> Sequence[int]:
        """Take the tiles of ``feed``; the numbers of those that were not taken."""
        block = feed.at(0)
        self.one = self.one or OneRecord(self.worker.stop)
        return self.one.fed(self.own.at(block.item, block.root), feed)

    def take(self, item: Item, root: Expr, read: Inputs) -> None:
        """Merge the block's records with the others."""
        one = self.own.at(item, root)
        if not self.kept and self.worker.device is None:
            self.one = self.one or OneRecord(self.worker.stop)
            self.one.add(one, read)
            return
        records = self.worker.partial(one, one.parts[0], read)
        if not self.kept:
            self.waiting.append(records)
            if len(self.waiting) == _TOGETHER:
                self.waiting = [self._merged(self.waiting)]
            return
        if self.whole is None:
            program = prepare(one, one.parts[0], None).program
            whole = initial_records(program, math.prod(self.kept))
            self.whole = whole.reshape(*self.kept, -1)
        share = self.whole[places(item, one.axes)]
        both = [share.reshape(records.shape), records]
        share[...] = self._merged(both).reshape(share.shape)

    def _merged(self, records: list[Array]) -> Array:
        source = self.own.stage.source
        assert isinstance(source, Reduced)
        return merge(source.op, is_exact_sum(source), records)

    def given(self) -> Sequence[Any]:
        """The records of all blocks."""
        if self.one is not None:
            return (self.one.record,)
        if self.whole is None:
            return (self._merged(self.waiting),)
        return (self.whole.reshape(math.prod(self.kept), -1),)


@dataclass(eq=False)
class Spread:
    """A spread of all elements: what blocks know of their sums, or their records.

    ``again`` makes the record by reading all blocks once more.
    """

    own: Own
    worker: Worker
    again: Callable[[], Array]
    ends: list[tuple[End, ...]] = field(default_factory=list)
    records: Records | None = None
    lost: bool = False

    def take(self, item: Item, root: Expr, read: Inputs) -> None:
        """Take what the block knows; from the first one on records, where that one does not."""
        if self.lost:
            return
        if self.records is None:
            one = self.own.at(item, root)
            found = self.worker.known(one, one.parts[0], read)
            if found is not None:
                self.ends.append(found.ends)
                return
            if self.ends:
                self.lost = True
                return
            self.records = Records(self.own, (), self.worker)
        self.records.take(item, root, read)

    def given(self) -> Sequence[Any]:
        """What all blocks know, or their record."""
        if self.records is not None:
            return self.records.given()
        if self.lost:
            return (self.again(),)
        return (Partial(all_of(self.ends), None, self.again),)


@dataclass(eq=False)
class Fused:
    """Stages that one kernel makes: numbers, and what is stored."""

    joined: Joined
    shares: Sequence[Any]
    worker: Worker
    known: tuple[Any, ...] = ()
    _last: tuple[Expr, Part] | None = None

    def take(self, item: Item, root: Expr, read: Inputs) -> None:
        """Run the kernel over the block."""
        outs = [None if share is None else share[(*item, ...)] for share in self.shares]
        worker, one = self.worker, self.joined.one
        found = run_part(one, self._part(root), outs, read, worker.device, worker.stop)
        if self.known:
            found = tuple(map(merged, one.stages, self.known, found))
        self.known = found

    def _part(self, root: Expr) -> Part:
        if self._last is None or self._last[0] is not root:
            assert isinstance(root, Map)
            args = tuple(root.args[place] for place in self.joined.places)
            own = Map("several", args, root.shape, args[0].dtype)
            self._last = root, Part(own, (), None, 0, 0)
        return self._last[1]

    def given(self) -> Sequence[Any]:
        """The records of numbers."""
        return self.known
