"""Covariances and correlations of a few variables, by the kernels of exact sums."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import numpy as np

from ...expr.nodes import Leaf, Reduced, Stored, c_strides, whole
from ...expr.routines.covariances import covariances_of, finished, stacked
from ...plan.plan import Resources, make_plan
from ...plan.stages import Stage
from ..boxes import Stop
from ..finished.cpu import repaired, run_repaired
from ..finished.pairs import Pairs
from ..prepare import prepare_many

_SHAPES: Final = 64  # whose means have a stage that is remembered


def covariances(xp: Any, *taken: Any) -> Any:
    """Those of the rows of some arrays; where a sum is not certain, in the way that defines it."""
    rows = stacked(*taken[:-2])
    if not rows.flags.c_contiguous and not rows.flags.f_contiguous:
        rows = np.ascontiguousarray(rows)
    count = len(rows)
    side, products = (rows, _means(rows)), np.empty((count, count))
    pairs = Pairs(side, side, products.reshape(-1), 0)
    pairs.run(Stop())
    return covariances_of(xp, *taken) if pairs.failures else finished(products, *taken[-2:])


def _means(rows: Any) -> Any:
    """The mean of each row."""
    in_order = rows.flags.c_contiguous
    stage, source = _mean_stage(rows.shape, in_order)
    part, inputs = stage.parts[0], {id(source): rows if in_order else rows.T}
    prepared = prepare_many(stage, part)
    if prepared is not None:
        return run_repaired(stage, part, prepared, inputs, Stop())
    every = np.arange(len(rows))
    return repaired(stage, part, inputs, Stop(), np.empty(len(rows)), every)


@lru_cache(maxsize=_SHAPES)
def _mean_stage(shape: tuple[int, int], in_order: bool) -> tuple[Stage, Stored]:
    """What means of rows of that ``shape`` are, and what stands for these."""
    source = Stored(np.empty(0), "float64")
    strides = c_strides(shape) if in_order else (1, shape[0])
    means = Reduced("mean", Leaf(source, shape, 0, strides), (1,), False, "float64")
    plan = make_plan([whole(means, means.shape)], Resources("core", 1), "", 1)
    return plan.stages[0], source
