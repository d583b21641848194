"""NumPy's functions that put arrays together: nothing is copied until the result is computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .. import dtypes
from ..errors import DTypeError, ParameterTypeError, ShapeError
from ..expr import build
from ..expr.nodes import Expr
from ..expr.piecewise.joined import concatenated, raised
from ..interop import chunks as grids
from .array import Array, array_of
from .methods.keywords import put


def concatenate(
    arrays: Any,
    /,
    axis: int | None = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: Any = "same_kind",
    allow_unknown_chunksizes: Any = None,
) -> Array:
    """Put arrays one after the other along an axis.

    Parameters
    ----------
    arrays : sequence of arrays
        Arrays of one shape but for the axis.
    axis : int or None
        Along which axis; None takes all of their elements, in C order.
    out : Array, optional
        Takes the result.
    dtype : dtype, optional
        The dtype of the result, else NumPy's for them together.
    casting : str
        What may become what, by NumPy's rules.
    allow_unknown_chunksizes : optional
        Dask's; no array here has such chunks.

    Returns
    -------
    Array
        All of them: where it is read, each region is computed from the array that lies there.

    Raises
    ------
    ValueError
        If there is no array, or their shapes do not fit.

    Examples
    --------
    >>> sc.concatenate([sc.arange(3), sc.zeros(1, int)]).compute()
    array([0, 1, 2, 0])
    """
    several = _arrays("concatenate", arrays)
    if out is not None and dtype is not None:
        raise ParameterTypeError("concatenate: out= has a dtype of its own; leave dtype= out")
    if axis is None:
        several, axis = [one.reshape(-1) for one in _weak(several, arrays)], 0
    name = None if dtype is None else dtypes.check(dtype)
    expr = concatenated([one._expr for one in several], axis, name)
    result = _joined(several, expr, axis % len(expr.shape))
    for one in () if name is None and casting == "same_kind" else several:
        if not dtypes.castable(one.dtype, result.dtype, casting):
            raise DTypeError(f"concatenate: {one.dtype} cannot become {name} with {casting=}")
    return put(out, result, "concatenate", casting=casting)


concat = concatenate


def stack(
    arrays: Any,
    axis: int = 0,
    out: Any = None,
    *,
    dtype: Any = None,
    casting: Any = "same_kind",
    allow_unknown_chunksizes: Any = None,
) -> Array:
    """Put arrays of one shape along a new axis.

    Parameters
    ----------
    arrays : sequence of arrays
        Arrays of one shape.
    axis : int
        Where the new axis stands in the result.
    out : Array, optional
        Takes the result.
    dtype, casting, allow_unknown_chunksizes : optional
        As in `concatenate`.

    Returns
    -------
    Array
        All of them.

    Raises
    ------
    ValueError
        If there is no array, or their shapes differ.

    Examples
    --------
    >>> sc.stack([sc.arange(2), sc.arange(2)], axis=1).compute()
    array([[0, 0],
           [1, 1]])
    """
    several = _arrays("stack", arrays)
    if not several:
        raise ShapeError("stack needs at least one array")
    shapes = {one.shape for one in several}
    if len(shapes) > 1:
        listed = " and ".join(map(str, sorted(shapes)[:2]))
        raise ShapeError(f"stack wants arrays of one shape, not {listed}")
    k = build.check_axis(axis, several[0].ndim + 1)
    new = [(one, raised(one._expr, k)) for one in several]
    higher = [one._view(e, grids.reshaped(one._grid, e.shape, e.dtype)) for one, e in new]
    return concatenate(higher, k, out, dtype=dtype, casting=casting)


def hstack(
    tup: Any, *, dtype: Any = None, casting: Any = "same_kind", allow_unknown_chunksizes: Any = None
) -> Array:
    """Put arrays side by side: along the second axis, vectors along the first.

    Parameters
    ----------
    tup : sequence of arrays
        The arrays.
    dtype, casting, allow_unknown_chunksizes : optional
        As in `concatenate`.

    Returns
    -------
    Array
        All of them.

    Raises
    ------
    ValueError
        If there is no array, or their shapes do not fit.

    Examples
    --------
    >>> sc.hstack([sc.arange(2), sc.arange(3)]).compute()
    array([0, 1, 0, 1, 2])
    """
    several = [one.reshape(1) if not one.ndim else one for one in _arrays("hstack", tup)]
    vectors = bool(several) and several[0].ndim == 1
    return concatenate(several, 0 if vectors else 1, dtype=dtype, casting=casting)


def vstack(
    tup: Any, *, dtype: Any = None, casting: Any = "same_kind", allow_unknown_chunksizes: Any = None
) -> Array:
    """Put arrays on top of each other: along the first axis; a vector is a row.

    Parameters
    ----------
    tup : sequence of arrays
        The arrays.
    dtype, casting, allow_unknown_chunksizes : optional
        As in `concatenate`.

    Returns
    -------
    Array
        All of them.

    Raises
    ------
    ValueError
        If there is no array, or their shapes do not fit.

    Examples
    --------
    >>> sc.vstack([sc.arange(2), sc.ones((1, 2), int)]).compute()
    array([[0, 1],
           [1, 1]])
    """
    several = _arrays("vstack", tup)
    return concatenate([_of_axes(one, 2) for one in several], 0, dtype=dtype, casting=casting)


row_stack = vstack


def dstack(tup: Any, *, allow_unknown_chunksizes: Any = None) -> Array:
    """Put arrays behind each other: along the third axis; a vector is a row.

    Parameters
    ----------
    tup : sequence of arrays
        The arrays.
    allow_unknown_chunksizes : optional
        As in `concatenate`.

    Returns
    -------
    Array
        All of them.

    Raises
    ------
    ValueError
        If there is no array, or their shapes do not fit.

    Examples
    --------
    >>> sc.dstack([sc.arange(2), sc.arange(2)]).shape
    (1, 2, 2)
    """
    several = (_of_axes(one, 2) for one in _arrays("dstack", tup))
    return concatenate([one if one.ndim > 2 else one[..., None] for one in several], 2)


def column_stack(tup: Any) -> Array:
    """Put arrays side by side as columns, matrices as the columns that they have.

    Parameters
    ----------
    tup : sequence of arrays
        Vectors and matrices.

    Returns
    -------
    Array
        All of them.

    Raises
    ------
    ValueError
        If there is no array, or their lengths differ.

    Examples
    --------
    >>> sc.column_stack([sc.arange(2), sc.ones(2, int)]).compute()
    array([[0, 1],
           [1, 1]])
    """
    several = _arrays("column_stack", tup)
    return concatenate([one if one.ndim > 1 else one.reshape(-1, 1) for one in several], 1)


def append(arr: Any, values: Any, axis: int | None = None) -> Array:
    """Put values behind an array.

    Parameters
    ----------
    arr, values : array
        What comes first, and what comes behind it.
    axis : int, optional
        Along which axis; both as vectors where it is left out.

    Returns
    -------
    Array
        Both.

    Raises
    ------
    ValueError
        If their shapes do not fit.

    Examples
    --------
    >>> sc.append(sc.arange(3), 7).compute()
    array([0, 1, 2, 7])
    """
    return concatenate((array_of(arr), array_of(values)), axis)  # neither is weak, as in NumPy


def _of_axes(array: Array, ndim: int) -> Array:
    """``array`` with at least ``ndim`` axes, new ones in front."""
    return array[(None,) * (ndim - array.ndim)] if array.ndim < ndim else array


def _arrays(name: str, arrays: Any) -> list[Array]:
    if isinstance(arrays, Iterator) or not isinstance(arrays, Iterable):
        raise ParameterTypeError(f"{name} takes a list of arrays, not {arrays!r}")
    return [array_of(one) for one in arrays]


def _weak(several: list[Array], given: Iterable[Any]) -> list[Array]:
    """Python's numbers take the dtype of the arrays beside them."""
    trios = [(type(v) in (int, float, complex), v, x) for v, x in zip(given, several, strict=True)]
    common = dtypes.promote(*(v if weak else x._expr.dtype for weak, v, x in trios))
    return [x.astype(common) if weak else x for weak, _, x in trios]


def _joined(several: list[Array], expr: Expr, axis: int) -> Array:
    cut = [x._grid for x in several if 0 not in x._expr.shape] or [several[0]._grid]  # as Dask's
    return Array(expr, gpu=any(one._gpu for one in several), hint=grids.concatenated(cut, axis))
