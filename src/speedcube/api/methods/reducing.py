"""How a reduction of a lazy array is built: its expression, its dtype, the grid that is left."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...errors import DTypeError
from ...expr import build, reductions
from ...expr.nodes import Expr, Leaf, Reduced
from ...expr.routines.sums import of_product
from ...interop import chunks as grids
from .lazy import A, Lazy


def reduced(array: A, op: str, axis: Any, keepdims: bool, dtype: str, ddof: float = 0.0) -> A:
    expr = of_product(op, array._expr, axis, keepdims, dtype)
    if expr is None:
        expr = reductions.reduction(op, array._expr, axis, keepdims, dtype, ddof)
    source = expr.source if type(expr) is Leaf else None
    if type(source) is not Reduced:
        return without_axes(array, expr, axis, keepdims)
    return array._view(expr, grids.reduced(array._grid, source.axes, keepdims))


def without_axes(array: A, expr: Expr, axis: Any, keepdims: bool) -> A:
    """``expr``, a reduction of ``array`` along ``axis``, with the grid that is left."""
    axes = build.normalise_axes(axis, len(array._expr.shape))
    return array._view(expr, grids.reduced(array._grid, axes, keepdims))


def as_dtype(array: A, dtype: str) -> A:
    return array._view(build.cast(array._expr, dtype), array._grid)


def total_dtype(array: Lazy, dtype: Any) -> str:
    """The dtype of sums and products: integers become int64 or uint64."""
    if dtype is not None:
        return dtypes.check(dtype)
    own = array._expr.dtype
    return own if dtypes.is_inexact(own) else "uint64" if own in dtypes.UNSIGNED else "int64"


def is_whole(dtype: Any) -> bool:
    """Whether ``dtype`` is given, and one of integers or bool."""
    return dtype is not None and not dtypes.is_inexact(dtypes.check(dtype))


def float_result(array: Lazy, op: str, dtype: Any) -> str:
    """The dtype of a mean, one of floats or complex, or of a spread, one of floats."""
    own = array._expr.dtype
    if dtype is None:
        found = own if dtypes.is_inexact(own) else "float64"
        return found if op == "mean" else dtypes.PARTS.get(found, found)
    name = dtypes.check(dtype)
    if op != "mean":
        name = dtypes.PARTS.get(name, name)
    if not dtypes.is_inexact(name):
        raise DTypeError(
            f"{op} cannot have dtype {name}: its result is a fraction; it can be "
            f"{', '.join(dtypes.FLOATS)}; convert that, for example "
            f"speedcube.rint(x.{op}()).astype('{name}')"
        )
    return name
