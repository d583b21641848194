"""Arrays in files and in others' hands, which are read a box at a time when they are computed."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import unquote

import numpy as np

from ...errors import DataFileError, DTypeError, ParameterError, ShapeError
from ...interop.readers.encoded_zarr import encoded_zarr
from ...interop.readers.manners import chunks_of, dtype_of
from ...interop.readers.npy import open_npy, together
from ...interop.readers.npz import open_npz
from ...interop.readers.raw_zarr import raw_zarr
from ...interop.readers.sliceable import Sliceable
from ...interop.readers.zarr_files import as_opened, opened, shown_place, without_secrets
from ...interop.writers.zarr import check_ended
from ...late import glob
from ..array import Array
from ..joining import stack
from .parquet import is_parquet, the_column
from .tiles import read_by_tiles

_LOCAL: Final = "file://"


def open(path: Any, name: str | None = None) -> Array:
    """Open an array that lies in files; it is read, a box at a time, when it is computed.

    Memory holds a few boxes of it, whatever its size; `Array.plan` says how many bytes.

    Parameters
    ----------
    path : str, bytes, Path, or list of them
        A ``.npy``, ``.npz`` or ``.parquet`` file; a Zarr array or group (a folder, or an address
        that Zarr opens); a pattern such as ``"run-*.npy"``, a folder of files, or a list of them:
        equal arrays, which are stacked along a new first axis, in the order of their names or of
        the list. Rows of Parquet files follow one another, as `from_parquet` has it. Any of them
        may be an address that begins with ``file://``.
    name : str, optional
        The array in a Zarr group or in a ``.npz`` file, or the column, if there are several.

    Returns
    -------
    Array
        The array.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If a file is none of these, is shorter than its header says, holds pickled objects, which
        are never loaded, or if the arrays of several files differ in shape or dtype.

    Examples
    --------
    >>> np.save("one.npy", np.arange(3.0))
    >>> sc.open("one.npy").sum().compute()
    np.float64(3.0)
    """
    if isinstance(path, (list, tuple)):
        places = [_place(one) for one in path]
        if places and all(map(is_parquet, places)):
            return the_column(places, name)
        return _stacked(places, name)
    place = _place(path)
    if not _is_zarr(place) and is_parquet(place):  # which looks at all files of a folder
        return the_column(place, name)
    if "://" in place or _is_zarr(place):
        return from_zarr(place, name)
    if glob.has_magic(place) and not os.path.lexists(place):
        found = sorted(glob.glob(place))
        if not found:
            raise FileNotFoundError(errno.ENOENT, "no file has such a name", place)
        return _stacked(found, name)
    if os.path.isdir(place):
        files = sorted(glob.glob(os.path.join(glob.escape(place), "*.npy")))
        if not files:
            raise DataFileError(f"{place} is a folder without .npy files, and no Zarr array")
        return _stacked(files, name)
    if name is not None and not place.endswith(".npz"):
        raise DataFileError(_alone(place, name))
    tiles, fortran = open_npz(place, name) if place.endswith(".npz") else open_npy(place)
    array = read_by_tiles(tiles, np.dtype(tiles.kind))
    return array.T if fortran else array


def from_zarr(
    url: Any,
    component: str | None = None,
    storage_options: Any = None,
    chunks: Any = None,
    name: str | None = None,
    inline_array: bool = False,
    missing: str = "fill",
    **kwargs: Any,
) -> Array:
    """Open a Zarr array; its chunks are read, each once a pass, when it is computed.

    Parameters
    ----------
    url : str, Path, zarr.Array, zarr.Group or store
        Where it lies: whatever ``zarr.open`` takes.
    component : str, optional
        The array in a group.
    storage_options : dict, optional
        For the place where it lies, as ``zarr.open`` takes them.
    chunks : optional
        The grid that the array shows, if not that of its chunks; no value depends on it.
    name : str, optional
        Dask's, for names of tasks.
    inline_array : bool
        Dask's, for the place of the array in its graph.
    missing : {"fill", "raise"}
        What a chunk that is not there is: the array's fill value, as Zarr has it, or an error that
        names the chunk when it is read.
    **kwargs
        What else ``zarr.open`` takes.

    Returns
    -------
    Array
        The array, on the grid of its chunks.

    Raises
    ------
    ImportError
        If Zarr is not installed: it comes with ``pip install "speedcube[io]"``.
    FileNotFoundError
        If there is nothing there.
    ValueError
        If there is a group and no array of it is named, and where files are not Zarr's; when it is
        computed, for a chunk that does not decode, which is named.

    Examples
    --------
    >>> import zarr
    >>> z = zarr.create_array(store={}, data=np.arange(6.0).reshape(2, 3))
    >>> sc.from_zarr(z).sum(axis=0).compute()
    array([3., 5., 7.])
    """
    import zarr

    if missing not in ("fill", "raise"):
        raise ParameterError(f"from_zarr takes missing='fill' or 'raise', not {missing!r}")
    found = url
    if not isinstance(url, (zarr.Array, zarr.Group)):
        place = os.fspath(url) if isinstance(url, os.PathLike) else url
        found = opened(place, storage_options, **kwargs)
    if isinstance(found, zarr.Group):
        found = _member(found, component)
    elif component not in (None, "", "/"):
        raise DataFileError(_alone(shown_place(found.store_path), component))
    label = f"zarr {found.name or shown_place(found.store_path)}"
    return of_zarr(found, chunks, label, missing)


def of_zarr(array: Any, chunks: Any, label: str, missing: str = "fill") -> Array:
    """Zarr's ``array``, by the reader that is fastest for how its chunks lie."""
    check_ended(array)
    header = as_opened(array)
    raw = raw_zarr(array, label, header) if missing == "fill" else None
    if raw is not None:
        return read_by_tiles(raw, np.dtype(raw.kind), chunks)
    if missing == "fill" and chunks_of(array) is not None:
        by_zarr = Sliceable(array, tuple(array.shape), chunks_of(array), label, header=header)
        encoded = encoded_zarr(array, label, by_zarr)
        if encoded is not None:
            return read_by_tiles(encoded, np.dtype(encoded.files.kind), chunks)
    return of_sliceable(array, chunks, label, complete=missing == "raise")


