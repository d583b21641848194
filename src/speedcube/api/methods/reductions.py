"""`Array`'s reductions and running sums: methods, written as functions of a lazy array."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...errors import DTypeError
from ...expr import build, reductions
from ...expr.nodes import Expr
from ...interop import chunks as grids
from .lazy import A, Lazy


def sum(self: A, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> A:
    """The exact sum, rounded once to the result's dtype; integers and bool wrap in 64 bits.

    An exact zero is +0.0, that of negative zeros too, as from `math.fsum`. With an integer
    ``dtype`` floats are truncated to it before they are summed.
    """
    return _reduced(self, "sum", axis, keepdims, _total_dtype(self, dtype))


def prod(self: A, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> A:
    """The product, by a balanced tree: neighbours 2k and 2k + 1, then their products, ...

    Places count in C order over the axes. Floats are multiplied in float64 and rounded once to
    the result's dtype; integers and bool wrap in 64 bits. Integers are first cast to ``dtype``.
    """
    expr = reductions.product(self._expr, axis, keepdims, _total_dtype(self, dtype))
    return _without_axes(self, expr, axis, keepdims)


def cumsum(self: A, axis: Any = None, dtype: Any = None) -> A:
    """Running sums along ``axis`` (None: of all elements in C order).

    Each is the exact sum of the elements so far, rounded once to the result's dtype, as `sum`
    is; integers and bool wrap in 64 bits.
    """
    return running(self, "cumsum", axis, dtype)


def cumprod(self: A, axis: Any = None, dtype: Any = None) -> A:
    """Running products along ``axis`` (None: of all elements in C order).

    With t the greatest multiple of 1024 that is not above i, element i is ``x[:t].prod()``
    times ``x[t] * x[t + 1] * ... * x[i]`` multiplied from the left: in float64, rounded once
    to the result's dtype. Integers and bool wrap in 64 bits.
    """
    return running(self, "cumprod", axis, dtype)


def mean(self: A, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> A:
    """The exact sum over the count, rounded once; float64 of integers."""
    return _reduced(self, "mean", axis, keepdims, _float_result(self, "mean", dtype))


def var(self: A, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False) -> A:
    """The variance from the exact sums of x and x*x, rounded once."""
    return _reduced(self, "var", axis, keepdims, _float_result(self, "var", dtype), ddof)


def std(self: A, axis: Any = None, dtype: Any = None, ddof: float = 0, keepdims: bool = False) -> A:
    """The square root of `var`."""
    return _reduced(self, "std", axis, keepdims, _float_result(self, "std", dtype), ddof)


def min(self: A, axis: Any = None, keepdims: bool = False) -> A:
    """The least element; NaN if there is one; -0.0 is below 0.0."""
    return _reduced(self, "min", axis, keepdims, self._expr.dtype)


def max(self: A, axis: Any = None, keepdims: bool = False) -> A:
    """The greatest element; NaN if there is one."""
    return _reduced(self, "max", axis, keepdims, self._expr.dtype)


def any(self: A, axis: Any = None, keepdims: bool = False) -> A:
    """Whether any element is true; of nothing, False."""
    return _reduced(_truth(self), "any", axis, keepdims, "bool")


def all(self: A, axis: Any = None, keepdims: bool = False) -> A:
    """Whether every element is true; of nothing, True."""
    return _reduced(_truth(self), "all", axis, keepdims, "bool")


def argmin(self: A, axis: int | None = None, keepdims: bool = False) -> A:
    """The place of the first least element (of the first NaN, if there is one)."""
    return _reduced(self, "argmin", axis, keepdims, "int64")


def argmax(self: A, axis: int | None = None, keepdims: bool = False) -> A:
    """The place of the first greatest element (of the first NaN, if there is one)."""
    return _reduced(self, "argmax", axis, keepdims, "int64")


def running(array: A, op: str, axis: Any, dtype: Any, initial: bool = False) -> A:
    """Running sums or products of ``array``: `cumsum` and `cumprod`.

    With ``initial`` each line begins with the value of nothing.
    """
    expr = reductions.running(op, array._expr, axis, _total_dtype(array, dtype), initial)
    return array._view(expr, array._grid if expr.shape == array._expr.shape else None)


def _reduced(array: A, op: str, axis: Any, keepdims: bool, dtype: str, ddof: float = 0.0) -> A:
    expr = reductions.reduction(op, array._expr, axis, keepdims, dtype, ddof)
    return _without_axes(array, expr, axis, keepdims)


def _without_axes(array: A, expr: Expr, axis: Any, keepdims: bool) -> A:
    """``expr``, a reduction of ``array`` along ``axis``, with the grid that is left."""
    axes = build.normalise_axes(axis, len(array._expr.shape))
    return array._view(expr, grids.reduced(array._grid, axes, keepdims))


def _truth(array: A) -> A:
    return array._view(build.cast(array._expr, "bool"), array._grid)


def _total_dtype(array: Lazy, dtype: Any) -> str:
    """The dtype of sums and products: integers become int64 or uint64."""
    own = array._expr.dtype
    wide = {"b": "int64", "i": "int64", "u": "uint64"}.get(np.dtype(own).kind, own)
    return dtypes.check(dtype or wide)


def _float_result(array: Lazy, op: str, dtype: Any) -> str:
    """The dtype of a mean or a spread, which is one of floats."""
    if dtype is None:
        return array._expr.dtype if dtypes.is_float(array._expr.dtype) else "float64"
    name = dtypes.check(dtype)
    if not dtypes.is_float(name):
        raise DTypeError(
            f"{op} has no dtype {name}: its result is a fraction; it can be "
            f"{', '.join(dtypes.FLOATS)}; convert that, "
            f"for example speedcube.rint(x.{op}()).astype('{name}')"
        )
    return name
