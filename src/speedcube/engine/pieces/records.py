"""Records of the regions of a part, put together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

from numpy.typing import NDArray

from ...expr.nodes import Reduced
from ...plan.regions import Region
from ...plan.stages import Part, Stage
from ..cpu import initial_records
from ..prepare import prepare
from ..results import is_exact_sum, merge

Array: TypeAlias = NDArray[Any]


def merged_regions(
    stage: Stage, part: Part, regions: Sequence[Region], each: Sequence[Array]
) -> Array:
    """The records of a part, from those of ``each`` of its regions."""
    source, program = stage.source, prepare(regions[0].stage, regions[0].part, None).program
    assert isinstance(source, Reduced)
    kept = tuple(n for k, n in enumerate(part.root.shape) if k not in stage.axes)
    words = program.sink.words
    whole = initial_records(program, math.prod(kept)).reshape(*kept, words)
    for region, records in zip(regions, each, strict=True):
        share = whole[region.kept]
        both = [share.reshape(records.shape), records]
        share[...] = merge(source.op, is_exact_sum(source), both).reshape(share.shape)
    return whole.reshape(math.prod(kept), words)
