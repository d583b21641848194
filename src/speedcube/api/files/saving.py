"""Arrays written to files block after block: none is ever whole in memory."""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ...engine.writing.how import HowToWrite
from ...engine.writing.progress import Show, check_show
from ...engine.writing.write import Write
from ...errors import ParameterError, ParameterTypeError, ShapeError
from ...interop.writers.assigned import unit_of
from ...interop.writers.npy import NpyPath, rows, stream_to
from ...interop.writers.zarr import ZarrTarget
from ...interop.writers.zarr_place import MODES, ZarrPlace, codec_options, region_of
from ...late import dask
from ...plan.writing import MEMORY
from ..array import Array, array_of
from ..methods.numpy_protocol import register
from ..methods.places import FUNCTIONS
from .opening import from_zarr

_CHUNK: Final = 8 << 20  # bytes of a chunk, where nobody says how long they are
_MOST: Final = 64 << 20  # bytes of the array's own chunks, if those are taken


def to_zarr(
    arr: Any,
    url: Any,
    component: str | None = None,
    storage_options: Any = None,
    region: Any = None,
    compute: bool = True,
    return_stored: bool = False,
    mode: str = "a",
    *,
    chunks: Any = None,
    shards: Any = None,
    codecs: Any = None,
    resume: bool = False,
    on: Any = None,
    memory: int | str = MEMORY,
    progress: Show = None,
    **zarr_array_kwargs: Any,
) -> Any:
    """Write an array as one of Zarr, block after block: it may be larger than memory.

    Each core (or worker of a Dask client) reads, computes, encodes and writes blocks of its own, of
    whole chunks or shards. Until the last one is there, the array has an attribute that says so.
    After an error, Ctrl-C or a kill ``resume=True`` writes what is missing: the same bytes.

    Parameters
    ----------
    arr : Array
        What is written.
    url : str, Path, zarr.Array or store
        Where: whatever ``zarr.open`` takes.
    component : str, optional
        Which array of a group.
    storage_options : dict, optional
        For the place where it is.
    region : tuple of slices, optional
        Where in an array that is there. Chunks on its border are read, and written again.
    compute : bool
        Whether it is done now; else a Delayed is given, whose ``plan()`` says what it will do.
    return_stored : bool
        Whether the array that was written is opened and given.
    mode : {"a", "w", "w-", "r+"}
        What is there already: "a" and "w-" refuse it, "w" writes another in its place, "r+" writes
        into it.
    chunks : int or tuple of int, optional
        The lengths of a chunk; -1 is a whole axis. As a rule the array's own `chunks`, if they are
        even and no larger than 64 MiB, else 8 MiB.
    shards : int or tuple of int, optional
        The lengths of a shard, which holds whole chunks and is written at once.
    codecs : sequence of str, dict or codec, optional
        ``["zstd"]``, ``[{"name": "gzip", "configuration": {"level": 1}}]``, ``[]`` for none; as a
        rule Zarr's own choice.
    resume : bool
        Whether an unfinished write of the same array is gone on with; if there is none, it begins.
        A whole one is left as it is, unread: its shape, dtype and chunks alone are compared.
    on : str, Client or rung, optional
        As in `Array.compute`; as a rule all cores.
    memory : int or str
        Bytes of a worker for all blocks at a time. One chunk, or shard, a worker has to hold.
    progress : bool or function, optional
        Whether bytes a second and the time left are shown: on terminals alone if not given. A
        function gets a record with ``done``, ``total``, ``rate`` and ``left`` after each block.
        What ``resume=True`` finds is told first: a line, or a record with ``found`` of ``blocks``.
    **zarr_array_kwargs
        What else ``zarr.create_array`` takes: ``zarr_format=2``, ``fill_value=``, ``attributes=``.

    Returns
    -------
    None, Delayed, or Array
        As `compute` and `return_stored` say.

    Raises
    ------
    ImportError
        Without Zarr: it comes with ``pip install "speedcube[io]"``.
    FileExistsError
        If an array is there, and nobody said what to do with it.
    FileNotFoundError
        If none is there that was to be written into.
    ValueError
        For a region that does not fit, chunks or codecs that there are not, or if another
        computation was begun there.
    TypeError
        If the array that is there has another dtype.
    OSError
        If the disk is full, or the store fails.

    Examples
    --------
    >>> import speedcube as sc
    >>> _ = sc.to_zarr(sc.arange(4), "numbers.zarr")
    >>> sc.from_zarr("numbers.zarr").sum().compute()
    np.int64(6)
    """
    array = array_of(arr)
    if mode not in MODES:
        raise ParameterError(f"mode= takes {', '.join(MODES)}, not {mode!r}")
    options, given_mode = dict(zarr_array_kwargs), mode
    if options.pop("overwrite", False):
        given_mode = "w"
    options |= codec_options(codecs, options.get("zarr_format") or 3)
    shape = array.shape
    place = ZarrPlace(
        os.fspath(url) if isinstance(url, os.PathLike) else url,
        *(component, storage_options, given_mode, bool(resume), shape, array.dtype),
        _lengths("chunks", chunks, shape) or _own_chunks(array),
        _lengths("shards", shards, shape),
        options=options,
    )
    target = _zarr_target(place, region)
    write = Write([array._expr], [target], how_to_write(on, memory, progress, [array]))
    if not compute:
        from .later import Writing

        return Writing(write)
    write.write()
    return from_zarr(target.array) if return_stored else None


