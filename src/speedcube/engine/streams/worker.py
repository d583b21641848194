"""A worker whose parts may be streams: blocks are read, and given to all that takes them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from functools import cached_property, partial
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...expr.nodes import Expr, leaves
from ...expr.piecewise.regions import pieces_within
from ...kernel.lower.certificates import SPREADS
from ...plan.passes import Pass
from ...plan.reads import BlockRoom, StreamBlock
from ...plan.regions import regions_of
from ...plan.stages import Part, Stage
from ...plan.streams import (
    blocks_of,
    bytes_read,
    cuts_results,
    is_quick,
    one_block,
    room_for,
    shared_room,
    tiled,
)
from ..ordering.elements import AllElements
from ..results import put
from ..several import Outcome, results_of, run_part
from ..staging.boxes import read_there, room_there
from ..tasks import Inputs, Worker
from .along import Added, is_sum, records_of
from .elements import walked_elements
from .fed import left_of
from .folds import folds
from .own import Joined, Own
from .reading import no_core_is_idle, read_blocks
from .takers import FoldedBlocks, Fused, Placed, Records, Spread, Taker

Array: TypeAlias = NDArray[Any]
Item: TypeAlias = tuple[slice, ...]
Blocks: TypeAlias = Sequence[StreamBlock] | None


@dataclass(frozen=True, eq=False)
class StreamWorker(Worker):
    """Runs parts on the thread that calls it; what they read from elsewhere, a block at a time.

    ``fits`` says of a part whether a GPU has room for all that it reads.
    """

    fits: dict[int, bool] = field(default_factory=dict)

    def walked(
        self, roots: Sequence[Expr], inputs: Inputs, threads: int
    ) -> list[AllElements] | None:
        """The elements of each of ``roots`` that are read block after block; None: in memory."""
        if not any(_streams(root, inputs) for root in roots):
            return None
        host = replace(self, device=None)
        how = inputs, None, self.stop, host.store, threads
        return [walked_elements(root, how, host._blocks) for root in roots]

    def store_into(self, stage: Stage, part: Part, share: Any, inputs: Inputs, whole: bool) -> None:
        """The elements of one kernel into ``share``: the ``whole`` result, or a slice of it."""
        if not _streams(part.root, inputs):
            super().store_into(stage, part, share, inputs, whole)
            return
        self._given([Own(stage)], [share], part, inputs, no_core_is_idle(stage))

    def reduced(
        self, stage: Stage, part: Part, inputs: Inputs, shape: tuple[int, ...], out: Any = None
    ) -> Any:
        """The part's finished results, in ``out`` if that is where they can be made."""
        if not _streams(part.root, inputs):
            return super().reduced(stage, part, inputs, shape, out)
        results = np.empty(shape, stage.dtype)
        self._given([_own(stage, part)], [results], part, inputs, no_core_is_idle(stage))
        return results

    def shared(self, stage: Stage, part: Part, inputs: Inputs) -> Any:
        """What the part gives of results that others share."""
        if not _streams(part.root, inputs):
            return super().shared(stage, part, inputs)
        return self._given([_own(stage, part)], [None], part, inputs, no_core_is_idle(stage))[0]

    def partial(self, stage: Stage, part: Part, inputs: Inputs) -> Array:
        """The part's records, to be merged with those of the other parts."""
        if not _streams(part.root, inputs):
            return super().partial(stage, part, inputs)
        taker = Records(_own(stage, part), _kept(stage, part), self._plain)
        room = room_for(part.root, stage.axes)
        self._taken([taker], part, room, no_core_is_idle(stage), inputs)
        return np.asarray(taker.given()[0])

    def several(self, one: Pass, part: Part, shares: Sequence[Any], inputs: Inputs) -> Outcome:
        """A part of several stages: stored in ``shares``, or the records it gives."""
        regions = regions_of(one.visited, part)
        if any(_streams(region.part.root, inputs) for region in regions):
            for region in regions:
                here = [share[region.kept] for share in shares]  # of pieces there are no reductions
                if _streams(region.part.root, inputs):
                    self._beside(one, region.part, here, inputs)
                else:  # what is padded with
                    run_part(one, region.part, here, inputs, self.device, self.stop)
            return (None,) * len(shares)
        if not _streams(part.root, inputs):
            return super().several(one, part, shares, inputs)
        return self._beside(one, part, shares, inputs)

    def _beside(self, one: Pass, part: Part, shares: Sequence[Any], inputs: Inputs) -> Outcome:
        """What ``part`` gives of stages that share what they read, and perhaps a kernel."""
        owns: list[Own | Joined] = []
        extras, stages = iter(part.extra), zip(one.stages, one.places, strict=True)
        for some in one.within or (one,):
            its = list(islice(stages, len(some.stages)))
            if some.together is not None and not some.is_along:
                owns.append(Joined(some, tuple(dict.fromkeys(place for _, place in its))))
                continue
            for stage, place in its:
                extra = tuple(islice(extras, len(stage.parts[0].extra)))
                owns.append(Own(stage, place, extra))
        return self._given(owns, shares, part, inputs, no_core_is_idle(one.visited))

    def _given(
        self,
        owns: Sequence[Own | Joined],
        shares: Sequence[Any],
        part: Part,
        inputs: Inputs,
        busy: bool,
    ) -> Outcome:
        """What ``part`` gives of each stage of ``owns``, by one reading; None: it is in its share.

        ``busy``: no core is idle.
        """
        room = shared_room([room_for(part.root, axes) for one in owns for axes in one.axes])
        takers = self._takers(owns, shares, part, room, inputs)
        self._taken([taker for _, taker in takers], part, room, busy, inputs)
        stages = [stage for one in owns for stage in one.stages]
        given: list[Any] = [None] * len(shares)
        for numbers, taker in takers:
            for k, found in zip(numbers, taker.given(), strict=True):
                if shares[k] is None:
                    given[k] = found
                elif found is not None:
                    put(shares[k], results_of(stages[k], [found]))
        return tuple(given)

    def _takers(
        self,
        owns: Sequence[Own | Joined],
        shares: Sequence[Any],
        part: Part,
        room: BlockRoom,
        inputs: Inputs,
    ) -> list[tuple[list[int], Taker]]:
        """What takes the blocks, and the numbers of the stages for which it does."""
        made: list[tuple[list[int], Taker]] = []
        sums: dict[object, list[tuple[int, Own]]] = {}
        number = 0
        for one in owns:
            numbers = list(range(number, number := number + len(one.stages)))
            if isinstance(one, Joined):
                own_shares = [shares[k] for k in numbers]
                made.append((numbers, Fused(one, own_shares, self._plain)))
                continue
            share, stage = shares[number - 1], one.stage
            if share is not None and not self._is_cut(part, stage.axes, room):
                made.append((numbers, Placed(one, share, self._plain, room)))
            elif self.device is None and is_sum(stage) and math.prod(_kept(stage, part)) > 1:
                key = id(one.root_in(part.root)), stage.axes, stage.op == "dot"
                sums.setdefault(key, []).append((number - 1, one))
            else:
                made.append((numbers, self._alone(one, part, inputs)))
        for some in sums.values():
            its = [own for _, own in some]
            made.append(([k for k, _ in some], self._added(its, part, inputs)))
        return made

    def _alone(self, own: Own, part: Part, inputs: Inputs) -> Taker:
        """What takes the elements of a reduction, of which blocks have some each."""
        stage, kept = own.stage, _kept(own.stage, part)
        if folds(stage) and math.prod(kept) > 1:
            return FoldedBlocks(own, kept, self._plain)
        if stage.op in SPREADS and not stage.shape and self.device is None:
            again = partial(self.partial, stage, own.part(part), inputs)
            return Spread(own, self._plain, again)
        return Records(own, kept, self._plain)

    def _added(self, owns: Sequence[Own], part: Part, inputs: Inputs) -> Taker:
        """What takes the elements of many sums, of which blocks have some each."""
        kept = _kept(owns[0].stage, part)

        def again(own: Own, wanted: Array) -> Array:
            blocks = self._blocks(own.stage, own.part(part), inputs)
            return records_of(own.stage, kept, blocks, self.stop, wanted)

        each = [partial(again, own) for own in owns]
        return Added(owns, kept, self.stop, each, lambda own: Records(own, kept, self._plain))

    @cached_property
    def _plain(self) -> Worker:
        """Runs what lies in memory."""
        return Worker(self.stop, self.device, self.alone, self.here)

    def _taken(
        self, takers: Sequence[Taker], part: Part, room: BlockRoom, busy: bool, inputs: Inputs
    ) -> None:
        """Give all blocks of ``part`` to ``takers``."""
        quick = busy and self.device is None
        left = left_of(takers, part.root, inputs, self.stop) if quick else None
        for item, root, read in self._roots(part, room, busy, inputs, left):
            for one in takers:
                one.take(item, root, read)

    def _blocks(
        self, stage: Stage, part: Part, inputs: Inputs
    ) -> Iterator[tuple[Item, Stage, Inputs]]:
        """The blocks of ``part``: where each lies, its stage with one part, and what that reads."""
        own, room = _own(stage, part), room_for(part.root, stage.axes)
        for item, root, read in self._roots(part, room, no_core_is_idle(stage), inputs):
            yield item, own.at(item, root), read

    def _roots(
        self, part: Part, room: BlockRoom, busy: bool, inputs: Inputs, left: Blocks = None
    ) -> Iterator[tuple[Item, Expr, Inputs]]:
        """The blocks of ``part``, or those ``left``: where each lies, its root, what that reads.

        Those that differ in nothing but their data have one root.
        """
        known, like = dict[object, StreamBlock](), None
        for block, memory in self._read(part, room, busy, left):
            if like is not None and block.root is like.root:
                yield block.item, like.root, {**inputs, **memory}
                continue
            number = {id(read.memory): k for k, read in enumerate(block.reads)}
            key = tuple(
                (x.shape, x.offset, x.strides, number.get(id(x.source))) for x in leaves(block.root)
            )
            if key not in known:
                known.clear()  # a border's blocks are few
                known[key] = block
            like = known[key]
            pairs = zip(like.reads, block.reads, strict=True)
            here = {id(mine.memory): memory[id(its.memory)] for mine, its in pairs}
            yield block.item, like.root, {**inputs, **here}

    def _read(
        self, part: Part, room: BlockRoom, busy: bool, left: Blocks
    ) -> Iterator[tuple[StreamBlock, dict[int, Any]]]:
        """The blocks of ``part``, each with what it reads: on a GPU, in its memory.

        ``busy``: no core is idle.
        """
        if self.device is None:
            alone = busy and is_quick(part.root)
            blocks = blocks_of(part.root, room) if left is None else iter(left)
            return read_blocks(blocks, self.stop, alone)
        blocks = iter([one_block(part.root)]) if self._at_once(part) else blocks_of(part.root)
        return read_there(blocks, self.stop, self.device)

    def _at_once(self, part: Part) -> bool:
        """Whether all that ``part`` reads is one block: where a GPU has room for it.

        To read it takes ten times as long as to compute, and nothing has to be merged then.
        """
        if self.device is None:
            return False
        if id(part) not in self.fits:  # asked once: memory that is free is soon taken
            self.fits[id(part)] = bytes_read(part.root) <= room_there(self.device)
        return self.fits[id(part)]

    def _is_cut(self, part: Part, axes: Sequence[int], room: BlockRoom) -> bool:
        """Whether blocks of ``part`` have elements of the same results."""
        if self.device is not None:
            return not self._at_once(part) and cuts_results(part.root, axes)
        return cuts_results(part.root, axes, room)


def _own(stage: Stage, part: Part) -> Own:
    return Own(stage, None, part.extra)


def _kept(stage: Stage, part: Part) -> tuple[int, ...]:
    """The shape of the results of ``part``."""
    return tuple(n for k, n in enumerate(part.root.shape) if k not in stage.axes)


def _streams(root: Expr, inputs: Inputs) -> bool:
    """Whether ``root``, no region of pieces left, reads boxes of sources that lie elsewhere."""
    some = math.prod(root.shape) and not pieces_within(root)
    return bool(some) and any(id(leaf.source) not in inputs for leaf in tiled(root))
