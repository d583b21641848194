"""Arrays from values in memory, from files, Dask arrays and DLPack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .. import dtypes
from ..errors import DTypeError, MissingError, ParameterError, RangeError
from ..interop.buffers import readable
from ..interop.readers.npy import open_npy
from .array import Array
from .devices import checked_device, checked_like, checked_order
from .files.tiles import read_by_tiles
from .joining import stack
from .stored import deferred, is_dask_array, leaf_of


def asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: Any = None,
    copy: bool | None = None,
    like: Any = None,
    chunks: Any = None,
) -> Array:
    """Make an array that reads values when it is computed.

    NumPy and CuPy arrays are not copied: what they hold when `Array.compute` runs is what counts.
    So a write in between changes the result, also of what was built before it; `array` copies at
    once, for buffers that are filled again.

    Parameters
    ----------
    a : array, number, or nested lists of them
        The values: of NumPy, CuPy, pandas, Dask, of what speaks DLPack, of speedcube itself.
    dtype : dtype, optional
        What they are converted to when they are read.
    order : {"C", "F", "A", "K"}, optional
        NumPy's word for the layout in memory; it decides no value.
    device : str, optional
        Where the array is to lie: ``"cpu"``, ``"cuda:0"`` ...
    copy : bool, optional
        True copies the values now, as `array` does; False refuses what must be copied, as lists.
    like : array, optional
        NumPy's; the result is a speedcube array.
    chunks : optional
        The grid that the array shows to Dask; no value depends on it.

    Returns
    -------
    Array
        The array.

    Raises
    ------
    TypeError
        If the dtype is object, string, complex, or another without kernels.
    ValueError
        If lists are ragged, or ``copy=False`` cannot be kept.

    Examples
    --------
    >>> sc.asarray([[1, 2], [3, 4]]).sum(axis=0).compute()
    array([4, 6])
    """
    checked_order("asarray", order)
    checked_like("asarray", like)
    checked_device("asarray", device)
    if copy is False:
        _needs_no_copy(a, dtype)
    if dtype is not None and isinstance(a, (int, float, complex, list, tuple, range)):
        a = _held_by(dtypes.check(dtype), a)
    a = _copied(a) if copy and not isinstance(a, Array) else a
    array = _read(a, chunks, bool(copy))
    if copy and array is a:  # to which others may assign
        array = array.copy()
    array = array if dtype is None else array.astype(dtype, copy=bool(copy))
    return array if device is None else array.to_device(device)


def _held_by(dtype: str, value: Any) -> Any:
    """Numbers of Python's as integers or reals of ``dtype``, which has to hold them."""
    if not (dtypes.is_integer(dtype) or dtypes.is_float(dtype)) or _holds_lazy(value):
        return value
    if dtypes.is_float(dtype) and (known := readable(value)).dtype.kind != "c":
        return known
    try:
        return np.array(value, dtype)
    except OverflowError as err:
        limits = np.iinfo(dtype)
        beyond = [
            one
            for one in np.asarray(value, object).reshape(-1)
            if isinstance(one, (int, float, np.number)) and not limits.min <= one <= limits.max
        ]
        what = beyond[0] if beyond else value
        raise RangeError(f"{what} does not fit {dtype} ({limits.min}..{limits.max})") from err
    except (ValueError, TypeError) as err:
        readable(value)  # which says what is wrong with lists and texts
        kind = DTypeError if isinstance(err, TypeError) else ParameterError
        raise kind(f"{err}: {value!r} is not of {dtype}") from err


def _read(value: Any, chunks: Any, ours: bool = False) -> Array:
    if isinstance(value, Array):
        return value
    if isinstance(value, (list, tuple)) and _holds_lazy(value):
        return stack([_read(one, None) for one in value])
    leaf, gpu = leaf_of(value, ours)
    if chunks is None and is_dask_array(value):
        chunks = value.chunks
    return Array(leaf, gpu=gpu, hint=chunks)


def _holds_lazy(value: Any) -> bool:
    """Whether lists hold one of our arrays, which are put together and not computed."""
    if not isinstance(value, (list, tuple)):
        return isinstance(value, Array)
    kinds = set(map(type, value))
    return Array in kinds or (not kinds.isdisjoint((list, tuple)) and any(map(_holds_lazy, value)))


def _copied(value: Any) -> Any:
    if _holds_lazy(value) or is_dask_array(value):
        return value  # which have no memory yet
    return readable(value).copy()


