"""Arrays whose chunks come from elsewhere: Delayed values, files, what is read by slices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ParameterError
from ..array import Array
from ..files.opening import of_sliceable
from ..files.stacks import opened_stack
from ..sources import asarray
from ..stored import is_dask_array
from .through import by_dask, called


def from_array(
    x: Any,
    chunks: Any = "auto",
    name: Any = None,
    lock: Any = False,
    asarray: bool | None = None,
    fancy: bool = True,
    getitem: Any = None,
    meta: Any = None,
    inline_array: bool = False,
) -> Array:
    """Make an array of what has a shape, a dtype and slices: a file of HDF5, NetCDF or Zarr, say.

    NumPy's and CuPy's arrays, and lists, are read where they lie: `speedcube.asarray`. Others are
    read a box at a time, by several threads, when they are computed; with a ``lock``, a ``getitem``
    or a ``meta`` by Dask, chunk by chunk.

    Parameters
    ----------
    x : array_like
        What is read.
    chunks : optional
        The grid of chunks.
    name : str or bool, optional
        Dask's, for names of tasks.
    lock : bool or lock
        Whether chunks are read one at a time.
    asarray : bool, optional
        Whether chunks are made NumPy's arrays.
    fancy : bool
        Whether `x` takes lists as indices.
    getitem : callable, optional
        What reads a chunk.
    meta : array, optional
        An empty array like chunks.
    inline_array : bool
        Dask's, for the place of `x` in its graph.

    Returns
    -------
    Array
        Lazy.

    Raises
    ------
    ValueError
        For a Dask array, and chunks that are no grid.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.from_array(np.arange(4), chunks=2).sum().compute()
    np.int64(6)
    """
    if isinstance(x, Array) or is_dask_array(x):
        raise ParameterError("from_array does not take a lazy array; use asarray, or rechunk")
    if isinstance(x, (list, tuple, int, float, np.ndarray, np.generic)) or _is_cupy(x):
        return _asarray(x, chunks=chunks)
    if _is_sliceable(x) and not lock and getitem is None and meta is None and asarray is not False:
        return of_sliceable(x, chunks)
    import dask.array

    options = {
        "name": name,
        "lock": lock,
        "asarray": asarray,
        "fancy": fancy,
        "getitem": getitem,
        "meta": meta,
        "inline_array": inline_array,
    }
    result: Array = called("from_array", dask.array.from_array, x, chunks, **options)
    return result


def _is_sliceable(x: Any) -> bool:
    """Whether boxes of ``x`` can be asked for."""
    shape, dtype = getattr(x, "shape", None), getattr(x, "dtype", None)
    return isinstance(shape, tuple) and isinstance(dtype, np.dtype) and hasattr(x, "__getitem__")


_asarray = asarray  # which `from_array` has a parameter of


def _is_cupy(x: Any) -> bool:
    return hasattr(type(x), "__cuda_array_interface__")


@by_dask()
def from_delayed(
    value: Any, shape: Any, dtype: Any = None, meta: Any = None, name: str | None = None
) -> Array:
    """Make an array of one chunk that Dask's `delayed` gives.

    Parameters
    ----------
    value : Delayed
        Gives an array.
    shape : tuple of int
        Its shape.
    dtype : dtype, optional
        Its dtype.
    meta : array, optional
        An empty array like it.
    name : str, optional
        Dask's, for names of tasks.

    Returns
    -------
    Array
        Lazy.

    Raises
    ------
    ValueError
        When it is computed, for another shape.

    Examples
    --------
    >>> import speedcube as sc
    >>> import dask
    >>> sc.from_delayed(dask.delayed(np.ones)(3), (3,), dtype=float).sum().compute()
    np.float64(3.0)
    """
    raise NotImplementedError


@by_dask()
def from_tiledb(
    uri: Any,
    attribute: str | None = None,
    chunks: Any = None,
    storage_options: Any = None,
    **kwargs: Any,
) -> Array:
    """Make an array that reads a TileDB array.

    Parameters
    ----------
    uri : str or tiledb.Array
        Where it is.
    attribute : str, optional
        Which attribute.
    chunks : optional
        Another grid than its own.
    storage_options : dict, optional
        For the place where it is.
    **kwargs
        What else TileDB takes.

    Returns
    -------
    Array
        Lazy.

    Raises
    ------
    ImportError
        Without tiledb.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.from_tiledb("numbers.tiledb")  # doctest: +SKIP
    >>> sc.from_tiledb.__name__
    'from_tiledb'
    """
    raise NotImplementedError


def from_npy_stack(dirname: Any, mmap_mode: str | None = "r") -> Array:
    """Make an array of a directory of ``.npy`` files that `to_npy_stack` wrote.

    Files are read a box at a time, and never mapped. Of the pickle ``info`` beside them nothing is
    loaded but numbers and NumPy's dtype.

    Parameters
    ----------
    dirname : str
        The directory.
    mmap_mode : str, optional
        Dask's; it changes nothing.

    Returns
    -------
    Array
        Lazy.

    Raises
    ------
    FileNotFoundError
        Where it is not there, or a file is missing.
    ValueError
        Where ``info`` asks for code, or a file holds something else than was written.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.to_npy_stack("numbers", sc.arange(4, chunks=2))
    >>> sc.from_npy_stack("numbers").compute()
    array([0, 1, 2, 3])
    """
    return opened_stack(dirname)
