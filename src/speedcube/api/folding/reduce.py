"""``np.subtract.reduce(x)`` and others that are no reduction of the array's own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ... import dtypes
from ...errors import DTypeError, ParameterError
from ...expr import build
from ..array import Array, elementwise
from ..creation import full
from ..functions.floats import either
from ..joining import concatenate
from ..methods.keywords import axis_of, first_value, masked, put
from ..methods.numpy_protocol import array_ufunc, register
from .accumulate import after_first
from .in_order import reduced
from .lines import OF_BOOL, of_lines, one_axis, operand


def _difference(name: str, array: Array, axis: Any, keepdims: bool) -> Array:
    """The exact sum of the first element and the negatives of the others, rounded once."""
    if array.dtype == bool:
        raise DTypeError("subtract takes no bool: use logical_xor, or .astype('int64')")
    if not build.normalise_axes(axis, array.ndim):  # of no axis, or 0-d
        return array
    k = one_axis("subtract.reduce", axis, array.ndim)
    if not array.shape[k]:
        raise ParameterError(f"subtract.reduce of no elements has no value: axis {k} is empty")
    total = after_first(array, -array, k).sum(k, keepdims=keepdims)
    return total.astype(array.dtype)


def _odd(name: str, array: Array, axis: Any, keepdims: bool) -> Array:
    return elementwise("bitwise_and", array.astype(bool).sum(axis, keepdims=keepdims), 1).astype(
        bool
    )


def _of_integers(name: str, array: Array, axis: Any, keepdims: bool) -> Array:
    if not dtypes.is_integer(array._expr.dtype):
        raise DTypeError(f"{name} takes integers; got {array.dtype}")
    axes = build.normalise_axes(axis, array.ndim)
    kept = [k for k in range(array.ndim) if k not in axes]
    length = math.prod(array.shape[k] for k in axes)
    lines = array.transpose((*kept, *axes)).reshape(*(array.shape[k] for k in kept), length)
    if length:
        found = of_lines("reduce", name, lines, lines.ndim - 1)[..., 0]
    elif name == "lcm":
        raise ParameterError(f"{name}.reduce of no elements has no value: axes {axes} are empty")
    else:  # nothing changes 0, but for bitwise_and that which has all bits
        found = lines.sum(-1).astype(array.dtype)
        found = ~found if name == "bitwise_and" else found
    shape = tuple(1 if k in axes else n for k, n in enumerate(array.shape))
    return found.reshape(shape) if keepdims else found


def _of_logarithms(name: str, array: Array, axis: Any, keepdims: bool) -> Array:
    """The logarithm of a sum: shifted by the greatest, so that no power is too large."""
    exp, log = ("exp2", "log2") if name == "logaddexp2" else ("exp", "log")
    floats = _as_result(name, array)
    most = floats.max(axis, keepdims=True, initial=-math.inf)
    shift = either(elementwise("isfinite", most), most, 0.0)
    total = elementwise(exp, floats - shift).sum(axis, keepdims=True)
    return _kept(elementwise(log, total) + shift, axis, keepdims)


def _of_squares(name: str, array: Array, axis: Any, keepdims: bool) -> Array:
    """The root of a sum of squares: of parts of the greatest, so that no square is too large."""
    sizes = elementwise("absolute", _as_result(name, array))
    most = sizes.max(axis, keepdims=True, initial=0.0)
    scale = either(elementwise("isfinite", most) & (most > 0), most, 1.0)
    total = elementwise("square", sizes / scale).sum(axis, keepdims=True)
    endless = elementwise("isinf", sizes).any(axis, keepdims=True)  # even beside NaN
    return _kept(either(endless, math.inf, elementwise("sqrt", total) * scale), axis, keepdims)


def _as_result(name: str, array: Array) -> Array:
    kind = array.dtype
    return array.astype(getattr(np, name).resolve_dtypes((kind, kind, None))[-1])


def _kept(result: Array, axis: Any, keepdims: bool) -> Array:
    """``result``, whose folded axes are still there, with or without them."""
    return result if keepdims else result.squeeze(build.normalise_axes(axis, result.ndim))


REDUCED: Final[dict[str, Callable[[str, Array, Any, bool], Array]]] = {
    **dict.fromkeys(("bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm"), _of_integers),
    **dict.fromkeys(("logaddexp", "logaddexp2"), _of_logarithms),
    "hypot": _of_squares,
    "logical_xor": _odd,
    "subtract": _difference,
}


def reduce(
    ufunc: Any,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
) -> Array:
    """``ufunc.reduce(array, axis)``, lazy."""
    given = operand(array, dtype)
    axis = axis_of(given, axis)
    build.normalise_axes(axis, given.ndim)  # before the dtype, as NumPy has it
    name = ufunc.__name__
    if given.dtype == bool:
        name = OF_BOOL.get(name, name)
    if name in ("logical_and", "logical_or"):
        found = (given.all if name == "logical_and" else given.any)(axis, keepdims=keepdims)
    elif name in REDUCED:
        found = _with_keywords(ufunc, name, given, axis, keepdims, initial, where)
    else:
        found = reduced(ufunc, given, dtype, axis, keepdims, initial, where)
    return put(out, found, f"{name}.reduce")


def _with_keywords(
    ufunc: Any, name: str, array: Array, axis: Any, keepdims: bool, initial: Any, where: Any
) -> Array:
    """What is left out is what changes nothing, and ``initial`` comes before the others."""
    if where is not True:
        if initial is None and ufunc.identity is None:
            raise ParameterError(f"{name}.reduce has no identity: where= needs initial=")
        of_floats = name in ("hypot", "logaddexp", "logaddexp2")
        array = _as_result(name, array) if of_floats else array
        array = masked(array, where, _neutral(name, array))
    if initial is None:
        return REDUCED[name](name, array, axis, keepdims)
    if name == "subtract":
        return _difference_from(initial, array, axis, keepdims)
    if name == "lcm" and not array.size:
        found = array.max(axis, keepdims=keepdims, initial=1)
    else:
        found = REDUCED[name](name, array, axis, keepdims)
    first = full((), first_value(initial, found._expr.dtype), found._expr.dtype)
    made: Array = array_ufunc(first, ufunc, "__call__", first, found)
    return made


def _neutral(name: str, array: Array) -> float:
    """What changes nothing where it is folded, after the first."""
    if name == "bitwise_and":
        return int(np.iinfo(array.dtype).max) if array.dtype.kind == "u" else -1
    return {"lcm": 1, "logaddexp": -math.inf, "logaddexp2": -math.inf}.get(name, 0)


def _difference_from(initial: Any, array: Array, axis: Any, keepdims: bool) -> Array:
    """``initial`` is the first entry, and all of the array's come after it."""
    if build.normalise_axes(axis, array.ndim):
        k = one_axis("subtract.reduce", axis, array.ndim)
    else:  # of no axis: from each element by itself
        k, array, keepdims = 0, array.reshape((1, *array.shape)), False
    shape = tuple(1 if place == k else n for place, n in enumerate(array.shape))
    first = full(shape, first_value(initial, array._expr.dtype), array._expr.dtype)
    return _difference("subtract", concatenate((first, array), k), k, keepdims)


register({"reduce": reduce})
