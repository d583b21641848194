"""One result of many blocks: each is folded into the same record, which is cheaper than merging."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...expr.nodes import Reduced
from ...expr.space import TILE
from ...kernel.exact.integers import carry
from ...kernel.program import LIMBS
from ...plan.stages import Stage
from ..boxes import CALL, Stop, boxes, column_boxes
from ..cpu import CARRY_AFTER, address_of, calling, fold, initial_records
from ..prepare import Prepared, prepare
from ..results import is_exact_sum, merge
from ..tasks import Inputs
from .fed import Feed

Array: TypeAlias = NDArray[Any]


@dataclass(eq=False)
class OneRecord:
    """The record of a reduction to one number, of the blocks that were added."""

    stop: Stop
    record: Array = field(default_factory=lambda: np.empty((0, 0), np.int64))
    since: int = 0  # elements since carries moved on: a limb has room for so many

    def add(self, stage: Stage, inputs: Inputs) -> None:
        """Fold the elements of ``stage``, a block, into the record."""
        prepared = prepare(stage, stage.parts[0], None)
        if not self.record.size:
            self.record = initial_records(prepared.program, 1)
        self._carried(prepared, 1)
        with calling(prepared, inputs) as call:
            fold(call, prepared.loops, 0, self.record, self.stop)

    def fed(self, stage: Stage, feed: Feed) -> Sequence[int]:
        """The same of the tiles of ``feed``, of which the first is ``stage``: those left."""
        prepared = prepare(stage, stage.parts[0], None)
        loops, inner = prepared.loops, prepared.tiling.inner
        found = column_boxes(loops, CALL) if prepared.by_columns else boxes(loops, inner, CALL)
        first, *others = islice(found, 2)
        if others:
            return range(feed.count)
        if not self.record.size:
            self.record = initial_records(prepared.program, 1)
        self._carried(prepared, feed.count)
        with calling(prepared, feed.inputs) as call:
            done, _ = feed.run(call, first, address_of(self.record), 0)
        return range(done, feed.count)

    def _carried(self, prepared: Prepared, times: int) -> None:
        """Move carries on where there is no room for the elements of so many calls."""
        count = (prepared.visits + TILE) * times
        if prepared.program.sink.kind == "exact" and self.since + count > CARRY_AFTER:
            carry(self.record.reshape(1, -1, LIMBS))
            self.since = 0
        self.since += count


def merged(stage: Stage, a: Any, b: Any) -> Any:
    """What two blocks give of ``stage``, as one."""
    if a is None or b is None:
        return b
    assert isinstance(stage.source, Reduced)
    return merge(stage.source.op, is_exact_sum(stage.source), [a, b])
