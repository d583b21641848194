"""NumPy's functions that put arrays together: nothing is copied until the result is computed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .. import dtypes
from ..errors import ParameterTypeError, ShapeError
from ..expr import build
from ..expr.nodes import Expr
from ..expr.piecewise.build import concatenated
from .array import Array, array_of
from .shapes import expand_dims


def concatenate(arrays: Any, axis: int | None = 0, dtype: Any = None) -> Array:
    """``arrays`` one after the other along ``axis`` (None: all of their elements, in C order).

    The dtype is NumPy's for them together, unless one is given.
    """
    several = _arrays("concatenate", arrays)
    if axis is None:
        several, axis = [one.reshape(-1) for one in several], 0
    name = None if dtype is None else dtypes.check(dtype)
    return _joined(several, concatenated([one._expr for one in several], axis, name))


def stack(arrays: Any, axis: int = 0, dtype: Any = None) -> Array:
    """``arrays`` of one shape along a new ``axis``."""
    several = _arrays("stack", arrays)
    if not several:
        raise ShapeError("stack needs at least one array")
    shapes = {one.shape for one in several}
    if len(shapes) > 1:
        listed = " and ".join(map(str, sorted(shapes)[:2]))
        raise ShapeError(f"stack wants arrays of one shape, not {listed}")
    k = build.check_axis(axis, several[0].ndim + 1)
    return concatenate([expand_dims(one, k) for one in several], k, dtype)


def hstack(arrays: Any, dtype: Any = None) -> Array:
    """``arrays`` side by side: along the second axis, vectors along the first."""
    several = [one.reshape(1) if not one.ndim else one for one in _arrays("hstack", arrays)]
    vectors = bool(several) and several[0].ndim == 1
    return concatenate(several, 0 if vectors else 1, dtype)


def vstack(arrays: Any, dtype: Any = None) -> Array:
    """``arrays`` on top of each other: along the first axis; a vector is a row."""
    several = _arrays("vstack", arrays)
    return concatenate([_of_axes(one, 2) for one in several], 0, dtype)


def dstack(arrays: Any) -> Array:
    """``arrays`` behind each other: along the third axis; a vector is a row."""
    several = (_of_axes(one, 2) for one in _arrays("dstack", arrays))
    return concatenate([one if one.ndim > 2 else one[..., None] for one in several], 2)


def column_stack(arrays: Any) -> Array:
    """``arrays`` as columns, matrices as the columns that they have."""
    several = _arrays("column_stack", arrays)
    return concatenate([one if one.ndim > 1 else one.reshape(-1, 1) for one in several], 1)


def append(x: Any, values: Any, axis: int | None = None) -> Array:
    """``x``, and ``values`` behind it along ``axis`` (None: both as vectors)."""
    return concatenate((x, values), axis)


def _of_axes(array: Array, ndim: int) -> Array:
    """``array`` with at least ``ndim`` axes, new ones in front."""
    return array[(None,) * (ndim - array.ndim)] if array.ndim < ndim else array


def _arrays(name: str, arrays: Any) -> list[Array]:
    if not isinstance(arrays, Iterable):
        raise ParameterTypeError(f"{name} takes a list of arrays, not {arrays!r}")
    return [array_of(one) for one in arrays]


def _joined(several: list[Array], expr: Expr) -> Array:
    return Array(expr, gpu=any(one._gpu for one in several))
