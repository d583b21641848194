"""Diagonals: matrices that have one, and what stands on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ParameterTypeError, ShapeError
from ...expr import build
from ...interop.chunks import eye_grid
from ..array import Array, array_of
from ..creation import coordinate, full, made
from ..elementwise import where
from ..methods.keywords import put
from .padding import pad
from .ranges import arange


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = float,
    order: str = "C",
    *,
    device: Any = None,
    like: Any = None,
    chunks: Any = None,
) -> Array:
    """Make a matrix with ones on a diagonal, and zeros elsewhere. It needs no memory.

    Parameters
    ----------
    N : int
        How many rows.
    M : int, optional
        How many columns; as many as rows where it is left out.
    k : int
        Which diagonal; above the main one where it is positive.
    dtype : dtype
        That of the result.
    order, device, like, chunks : optional
        As in `full`.

    Returns
    -------
    Array
        The matrix.

    Raises
    ------
    ValueError
        If a size is negative, or ``k`` is no integer.

    Examples
    --------
    >>> sc.eye(2, 3, k=1, dtype=int).compute()
    array([[0, 1, 0],
           [0, 0, 1]])
    """
    gpu = made("eye", order, device, like)
    shape = build.check_shape((N, N if M is None else M))
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
        raise ParameterTypeError(f"k, the diagonal, must be an integer, not {k!r}")
    on_diagonal = coordinate(shape, 1) - coordinate(shape, 0) == k
    expr = on_diagonal.astype(float if dtype is None else dtype)._expr
    return Array(expr, gpu=gpu, hint=eye_grid(chunks, shape, expr.dtype))


def identity(n: int, dtype: Any = None, *, like: Any = None) -> Array:
    """Make a square matrix with ones on the main diagonal.

    Parameters
    ----------
    n : int
        How many rows and columns.
    dtype : dtype, optional
        float64 where it is left out.
    like : array, optional
        NumPy's; the result is a speedcube array.

    Returns
    -------
    Array
        The matrix.

    Raises
    ------
    ValueError
        If the size is negative.

    Examples
    --------
    >>> sc.identity(2).compute()
    array([[1., 0.],
           [0., 1.]])
    """
    return eye(n, dtype=dtype, like=like)


def diag(v: Any, k: int = 0) -> Array:
    """Make a matrix with a vector on a diagonal, or take the diagonal of a matrix.

    Parameters
    ----------
    v : array
        A vector, or a matrix.
    k : int
        Which diagonal; above the main one where it is positive.

    Returns
    -------
    Array
        The matrix; of a matrix its diagonal, a view.

    Raises
    ------
    ValueError
        If there are neither one axis nor two.

    Examples
    --------
    >>> sc.diag(sc.asarray([1, 2])).compute()
    array([[1, 0],
           [0, 2]])
    >>> sc.diag(sc.asarray([[1, 2], [3, 4]])).compute()
    array([1, 4])
    """
    x, at = array_of(v), build.check_integer("k", k)
    if x.ndim == 2:
        return x.diagonal(at)
    if x.ndim != 1:
        raise ShapeError(f"diag takes a vector or a matrix, not an array of {x.ndim} axes")
    line = pad(x, (max(-at, 0), max(at, 0)))  # element i of it stands in row i
    rows = line.shape[0]
    shape = build.check_shape((rows, rows))
    offset = coordinate(shape, 1) - coordinate(shape, 0)
    return where(offset == at, line[:, None], full((), 0, x.dtype))


def diagflat(v: Any, k: int = 0) -> Array:
    """Make a matrix with all elements of an array on a diagonal.

    Parameters
    ----------
    v : array
        The elements, taken in C order.
    k : int
        Which diagonal; above the main one where it is positive.

    Returns
    -------
    Array
        The matrix.

    Examples
    --------
    >>> sc.diagflat([[1, 2]], 1).compute()
    array([[0, 1, 0],
           [0, 0, 2],
           [0, 0, 0]])
    """
    return diag(array_of(v).ravel(), k)


def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Take the diagonals of matrices: a view, with the diagonal as its last axis.

    Parameters
    ----------
    a : array
        An array of two axes or more.
    offset : int
        Which diagonal; above the main one where it is positive.
    axis1, axis2 : int
        The axes of the matrices.

    Returns
    -------
    Array
        The diagonals.

    Raises
    ------
    ValueError
        If there are not two axes, or they are the same.

    Examples
    --------
    >>> sc.diagonal(sc.arange(9).reshape(3, 3), 1).compute()
    array([1, 5])
    """
    return array_of(a).diagonal(offset, axis1, axis2)


def trace(
    a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Array:
    """Sum the diagonals of matrices: exact sums, rounded once.

    Parameters
    ----------
    a : array
        An array of two axes or more.
    offset : int
        Which diagonal; above the main one where it is positive.
    axis1, axis2 : int
        The axes of the matrices.
    dtype : dtype, optional
        That of the sums.
    out : Array, optional
        Takes the result.

    Returns
    -------
    Array
        The sums, without the two axes.

    Raises
    ------
    ValueError
        If there are not two axes, or they are the same.

    Examples
    --------
    >>> sc.trace(sc.arange(9).reshape(3, 3)).compute()
    np.int64(12)
    """
    return put(out, array_of(a).diagonal(offset, axis1, axis2).sum(-1, dtype=dtype), "trace")


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """Make the indices of the main diagonal of an array with equal sizes.

    Parameters
    ----------
    n : int
        The size of each axis.
    ndim : int
        How many axes.

    Returns
    -------
    tuple of Array
        The same indices for each axis.

    Examples
    --------
    >>> [index.compute().tolist() for index in sc.diag_indices(3)]
    [[0, 1, 2], [0, 1, 2]]
    """
    return (arange(n),) * ndim


def diag_indices_from(arr: Any) -> tuple[Array, ...]:
    """Make the indices of the main diagonal of an array.

    Parameters
    ----------
    arr : array
        An array of two axes or more, all of one size.

    Returns
    -------
    tuple of Array
        The same indices for each axis.

    Raises
    ------
    ValueError
        If there are fewer axes, or their sizes differ.

    Examples
    --------
    >>> [index.compute().tolist() for index in sc.diag_indices_from(sc.ones((2, 2)))]
    [[0, 1], [0, 1]]
    """
    x = array_of(arr)
    if x.ndim < 2:
        raise ShapeError(f"diag_indices_from takes an array of two axes or more, not of {x.ndim}")
    if len(set(x.shape)) > 1:
        raise ShapeError(f"diag_indices_from takes an array of equal sizes, not {x.shape}")
    return diag_indices(x.shape[0], x.ndim)
