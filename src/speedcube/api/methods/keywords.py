"""The keywords that many of NumPy's functions take in one way: ``out``, ``where``, ``initial``."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...errors import DTypeError, ParameterError, RangeError, ShapeError, UnsupportedError
from ...expr import build, views
from .lazy import A, Lazy


def put(out: Any, result: A, name: str, spread: bool = False, casting: Any = "same_kind") -> A:
    """``result``, or ``out`` as an array of its values from now on.

    An array of NumPy's is written at once. NumPy's rules: ``out`` keeps its shape and its dtype, to
    which values are cast as ``casting`` allows. ``spread``: ``result`` is broadcast to it.
    """
    if out is None:
        return result
    target = out[0] if isinstance(out, tuple) and len(out) == 1 else out
    memory = isinstance(target, np.ndarray)
    if not memory and not hasattr(target, "_rebind"):
        raise UnsupportedError(
            f"{name}: out= (or +=) takes an array of speedcube or of NumPy, not "
            f"{type(target).__name__}; write out[...] = result.compute(), or a += x.compute()"
        )
    shape = target.shape
    dtype = target.dtype.name if memory else target._expr.dtype
    expr = result._expr
    if spread and expr.shape != shape and views.broadcast_shapes(expr.shape, shape) == shape:
        expr = views.broadcast_to(expr, shape)
    if expr.shape != shape:
        raise ShapeError(
            f"{name}: out= has shape {shape}, and the result {expr.shape}; give an "
            "array of that shape"
        )
    _check_cast(f"{name}: the result", expr.dtype, dtype, "out=", casting)
    grid = result._grid if expr.shape == result._expr.shape else None
    if memory:
        np.copyto(target, np.asarray(result._view(expr, grid)), casting=casting)
    else:
        target._rebind(result._view(build.cast(expr, dtype), grid))
    kept: A = target
    return kept


def _check_cast(what: str, dtype: str, wanted: str, where: str, casting: Any) -> None:
    if not np.can_cast(dtype, wanted, casting):
        raise DTypeError(
            f"{what} is {dtype}, which NumPy's rule {casting} does not cast to {wanted} of "
            f"{where}; convert it with .astype({wanted!r})"
        )


def converted(name: str, array: A, dtype: str, casting: Any = "same_kind", out: bool = False) -> A:
    """An operand as the ``dtype=`` of its operation, or a result as that of ``out``."""
    what, where = ("the result", "out=") if out else ("an operand", "dtype=")
    _check_cast(f"{name}: {what}", array._expr.dtype, dtype, where, casting)
    return array._view(build.cast(array._expr, dtype), array._grid)


def mask_of(array: A, where: Any) -> A:
    """``where=`` of a reduction of ``array`` as an array of bool of its shape."""
    check_mask(where)
    mask = array._elementwise("logical_or", where, False)
    if views.broadcast_shapes(mask._expr.shape, array._expr.shape) != array._expr.shape:
        raise ShapeError(
            f"where= has shape {mask._expr.shape}, which does not broadcast to that of the array, "
            f"{array._expr.shape}"
        )
    spread = views.broadcast_to(mask._expr, array._expr.shape)
    return array._view(spread, array._grid)


def check_mask(where: Any) -> None:
    """Refuse numbers as ``where=``, which may well be indices, as NumPy does; lists become bool."""
    dtype = where._expr.dtype if hasattr(where, "_expr") else getattr(where, "dtype", "bool")
    if not str(dtype).endswith("bool"):
        raise DTypeError(f"where= takes bools, not {dtype}; compare, or convert with .astype(bool)")


def masked(array: A, where: Any, neutral: float) -> A:
    """``array``, and ``neutral`` where the mask ``where`` does not hold."""
    if where is True:
        return array
    value = bool(neutral) if array._expr.dtype == "bool" else neutral
    return array._elementwise("where", mask_of(array, where), array, value)


def first_value(initial: Any, dtype: str) -> Any:
    """``initial=`` of a reduction as a number of its dtype."""
    value = np.asarray(initial)
    if value.shape or value.dtype.kind not in "biufcO":
        raise ParameterError(f"initial= takes one number, not {initial!r}")
    try:
        number = np.asarray(initial, dtype).item()
    except (OverflowError, TypeError, ValueError) as err:
        kind = RangeError if isinstance(err, OverflowError) else ParameterError
        raise kind(f"initial={initial!r} does not fit the result, which is {dtype}") from err
    return number


def axis_of(array: Lazy, axis: Any) -> Any:
    """``axis`` of an array; as in NumPy 0-d arrays have axes 0 and -1 for most reductions."""
    if array._expr.shape:
        return axis
    return None if isinstance(axis, (int, np.integer)) and axis in (0, -1) else axis


def check_uncast(name: str, operands: tuple[Any, ...], result: str, casting: str) -> None:
    """Refuse operands that are cast to a common dtype, or integers that become floats."""
    weak = (bool, int, float, complex)  # Python's numbers take the dtype of arrays beside them
    plain = [one for one in operands if not isinstance(one, weak)] or operands
    names = {
        str(one._expr.dtype) if hasattr(one, "_expr") else str(np.asarray(one).dtype)
        for one in plain
    }
    if len(names) > 1 or any(dtypes.is_float(result) and not dtypes.is_float(one) for one in names):
        raise DTypeError(
            f"{name} of {' and '.join(sorted(names))} casts them, which casting={casting!r} does "
            "not allow; convert with .astype(), or leave casting= out"
        )


def as_axes(axis: Any) -> Any:
    """Several axes as a tuple: many functions of NumPy take any sequence of them, also an array."""
    if getattr(axis, "shape", ()):
        return tuple(np.asarray(axis).tolist())
    return tuple(axis) if isinstance(axis, (list, range)) else axis
