"""Building expressions: what users ask for, checked, as nodes."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from .. import dtypes
from ..errors import (
    AxisError,
    AxisTypeError,
    DTypeError,
    ParameterTypeError,
    RangeError,
    ShapeError,
    ShapeTypeError,
)
from ..ops import OPS
from . import views
from .nodes import Expr, Leaf, Map, Shape, countable, sizes_of
from .sources.scalars import EXACT, Scalar, compared, double, integer, limits, scalar

_ACCEPTS = {
    "bits": (*dtypes.INTEGERS, "bool"),
    "integer": dtypes.INTEGERS,
    "same": (*dtypes.INTEGERS, *dtypes.FLOATS),
}


_EXPRS = frozenset((Leaf, Map))
# What NumPy computes in int8 where every operand is bool.
_INT8_OF_BOOL = frozenset(
    ("floor_divide", "remainder", "power", "square", "left_shift", "right_shift")
)

# Functions of integers that NumPy divides in float64, or has not.
_OF_DOUBLES = frozenset(("divide", "erf", "erfc", "gammaln", "sigmoid"))


_COMPLEX: Final = (complex, np.complexfloating)

# What makes pairs of complex operands: "elementwise" and "cast". `pairs.apply` puts them in, which
# is made of the operations here.
of_pairs: Final[dict[str, Callable[..., Expr]]] = {}


def elementwise(op: str, args: Sequence[Any]) -> Expr:
    """``op`` over expressions and Python scalars, broadcast and promoted as NumPy does."""
    if len(args) == 2:  # as nearly always
        a, b = args
        if type(a) in _EXPRS:
            if type(b) in _EXPRS:
                common, dtype = _dtypes(op, (a.dtype, b.dtype))
                if common in dtypes.COMPLEX:
                    return of_pairs["elementwise"](op, args, common)
                shape = a.shape
                if b.shape != shape:
                    shape = views.broadcast_shapes(shape, b.shape)
                    a, b = views.broadcast_to(a, shape), views.broadcast_to(b, shape)
                return Map(op, (a, b), shape, dtype)
            if type(b) is float or (type(b) is int and abs(b) < EXACT):
                common, dtype = _dtypes(op, (a.dtype, type(b)))
                if common == "float64":
                    return Map(op, (a, double(b, a.shape)), a.shape, dtype)
                if common == "int64":
                    return Map(op, (a, integer(int(b), a.shape, dtype)), a.shape, dtype)
        elif type(b) in _EXPRS and (type(a) is float or (type(a) is int and abs(a) < EXACT)):
            common, dtype = _dtypes(op, (type(a), b.dtype))
            if common == "float64":
                return Map(op, (double(a, b.shape), b), b.shape, dtype)
            if common == "int64":
                return Map(op, (integer(int(a), b.shape, dtype), b), b.shape, dtype)
    elif len(args) == 1 and type(args[0]) in _EXPRS:
        one: Expr = args[0]
        common, dtype = _dtypes(op, (one.dtype,))
        if common in dtypes.COMPLEX:
            return of_pairs["elementwise"](op, args, common)
        return Map(op, (one,), one.shape, dtype)
    elif op == "where" and (chosen := _chosen(*args)) is not None:
        return chosen
    select = op == "where"
    typed = args[1:] if select else args
    kinds = tuple([a.dtype if isinstance(a, (Leaf, Map)) else type(a) for a in typed])
    common, dtype = _dtypes(op, kinds)
    if common in dtypes.COMPLEX:
        return of_pairs["elementwise"](op, args, common)
    if select and isinstance(args[0], (Leaf, Map)):
        args = [cast(args[0], "bool"), *args[1:]] if args[0].dtype in dtypes.COMPLEX else args
    exprs = [arg for arg in args if isinstance(arg, (Leaf, Map))]
    shapes = [arg.shape for arg in exprs]
    same = shapes and shapes.count(shapes[0]) == len(shapes)
    shape = shapes[0] if same else views.broadcast_shapes(*shapes)
    if same and len(exprs) == len(args):
        return Map(op, tuple(exprs), shape, dtype)
    if int in kinds and not dtypes.is_float(common):
        whole = [int(a) for a in typed if isinstance(a, int) and _is_whole(a)]
        _check_range(op, common, whole, len(whole) == len(typed))
    compares = OPS[op].rule == "compare"
    operands: list[Expr] = []
    for k, arg in enumerate(args):
        if isinstance(arg, (Leaf, Map)):
            operands.append(arg if arg.shape == shape else views.broadcast_to(arg, shape))
        elif compares:
            operands.append(compared(arg, common, shape))
        else:
            operands.append(scalar(arg, "bool" if select and k == 0 else common, shape))
    return Map(op, tuple(operands), shape, dtype)


def _chosen(condition: Any, a: Any, b: Any) -> Map | None:
    """A "where" of arrays of one shape, and of numbers beside doubles; None of others."""
    if type(condition) not in _EXPRS or condition.dtype in dtypes.COMPLEX:
        return None
    shape, kinds = condition.shape, []
    for one in (a, b):
        if type(one) in _EXPRS:
            if one.shape != shape:
                return None
            kinds.append(one.dtype)
        elif type(one) is float or (type(one) is int and abs(one) < EXACT):
            kinds.append(type(one))
        else:
            return None
    common, dtype = _dtypes("where", tuple(kinds))
    if type(a) in _EXPRS and type(b) in _EXPRS:
        return None if common in dtypes.COMPLEX else Map("where", (condition, a, b), shape, dtype)
    if common not in ("float64", "int64"):
        return None
    first, second = (one if type(one) in _EXPRS else scalar(one, common, shape) for one in (a, b))
    return Map("where", (condition, first, second), shape, dtype)


@lru_cache(maxsize=4096)
def _dtypes(op: str, kinds: tuple[str | type[Scalar], ...]) -> tuple[str, str]:
    """The dtype that ``op`` computes in, which its Python scalars take, and that of its results.

    They follow from the dtypes of expressions and the types of scalars alone. Of complex operands
    the first is always complex.
    """
    rule = OPS[op].rule
    common = _common(op, rule, kinds)
    return common, "bool" if rule in ("compare", "logical", "test") else common


def _common(op: str, rule: str, kinds: tuple[str | type[Scalar], ...]) -> str:
    is_complex = any(
        kind in dtypes.COMPLEX if isinstance(kind, str) else issubclass(kind, _COMPLEX)
        for kind in kinds
    )
    if rule == "logical" and not is_complex:
        return "bool"
    common = dtypes.promote(*(kind if isinstance(kind, str) else kind(0) for kind in kinds))
    if is_complex:
        return common
    if common == "bool" and op in _INT8_OF_BOOL:
        common = "int8"
    if rule == "float" and not dtypes.is_float(common):
        return "float64" if op in _OF_DOUBLES else dtypes.holding(*kinds)
    accepted = _ACCEPTS.get(rule)
    if accepted and common not in accepted:
        raise DTypeError(f"{op} takes {', '.join(accepted)}; got {common}")
    return common


def _is_whole(value: Expr | Scalar) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_range(op: str, common: str, scalars: list[int], alone: bool) -> None:
    """Refuse Python integers that ``common``, the dtype of an operation, cannot hold.

    ``alone``: it has no other operands.
    """
    rule = OPS[op].rule
    if rule == "compare" and alone and not all(-(2**63) <= v < 2**63 for v in scalars):
        raise DTypeError(f"{op} of {scalars}: numbers beyond int64 are compared with arrays only")
    if rule in ("compare", "logical") or not dtypes.is_integer(common):
        return
    least, most = limits(common)
    for v in scalars:
        if not least <= v <= most:
            raise RangeError(
                f"{v} does not fit {common}, the dtype of this {op}; cast the array first, "
                "for example .astype('int64')"
            )


def cast(root: Expr, dtype: str) -> Expr:
    """``root`` converted to ``dtype``."""
    if root.dtype == dtype:
        return root
    if root.dtype in dtypes.COMPLEX or dtype in dtypes.COMPLEX:
        return of_pairs["cast"](root, dtype)
    return Map("cast", (root,), root.shape, dtype)


def bitcast(root: Expr, dtype: str) -> Expr:
    """The bits of ``root`` as ``dtype``, which is as wide."""
    return root if root.dtype == dtype else Map("bitcast", (root,), root.shape, dtype)


def check_axis(axis: Any, ndim: int) -> int:
    """``axis`` as 0 .. ndim-1; `AxisError` otherwise."""
    number: Any = None if isinstance(axis, bool) else axis
    try:
        k = operator.index(number)
    except TypeError as err:
        raise AxisTypeError(f"axis must be an integer, not {axis!r}") from err
    if not -ndim <= k < ndim:
        raise AxisError(f"axis {k} is out of range for an array of {ndim} dimensions")
    return k % ndim


def check_integer(name: str, value: Any) -> int:
    """``value``, the parameter ``name``, as an integer; `ParameterTypeError` otherwise."""
    try:
        return operator.index(value)
    except TypeError as err:
        raise ParameterTypeError(f"{name} must be an integer, not {value!r}") from err


def normalise_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """``axis`` (None: all) as sorted axes; `AxisError` for one out of range or given twice."""
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is int and -ndim <= axis < ndim:  # as nearly always
        return (axis % ndim,)
    listed = axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(sorted(check_axis(a, ndim) for a in listed))
    if len(set(axes)) < len(axes):
        raise AxisError(f"an axis is given twice in {axis}")
    return axes


def check_shape(size: Any) -> Shape:
    """``size`` (an integer, or a sequence or array of them) as a shape; `ShapeError` otherwise."""
    shape = sizes_of(size)
    for n in shape:
        if isinstance(n, bool) or not isinstance(n, int):
            raise ShapeTypeError(f"sizes must be integers, not {n!r} in {size!r}")
        if n < 0:
            raise ShapeError(f"sizes must be 0 or more, not {n} in {size!r}")
    return countable(tuple(map(int, shape)))


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
