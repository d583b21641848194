"""Ufuncs of integers along lines, and what ufuncs are when bools are folded."""

from __future__ import annotations

from typing import Any, Final

from ...errors import AxisTypeError, ParameterTypeError
from ...expr import build
from ...expr.nodes import Through, whole
from ...expr.through.ufuncs import FOLDS
from ..array import Array, array_of

# What is folded as another ufunc of bools does it.
OF_BOOL: Final = {
    "bitwise_and": "logical_and",
    "bitwise_or": "logical_or",
    "bitwise_xor": "logical_xor",
    "maximum": "logical_or",
    "minimum": "logical_and",
    "fmax": "logical_or",
    "fmin": "logical_and",
    "multiply": "logical_and",
}


def of_lines(op: str, name: str, array: Array, axis: int) -> Array:
    """``op`` ("accumulate", "reduce") of the ufunc ``name``, of integers along ``axis``, kept."""
    if not array.size:
        return array
    order = (*(k for k in range(array.ndim) if k != axis), axis)
    lines = array.transpose(order)
    shape = (*lines.shape[:-1], lines.shape[-1] if op == "accumulate" else 1)
    options = (FOLDS.index(name),)
    expr = whole(Through(op, lines._expr, shape, lines._expr.dtype, options), shape)
    made = Array(expr, gpu=lines._gpu)
    return made.transpose(tuple(order.index(k) for k in range(array.ndim)))


def operand(array: Any, dtype: Any) -> Array:
    """The array that is folded, as ``dtype`` where it is given."""
    given = array_of(array)
    return given if dtype is None else given.astype(dtype)


def one_axis(method: str, axis: Any, ndim: int) -> int:
    """The axis of what has an order."""
    if not ndim:
        raise AxisTypeError(f"{method} needs an axis, and a 0-d array has none")
    if isinstance(axis, tuple) and len(axis) == 1:
        (axis,) = axis
    if axis is None and ndim == 1:
        return 0
    if axis is None or isinstance(axis, tuple):
        raise ParameterTypeError(f"{method} runs along one axis, not {axis}: name it with axis=")
    return build.check_axis(axis, ndim)
