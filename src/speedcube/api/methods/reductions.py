"""`Array`'s reductions and running sums: methods, written as functions of a lazy array."""

from __future__ import annotations

import math
from typing import Any

from ...errors import ParameterError
from ...expr import build, reductions
from ...expr.nodes import const
from .keywords import axis_of, first_value, masked, put
from .lazy import A
from .reducing import as_dtype, reduced, total_dtype, without_axes


def sum(
    self: A,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
    *,
    split_every: Any = None,
) -> A:
    """The exact sum, rounded once to the result's dtype; integers and bool wrap in 64 bits.

    An exact zero is +0.0, that of negative zeros too, as from `math.fsum`. With an integer
    ``dtype`` floats are truncated to it before they are summed. ``initial`` is added to it.
    """
    name = total_dtype(self, dtype)
    elements = self if where is True else masked(self, where, 0)
    total = reduced(elements, "sum", axis_of(self, axis), keepdims, name)
    if initial is None and out is None:  # as nearly always
        return total
    return put(out, _begun(total, "add", initial), "sum")


def prod(
    self: A,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
    *,
    split_every: Any = None,
) -> A:
    """The product, by a balanced tree: neighbours 2k and 2k + 1, then their products, ...

    Places count in C order over the axes. Floats are multiplied in float64 and rounded once to
    the result's dtype; integers and bool wrap in 64 bits. Integers are first cast to ``dtype``.
    What ``where`` leaves out is 1; ``initial`` is a last factor.
    """
    axis = axis_of(self, axis)
    elements = masked(self, where, 1)
    expr = reductions.product(elements._expr, axis, keepdims, total_dtype(self, dtype))
    product = without_axes(self, expr, axis, keepdims)
    return put(out, _begun(product, "multiply", initial), "prod")


def cumsum(
    self: A,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    *,
    method: Any = None,
) -> A:
    """Running sums along ``axis`` (None: of all elements in C order).

    Each is the exact sum of the elements so far, rounded once to the result's dtype, as `sum`
    is; integers and bool wrap in 64 bits.
    """
    return put(out, running(self, "cumsum", axis, dtype), "cumsum")


def cumprod(
    self: A,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    *,
    method: Any = None,
) -> A:
    """Running products along ``axis`` (None: of all elements in C order).

    With t the greatest multiple of 1024 that is not above i, element i is ``x[:t].prod()``
    times ``x[t] * x[t + 1] * ... * x[i]`` multiplied from the left: in float64, rounded once
    to the result's dtype. Integers and bool wrap in 64 bits.
    """
    return put(out, running(self, "cumprod", axis, dtype), "cumprod")


def min(
    self: A,
    axis: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
    *,
    split_every: Any = None,
) -> A:
    """The least element; NaN if there is one; -0.0 is below 0.0.

    ``where`` needs ``initial``, which is the result where nothing is left and nothing is less.
    """
    return put(out, _extreme(self, "min", "minimum", axis, keepdims, initial, where), "min")


def max(
    self: A,
    axis: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = True,
    *,
    split_every: Any = None,
) -> A:
    """The greatest element; NaN if there is one.

    ``where`` needs ``initial``, which is the result where nothing is left and nothing is greater.
    """
    return put(out, _extreme(self, "max", "maximum", axis, keepdims, initial, where), "max")


def any(
    self: A,
    axis: Any = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
    split_every: Any = None,
) -> A:
    """Whether any element is true; of nothing, False."""
    elements = masked(_truth(self), where, False)
    return put(out, reduced(elements, "any", axis_of(self, axis), keepdims, "bool"), "any")


def all(
    self: A,
    axis: Any = None,
    out: Any = None,
    keepdims: bool = False,
    *,
    where: Any = True,
    split_every: Any = None,
) -> A:
    """Whether every element is true; of nothing, True."""
    elements = masked(_truth(self), where, True)
    return put(out, reduced(elements, "all", axis_of(self, axis), keepdims, "bool"), "all")


def argmin(
    self: A,
    axis: int | None = None,
    out: Any = None,
    *,
    keepdims: bool = False,
    split_every: Any = None,
) -> A:
    """The place of the first least element (of the first NaN, if there is one)."""
    return put(out, reduced(self, "argmin", axis_of(self, axis), keepdims, "int64"), "argmin")


def argmax(
    self: A,
    axis: int | None = None,
    out: Any = None,
    *,
    keepdims: bool = False,
    split_every: Any = None,
) -> A:
    """The place of the first greatest element (of the first NaN, if there is one)."""
    return put(out, reduced(self, "argmax", axis_of(self, axis), keepdims, "int64"), "argmax")


def running(array: A, op: str, axis: Any, dtype: Any, initial: bool = False) -> A:
    """Running sums or products of ``array``: `cumsum` and `cumprod`.

    With ``initial`` each line begins with the value of nothing.
    """
    expr = reductions.running(op, array._expr, axis, total_dtype(array, dtype), initial)
    return array._view(expr, array._grid if expr.shape == array._expr.shape else None)


def _extreme(
    array: A, op: str, pairwise: str, axis: Any, keepdims: bool, initial: Any, where: Any
) -> A:
    axis = axis_of(array, axis)
    name = array._expr.dtype
    if initial is None:
        if where is not True:
            raise ParameterError(
                f"{op} with where= needs initial=, its value where no element is chosen"
            )
        return reduced(array, op, axis, keepdims, name)
    first = first_value(initial, name)
    axes = build.normalise_axes(axis, len(array._expr.shape))
    if math.prod(array._expr.shape[k] for k in axes):
        extreme = reduced(masked(array, where, first), op, axis, keepdims, name)
        return extreme._elementwise(pairwise, extreme, first)
    if name.startswith("complex"):  # constants are real
        return _begun(reduced(array, "sum", axis, keepdims, name), "add", first)
    nothing = reduced(_truth(array), "any", axis, keepdims, "bool")
    return nothing._view(const(first, name, nothing._expr.shape), nothing._grid)


def _begun(total: A, op: str, initial: Any) -> A:
    """``total`` with ``initial`` added or multiplied."""
    if initial is None:
        return total
    return total._elementwise(op, total, first_value(initial, total._expr.dtype))


def _truth(array: A) -> A:
    return as_dtype(array, "bool")
