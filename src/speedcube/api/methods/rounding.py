"""`Array`'s `round` and `clip`."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from ... import dtypes
from ...errors import DTypeError, ParameterTypeError
from ...expr import build
from .keywords import put
from .lazy import A


def round(self: A, decimals: int = 0, out: Any = None) -> A:
    """To the nearest number of so many decimals, ties to even; below 0 in front of the point.

    As NumPy does: multiplied by a power of ten, rounded to a whole number, and divided by it.
    """
    try:
        places = operator.index(decimals)
    except TypeError as err:
        raise ParameterTypeError(f"decimals must be an integer, not {decimals!r}") from err
    dtype = self._expr.dtype
    if dtype == "bool":
        if places:
            raise DTypeError(f"round of bool takes decimals=0 only, not {places}")
        expr = build.cast(self._expr, "float16")
        return put(out, self._view(expr, self._grid), "round")
    if dtypes.is_integer(dtype) and places >= 0:
        return put(out, self._view(self._expr, self._grid), "round")
    if places == 0:
        return put(out, self._elementwise("rint", self), "round")
    to, back = ("multiply", "divide") if places > 0 else ("divide", "multiply")
    scale = 10.0 ** abs(places) if abs(places) < 309 else math.inf
    whole = self._elementwise("rint", self._elementwise(to, self, scale))
    near = self._elementwise(back, whole, scale)
    return put(out, near._view(build.cast(near._expr, dtype), near._grid), "round")


def clip(self: A, min: Any = None, max: Any = None, out: Any = None) -> A:
    """Elements held between ``min`` and ``max``.

    Python integers beyond what the dtype holds limit nothing on their side.
    """
    dtype = self._expr.dtype
    if dtypes.is_integer(dtype):
        limits = np.iinfo(dtype)
        min = None if type(min) is int and min <= limits.min else min
        max = None if type(max) is int and max >= limits.max else max
    same = self._view(self._expr, self._grid)  # another one, to be assigned to
    held = same if min is None else self._elementwise("maximum", self, min)
    held = held if max is None else self._elementwise("minimum", held, max)
    return put(out, held, "clip")
