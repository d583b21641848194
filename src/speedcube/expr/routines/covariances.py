"""Covariances and correlations of a few variables: one row, of exact sums.

Means are exact sums over the count, rounded once; so are sums of the products of deviations from
them, each of which is rounded. The same bits as by an operation for each step, without a node for
each. What is written here says what it is; `engine/routines/covariances.py` makes it by kernels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ..nodes import Shape
from .row import Routine

COVARIANCES: Final = "covariances"
_FINEST: Final = 1074  # doubles are multiples of 2**-1074


def covariances_of(xp: Any, *taken: Any) -> Any:
    """Those of the rows of some arrays; ``taken`` ends with what `finished` takes."""
    rows = stacked(*taken[:-2])
    means = [exact_sum(row, len(row)) for row in rows]
    with np.errstate(all="ignore"):
        apart = rows - np.array(means)[:, None]
        products = [[exact_sum(one * other) for other in apart] for one in apart]
    return finished(np.array(products), *taken[-2:])


def stacked(*arrays: Any) -> Any:
    """The rows of all ``arrays``, where they lie if they are one's."""
    rows = [one.reshape(1, -1) if one.ndim < 2 else one for one in arrays]
    return rows[0] if len(rows) == 1 else np.concatenate(rows)


def exact_sum(values: Any, divisor: int = 1) -> float:
    """The exact sum of ``values`` over the ``divisor``, rounded once."""
    finite = np.isfinite(values)
    if not finite.all():
        with np.errstate(invalid="ignore"):
            return float(values[~finite].sum())
    ratios = (value.as_integer_ratio() for value in values.tolist())
    total: int = sum((above << _FINEST) // below for above, below in ratios)
    try:
        return total / (divisor << _FINEST)  # of integers it is rounded once
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def finished(products: Any, divisor: float, correlations: bool) -> Any:
    """Covariances of sums of ``products``, in their place; or ``correlations``, held in -1 .. 1.

    With NumPy's NaN.
    """
    with np.errstate(all="ignore"):
        made = np.divide(products, divisor, out=products)
        if correlations and len(made) == 1:
            made /= made
        elif correlations:
            spread = np.sqrt(made.diagonal())
            made /= spread[:, None]
            made /= spread
            np.clip(made, -1.0, 1.0, out=made)
    made[np.isnan(made)] = math.nan
    return made


def _flops(shapes: Sequence[Shape], results: Sequence[Shape]) -> float:
    return 6.0 * math.prod(results[0]) * shapes[0][-1]


ROWS: Final = (
    Routine(
        COVARIANCES,
        "",
        covariances_of,
        0.0,
        scratch=16,
        how="exact sums of rounded products, each rounded once: the same everywhere",
        on_gpu=False,
        flops=_flops,
    ),
)
