"""Building expressions: what users ask for, checked, as nodes."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from .. import dtypes
from ..errors import AxisError, DTypeError, ParameterError, ShapeError
from ..ops import OPS
from . import views
from .nodes import Expr, Leaf, Map, Reduced, Shape, c_strides, const, countable

Scalar: TypeAlias = bool | int | float
_ACCEPTS = {
    "bits": (*dtypes.INTEGERS, "bool"),
    "integer": dtypes.INTEGERS,
    "same": (*dtypes.INTEGERS, *dtypes.FLOATS),
}


def elementwise(op: str, args: Sequence[Expr | Scalar]) -> Expr:
    """``op`` over expressions and Python scalars, broadcast and promoted as NumPy does."""
    row = OPS[op]
    typed = args[1:] if row.rule == "select" else args
    operands = [a if isinstance(a, (bool, int, float)) else a.dtype for a in typed]
    common = dtypes.promote(*operands)
    whole = [int(a) for a in typed if isinstance(a, int) and not isinstance(a, bool)]
    common = _room_for(op, common, whole)
    accepted = _ACCEPTS.get(row.rule)
    if accepted and common not in accepted:
        raise DTypeError(f"{op} takes {', '.join(accepted)}; got {common}")
    if row.rule == "float" and not dtypes.is_float(common):
        common = "float64"
    shape = views.broadcast_shapes(*(a.shape for a in args if isinstance(a, (Leaf, Map))))
    made: list[Expr] = []
    for k, arg in enumerate(args):
        if isinstance(arg, (bool, int, float)):
            weak = "bool" if row.rule == "select" and k == 0 else common
            made.append(_scalar(arg, weak, shape))
        else:
            made.append(views.broadcast_to(arg, shape))
    dtype = "bool" if row.rule in ("compare", "logical", "test") else common
    return Map(op, tuple(made), shape, dtype)


def _room_for(op: str, common: str, scalars: list[int]) -> str:
    """``common``, once every Python integer is known to fit it; comparisons may widen it."""
    if not dtypes.is_integer(common):
        return common
    limits = np.iinfo(common)
    outside = [v for v in scalars if not int(limits.min) <= v <= int(limits.max)]
    if not outside:
        return common
    if OPS[op].rule == "compare":
        return "int64" if all(abs(v) < 2**63 for v in outside) else "float64"
    raise DTypeError(
        f"{outside[0]} does not fit {common}, the dtype of this {op}; cast the array first, "
        "for example .astype('int64')"
    )


def _scalar(value: Scalar, dtype: str, shape: Shape) -> Leaf:
    if dtypes.is_integer(dtype) and isinstance(value, float):
        dtype = "float64"
    return const(value, dtype, shape)


def cast(root: Expr, dtype: str) -> Expr:
    """``root`` converted to ``dtype``."""
    return root if root.dtype == dtype else Map("cast", (root,), root.shape, dtype)


def power(base: Expr, exponent: Any) -> Expr:
    """Whole powers by repeated squaring, 0.5 by square root; `ParameterError` for others."""
    if isinstance(exponent, float) and exponent == 0.5:
        return elementwise("sqrt", [base])
    number = isinstance(exponent, (int, float, np.number)) and abs(float(exponent)) <= 64
    if not number or float(exponent) != int(exponent):
        raise ParameterError(
            f"** takes whole exponents from -64 to 64 and 0.5 here, not {exponent!r}"
        )
    whole = int(exponent)
    if whole < 0 and dtypes.is_integer(base.dtype):
        raise ParameterError("integers to negative integer powers are not allowed")
    if isinstance(exponent, float) and not dtypes.is_float(base.dtype):
        base = cast(base, "float64")
    result: Expr | None = None
    square, bits = base, abs(whole)
    while bits:
        if bits & 1:
            result = square if result is None else elementwise("multiply", [result, square])
        bits >>= 1
        if bits:
            square = elementwise("square", [square])
    if result is None:
        return const(1, base.dtype, base.shape)
    return result if whole > 0 else elementwise("divide", [1.0, result])


def check_axis(axis: Any, ndim: int) -> int:
    """``axis`` as 0 .. ndim-1; `AxisError` otherwise."""
    try:
        k = operator.index(axis)
    except TypeError as err:
        raise AxisError(f"axis must be an integer, not {axis!r}") from err
    if not -ndim <= k < ndim:
        raise AxisError(f"axis {k} is out of range for an array of {ndim} dimensions")
    return k % ndim


def normalise_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """``axis`` (None: all) as sorted axes; `AxisError` for one out of range or given twice."""
    if axis is None:
        return tuple(range(ndim))
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple(sorted(check_axis(a, ndim) for a in given))
    if len(set(axes)) < len(axes):
        raise AxisError(f"an axis is given twice in {axis}")
    return axes


def reduction(op: str, arg: Expr, axis: Any, keepdims: bool, dtype: str, ddof: float = 0.0) -> Leaf:
    """``op`` of ``arg`` over ``axis``."""
    axes = normalise_axes(axis, len(arg.shape))
    if op.startswith("arg") and axis is not None and len(axes) != 1:
        raise AxisError(f"{op} takes one axis or None, not {axis}")
    if isinstance(ddof, bool) or not isinstance(ddof, (int, float, np.number)) or not ddof >= 0:
        raise ParameterError(f"ddof must be 0 or more, not {ddof!r}")
    if op == "sum" and dtype != arg.dtype and dtypes.is_float(dtype):
        arg = cast(arg, dtype if dtypes.itemsize(dtype) > dtypes.itemsize(arg.dtype) else arg.dtype)
        if not dtypes.is_float(arg.dtype):
            arg = cast(arg, "float64")
    source = Reduced(op, arg, axes, keepdims, dtype, float(ddof))
    return Leaf(source, source.shape, 0, c_strides(source.shape))


def check_shape(size: Any) -> Shape:
    """``size`` (an integer or a sequence of them) as a shape; `ShapeError` otherwise."""
    given = tuple(size) if isinstance(size, (tuple, list)) else (size,)
    shape = []
    for n in given:
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)):
            raise ShapeError(f"sizes must be integers, not {n!r} in {size!r}")
        if int(n) < 0:
            raise ShapeError(f"sizes must be 0 or more, not {int(n)} in {size!r}")
        shape.append(int(n))
    return countable(tuple(shape))


def infer_shape(shape: tuple[Any, ...], size: int) -> Shape:
    """``shape`` with one -1 filled in; `ShapeError` where ``size`` elements do not fit."""
    wild = [k for k, n in enumerate(shape) if n == -1]
    if len(wild) > 1:
        raise ShapeError(f"only one size can be -1 in {shape}")
    known = check_shape(tuple(n for n in shape if n != -1))
    product = math.prod(known)
    if wild:
        if product == 0 or size % product:
            raise ShapeError(f"cannot reshape {size} elements to {shape}")
        return (*known[: wild[0]], size // product, *known[wild[0] :])
    if product != size:
        raise ShapeError(f"cannot reshape {size} elements to {shape} ({product} elements)")
    return known