def _needs_no_copy(value: Any, dtype: Any) -> None:
    """Refuse ``copy=False`` for what has no memory to share, or another dtype."""
    if isinstance(value, (list, tuple, bool, int, float)):
        raise ParameterError(
            f"copy=False is not possible: a {type(value).__name__} has no memory to be read in "
            "place"
        )
    own = getattr(value, "dtype", None)
    if dtype is not None and isinstance(own, np.dtype) and own != np.dtype(dtype):
        raise ParameterError(f"copy=False is not possible: {own} is converted to {np.dtype(dtype)}")


def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: str | None = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    like: Any = None,
    chunks: Any = None,
) -> Array:
    """Make an array of its own copy of values, taken now: later writes to them change nothing.

    Of a speedcube array nothing is computed: it is an array of its own with the same values.
    `Array.persist` holds its values.

    Parameters
    ----------
    object : array, number, or nested lists of them
        The values.
    dtype, order, like, chunks : optional
        As in `asarray`.
    copy : bool or None
        None and False read the values when they are needed: `asarray`.
    subok : bool
        NumPy's; it changes nothing here.
    ndmin : int
        How many axes the result has at least; new ones are in front.
    ndmax : int
        NumPy's, for arrays of objects; only 0.

    Returns
    -------
    Array
        The array.

    Raises
    ------
    TypeError, ValueError
        As `asarray` does.

    Examples
    --------
    >>> data = np.zeros(2)
    >>> x = sc.array(data)
    >>> data[:] = 1
    >>> x.compute()
    array([0., 0.])
    """
    if ndmax:
        raise ParameterError(f"array takes ndmax=0 only, not {ndmax}: it is for arrays of objects")
    result = asarray(object, dtype, order, copy=copy, like=like, chunks=chunks)
    if copy and result is object:
        result = result.copy()
    return result[(None,) * (ndmin - result.ndim)] if result.ndim < ndmin else result


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """Make an array that reads what speaks DLPack: a tensor, an array of another library.

    Parameters
    ----------
    x : object with ``__dlpack__`` and ``__dlpack_device__``
        The values.
    device : str, optional
        Where the array is to lie: ``"cpu"``, ``"cuda:0"`` ...
    copy : bool, optional
        True copies the values now.

    Returns
    -------
    Array
        The array.

    Raises
    ------
    AttributeError
        If the object does not speak DLPack.
    TypeError
        If it cannot be read.

    Examples
    --------
    >>> sc.from_dlpack(np.arange(3)).sum().compute()
    np.int64(3)
    """
    if not hasattr(x, "__dlpack__"):
        raise MissingError(
            f"from_dlpack: a {type(x).__name__} has no __dlpack__; asarray takes lists and numbers"
        )
    return asarray(x, device=device, copy=copy)


def from_npy(path: str | Path) -> Array:
    """Make an array that reads a ``.npy`` file, of any size.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    Array
        The array; elements are read from the file when they are needed, a box of
        it at a time.

    Raises
    ------
    UnsafeFileError
        If the file is no ``.npy`` file, is shorter than its header says, or holds pickled
        objects, which are never loaded.

    Examples
    --------
    >>> np.save("numbers.npy", np.arange(3))
    >>> sc.from_npy("numbers.npy").sum().compute()
    np.int64(3)
    """
    tiles, fortran = open_npy(path)
    array = read_by_tiles(tiles, np.dtype(tiles.kind))
    return array.T if fortran else array


def from_dask_array(collection: Any) -> Array:
    """Make an array that reads a Dask array; Dask computes it to memory when it is needed.

    Parameters
    ----------
    collection : dask.array.Array
        The Dask array, of known shape.

    Returns
    -------
    Array
        The array, on the same grid of chunks.

    Raises
    ------
    TypeError
        If it is no Dask array, or one of a dtype without kernels.
    ValueError
        If its shape is not known.

    Examples
    --------
    >>> import dask.array as da
    >>> sc.from_dask_array(da.arange(4, chunks=2)).sum().compute()
    np.int64(6)
    """
    if not is_dask_array(collection):
        way = "compute it first, and use" if hasattr(collection, "__dask_graph__") else "use"
        raise DTypeError(f"{type(collection).__name__} is no Dask array; {way} speedcube.asarray")
    return Array(deferred(collection), hint=collection.chunks)
