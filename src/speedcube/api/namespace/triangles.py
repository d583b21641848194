"""Triangles of matrices: what lies on one side of a diagonal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import MemoryLimitError, ParameterTypeError, ShapeError, ShapeTypeError
from ...expr import build
from ..array import Array, array_of, elementwise
from ..creation import coordinate, full
from ..devices import checked_like
from ..elementwise import where
from ..sources import asarray
from .ranges import arange


def _below(rows: int, columns: int, k: Any) -> Array:
    """Whether an index lies on diagonal ``k`` or below it."""
    shape = build.check_shape((rows, columns))
    if isinstance(k, (float, np.floating)):  # NumPy's columns: integers that begin at -k
        begins = arange(-k, columns - k, dtype="int64")
        return elementwise("greater_equal", coordinate(shape, 0), begins)
    offset = elementwise("subtract", coordinate(shape, 1), coordinate(shape, 0))
    return elementwise("less_equal", offset, build.check_integer("k", k))


def tri(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = float,
    *,
    like: Any = None,
    chunks: Any = None,
) -> Array:
    """Make a matrix of ones on a diagonal and below it, and zeros above. It needs no memory.

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
    like : array, optional
        NumPy's; the result is a speedcube array.
    chunks : optional
        As in `ones`: no value depends on them.

    Returns
    -------
    Array
        The matrix.

    Examples
    --------
    >>> sc.tri(2, 3, dtype=int).compute()
    array([[1, 0, 0],
           [1, 1, 0]])
    """
    checked_like("tri", like)
    rows = max(build.check_integer("N", N), 0)
    columns = rows if M is None else max(build.check_integer("M", M), 0)
    made = _below(rows, columns, k).astype(float if dtype is None else dtype)
    return made if chunks is None else made.rechunk(chunks)


def tril(m: Any, k: int = 0) -> Array:
    """Keep what lies on a diagonal and below it, with zeros above.

    Parameters
    ----------
    m : array
        An array of one axis or more; matrices are its last two.
    k : int
        Which diagonal; above the main one where it is positive.

    Returns
    -------
    Array
        The lower triangles.

    Raises
    ------
    TypeError
        If there is no axis.

    Examples
    --------
    >>> sc.tril(sc.ones((2, 2))).compute()
    array([[1., 0.],
           [1., 1.]])
    """
    x, (rows, columns) = _with_axes("tril", m)
    return where(_below(rows, columns, k), x, full((), 0, x.dtype))


def triu(m: Any, k: int = 0) -> Array:
    """Keep what lies on a diagonal and above it, with zeros below.

    Parameters
    ----------
    m : array
        An array of one axis or more; matrices are its last two.
    k : int
        Which diagonal; above the main one where it is positive.

    Returns
    -------
    Array
        The upper triangles.

    Raises
    ------
    TypeError
        If there is no axis.

    Examples
    --------
    >>> sc.triu(sc.ones((2, 2))).compute()
    array([[1., 1.],
           [0., 1.]])
    """
    x, (rows, columns) = _with_axes("triu", m)
    above = k if isinstance(k, (float, np.floating)) else build.check_integer("k", k)
    return where(_below(rows, columns, above - 1), full((), 0, x.dtype), x)


def _with_axes(name: str, m: Any) -> tuple[Array, tuple[int, ...]]:
    """``m``, and how large its matrices are: a vector is every row of a square one, as in NumPy."""
    x = array_of(m)
    if not x.ndim:
        raise ShapeTypeError(f"{name} takes an array of one axis or more, not a 0-d one")
    return x, (x.shape[-2:] if x.ndim > 1 else x.shape * 2)


def _made(numpys: Callable[..., Any], n: int, k: int, m: int | None) -> tuple[Array, ...]:
    try:
        return tuple(asarray(index) for index in numpys(n, k, m))
    except (TypeError, ValueError) as err:
        raise ParameterTypeError(f"{numpys.__name__} takes integers: {err}") from err
    except MemoryError as err:
        raise MemoryLimitError(
            f"{numpys.__name__}: {n} x {n if m is None else m} are too many for memory; "
            f"{numpys.__name__[:4]}, which takes an array, needs none"
        ) from err


def tril_indices(
    n: int, k: int = 0, m: int | None = None, *, chunks: Any = None
) -> tuple[Array, ...]:
    """Make the indices of the lower triangle of a matrix. They are made at once, by NumPy.

    Parameters
    ----------
    n : int
        How many rows.
    k : int
        Which diagonal; above the main one where it is positive.
    m : int, optional
        How many columns; as many as rows where it is left out.
    chunks : optional
        Dask's, of the matrix; it decides nothing.

    Returns
    -------
    tuple of Array
        The rows and the columns, in C order.

    Examples
    --------
    >>> [index.compute().tolist() for index in sc.tril_indices(2)]
    [[0, 1, 1], [0, 0, 1]]
    """
    return _made(np.tril_indices, n, k, m)


def triu_indices(
    n: int, k: int = 0, m: int | None = None, *, chunks: Any = None
) -> tuple[Array, ...]:
    """Make the indices of the upper triangle of a matrix. They are made at once, by NumPy.

    Parameters
    ----------
    n : int
        How many rows.
    k : int
        Which diagonal; above the main one where it is positive.
    m : int, optional
        How many columns; as many as rows where it is left out.
    chunks : optional
        Dask's, of the matrix; it decides nothing.

    Returns
    -------
    tuple of Array
        The rows and the columns, in C order.

    Examples
    --------
    >>> [index.compute().tolist() for index in sc.triu_indices(2)]
    [[0, 0, 1], [0, 1, 1]]
    """
    return _made(np.triu_indices, n, k, m)


def _matrix(name: str, arr: Any) -> tuple[int, ...]:
    shape = array_of(arr).shape
    if len(shape) != 2:
        raise ShapeError(f"{name} takes a matrix, an array of two axes, not of {len(shape)}")
    return shape


def tril_indices_from(arr: Any, k: int = 0) -> tuple[Array, ...]:
    """Make the indices of the lower triangle of a matrix that is there.

    Parameters
    ----------
    arr : array
        The matrix.
    k : int
        Which diagonal; above the main one where it is positive.

    Returns
    -------
    tuple of Array
        The rows and the columns, in C order.

    Raises
    ------
    ValueError
        If it is no matrix.

    Examples
    --------
    >>> [index.compute().tolist() for index in sc.tril_indices_from(sc.ones((2, 2)))]
    [[0, 1, 1], [0, 0, 1]]
    """
    rows, columns = _matrix("tril_indices_from", arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: Any, k: int = 0) -> tuple[Array, ...]:
    """Make the indices of the upper triangle of a matrix that is there.

    Parameters
    ----------
    arr : array
        The matrix.
    k : int
        Which diagonal; above the main one where it is positive.

    Returns
    -------
    tuple of Array
        The rows and the columns, in C order.

    Raises
    ------
    ValueError
        If it is no matrix.

    Examples
    --------
    >>> [index.compute().tolist() for index in sc.triu_indices_from(sc.ones((2, 2)))]
    [[0, 0, 1], [0, 1, 1]]
    """
    rows, columns = _matrix("triu_indices_from", arr)
    return triu_indices(rows, k, columns)
