"""`Array`'s means and spreads, and what they are of the elements that a mask leaves."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...errors import DTypeError, ParameterError
from ...expr import reductions
from ...expr.pairs.node import is_pair, parts
from .keywords import axis_of, mask_of, masked, put
from .lazy import A, Lazy
from .reducing import as_dtype, float_result, is_whole, reduced, total_dtype


def mean(
    self: A,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
    split_every: Any = None,
) -> A:
    """The exact sum over the count, rounded once; float64 of integers.

    With an integer ``dtype`` elements are truncated to it before they are summed, and the quotient.
    With ``where`` it is the exact sum rounded to float64, divided by the count; integers of 64
    bits are rounded to float64 before.
    """
    if is_whole(dtype):
        return put(out, _whole_mean(self, axis, dtypes.check(dtype), keepdims, where), "mean")
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
    split_every: Any = None,
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
    split_every: Any = None,
) -> A:
    """The square root of `var`."""
    return put(
        out, spread("std", self, axis, dtype, ddof, keepdims, where, mean, correction), "std"
    )


def _whole_mean(array: A, axis: Any, name: str, keepdims: bool, where: Any) -> A:
    """The quotient of a sum of that dtype, to which elements are cast first, without its fraction.

    Of bool it is whether any is true.
    """
    axis = axis_of(array, axis)
    counted = mask_of(array, where)
    elements = as_dtype(masked(array, where, 0), name)
    if name == "bool":
        return reduced(elements, "any", axis, keepdims, name)
    total = as_dtype(reduced(elements, "sum", axis, keepdims, total_dtype(elements, None)), name)
    count = reduced(counted, "sum", axis, keepdims, "int64")
    return as_dtype(total._elementwise("divide", total, count), name)


def _whole_spread(
    op: str, array: A, axis: Any, name: str, ddof: float, keepdims: bool, where: Any, mean: Any
) -> A:
    """The same of squared deviations from that mean; their root is taken of one number only."""
    middle = _whole_mean(array, axis, name, True, where) if mean is None else mean
    apart = array._elementwise("subtract", array, middle)
    squares = as_dtype(masked(apart._elementwise("multiply", apart, apart), where, 0), name)
    axis = axis_of(array, axis)
    total = as_dtype(reduced(squares, "sum", axis, keepdims, total_dtype(squares, None)), name)
    if op == "std" and total._expr.shape:
        raise DTypeError(
            f"std cannot have dtype {name} along axes: roots are fractions; leave "
            f"dtype= out, and convert with .astype('{name}')"
        )
    count = reduced(mask_of(array, where), "sum", axis, keepdims, "int64")
    over = count._elementwise("maximum", count._elementwise("subtract", count, ddof), 0)
    result = as_dtype(total._elementwise("divide", total, over), name)
    return as_dtype(result._elementwise("sqrt", result), name) if op == "std" else result


def _mean_where(array: A, axis: Any, keepdims: bool, mask: A) -> A:
    """The exact sum where ``mask`` holds, as a float64, over how many there are."""
    name = _sum_dtype(array)
    total = reduced(masked(array, mask, 0), "sum", axis, keepdims, name)
    count = reduced(mask, "sum", axis, keepdims, "int64")
    return total._elementwise("divide", total, count)


def _sum_dtype(array: Lazy) -> str:
    """What the mean of what a mask leaves is made of: integers are summed as such.

    Those of 64 bits are not, whose sums wrap: six times in nanoseconds are beyond them.
    """
    own = array._expr.dtype
    if own in dtypes.COMPLEX:
        return "complex128"
    wraps = own in ("int64", "uint64")
    return "float64" if wraps or dtypes.is_float(own) else total_dtype(array, None)


def _squares(array: A) -> A:
    """The squares of sizes: of complex numbers, of both parts together."""
    if not is_pair(array._expr):
        return array._elementwise("square", array)
    both = (array._view(part, array._grid) for part in parts(array._expr))
    re, im = (part._elementwise("square", part) for part in both)
    return re._elementwise("add", re, im)


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
            raise ParameterError("ddof and correction mean the same: give only one")
        ddof = correction
    if is_whole(dtype):
        name = dtypes.check(dtype)
        return _whole_spread(op, array, axis, name, ddof, keepdims, where, mean)
    if dtype is not None and (kind := dtypes.check(dtype)) in dtypes.COMPLEX:
        told = (axis, dtypes.PARTS[kind], ddof, keepdims, where, mean, None, nothing)
        return as_dtype(spread(op, array, *told), kind)  # spreads are real
    name = float_result(array, op, dtype)
    if where is True and mean is None:
        return reduced(array, op, axis, keepdims, name, ddof)
    ddof, axis = reductions.checked_ddof(ddof), axis_of(array, axis)
    mask = mask_of(array, where)
    middle = _mean_where(array, axis, True, mask) if mean is None else mean
    wide = "complex128" if array._expr.dtype in dtypes.COMPLEX else "float64"
    apart = array._elementwise("subtract", as_dtype(array, wide), middle)
    if apart._expr.shape != array._expr.shape:
        raise ParameterError(
            f"mean= does not fit: the array has shape {array._expr.shape}, and its "
            f"deviations would have {apart._expr.shape}; make the mean with "
            "keepdims=True"
        )
    squares = _squares(masked(apart, where, 0.0))
    total = reduced(squares, "sum", axis, keepdims, "float64")
    count = reduced(mask, "sum", axis, keepdims, "int64")
    enough = count._elementwise("greater", count, ddof)
    over = count._elementwise("where", enough, count._elementwise("subtract", count, ddof), nothing)
    result = total._elementwise("divide", total, over)
    return as_dtype(result._elementwise("sqrt", result) if op == "std" else result, name)
