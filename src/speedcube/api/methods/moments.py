"""`Array`'s means and spreads, and what they are of the elements that a mask leaves."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...errors import ParameterError
from ...expr import reductions
from .keywords import axis_of, mask_of, masked, put
from .lazy import A, Lazy
from .reducing import as_dtype, float_result, reduced, total_dtype


def mean(
    self: A,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
) -> A:
    """The exact sum over the count, rounded once; float64 of integers.

    With ``where`` it is the exact sum rounded to float64, divided by the count.
    """
    name = float_result(self, "mean", dtype)
    if where is True:
        return put(out, reduced(self, "mean", axis, keepdims, name), "mean")
    average = _mean_where(self, axis_of(self, axis), keepdims, mask_of(self, where))
    return put(out, as_dtype(average, name), "mean")


def var(
    self: A,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> A:
    """The variance from the exact sums of x and x*x, rounded once.

    ``correction`` is the Array API's word for ``ddof``. With ``where`` or ``mean`` it is the exact
    sum of the squared deviations, which are rounded, over the count.
    """
    return put(
        out, spread("var", self, axis, dtype, ddof, keepdims, where, mean, correction), "var"
    )


def std(
    self: A,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: float = 0,
    keepdims: bool = False,
    *,
    where: Any = True,
    mean: Any = None,
    correction: float | None = None,
) -> A:
    """The square root of `var`."""
    return put(
        out, spread("std", self, axis, dtype, ddof, keepdims, where, mean, correction), "std"
    )


def _mean_where(array: A, axis: Any, keepdims: bool, mask: A) -> A:
    """The exact sum where ``mask`` holds, as a float64, over how many there are."""
    name = _sum_dtype(array)
    total = reduced(masked(array, mask, 0), "sum", axis, keepdims, name)
    count = reduced(mask, "sum", axis, keepdims, "int64")
    return total._elementwise("divide", total, count)


def _sum_dtype(array: Lazy) -> str:
    """What the mean of what a mask leaves is made of: integers are summed as such."""
    return "float64" if dtypes.is_float(array._expr.dtype) else total_dtype(array, None)


def spread(
    op: str,
    array: A,
    axis: Any,
    dtype: Any,
    ddof: float,
    keepdims: bool,
    where: Any,
    mean: Any,
    correction: float | None,
    nothing: float = 0.0,
) -> A:
    """The variance or its root; ``nothing`` is the divisor where no more than ``ddof`` count."""
    if correction is not None:
        if ddof != 0:
            raise ParameterError("ddof and correction are one thing: give one of them")
        ddof = correction
    name = float_result(array, op, dtype)
    if where is True and mean is None:
        return reduced(array, op, axis, keepdims, name, ddof)
    ddof, axis = reductions.checked_ddof(ddof), axis_of(array, axis)
    mask = mask_of(array, where)
    middle = _mean_where(array, axis, True, mask) if mean is None else mean
    apart = array._elementwise("subtract", as_dtype(array, "float64"), middle)
    if apart._expr.shape != array._expr.shape:
        raise ParameterError(
            f"mean= gives the array of shape {array._expr.shape} deviations of shape "
            f"{apart._expr.shape}; make it with keepdims=True"
        )
    squares = array._elementwise("square", masked(apart, where, 0.0))
    total = reduced(squares, "sum", axis, keepdims, "float64")
    count = reduced(mask, "sum", axis, keepdims, "int64")
    enough = count._elementwise("greater", count, ddof)
    over = count._elementwise("where", enough, count._elementwise("subtract", count, ddof), nothing)
    result = total._elementwise("divide", total, over)
    return as_dtype(result._elementwise("sqrt", result) if op == "std" else result, name)
