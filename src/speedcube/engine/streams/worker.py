"""A worker whose parts may be streams: each is computed block after block, and put together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...expr.nodes import Expr, Reduced, leaves
from ...kernel.lower.together import SPREADS
from ...plan.passes import ALONG, Pass
from ...plan.regions import regions_of
from ...plan.stages import Part, Stage
from ...plan.streams import (
    StreamBlock,
    blocks_of,
    bytes_read,
    cuts_results,
    is_quick,
    one_block,
    room_for,
    tiled,
)
from ..cpu import initial_records
from ..finished.along import own_parts
from ..finished.near import Partial, all_of
from ..ordering.elements import AllElements
from ..prepare import prepare
from ..results import is_exact_sum, merge, values
from ..several import Outcome, from_several, run_part
from ..staging.boxes import read_there, room_there
from ..tasks import Inputs, Worker
from .along import StreamSums, places
from .elements import walked_elements
from .folds import FOLDS
from .reading import read_blocks
from .records import OneRecord, merged

Array: TypeAlias = NDArray[Any]
Item: TypeAlias = tuple[slice, ...]
_TOGETHER: Final = 256  # records that are merged at once


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

    def _store(self, stage: Stage, part: Part, share: Any, inputs: Inputs, whole: bool) -> None:
        if not _streams(part.root, inputs):
            super()._store(stage, part, share, inputs, whole)
            return
        for item, one, read in self._blocks(stage, part, inputs):
            super()._store(one, one.parts[0], share[(*item, ...)], read, False)

    def reduced(
        self, stage: Stage, part: Part, inputs: Inputs, shape: tuple[int, ...], out: Any = None
    ) -> Any:
        """The part's finished results, in ``out`` if that is where they can be made."""
        if not _streams(part.root, inputs):
            return super().reduced(stage, part, inputs, shape, out)
        assert isinstance(stage.source, Reduced)
        if self._is_cut(part, stage.axes):
            if stage.op in FOLDS and math.prod(shape) > 1:
                return self._folded(stage, part, inputs).reshape(shape)
            found = self._sums([stage], part, inputs)
            if found is not None:
                return found[0].reshape(shape)
            if (known := self.known(stage, part, inputs)) is not None:
                return from_several(stage, [known]).reshape(shape)
            return values(stage.source, self.partial(stage, part, inputs)).reshape(shape)
        results = np.empty(shape, stage.dtype)
        for item, one, read in self._blocks(stage, part, inputs):
            super().reduce_into(one, one.parts[0], results[places(item, stage.axes)], read)
        return results

    def _folded(self, stage: Stage, part: Part, inputs: Inputs) -> Array:
        """Extremes of which blocks have some of the elements: each block's, folded."""
        kept = tuple(n for k, n in enumerate(part.root.shape) if k not in stage.axes)
        whole, seen = np.empty(kept, stage.dtype), np.zeros(kept, bool)
        for item, one, read in self._blocks(stage, part, inputs):
            here = places(item, stage.axes)
            share = whole[here]
            found = super().reduced(one, one.parts[0], read, share.shape)
            first = not seen[here].any()
            share[...] = found if first else FOLDS[str(stage.op)](share, found)
            seen[here] = True
        return whole

    def partial(self, stage: Stage, part: Part, inputs: Inputs) -> Array:
        """The part's records, to be merged with those of the other parts."""
        if not _streams(part.root, inputs):
            return super().partial(stage, part, inputs)
        source = stage.source
        assert isinstance(source, Reduced)
        kept = tuple(n for k, n in enumerate(part.root.shape) if k not in stage.axes)
        if not kept and self.device is None:
            record = OneRecord(self.stop)
            for _, one, read in self._blocks(stage, part, inputs):
                record.add(one, read)
            return record.record
        whole: Array | None = None
        waiting: list[Array] = []  # of one result: a merger takes as long as a block
        for item, one, read in self._blocks(stage, part, inputs):
            records = super().partial(one, one.parts[0], read)
            if not kept:
                waiting.append(records)
                if len(waiting) == _TOGETHER:
                    waiting = [merge(source.op, is_exact_sum(source), waiting)]
                continue
            if whole is None:
                program = prepare(one, one.parts[0], None).program
                whole = initial_records(program, math.prod(kept)).reshape(*kept, -1)
            share = whole[places(item, stage.axes)]
            both = [share.reshape(records.shape), records]
            share[...] = merge(source.op, is_exact_sum(source), both).reshape(share.shape)
        if whole is None:
            return merge(source.op, is_exact_sum(source), waiting)
        return whole.reshape(math.prod(kept), -1)

    def several(self, one: Pass, part: Part, shares: Sequence[Any], inputs: Inputs) -> Outcome:
        """A part of several stages: stored in ``shares``, or the records it gives."""
        regions = regions_of(one.visited, part)
        if any(_streams(region.part.root, inputs) for region in regions):
            for region in regions:
                here = [share[region.kept] for share in shares]  # of pieces there are no reductions
                self._several(one, region.part, here, inputs)
            return (None,) * len(shares)
        if not _streams(part.root, inputs):
            return super().several(one, part, shares, inputs)
        if not one.is_along:
            return self._several(one, part, shares, inputs)
        own = own_parts(one, part)
        if one.visited.join == "merge":
            return tuple(self.partial(*its, inputs) for its in own)
        self._along(own, shares, inputs)
        return (None,) * len(shares)

    def _several(self, one: Pass, part: Part, shares: Sequence[Any], inputs: Inputs) -> Outcome:
        """The same of reductions to numbers, and of what is stored."""
        if not _streams(part.root, inputs):
            return run_part(one, part, shares, inputs, self.device, self.stop)
        known: Outcome = (None,) * len(shares)
        for item, here, read in self._blocks(one.visited, part, inputs):
            outs = [None if share is None else share[(*item, ...)] for share in shares]
            found = run_part(one, here.parts[0], outs, read, self.device, self.stop)
            known = tuple(map(merged, one.stages, known, found))
        return known

    def known(self, stage: Stage, part: Part, inputs: Inputs) -> Partial | None:
        """The same of each block, together; None where one of them does not know enough."""
        if not _streams(part.root, inputs):
            return super().known(stage, part, inputs)
        if stage.op not in SPREADS or stage.shape or self.device is not None:
            return None
        each: list[Partial] = []
        for _, one, read in self._blocks(stage, part, inputs):
            found = super().known(one, one.parts[0], read)
            if found is None:
                return None
            each.append(found)
        again = partial(self.partial, stage, part, inputs)
        return Partial(all_of([one.ends for one in each]), None, again)

    def _along(
        self, own: Sequence[tuple[Stage, Part]], shares: Sequence[Any], inputs: Inputs
    ) -> None:
        """Reductions along axes into ``shares``: sums of the same elements by one reading."""
        groups: dict[int, list[int]] = {}
        for k, (stage, part) in enumerate(own):
            alike = _is_sum(stage) and self._is_cut(part, stage.axes)
            groups.setdefault(id(part.root) if alike else -k, []).append(k)
        for numbers in groups.values():
            stages = [own[k][0] for k in numbers]
            found = self._sums(stages, own[numbers[0]][1], inputs) if len(numbers) > 1 else None
            for n, k in enumerate(numbers):
                if found is None:
                    self.reduce_into(*own[k], shares[k], inputs)
                else:
                    shares[k][...] = found[n].reshape(shares[k].shape)

    def _sums(self, stages: Sequence[Stage], part: Part, inputs: Inputs) -> list[Array] | None:
        """The results of ``stages``, of the same many sums; None where those are records."""
        stage = stages[0]
        kept = tuple(n for k, n in enumerate(part.root.shape) if k not in stage.axes)
        if self.device is not None or not all(map(_is_sum, stages)) or math.prod(kept) < 2:
            return None
        return StreamSums(
            stages, kept, lambda: self._blocks(stage, part, inputs), self.stop
        ).results()

    def _blocks(
        self, stage: Stage, part: Part, inputs: Inputs
    ) -> Iterator[tuple[Item, Stage, Inputs]]:
        """The blocks of ``part``: where each lies, its stage with one part, and what that reads.

        Those that differ in nothing but their data are one stage.
        """
        known: dict[object, tuple[StreamBlock, Stage]] = {}
        like, one = None, stage
        for block, memory in self._read(part, stage.axes, len(stage.parts) > 1):
            if like is not None and block.root is like.root:
                yield block.item, one, {**inputs, **memory}
                continue
            every = (*leaves(block.root), *block.extra)
            number = {id(read.memory): k for k, read in enumerate(block.reads)}
            key = tuple((x.shape, x.offset, x.strides, number.get(id(x.source))) for x in every)
            if key not in known:
                known.clear()  # a border's blocks are few
                known[key] = block, _stage(stage, block)
            like, one = known[key]
            pairs = zip(like.reads, block.reads, strict=True)
            here = {id(mine.memory): memory[id(its.memory)] for mine, its in pairs}
            yield block.item, one, {**inputs, **here}

    def _read(
        self, part: Part, axes: Sequence[int], busy: bool
    ) -> Iterator[tuple[StreamBlock, dict[int, Any]]]:
        """The blocks of ``part``, each with what it reads: on a GPU, in its memory.

        ``busy``: other threads have parts, too.
        """
        if self.device is None:
            room = room_for(part.root, axes)
            alone = busy and is_quick(part.root)
            return read_blocks(blocks_of(part.root, part.extra, room), self.stop, alone)
        if self._at_once(part):
            blocks = iter([one_block(part.root, part.extra)])
        else:
            blocks = blocks_of(part.root, part.extra)
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

    def _is_cut(self, part: Part, axes: Sequence[int]) -> bool:
        """Whether blocks of ``part`` have elements of the same results."""
        if self.device is not None:
            return not self._at_once(part) and cuts_results(part.root, axes)
        return cuts_results(part.root, axes, room_for(part.root, axes))


def _stage(stage: Stage, block: StreamBlock) -> Stage:
    """``stage`` for the elements of ``block`` alone."""
    source = stage.source
    if isinstance(source, Reduced):
        source = replace(source, arg=block.root, keepdims=False)
    part = Part(block.root, block.extra, None, 0, 0)
    return Stage(block.root, source, stage.axes, (part,), "one")


def _streams(root: Expr, inputs: Inputs) -> bool:
    """Whether ``root`` reads a source a box at a time, which is not in memory."""
    some = math.prod(root.shape) > 0
    return some and any(id(leaf.source) not in inputs for leaf in tiled(root))


def _is_sum(stage: Stage) -> bool:
    """Whether ``stage`` is a sum of floats, or what is made of such sums."""
    return isinstance(stage.source, Reduced) and (
        stage.op == "dot" or (stage.op in ALONG and is_exact_sum(stage.source))
    )