def _alone(place: str, name: str) -> str:
    return f"{place} is one array, in which there is none named {name!r}: open it without a name"


def _member(group: Any, component: str | None) -> Any:
    place = shown_place(group.store_path)
    try:
        found = group.get(component) if component is not None else None
        names = sorted(group.array_keys()) if found is None else []
    except (OSError, MemoryError):
        raise
    except Exception as err:
        text = without_secrets(f"{type(err).__name__}: {err}", place)
        raise DataFileError(f"{place} cannot be read as Zarr: {text}") from None
    if component is None:
        raise DataFileError(f"{place} is a Zarr group: name one of its arrays: {names}")
    if hasattr(found, "dtype"):
        return found
    raise DataFileError(f"{place} has no array {component!r}; it has {names}")


def of_sliceable(
    array: Any,
    chunks: Any = None,
    label: str = "",
    stored: tuple[int, ...] | None = None,
    complete: bool = False,
) -> Array:
    """The array whose boxes are ``array[slices]``, on the grid ``chunks``; None: its own.

    It is stored in chunks of ``stored`` elements; None: in those that ``array`` says.
    """
    dtype, shape = dtype_of(array), tuple(array.shape)
    label = label or type(array).__name__
    check_ended(array)
    if dtype.hasobject:
        raise DTypeError(f"{label} holds objects, which are never unpickled")
    own = (chunks_of(array) if stored is None else stored) or together(shape, dtype.itemsize)
    tiles = Sliceable(array, shape, own, label, complete, as_opened(array))
    return read_by_tiles(tiles, dtype, chunks)


def _place(path: Any) -> str:
    """``path`` as text; of an address of this machine, the path there."""
    place: str = os.fsdecode(path)
    host, slash, rest = place.removeprefix(_LOCAL).partition("/")
    if not place.startswith(_LOCAL) or not slash or host not in ("", "localhost"):
        return place
    local = slash + rest
    return local if os.path.lexists(local) else unquote(local)


def _is_zarr(place: str) -> bool:
    return any(os.path.exists(os.path.join(place, f)) for f in ("zarr.json", ".zarray", ".zgroup"))


def _stacked(places: Sequence[str], name: str | None) -> Array:
    """The arrays at ``places``, which are equal in shape and dtype, along a new first axis."""
    if not places:
        raise DataFileError("no files were given")
    arrays = [open(place, name) for place in places]
    first = arrays[0]
    for place, one in zip(places, arrays, strict=True):
        if one.shape != first.shape or one.dtype != first.dtype:
            raise ShapeError(
                f"{place} holds {one.dtype} of shape {one.shape} and {places[0]} {first.dtype} of "
                f"shape {first.shape}; files of one array must be alike"
            )
    return stack(arrays)
