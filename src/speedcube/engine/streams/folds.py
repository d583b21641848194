"""Results of blocks as those of all elements.

Of extremes NaN comes before all numbers, and -0 below +0. Sums of integers wrap around.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ... import dtypes
from ...plan.stages import Stage

Array: TypeAlias = NDArray[Any]


def least(a: Array, b: Array) -> Array:
    """The lesser of each two."""
    found = np.minimum(a, b)
    if found.dtype.kind == "f":
        negative = (found == 0) & (np.signbit(a) | np.signbit(b))
        found[negative] = -0.0
    return np.asarray(found)


def greatest(a: Array, b: Array) -> Array:
    """The greater of each two."""
    found = np.maximum(a, b)
    if found.dtype.kind == "f":
        positive = (a == 0) & ~np.signbit(a) | (b == 0) & ~np.signbit(b)
        found[(found == 0) & positive] = 0.0
    return np.asarray(found)


def _of_known(both: Fold) -> Fold:
    """The same of what is no NaN."""

    def fold(a: Array, b: Array) -> Array:
        return np.where(np.isnan(a), b, np.where(np.isnan(b), a, both(a, b)))

    return fold


Fold: TypeAlias = Callable[[Array, Array], Array]
FOLDS: Final[dict[str, Fold]] = {
    "min": least,
    "max": greatest,
    "nanmin": _of_known(least),
    "nanmax": _of_known(greatest),
    "sum": np.add,  # of integers
}


def folds(stage: Stage) -> bool:
    """Whether results of ``stage`` are folded: sums of floats have exact ones."""
    return stage.op in FOLDS and (stage.op != "sum" or dtypes.is_integer(stage.dtype))
