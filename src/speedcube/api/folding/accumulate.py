"""``np.maximum.accumulate(x)`` and others: a ufunc of each element and all before it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ... import dtypes
from ...errors import DTypeError
from ..array import Array, elementwise
from ..functions.floats import bits_as, either, is_of_floats
from ..methods.keywords import put
from ..methods.numpy_protocol import register
from ..namespace.ranges import arange
from .in_order import accumulated
from .lines import OF_BOOL, of_lines, one_axis, operand

_WORD: Final = {"float16": "int16", "float32": "int32", "float64": "int64"}


def _turned(bits: Array) -> Array:
    """From the bits of floats to integers that order like them, and back."""
    return either(bits < 0, elementwise("bitwise_xor", bits, int(np.iinfo(bits.dtype).max)), bits)


def _running_extreme(name: str, array: Array, axis: int) -> Array:
    """Floats as integers that order like them: NaN comes first, for `fmax` and `fmin` last."""
    plain = {"fmax": "maximum", "fmin": "minimum"}.get(name, name)
    if array.dtype.kind == "c":
        raise DTypeError(f"{name}.accumulate takes no complex elements; compute the array first")
    if not is_of_floats(array):
        return of_lines("accumulate", plain, array, axis)
    dtype = array._expr.dtype
    ends = np.iinfo(_WORD[dtype])
    least, most = int(ends.min), int(ends.max)
    nan = most if (name in ("maximum", "fmin")) else least
    keys = either(elementwise("isnan", array), nan, _turned(bits_as(array, _WORD[dtype])))
    found = of_lines("accumulate", plain, keys, axis)
    return either(found == nan, math.nan, bits_as(_turned(found), dtype))


def _running_truth(name: str, array: Array, axis: int) -> Array:
    truth = array.astype(bool)
    if name == "logical_xor":
        return elementwise("bitwise_and", truth.cumsum(axis), 1).astype(bool)
    plain = "minimum" if name == "logical_and" else "maximum"
    return of_lines("accumulate", plain, truth.astype("uint8"), axis).astype(bool)


def _running_difference(name: str, array: Array, axis: int) -> Array:
    """The exact sum of the first element and the negatives of the others, rounded once."""
    if array.dtype == bool:
        raise DTypeError("subtract takes no bool: use logical_xor, or .astype('int64')")
    signed = after_first(array, -array, axis)
    return signed.cumsum(axis).astype(array.dtype)


def after_first(first: Array, others: Array, axis: int) -> Array:
    """Of each line the first element of ``first``, then what ``others`` have."""
    shape = tuple(-1 if k == axis else 1 for k in range(first.ndim))
    place = arange(first.shape[axis]).reshape(shape)
    return either(place == 0, first, others)


def _of_integers(name: str, array: Array, axis: int) -> Array:
    if not dtypes.is_integer(array._expr.dtype):
        raise DTypeError(f"{name} takes integers; got {array.dtype}")
    return of_lines("accumulate", name, array, axis)


_SUMS: Final[dict[str, Callable[[Array, int], Array]]] = {
    "add": lambda array, axis: array.cumsum(axis),
    "multiply": lambda array, axis: array.cumprod(axis),
}
ACCUMULATED: Final[dict[str, Callable[[str, Array, int], Array]]] = {
    **dict.fromkeys(("add", "multiply"), lambda name, array, axis: _SUMS[name](array, axis)),
    **dict.fromkeys(("maximum", "minimum", "fmax", "fmin"), _running_extreme),
    **dict.fromkeys(("logical_and", "logical_or", "logical_xor"), _running_truth),
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm"), _of_integers),
    "subtract": _running_difference,
}


def accumulate(ufunc: Any, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Array:
    """``ufunc.accumulate(array, axis)``, lazy."""
    given = operand(array, dtype)
    k = one_axis("accumulate", axis, given.ndim)
    name = ufunc.__name__
    if given.dtype == bool:
        name = OF_BOOL.get(name, name) if name != "multiply" else name
    if name in ACCUMULATED:
        found = ACCUMULATED[name](name, given, k)
    else:
        found = accumulated(ufunc, given, dtype, k)
    return put(out, found, f"{name}.accumulate")


register({"accumulate": accumulate})
