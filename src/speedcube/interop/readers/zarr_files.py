"""Zarr's arrays: opened with care, and their chunks read by those who name what is wrong."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import product
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np

from ...errors import DataFileError, SpeedcubeError
from ...expr.sources.tiled import Box
from ...files import read_regular
from ...late import json
from .as_opened import AsOpened, Layout

_SECRETS: Final = re.compile(r"//[^/@\s]*@")
_QUERIES: Final = re.compile(r"(\w://[^\s?'\"]*)\?[^\s'\"]*")  # signatures and tokens
# What may change: no element lies elsewhere because of it.
_NO_LAYOUT: Final = frozenset(("attributes", "consolidated_metadata", "dimension_names"))
_MOST_HEADER: Final = 64 << 20  # bytes of an array's header, with its attributes
_MOST_TRIED: Final = 256  # chunks of a box that failed, to find which one does not decode


def opened(place: Any, options: Mapping[str, Any] | None, **kwargs: Any) -> Any:
    """What Zarr finds at ``place``, to be read.

    `FileNotFoundError` where there is nothing, `DataFileError` where it is no Zarr. Neither shows
    names, passwords and tokens.
    """
    import zarr

    shown = shown_place(place)
    store = _regular(place) if isinstance(place, str) and os.path.isdir(place) else place
    try:
        return zarr.open(store, mode="r", storage_options=options, **kwargs)
    except FileNotFoundError:
        raise FileNotFoundError(errno.ENOENT, "there is no Zarr array or group", shown) from None
    except (ImportError, MemoryError, SpeedcubeError):
        raise
    except Exception as err:
        text = without_secrets(f"{type(err).__name__}: {err}", place, options)
        if isinstance(err, OSError):
            raise OSError(err.errno or errno.EIO, text, shown) from None
        raise DataFileError(f"{shown} cannot be read as Zarr: {text}") from None


def shown_place(place: Any) -> str:
    """``place`` without a user, a password and what follows a question mark."""
    text = str(place)
    if "://" not in text:
        return text
    parts = urlsplit(text)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def without_secrets(text: str, place: Any, options: Mapping[str, Any] | None = None) -> str:
    """``text`` without what ``place`` and ``options`` hold of passwords and tokens."""
    text = _SECRETS.sub("//", text.replace(str(place), shown_place(place)))
    text = _QUERIES.sub(r"\1", text)
    for value in _texts(options or {}):
        text = text.replace(value, "***")
    return text


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str) and len(value) > 3:
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts(one)


def _regular(place: str) -> Any:
    """The folder ``place`` as a store that reads regular files: a pipe is waited for for ever."""
    from zarr.storage import LocalStore

    def check(path: Any) -> None:
        try:
            mode = os.stat(path).st_mode
        except OSError:
            return
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))

    class RegularFiles(LocalStore):  # type: ignore[misc]
        async def get(self, key: str, *args: Any, **kwargs: Any) -> Any:
            check(self.root / key)
            return await super().get(key, *args, **kwargs)

        async def get_partial_values(self, prototype: Any, key_ranges: Any) -> Any:
            pairs = list(key_ranges)
            for key, _ in pairs:
                check(self.root / key)
            return await super().get_partial_values(prototype, pairs)

    return RegularFiles(place, read_only=True)


def is_local(store: Any) -> bool:
    """Whether Zarr's ``store`` is a folder of this machine."""
    return any(kind.__name__ == "LocalStore" for kind in type(store).__mro__)


def as_opened(array: Any) -> AsOpened | None:
    """The header of ``array``; None of another's than Zarr's, or where a server would be asked."""
    store: Any = getattr(getattr(array, "store_path", None), "store", None)
    if not is_local(store):
        return None
    meta = array.metadata
    file = "zarr.json" if meta.zarr_format == 3 else ".zarray"
    path = os.path.join(store.root, array.store_path.path, file)
    try:
        return AsOpened(path, _layout(meta), partial(_layout_in, type(meta)))
    except FileNotFoundError:  # only what is above it has a header
        return None


def _layout_in(kind: Any, path: str) -> Layout:
    return _layout(kind.from_dict(json.loads(read_regular(path, _MOST_HEADER))))


def _layout(meta: Any) -> Layout:
    return {name: one for name, one in meta.to_dict().items() if name not in _NO_LAYOUT}


def chunks_of(box: Box, chunks: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The numbers of the chunks that ``box`` needs."""
    along = (
        range(one.start // n, (one.stop - 1) // n + 1) if one.stop > one.start else range(0)
        for one, n in zip(box, chunks, strict=True)
    )
    return product(*along)


def first_wrong(array: Any, box: Box, chunks: tuple[int, ...]) -> tuple[int, ...] | None:
    """The first chunk of ``box`` that cannot be read; None where nobody can say."""
    for count, place in enumerate(chunks_of(box, chunks)):
        if count == _MOST_TRIED:
            return None
        start = (k * n for k, n in zip(place, chunks, strict=True))
        one = tuple(slice(k, k + 1, 1) for k in start)
        try:
            np.asarray(array[one])
        except Exception:
            return place
    return None


def first_missing(array: Any, box: Box) -> tuple[int, ...] | None:
    """The first chunk of ``box`` that no file holds; of shards, the first that is not there."""
    from zarr.core.sync import sync

    chunks = getattr(array, "shards", None) or array.chunks
    place = array.store_path
    for one in chunks_of(box, chunks):
        key = array.metadata.encode_chunk_key(one)
        if not sync((place / key).exists()):
            return one
    return None
