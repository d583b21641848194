"""Sums of a product of matrices, without the product: ``(a @ b).sum()``, ``trace(a @ b)``.

The sum of all elements is the dot product of the columns' sums of ``a`` and the rows' sums of
``b``; along an axis it is a row of dot products; of a diagonal, the sum of ``a * b.T`` along it.
Those are exact sums, so what is left has the laws: each sum is rounded once (of float32 in
float64), and so is the dot product of them. It overflows only where such a sum does.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

from .. import build, reductions, views
from ..nodes import Expr, Leaf, Through, is_whole
from .row import View, call_of

# Routines, and the dtypes in which a sum of the product wraps as the product does.
_EXACT: Final = {
    "matmul": ("float32", "float64"),
    "matmul_integers": ("int64", "uint64"),
}


class _Factors(NamedTuple):
    """``a`` and ``b``, of two axes, and which axes of the product there are."""

    a: Expr
    b: Expr
    axes: tuple[int, ...]


def of_product(op: str, arg: Expr, axis: Any, keepdims: bool, dtype: str) -> Expr | None:
    """``op``, a "sum" or "mean", of ``arg`` over ``axis``; None where it is of no product."""
    if op not in ("sum", "mean") or type(arg) is not Leaf or type(arg.source) is not Through:
        return None
    if dtype != arg.dtype or not math.prod(arg.shape):
        return None
    axes = build.normalise_axes(axis, len(arg.shape))
    total = _total(arg, arg.source, axes)
    if total is None:
        return None
    total = build.cast(total, dtype)
    if op == "mean":
        count = math.prod(arg.shape[k] for k in axes)
        total = build.cast(build.elementwise("divide", (total, float(count))), dtype)
    if not keepdims:
        return total
    shape = tuple(1 if k in axes else n for k, n in enumerate(arg.shape))
    return views.reshape(total, shape)


def _total(leaf: Leaf, source: Through, axes: tuple[int, ...]) -> Expr | None:
    factors = _factors(source)
    if factors is None or not axes:
        return None
    a, b, kept = factors
    if is_whole(leaf) and leaf.shape == source.shape:
        summed = {kept[k] for k in axes}
        rows = _sum(a, 0) if 0 in summed or 0 not in kept else a
        columns = _sum(b, 1) if 1 in summed or 1 not in kept else b
        return _dots(rows, columns)
    if len(leaf.shape) == 1 and len(source.shape) == 2:
        return _trace(leaf, source, a, b)
    return None


def _factors(source: Through) -> _Factors | None:
    """The factors of a product of two matrices, or of one and a vector; None of others."""
    if source.dtype not in _EXACT.get(source.op, ()):
        return None
    views_of = call_of(source).views
    a, b = (_as_seen(arg, view) for arg, view in zip(source.args, views_of, strict=True))
    if max(len(a.shape), len(b.shape)) > 2 or 0 in a.shape:
        return None
    kept = tuple(k for k, one in enumerate((a, b)) if len(one.shape) == 2)
    if len(a.shape) == 1:
        a = views.index(a, (None,))
    if len(b.shape) == 1:
        b = views.index(b, (slice(None), None))
    wide = "float64" if source.dtype == "float32" else source.dtype
    return _Factors(build.cast(a, wide), build.cast(b, wide), kept)


def _as_seen(arg: Expr, view: View | None) -> Expr:
    return arg if view is None else Leaf(arg, view.shape, view.offset, view.strides)


def _sum(matrix: Expr, axis: int) -> Expr:
    """The sums along ``axis``, which goes; of one row or column itself."""
    if matrix.shape[axis] == 1:
        return views.index(matrix, (slice(None),) * axis + (0,))
    return reductions.reduction("sum", matrix, axis, False, matrix.dtype)


def _dots(a: Expr, b: Expr) -> Expr | None:
    """Dot products of the rows of ``a``, or of ``a``, with the columns of ``b``, or with ``b``."""
    if len(a.shape) == len(b.shape) == 2:
        return None
    if len(b.shape) == 2:
        return reductions.dot(_product(views.index(a, (slice(None), None)), b), 0)
    return reductions.dot(_product(a, b), -1)


def _product(a: Expr, b: Expr) -> Expr:
    return build.elementwise("multiply", (a, b))


def _trace(leaf: Leaf, source: Through, a: Expr, b: Expr) -> Expr | None:
    """The sum of a diagonal of the product."""
    rows, columns = source.shape
    row, column = divmod(leaf.offset, columns)
    count = leaf.shape[0]
    if leaf.strides[0] != columns + 1 or row + count > rows or column + count > columns:
        return None
    lines = views.index(a, slice(row, row + count))
    others = views.transpose(views.index(b, (slice(None), slice(column, column + count))), (1, 0))
    return reductions.dot(_product(lines, others), None)
