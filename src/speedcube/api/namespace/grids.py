"""Coordinates: `meshgrid`, `indices`, `mgrid` and `ogrid`, `ix_`, and functions of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes
from ...errors import ParameterError, ShapeError
from ...expr import build
from ..array import Array, array_of
from ..creation import coordinate
from ..devices import checked_like
from ..joining import stack
from ..shapes import broadcast_to
from ..sources import asarray
from .ranges import arange


def meshgrid(
    *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Array, ...]:
    """Make coordinates of a grid from the coordinates along each axis.

    Parameters
    ----------
    *xi : arrays
        The coordinates along each axis.
    copy : bool
        NumPy's; it changes nothing, for nothing is shared.
    sparse : bool
        Whether each array has the size of one axis only, and broadcasts.
    indexing : {"xy", "ij"}
        Whether the first two axes are columns and rows, or rows and columns.

    Returns
    -------
    tuple of Array
        One for each axis: views.

    Raises
    ------
    ValueError
        With another word for ``indexing``.

    Examples
    --------
    >>> x, y = sc.meshgrid([1, 2, 3], [10, 20])
    >>> (x + y).compute()
    array([[11, 12, 13],
           [21, 22, 23]])
    """
    if indexing not in ("xy", "ij"):
        raise ParameterError(f"meshgrid: indexing is 'xy' or 'ij', not {indexing!r}")
    lines = [array_of(one).reshape(-1) for one in xi]
    axes = list(range(len(lines)))
    if indexing == "xy" and len(lines) > 1:
        axes[:2] = [1, 0]
    open_ = [
        line.reshape(tuple(-1 if k == axis else 1 for k in range(len(lines))))
        for line, axis in zip(lines, axes, strict=True)
    ]
    if sparse:
        return tuple(open_)
    sizes = [lines[axes[k]].size for k in range(len(lines))]
    return tuple(broadcast_to(one, tuple(sizes)) for one in open_)


def indices(dimensions: Any, dtype: Any = int, sparse: bool = False, *, chunks: Any = None) -> Any:
    """Make the indices of an array, one array of them for each axis.

    Parameters
    ----------
    dimensions : tuple of int
        The sizes.
    dtype : dtype
        That of the indices.
    sparse : bool
        Whether to give a tuple of arrays with the size of one axis only.
    chunks : optional
        Dask's, of the axes that are indexed: no value depends on them.

    Returns
    -------
    Array, or tuple of Array
        The indices; the axes are the first axis of the array.

    Examples
    --------
    >>> sc.indices((2, 2)).compute()
    array([[[0, 0],
            [1, 1]],
    <BLANKLINE>
           [[0, 1],
            [0, 1]]])
    """
    several = hasattr(dimensions, "__next__")  # NumPy takes what gives sizes one by one, too
    shape = build.check_shape(tuple(dimensions) if several else dimensions)
    ndim = len(shape)
    if sparse:
        lines = (arange(n, dtype=dtype) for n in shape)
        return tuple(
            line.reshape(tuple(-1 if j == k else 1 for j in range(ndim)))
            for k, line in enumerate(lines)
        )
    each = [coordinate(shape, k).astype(dtype) for k in range(ndim)]
    if each and chunks is not None:
        each = [one.rechunk(chunks) for one in each]
    return stack(each) if each else asarray(np.indices((), dtype))


def fromfunction(
    function: Callable[..., Any],
    shape: Any,
    *,
    dtype: Any = float,
    like: Any = None,
    chunks: Any = None,
    **kwargs: Any,
) -> Any:
    """Call a function with the coordinates of an array, which are lazy arrays.

    Parameters
    ----------
    function : callable
        It takes one array for each axis. What it does with them is an expression.
    shape : tuple of int
        The sizes.
    dtype : dtype
        That of the coordinates.
    like : array, optional
        NumPy's; the coordinates are speedcube arrays.
    chunks : optional
        Dask's word for the grid of the coordinates; it decides no value.
    **kwargs : optional
        What else the function takes.

    Returns
    -------
    object
        What the function gives.

    Examples
    --------
    >>> sc.fromfunction(lambda i, j: i + 10 * j, (2, 2), dtype=int).compute()
    array([[ 0, 10],
           [ 1, 11]])
    """
    checked_like("fromfunction", like)
    sizes = build.check_shape(shape)
    places = (coordinate(sizes, k).astype(dtype) for k in range(len(sizes)))
    if chunks is not None:
        places = (place.rechunk(chunks) for place in places)
    return function(*places, **kwargs)


def ix_(*args: Any) -> tuple[Array, ...]:
    """Make indices that choose rows, columns and so on, each along an axis of its own.

    Parameters
    ----------
    *args : sequences of int or bool
        The places along each axis. Of a mask they are computed at once, for their number is a size.

    Returns
    -------
    tuple of Array
        Arrays of indices that broadcast to the chosen shape.

    Raises
    ------
    ValueError
        If one of them has not one axis.

    Examples
    --------
    >>> rows, columns = sc.ix_([0, 2], [1])
    >>> rows.shape, columns.shape
    ((2, 1), (1, 1))
    """
    lines = []
    for one in args:
        known = one if isinstance(one, Array) else np.asarray(array_of(one))
        if known.ndim != 1:
            raise ShapeError(f"ix_ takes sequences of one axis, not of {known.ndim}")
        if not isinstance(known, Array) and not known.size:
            known = known.astype(np.intp)
        if known.dtype == np.bool:
            (known,) = np.nonzero(np.asarray(known))
        lines.append(asarray(known))
    return tuple(
        line.reshape(tuple(-1 if j == k else 1 for j in range(len(lines))))
        for k, line in enumerate(lines)
    )


class _Grid:
    """What `mgrid` and `ogrid` are: indexed by slices, they give coordinates."""

    def __init__(self, sparse: bool) -> None:
        self._sparse = sparse

    def __repr__(self) -> str:
        return f"speedcube.{'ogrid' if self._sparse else 'mgrid'}"

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, tuple):
            return _line(key, _dtype([key]))
        lines = [_line(one, _dtype(key)) for one in key]
        grids = meshgrid(*lines, sparse=self._sparse, indexing="ij")
        if self._sparse:
            return grids
        return stack(grids) if grids else asarray(np.mgrid[()])


def _numbers(key: Any) -> tuple[Any, Any, Any]:
    """Start, stop and step of a slice; a complex step says how many."""
    if not isinstance(key, slice):
        raise ParameterError(f"mgrid and ogrid take slices, as mgrid[0:3, 0:1:5j], not {key!r}")
    start = 0 if key.start is None else key.start
    return start, key.stop, 1 if key.step is None else key.step


def _dtype(keys: Any) -> str:
    parts = [part for key in keys for part in _numbers(key)]
    counted = any(isinstance(part, (complex, np.complexfloating)) for part in parts)
    real = [part for part in parts if not isinstance(part, (complex, np.complexfloating))]
    return dtypes.check(np.result_type(0, *real, *([0.0] if counted else [])))


def _line(key: Any, dtype: str) -> Array:
    start, stop, step = _numbers(key)
    gap: Any
    if isinstance(step, (complex, np.complexfloating)):
        size = int(abs(complex(step)))
        gap = (stop - start) / (size - 1) if size > 1 else 1.0
    else:
        size, gap = max(0, math.ceil((stop - start) / step)), step
    index: Any = arange(size)
    whole = dtypes.is_integer(dtype)
    numbers = index * int(gap) + int(start) if whole else index * float(gap) + float(start)
    return asarray(numbers, dtype)


mgrid, ogrid = _Grid(sparse=False), _Grid(sparse=True)
