"""NumPy's ufuncs of integers folded along lines, as they are defined: none of these can round."""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

# Options are numbers: the place of a name.
FOLDS: Final = (
    *("maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"),
    *("gcd", "lcm"),
)


def accumulated(x: Array, options: tuple[Any, ...]) -> Array:
    """Of each element and all before it in its line along the last axis."""
    results = getattr(np, FOLDS[options[0]]).accumulate(x, axis=-1)
    return np.asarray(results).astype(x.dtype, copy=False)


def reduced(x: Array, options: tuple[Any, ...]) -> Array:
    """Of each line along the last axis."""
    results = getattr(np, FOLDS[options[0]]).reduce(x, axis=-1, keepdims=True)
    return np.asarray(results).astype(x.dtype, copy=False)
