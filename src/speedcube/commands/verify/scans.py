"""Products, and running sums and products, to verify: long enough for several tiles."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np

from ... import dtypes
from ...api.array import Array
from ...api.sources import asarray
from . import data
from .sources import Make, cancelling, rng, stored

_SIZES: Final[dict[str, Callable[[str], Any]]] = {
    "long": lambda dtype: _factors(dtype, (1500,)),
    "rows": lambda dtype: _factors(dtype, (30, 170)),
    "columns": lambda dtype: _factors(dtype, (170, 30)).T,
}


def _factors(dtype: str, shape: tuple[int, ...]) -> Any:
    """Numbers near one, whose products stay finite; odd integers, whose products are not 0."""
    if not dtypes.is_float(dtype):
        return stored(dtype, shape, 3) | 1
    half = {"float16": 15, "float32": 127, "float64": 1023}[dtype]
    return asarray(data.floats(dtype, half - 1, half, int(np.prod(shape)), 3).reshape(shape))


def scans() -> dict[str, Make]:
    """Every product and scan in its dtypes and sizes, and some of special elements."""
    plain: dict[str, Make] = {
        f"{op}-{dtype}-{size}": partial(_along_the_last, op, dtype, size)
        for op in ("prod", "cumsum", "cumprod")
        for dtype in (*dtypes.FLOATS, "int64")
        for size in _SIZES
    }
    return plain | {
        "cumsum-wild": lambda: asarray(data.wide("float64", 5000)).cumsum(),
        "cumsum-cancelling32": lambda: cancelling("float32", 2000).cumsum(),
        "cumsum-infinities": lambda: asarray(np.array([1.0, np.inf, -np.inf, 1.0])).cumsum(),
        "cumsum-shared": lambda: rng().normal(size=70_000).cumsum(),
        "prod-shared": lambda: rng().uniform(0.5, 1.5, 70_000).prod(),
        "cumprod-shared": lambda: rng().uniform(0.5, 1.5, (3, 30_000)).cumprod(axis=1),
    }


def _along_the_last(op: str, dtype: str, size: str) -> Array:
    result: Array = getattr(_SIZES[size](dtype), op)(axis=-1)
    return result
