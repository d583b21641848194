"""Reductions and scans as users ask for them, checked, as nodes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np

from .. import dtypes
from ..errors import AxisTypeError, DTypeError, ParameterError, ParameterTypeError, ShapeError
from . import views
from .build import cast, check_axis, normalise_axes
from .nodes import Expr, Leaf, Map, Reduced, Scanned, c_strides, const, whole

# Reductions and running sums of complex arrays, by the names of the operations. `pairs.reductions`
# puts them in, which is made of those here.
of_pairs: Final[dict[str, Callable[..., Expr]]] = {}

# What is known without looking; a sum's is 0 of its own dtype.
_OF_NOTHING: Final = {"any": False, "all": True, "sum": 0, "dot": 0}
_EXTREME: Final = {"any": "max", "all": "min"}
_OF_SOMETHING: Final = ("min", "max", "nanmin", "nanmax", "argmin", "argmax")


def reduction(op: str, arg: Expr, axis: Any, keepdims: bool, dtype: str, ddof: float = 0.0) -> Expr:
    """``op`` of ``arg`` over ``axis``; any and all are the maximum and the minimum of bool."""
    how = _how(op, arg.dtype, dtype)
    if how is None:
        rule = _of_pairs(op)
        return rule(cast(arg, dtypes.promote(arg.dtype, "complex64")), axis, keepdims, dtype, ddof)
    of_nothing, (op, casts) = _OF_NOTHING.get(op), how
    if op.startswith("arg") and isinstance(axis, (tuple, list)):
        raise AxisTypeError(f"{op} takes one axis or None, not {axis}")
    axes = normalise_axes(axis, len(arg.shape))
    if ddof is None or ddof:
        ddof = checked_ddof(ddof)
    for name in casts:
        arg = cast(arg, name)
    source = Reduced(op, arg, axes, keepdims, dtype, ddof)
    if 0 in arg.shape and source.count == 0:
        if of_nothing is not None:
            return const(of_nothing, source.dtype, source.shape)
        if op in _OF_SOMETHING:
            raise ShapeError(
                f"{source.op} of no elements: axes {source.axes} of shape {arg.shape} are empty"
            )
    shape = source.shape
    return Leaf(source, shape, 0, c_strides(shape) if shape else ())


@lru_cache(maxsize=4096)
def _how(op: str, own: str, dtype: str) -> tuple[str, tuple[str, ...]] | None:
    """What makes ``op`` of elements of dtype ``own``, and to what these are cast, one by one.

    None of complex numbers.
    """
    if own in dtypes.COMPLEX or dtype in dtypes.COMPLEX:
        return None
    casts = []
    op = _EXTREME.get(op, op)
    if op == "sum" and dtype != own and dtypes.is_float(dtype):
        if dtypes.itemsize(dtype) > dtypes.itemsize(own):
            casts.append(dtype)
        elif not dtypes.is_float(own):
            casts.append("float64")
    last = casts[-1] if casts else own
    if op == "sum" and (dtype == "bool" or dtypes.is_float(last) > dtypes.is_float(dtype)):
        casts.append(dtype)  # as NumPy does: the elements first
    return op, tuple(casts)


def _of_pairs(op: str) -> Callable[..., Expr]:
    if op not in of_pairs:
        raise DTypeError(
            f"{op} takes real numbers, not complex ones: give it .real, .imag or abs(x)"
        )
    return of_pairs[op]


def checked_ddof(ddof: float) -> float:
    """``ddof``, or `ParameterError`."""
    number = isinstance(ddof, (int, float, np.number)) and not isinstance(ddof, bool)
    if not (number and 0 <= ddof < np.inf):
        kind = ParameterError if number else ParameterTypeError
        raise kind(f"ddof must be 0 or more, and finite, not {ddof!r}")
    return float(ddof)


def dot(product: Expr, axis: Any) -> Expr:
    """The sum over ``axis`` of a product as `elementwise` made it; of floats with no rounding."""
    if not dtypes.is_float(product.dtype):
        return reduction("sum", product, axis, False, product.dtype)
    return reduction("dot", product, axis, False, product.dtype)


def factors(product: Expr) -> tuple[Expr, Expr]:
    """The operands of the product that a dot sums, in its dtype."""
    assert isinstance(product, Map)
    assert product.op == "multiply"
    x, y = product.args
    return cast(x, product.dtype), cast(y, product.dtype)


def product(arg: Expr, axis: Any, keepdims: bool, dtype: str) -> Expr:
    """The product of ``arg`` over ``axis``: in float64, int64 or uint64, then given as ``dtype``.

    The reduced axes go last, so that their C order is the order of the product.
    """
    if arg.dtype in dtypes.COMPLEX or dtype in dtypes.COMPLEX:
        return _of_pairs("prod")(arg, axis, keepdims, dtype)
    axes = normalise_axes(axis, len(arg.shape))
    if not axes:  # of one factor each
        return cast(_widened(arg, dtype), dtype)
    kept = tuple(k for k in range(len(arg.shape)) if k not in axes)
    lines = views.transpose(_widened(arg, dtype), (*kept, *axes))
    last = tuple(range(len(kept), len(arg.shape)))
    source = Reduced("prod", lines, last, False, _wide(dtype))
    products = cast(whole(source, source.shape), dtype)
    if not keepdims:
        return products
    return views.index(
        products, tuple(None if k in axes else slice(None) for k in range(len(arg.shape)))
    )


def running(op: str, arg: Expr, axis: Any, dtype: str, initial: bool = False) -> Expr:
    """Running sums or products (``op``) along ``axis`` (None: of all elements, in C order)."""
    if arg.dtype in dtypes.COMPLEX or dtype in dtypes.COMPLEX:
        return _of_pairs(op)(arg, axis, dtype, initial)
    if not arg.shape:
        arg = views.index(arg, None)
    ndim = len(arg.shape)
    axes = tuple(range(ndim)) if axis is None else (check_axis(axis, ndim),)
    result_dtype = dtype if dtype in ("float32", "float64") else _wide(dtype)
    odd = op == "cumsum" and dtype == "float16"
    inner = ndim - 1 - axes[-1]
    source = Scanned(op, _widened(arg, dtype), len(axes), result_dtype, initial, odd, inner)
    return cast(whole(source, source.shape), dtype)


def _widened(arg: Expr, dtype: str) -> Expr:
    """The elements that make a result of ``dtype``: integers first wrap to it, as in NumPy."""
    return cast(arg if dtypes.is_float(dtype) else cast(arg, dtype), _wide(dtype))


def _wide(dtype: str) -> str:
    """What products and running sums that are given as ``dtype`` are computed in."""
    if dtypes.is_float(dtype):
        return "float64"
    return "uint64" if dtype == "uint64" else "int64"
