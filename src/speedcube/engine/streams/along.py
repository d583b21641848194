"""Exact sums of many results, along axes that blocks cut: added up block by block, then rounded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...expr.nodes import Reduced
from ...kernel.program import NEAR
from ...plan.stages import Stage
from ..boxes import Stop
from ..cpu import initial_records, run_some
from ..finished.cpu import run_together
from ..prepare import prepare, prepare_open
from ..results import is_exact_sum, merge, values
from ..tasks import Inputs
from .sums import Bounded, finished, given, nothing

Array: TypeAlias = NDArray[Any]
Item: TypeAlias = tuple[slice, ...]
Blocks: TypeAlias = Callable[[], Iterator[tuple[Item, Stage, Inputs]]]  # which are read anew

SPREADS: Final = ("var", "std")
_AT_ONCE: Final = 1 << 16  # records in memory; of a spread one has 1,152 bytes


@dataclass(frozen=True, eq=False)
class StreamSums:
    """The sums of some ``stages`` of the same elements, of which ``blocks`` are read."""

    stages: Sequence[Stage]
    kept: tuple[int, ...]  # the shape of the results
    blocks: Blocks
    stop: Stop

    def results(self) -> list[Array] | None:
        """The results of each stage; None where a block has no kernel for such sums."""
        sums = self._added()
        if sums is None:
            return None
        return [self._result(stage, sums) for stage in self.stages]

    def _op(self) -> str:
        ops = {stage.op for stage in self.stages}
        return "dot" if "dot" in ops else "var" if ops.intersection(SPREADS) else "mean"

    def _added(self) -> list[Bounded] | None:
        """The sums of all blocks, of elements and perhaps of squares."""
        op = self._op()
        sums = [nothing(self.kept) for _ in range(2 if op == "var" else 1)]
        for item, stage, inputs in self.blocks():
            assert isinstance(stage.source, Reduced)
            one = replace(stage, source=replace(stage.source, op=op, dtype="float64", ddof=0.0))
            prepared = prepare_open(one, stage.parts[0])
            if prepared is None:
                return None
            outs = [None] * (len(NEAR) * len(sums))
            found = [one for one, _ in run_together(prepared, inputs, self.stop, outs)]
            here = places(item, stage.axes)
            with np.errstate(all="ignore"):
                for k, near in enumerate(sums):
                    share = Bounded(*(one[here] for one in (near.high, near.low, near.bound)))
                    more = (x.reshape(share.high.shape) for x in found[3 * k : 3 * k + 3])
                    both = share + given(*more)
                    share.high[...], share.low[...] = both.high, both.low
                    share.bound[...] = both.bound
        return sums

    def _result(self, stage: Stage, sums: list[Bounded]) -> Array:
        source = stage.source
        assert isinstance(source, Reduced)
        result, certain = finished(source.op, sums, source.count, source.ddof, source.dtype)
        failed = np.flatnonzero(~certain)
        flat = result.reshape(-1)
        for first in range(0, len(failed), _AT_ONCE):
            wanted = failed[first : first + _AT_ONCE]
            flat[wanted] = self._by_records(stage, wanted)
        return result

    def _by_records(self, stage: Stage, wanted: Array) -> Array:
        """The results at the places ``wanted``, which rise, by all digits of their sums."""
        source = stage.source
        assert isinstance(source, Reduced)
        whole: Array | None = None
        for item, block, inputs in self.blocks():
            assert isinstance(block.source, Reduced)
            one = replace(block, source=replace(block.source, op=source.op, ddof=source.ddof))
            prepared = prepare(one, block.parts[0], None)
            if whole is None:
                whole = initial_records(prepared.program, len(wanted))
            mine, there = _inside(wanted, self.kept, item, stage.axes)
            for at, records in run_some(prepared, inputs, self.stop, there):
                rows = mine[np.searchsorted(there, at)]
                whole[rows] = merge(source.op, is_exact_sum(source), [whole[rows], records])
        assert whole is not None
        return values(source, whole)


def places(item: Item, axes: Sequence[int]) -> tuple[Any, ...]:
    """Where in the results of a reduction over ``axes`` those of ``item`` lie, one as an array."""
    return (*(one for k, one in enumerate(item) if k not in axes), ...)


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
