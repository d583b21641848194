"""Norms of vectors and matrices: of exact sums, and by singular values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..api import dot as vectors
from ..api.array import Array, array_of, elementwise
from ..api.elementwise import abs as absolute
from ..api.elementwise import sqrt
from ..api.joining import stack
from ..errors import AxisError, ParameterError, ShapeError
from ..expr import build
from ..expr.pairs.node import interleaved
from .calls import turned
from .decompositions import svdvals


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
    """The norm of vectors or matrices.

    Roots of sums of squares, and sums, are of exact sums; those by singular values are LAPACK's.

    Parameters
    ----------
    x : array
        A vector or a matrix; of other arrays without `ord` and `axis` the root of the sum of all
        squares.
    ord : number, "fro" or "nuc", optional
        Which norm: 2 where it is left out.
    axis : int or two of them, optional
        Along which axes vectors or matrices lie.
    keepdims : bool
        Whether these axes stay, with size one.

    Returns
    -------
    Array
        The norms.

    Raises
    ------
    ValueError
        If there is no such norm, or for more than two axes.

    Examples
    --------
    >>> sc.linalg.norm([3.0, 4.0]).compute()
    np.float64(5.0)
    """
    array = _as_floats(array_of(x))
    axes = build.normalise_axes(axis, array.ndim)
    if ord is None and (axis is None or len(axes) == 2):
        return _root_of_squares(array, axes, keepdims)
    if len(axes) == 1:
        return _of_vectors(array, 2 if ord is None else ord, axes, keepdims)
    if len(axes) == 2:
        first, last = axes if axis is None else (build.check_axis(k, array.ndim) for k in axis)
        return of_matrices(array, ord, (first, last), keepdims)
    raise ShapeError(
        f"norm with ord={ord!r} takes vectors or matrices: one axis or two, not {axes}"
    )


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Array:
    """The norm of vectors; without `axis` of all elements as one.

    Parameters
    ----------
    x : array
        The array.
    axis : int or tuple of int, optional
        Along which axes the vectors lie.
    keepdims : bool
        Whether these axes stay, with size one.
    ord : number
        Which norm.

    Returns
    -------
    Array
        The norms, of exact sums.

    Raises
    ------
    ValueError
        If there is no such norm.

    Examples
    --------
    >>> sc.linalg.vector_norm([[3.0, 4.0], [6.0, 8.0]], axis=1).compute()
    array([ 5., 10.])
    """
    array = _as_floats(array_of(x))
    return _of_vectors(array, ord, build.normalise_axes(axis, array.ndim), keepdims)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """The norm of matrices along the last two axes.

    Parameters
    ----------
    x : array
        The matrices.
    keepdims : bool
        Whether these axes stay, with size one.
    ord : number, "fro" or "nuc"
        Which norm.

    Returns
    -------
    Array
        The norms.

    Raises
    ------
    numpy.exceptions.AxisError
        If it has fewer than two axes.
    ValueError
        If there is no such norm.

    Examples
    --------
    >>> sc.linalg.matrix_norm([[3.0, 0.0], [0.0, 4.0]]).compute()
    np.float64(5.0)
    """
    array = _as_floats(array_of(x))
    if array.ndim < 2:
        raise AxisError(f"matrix_norm takes matrices, not an array of shape {array.shape}")
    return of_matrices(array, ord, (array.ndim - 2, array.ndim - 1), keepdims)


def _as_floats(array: Array) -> Array:
    return array if array.dtype.kind in "fc" else array.astype("float64")


def _root_of_squares(array: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    """The root of the exact sum of exact squares."""
    others = [k for k in range(array.ndim) if k not in axes]
    if array.dtype.kind == "c":
        laid = interleaved(array._expr) if array.ndim else None
        both = stack([array.real, array.imag], axis=-1) if laid is None else array._view(laid, None)
        return _kept(_root_of_squares(both, (*axes, array.ndim), False), array, axes, keepdims)
    shape = (*(array.shape[k] for k in others), math.prod(array.shape[k] for k in axes))
    wide = array.astype("float32") if array.dtype == "float16" else array
    lines = turned(wide, (*others, *axes), shape)
    return _kept(sqrt(vectors.vecdot(lines, lines)).astype(array.dtype), array, axes, keepdims)


def _kept(result: Array, array: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    if not keepdims:
        return result
    return result.reshape(tuple(1 if k in axes else n for k, n in enumerate(array.shape)))


def _extreme(array: Array, greatest: bool, axis: Any, keepdims: bool) -> Array:
    if not greatest:
        least: Array = array.min(axis=axis, keepdims=keepdims)
        return least
    initial = None if array.size else 0  # the norm of nothing is 0
    most: Array = array.max(axis=axis, keepdims=keepdims, initial=initial)
    return most


def _of_vectors(array: Array, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Array:
    if isinstance(ord, str) or np.ndim(ord):
        raise ParameterError(f"vectors have no norm {ord!r}: ord= takes a number, or inf")
    if ord == 2:
        return _root_of_squares(array, axes, keepdims)
    array = absolute(array) if array.dtype.kind == "c" else array
    if abs(ord) == math.inf:
        return _extreme(absolute(array), ord > 0, axes, keepdims)
    if ord == 0:
        nonzero = elementwise("not_equal", array, 0).astype(array.dtype)
        return nonzero.sum(axis=axes, keepdims=keepdims)
    if ord == 1:
        return absolute(array).sum(axis=axes, keepdims=keepdims)
    powers = elementwise("power", absolute(array), float(ord)).astype(array.dtype)
    total = powers.sum(axis=axes, keepdims=keepdims)
    return elementwise("power", total, 1.0 / ord).astype(array.dtype)


def of_matrices(array: Array, ord: Any, axes: tuple[int, int], keepdims: bool) -> Array:
    """The norms of the matrices along ``axes``."""
    rows, columns = axes
    if rows == columns:
        raise ParameterError(f"norm: axis={axes}: a matrix has two different axes")
    if ord in (None, "fro", "f"):
        return _root_of_squares(array, tuple(sorted(axes)), keepdims)
    if ord in (2, -2, "nuc"):
        others = [k for k in range(array.ndim) if k not in axes]
        values = svdvals(array.transpose([*others, rows, columns]))
        found = values.sum(axis=-1) if ord == "nuc" else _extreme(values, ord > 0, -1, False)
        return _kept(found, array, axes, keepdims)
    if ord not in (1, -1, math.inf, -math.inf):
        raise ParameterError(f"matrices have no norm {ord!r}: see numpy.linalg.norm for those")
    added, kept = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = absolute(array).sum(axis=added, keepdims=True)
    found = _extreme(sums, ord > 0, kept, True)
    if keepdims:
        return found
    return found.reshape(tuple(n for k, n in enumerate(array.shape) if k not in axes))