def _zarr_target(place: ZarrPlace, region: Any) -> ZarrTarget:
    """What writes to ``place``, or to ``region`` of what is there."""
    first, unit = (0,) * len(place.shape), place.shards or place.chunks
    within = region is not None or place.mode == "r+" or hasattr(place.url, "store_path")
    there = place.there() if within else None
    if region is not None and there is None:
        raise FileNotFoundError(errno.ENOENT, "there is no Zarr array to write into", place.label)
    if there is not None and hasattr(there, "chunks"):
        unit = unit_of(there, len(there.shape))
        if len(there.shape) != len(place.shape):
            raise ShapeError(
                f"{place.label} has shape {tuple(there.shape)}, and the array to write has "
                f"shape {place.shape}"
            )
        if region is not None:
            box = region_of(region, tuple(there.shape), place.label)
            place, first = replace(place, region=box), tuple(s.start for s in box)
    how = place.resume, region is None, place.travels
    return ZarrTarget(place.label, place.array, unit, first, place.shape, *how, at=place)


def save(
    file: Any,
    arr: Any,
    allow_pickle: bool = True,
    *,
    compute: bool = True,
    resume: bool = False,
    on: Any = None,
    memory: int | str = MEMORY,
    progress: Show = None,
) -> Any:
    """Write an array as a ``.npy`` file, block after block: it may be larger than memory.

    ``np.save(file, x)`` is the same. The file gets its name when it is whole; until then it lies
    beside it, as a draft with a journal. After an error, Ctrl-C or a kill ``resume=True`` writes
    what is missing: the same bytes.

    Parameters
    ----------
    file : str, Path or file
        Where; ``.npy`` is added to a name that does not end so. What is open is written to from
        where it stands.
    arr : Array
        What is written, in C order.
    allow_pickle : bool
        NumPy's; arrays of ours hold no objects.
    compute : bool
        Whether it is done now; else a Delayed is given, whose ``plan()`` says what it will do.
    resume : bool
        Whether an unfinished write of the same array is gone on with; if there is none, it begins.
    on : str, Client or rung, optional
        As in `Array.compute`; as a rule all cores.
    memory : int or str
        Bytes of a worker for all blocks at a time.
    progress : bool or function, optional
        As in `to_zarr`.

    Returns
    -------
    None or Delayed
        As `compute` says.

    Raises
    ------
    ValueError
        If another computation was begun there.
    OSError
        If the file cannot be made, or the disk is full.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.save("squares.npy", sc.arange(4) ** 2)
    >>> np.load("squares.npy")
    array([0, 1, 4, 9])
    """
    array = array_of(arr)
    if not hasattr(file, "write") and not isinstance(file, (str, bytes, os.PathLike)):
        kind = type(file).__name__
        raise ParameterTypeError(f"save takes a name or an open file, not {kind}")
    target: Any
    if hasattr(file, "write"):
        if resume:
            raise ParameterError("resume=True needs the name of a file, not an open one")
        target = stream_to(file, array.shape, array.dtype)
    else:
        path = os.fspath(file)
        path = os.fsdecode(path) if isinstance(path, bytes) else path
        path += "" if path.endswith(".npy") else ".npy"
        target = NpyPath(os.path.abspath(path), array.shape, array.dtype, bool(resume))
    write = Write([array._expr], [target], how_to_write(on, memory, progress, [array]))
    if not compute:
        from .later import Writing

        return Writing(write)
    write.write()
    return None


def how_to_write(on: Any, memory: Any, progress: Any, arrays: Sequence[Array]) -> HowToWrite:
    """What users say of a write, checked."""
    check_show(progress)
    try:
        size = dask.utils.parse_bytes(memory)
    except (AttributeError, ValueError, TypeError) as err:
        raise ParameterError(
            f"memory= takes a number of bytes, such as '1 GB', not {memory!r}"
        ) from err
    if size <= 0:
        raise ParameterError(f"memory= takes a positive number of bytes, not {memory!r}")
    return HowToWrite(on, int(size), progress, any(array._gpu for array in arrays))


def _lengths(name: str, given: Any, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """``given``, of `to_zarr`, for each axis; None as it is."""
    if given is None or given == "auto":
        return None
    each = [given] * len(shape) if isinstance(given, (int, np.integer)) else given
    if isinstance(each, (str, bytes)) or not isinstance(each, Sequence) or len(each) != len(shape):
        raise ParameterError(
            f"{name}= takes a length, or one for each of {len(shape)} axes, not {given!r}"
        )
    lengths = []
    for one, extent in zip(each, shape, strict=True):
        if one is None or one == -1:
            one = extent
        if isinstance(one, bool) or not isinstance(one, (int, np.integer)) or one < (extent > 0):
            raise ParameterError(
                f"{name}={given!r}: a length is a whole number of at least 1, or -1"
            )
        lengths.append(max(1, int(one)))
    return tuple(lengths)


def _own_chunks(array: Array) -> tuple[int, ...]:
    """The chunks that ``array`` shows, if each axis has even ones, and they are no larger."""
    longest = tuple(max(1, *each) if each else 1 for each in array.chunks)
    even = all(
        set(each[:-1]) <= {n} and each[-1:] <= (n,)
        for each, n in zip(array.chunks, longest, strict=True)
    )
    if even and math.prod(longest) * array.itemsize <= _MOST:
        return longest
    return rows(array.shape, array.itemsize, _CHUNK)


register({np.save: save})
FUNCTIONS.update(to_zarr=to_zarr)
