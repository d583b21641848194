"""Reductions of complex arrays, made of those of their parts.

Sums, means and dot products are exact in each part and rounded once. Spreads are real: the sum of
the parts' variances.
"""

from __future__ import annotations

from typing import Any

from ... import dtypes
from .. import build, reductions
from ..nodes import Expr
from .apply import cast
from .node import pair, parts


def _both(op: str) -> Any:
    """``op`` of each part."""

    def each(arg: Expr, axis: Any, keepdims: bool, dtype: str, ddof: float = 0.0) -> Expr:
        if dtype not in dtypes.COMPLEX:
            return reductions.reduction(op, cast(arg, dtype), axis, keepdims, dtype, ddof)
        part = dtypes.PARTS[dtype]
        made = (reductions.reduction(op, one, axis, keepdims, part, ddof) for one in parts(arg))
        return pair(*made)

    return each


def _variance(arg: Expr, axis: Any, keepdims: bool, dtype: str, ddof: float = 0.0) -> Expr:
    """The mean square of the distance from the mean: the variances of the parts together."""
    part = dtypes.PARTS.get(dtype, dtype)
    re, im = (reductions.reduction("var", x, axis, keepdims, part, ddof) for x in parts(arg))
    return build.elementwise("add", [re, im])


def _deviation(arg: Expr, axis: Any, keepdims: bool, dtype: str, ddof: float = 0.0) -> Expr:
    """The root of the variance."""
    return build.elementwise("sqrt", [_variance(arg, axis, keepdims, dtype, ddof)])


def _running_sums(arg: Expr, axis: Any, dtype: str, initial: bool = False) -> Expr:
    if dtype not in dtypes.COMPLEX:
        return reductions.running("cumsum", cast(arg, dtype), axis, dtype, initial)
    part = dtypes.PARTS[dtype]
    made = (reductions.running("cumsum", x, axis, part, initial) for x in parts(cast(arg, dtype)))
    return pair(*made)


reductions.of_pairs.update(
    sum=_both("sum"),
    mean=_both("mean"),
    var=_variance,
    std=_deviation,
    cumsum=_running_sums,
)
