"""How a reduction of a lazy array is built: its expression, its dtype, the grid that is left."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...errors import DTypeError
from ...expr import build, reductions
from ...expr.nodes import Expr
from ...interop import chunks as grids
from .lazy import A, Lazy


def reduced(array: A, op: str, axis: Any, keepdims: bool, dtype: str, ddof: float = 0.0) -> A:
    expr = reductions.reduction(op, array._expr, axis, keepdims, dtype, ddof)
    return without_axes(array, expr, axis, keepdims)


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
    return own if dtypes.is_float(own) else "uint64" if own in dtypes.UNSIGNED else "int64"


def float_result(array: Lazy, op: str, dtype: Any) -> str:
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
