"""Covariances and correlations of a few variables, by the kernels of exact sums."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

import numpy as np

from ...dataclass import dataclass
from ...expr.nodes import Leaf, Map, Reduced, Stored, c_strides, whole
from ...expr.routines.covariances import finished, stacked
from ...plan.plan import Resources, make_plan
from ...plan.stages import Stage
from ..boxes import Stop
from ..finished.cpu import failed_places, repaired, run_finished
from ..finished.pairs import Pairs
from ..prepare import prepare_line, prepare_many

_SHAPES: Final = 64  # whose stages are remembered


def covariances(xp: Any, *taken: Any) -> Any:
    """Those of the rows of some arrays."""
    rows = stacked(*taken[:-2])
    if not rows.flags.c_contiguous and not rows.flags.f_contiguous:
        rows = np.ascontiguousarray(rows)
    stages = _stages(rows.shape, rows.flags.c_contiguous)
    inputs = {id(stages.rows): rows if rows.flags.c_contiguous else rows.T}
    means = _by_kernel(stages.means, inputs)
    side, products = (rows, means), np.empty((len(rows), len(rows)))
    pairs = Pairs(side, side, products.reshape(-1), 0)
    pairs.run(Stop())
    if pairs.failures:
        inputs[id(stages.middle)] = means
        products = _by_kernel(stages.products, inputs, products.reshape(-1)).reshape(products.shape)
    return finished(products, *taken[-2:])


@dataclass(frozen=True, eq=False)
class _Stages:
    """What makes means of rows, and products of deviations; what stands for both that they read."""

    rows: Stored
    middle: Stored
    means: Stage
    products: Stage


@lru_cache(maxsize=_SHAPES)
def _stages(shape: tuple[int, int], in_order: bool) -> _Stages:
    """Those of rows of that ``shape``, which lie in C order, or turned."""
    rows, middle = (Stored(np.empty(0), "float64") for _ in range(2))
    (count, columns), strides = shape, c_strides(shape) if in_order else (1, shape[0])
    means = Reduced("mean", Leaf(rows, shape, 0, strides), (1,), False, "float64")
    every = (count, count, columns)
    left, right = (
        Map("subtract", tuple(Leaf(*one) for one in both), every, "float64")
        for both in (
            ((rows, every, 0, (strides[0], 0, strides[1])), (middle, every, 0, (1, 0, 0))),
            ((rows, every, 0, (0, *strides)), (middle, every, 0, (0, 1, 0))),
        )
    )
    products = Reduced(
        "sum", Map("multiply", (left, right), every, "float64"), (2,), False, "float64"
    )
    return _Stages(rows, middle, _stage(means), _stage(products))


def _stage(source: Reduced) -> Stage:
    return make_plan([whole(source, source.shape)], Resources("core", 1), "", 1).stages[0]


def _by_kernel(stage: Stage, inputs: Mapping[int, Any], known: Any = None) -> Any:
    """The results of ``stage``, but for those that are ``known``."""
    part, results = stage.parts[0], known
    failed = None if known is None else failed_places(known, "float64", 1)
    if failed is None or len(failed) > len(known) // _MANY:
        prepared = prepare_many(stage, part) or prepare_line(stage, part)
        if prepared is None:
            results = np.empty(stage.shape).reshape(-1)
            failed = np.arange(len(results))
        else:
            results, failed = run_finished(prepared, inputs, Stop())
    return repaired(stage, part, inputs, Stop(), results, failed)


_MANY: Final = 16  # a result of so many is made by records; of more all are made in another way
