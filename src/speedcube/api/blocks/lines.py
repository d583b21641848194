"""A function of each line of an array, as NumPy has it, over blocks of whole lines."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ...errors import ParameterError
from ...expr import build
from ...late import dask
from ..array import Array, array_of
from .through import called, of_one_block


def apply_along_axis(
    func1d: Callable[..., Any],
    axis: int,
    arr: Any,
    *args: Any,
    dtype: Any = None,
    shape: Any = None,
    **kwargs: Any,
) -> Array:
    """A function of each line along an axis: lazy, and called with NumPy's arrays, or CuPy's.

    Parameters
    ----------
    func1d : callable
        Takes a line, an array of one axis, and gives a number or an array.
    axis : int
        Along which axis the lines are.
    arr : array_like
        Of one axis or more.
    *args : Any
        What else `func1d` takes.
    dtype : dtype, optional
        What `func1d` gives. Without it and `shape` the first line is computed at once, to see.
    shape : tuple of int, optional
        The shape of what it gives.
    **kwargs
        What else `func1d` takes.

    Returns
    -------
    Array
        Lazy: the axis is replaced by those of what `func1d` gives.

    Raises
    ------
    ParameterError
        Where there is no line; it is a ValueError.
    ValueError, TypeError
        When it is computed, where lines give other shapes or dtypes than the first.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.apply_along_axis(sorted, 1, [[3, 1, 2], [9, 8, 7]]).compute()
    array([[1, 2, 3],
           [7, 8, 9]])
    """
    array = array_of(arr)
    k = build.check_axis(axis, array.ndim)
    if 0 in (*array.shape[:k], *array.shape[k + 1 :]):
        raise ParameterError(
            f"apply_along_axis: an array of shape {array.shape} has no axis to apply "
            "the function along"
        )
    if dtype is None or shape is None:
        first = array[tuple(slice(None) if n == k else 0 for n in range(array.ndim))]
        found = np.asanyarray(func1d(np.asarray(first), *args, **kwargs))
        dtype, shape = dtype or found.dtype, found.shape if shape is None else shape
    along = partial(_along, func1d, k, args, kwargs)
    whole = (*array.shape[:k], *shape, *array.shape[k + 1 :])
    label = f"apply_along_axis({dask.utils.funcname(func1d)})"
    made = of_one_block(label, along, array, dtype, whole)
    if made is None:
        made = _by_dask(func1d, k, array, *args, dtype=dtype, shape=shape, **kwargs)
    return made


def _along(func1d: Any, axis: int, args: Any, kwargs: Any, values: Any) -> Any:
    return np.apply_along_axis(func1d, axis, values, *args, **kwargs)


def _by_dask(func1d: Any, axis: int, array: Array, *args: Any, **options: Any) -> Array:
    import dask.array

    lines = array.rechunk({axis: -1})  # if Dask does it, that looks for a cluster
    along = dask.array.apply_along_axis
    result: Array = called("apply_along_axis", along, func1d, axis, lines, *args, **options)
    return result
