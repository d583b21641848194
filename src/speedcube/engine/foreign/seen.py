"""Where arrays of other libraries lie, as one text for one place, and what graphs of Dask read."""

from __future__ import annotations

import io
import os
from typing import Any

import numpy as np

from ...expr.nodes import Stored, Tiled
from ...late import cloudpickle


def place_of(array: Any) -> str | None:
    """The place of an ``array`` of Zarr, h5py or netCDF4; None where nothing tells.

    Links are followed, and an address is the same whoever opens it.
    """
    store_path = getattr(array, "store_path", None)
    if store_path is not None:
        return place_in_store(store_path.store, store_path.path)
    file = getattr(getattr(array, "file", None), "filename", None)
    if file is None and callable(getattr(array, "group", None)):
        file = getattr(array.group(), "filepath", lambda: None)()
    name = getattr(array, "name", None)
    if not isinstance(file, str) or not isinstance(name, str):
        return None
    return f"{os.path.realpath(file)}::{name}"


def place_in_store(store: Any, path: str) -> str:
    """The place of ``path`` in Zarr's ``store``."""
    while (inner := getattr(store, "_store", None)) is not None:  # one that wraps another
        store = inner
    root = getattr(store, "root", None)
    if root is not None:
        return os.path.realpath(os.path.join(root, path))
    fs = getattr(store, "fs", None)
    if fs is None:
        return f"{store}/{path}".rstrip("/")
    fs = getattr(fs, "sync_fs", fs)  # one that is called by a loop of events
    protocols = [fs.protocol] if isinstance(fs.protocol, str) else list(fs.protocol)
    whole = f"{store.path}/{path}".rstrip("/")
    return os.path.realpath(whole) if "file" in protocols else f"{protocols[0]}://{whole}"


def mapped(array: Any) -> tuple[str, int | None] | None:
    """The file that the memory of ``array`` is, and at which byte it begins; None: in no file.

    No byte where the elements do not lie there in C order, one after the other.
    """
    owner = array
    while owner is not None and not isinstance(owner, np.memmap):
        owner = getattr(owner, "base", None)
    if owner is None or not isinstance(owner.filename, (str, os.PathLike)):
        return None
    place = os.path.realpath(owner.filename)
    if not array.flags.c_contiguous:
        return place, None
    while isinstance(owner.base, np.memmap):
        owner = owner.base
    return place, owner.offset + array.ctypes.data - owner.ctypes.data


def seen_in(graph: Any) -> list[Tiled | Stored | str]:
    """What the tasks of a ``graph`` of Dask's read: our sources, NumPy's arrays, places.

    As far as it can be pickled: what cannot be looks like nothing.
    """
    found: list[Tiled | Stored | str] = []

    class Looks(cloudpickle.Pickler):  # type: ignore[misc]
        def persistent_id(self, one: Any) -> Any:
            if isinstance(one, (Tiled, Stored)):
                found.append(one)
            elif isinstance(one, np.ndarray):
                found.append(Stored(one, str(one.dtype)))
            elif hasattr(type(one), "store_path") or hasattr(type(one), "chunking"):
                found.extend(filter(None, [place_of(one)]))
            else:
                return None
            return id(one)  # nothing of it is written

    try:
        Looks(io.BytesIO()).dump(dict(graph))
    except Exception:  # whatever people's objects raise
        return found
    return found
