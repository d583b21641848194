"""Where a Zarr array is to lie, how it is to be stored, and what may be there already."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Final

import numpy as np

from ...dataclass import dataclass
from ...engine.foreign.seen import place_in_store
from ...engine.writing.target import Over
from ...errors import DTypeError, ParameterError, ShapeError
from .zarr import MARK

_ONCE: Final = {"auto", "NoneType", "ZstdCodec", "BloscCodec", "Zstd", "Blosc", "LZ4"}
MODES: Final = ("r+", "a", "w", "w-")
_TEXT: Final = "speedcube.to_zarr(..., resume=True) writes what is missing"


@dataclass(frozen=True, eq=False)
class ZarrPlace:
    """An array of ``shape`` and ``dtype`` at ``url``, or the box ``region`` of one that is there.

    ``chunks`` are whole numbers; ``options`` go to ``zarr.create_array``.
    """

    url: Any
    component: str | None
    storage_options: Any
    mode: str
    resume: bool
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    chunks: tuple[int, ...]
    shards: tuple[int, ...] | None = None
    region: tuple[slice, ...] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What messages call it."""
        where = getattr(self.url, "store_path", self.url)
        name = str(where) if isinstance(where, str) or hasattr(where, "__fspath__") else ""
        name = name or (str(where) if hasattr(self.url, "store_path") else "the Zarr array")
        name = name.removeprefix("file://")
        return f"{name}/{self.component}" if self.component else name

    @property
    def travels(self) -> bool:
        """Whether other processes see the same store."""
        store = getattr(self.url, "store", self.url)
        return not isinstance(store, dict) and type(store).__name__ != "MemoryStore"

    @property
    def beside(self) -> str | None:
        """The path, if it is one of this machine."""
        root = getattr(getattr(self.url, "store", self.url), "root", None)
        found = self.url if isinstance(self.url, str) else root
        path = None if found is None else os.fspath(found).removeprefix("file://")
        return None if path is None or "://" in path or "::" in path else os.path.abspath(path)

    @property
    def is_plain(self) -> bool:
        """Whether a new array's chunks are encoded by one codec, or none, that gives bytes once."""
        given = self.options.get("compressors", self.options.get("compressor", "auto"))
        each = given if isinstance(given, (list, tuple)) else [given]
        names = [one if isinstance(one, str) else type(one).__name__ for one in each]
        beside = any(self.options.get(name) for name in ("filters", "serializer", "codecs"))
        new = self.region is None and not hasattr(self.url, "store_path") and self.mode != "r+"
        return new and not self.shards and not beside and len(each) < 2 and {*names} <= _ONCE

    def there(self) -> Any:
        """The array or group that is there; None where nothing is."""
        import zarr

        if isinstance(self.url, zarr.Array):
            return self.url
        try:
            return zarr.open(
                self.url, path=self.component, mode="r+", storage_options=self.storage_options
            )
        except (FileNotFoundError, KeyError):
            return None

    def over(self) -> Over | None:
        """What is there and would be written over; None where nothing is, or it is refused."""
        into = self.region is not None or self.mode == "r+" or hasattr(self.url, "store_path")
        there = self.there() if into or self.resume or self.mode == "w" else None
        if there is None:
            return None
        store = there.store_path
        clears = not into and not self.resume
        return Over(place_in_store(store.store, store.path), clears=clears, resumes=self.resume)

    def array(self) -> Any:
        """The array: opened or made, as `mode` says."""
        import zarr

        there = self.there()
        if isinstance(there, zarr.Group):
            raise FileExistsError(
                errno.EEXIST, "a Zarr group is there: name an array in it (component=)", self.label
            )
        if there is None:
            if self.mode == "r+":
                raise FileNotFoundError(
                    errno.ENOENT, "there is no Zarr array to write into", self.label
                )
            return self._made(False)
        if self.region is not None or self.url is there or self.mode == "r+":
            return self._opened(there)
        if self.resume:
            return self._gone_on(there)
        if self.mode == "w":
            return self._made(True)
        begun = MARK in there.attrs
        ways = "resume=True goes on with it, mode='w'" if begun else "mode='w'"
        raise FileExistsError(
            errno.EEXIST,
            f"{'an unfinished' if begun else 'a'} Zarr array is there: {ways} begins anew, "
            "region= writes into it",
            self.label,
        )

    def _opened(self, there: Any) -> Any:
        """The array that is there, or a box of it, to be written over."""
        self._check(there, None if self.region is None else _shape(self.region))
        if self.region is None and not (self.resume and MARK not in there.attrs):
            there.attrs[MARK] = _TEXT
        return there

    def _gone_on(self, there: Any) -> Any:
        """The array that is there, whole or not, or one made anew where nothing was noted."""
        self._check(there, None)
        unit = tuple(there.chunks), there.shards and tuple(there.shards)
        if unit != (self.chunks, self.shards):
            raise ParameterError(
                f"{self.label} was begun with chunks={unit[0]} and shards={unit[1]}, not "
                f"{self.chunks} and {self.shards}: give these, or mode='w' without resume="
            )
        return there

    def _check(self, there: Any, region: tuple[int, ...] | None) -> None:
        shape = tuple(there.shape) if region is None else region
        if shape != self.shape:
            what = "has" if region is None else "region= has"
            raise ShapeError(
                f"{self.label}: {what} shape {shape}, and the array to write has shape {self.shape}"
            )
        if np.dtype(there.dtype).newbyteorder("=") != self.dtype:
            raise DTypeError(
                f"{self.label} holds {there.dtype}, not {self.dtype}: give x.astype({there.dtype})"
            )

    def _made(self, overwrite: bool) -> Any:
        import zarr

        attributes = {**(self.options.get("attributes") or {}), MARK: _TEXT}
        given = {**self.options, "attributes": attributes}
        try:
            return zarr.create_array(
                store=self.url,
                name=self.component,
                shape=self.shape,
                dtype=self.dtype,
                chunks=self.chunks,
                shards=self.shards,
                storage_options=self.storage_options,
                overwrite=overwrite,
                **given,
            )
        except (TypeError, ValueError, KeyError) as err:
            raise ParameterError(f"Zarr cannot make {self.label}: {err}") from err


def _shape(region: Sequence[slice]) -> tuple[int, ...]:
    return tuple(one.stop - one.start for one in region)


def region_of(region: Any, shape: tuple[int, ...], label: str) -> tuple[slice, ...]:
    """``region`` of an array of ``shape`` with a start and a stop for each axis."""
    given = region if isinstance(region, tuple) else (region,)
    if not all(isinstance(one, slice) for one in given) or len(given) > len(shape):
        raise ParameterError(
            f"region={region!r} of {label}: give a tuple of slices, one for each of its "
            f"{len(shape)} axes"
        )
    boxes = []
    rest = [slice(None)] * (len(shape) - len(given))
    for one, extent in zip((*given, *rest), shape, strict=True):
        start, stop, step = one.indices(extent)
        asked = (one.start, one.stop)
        outside = any(type(n) is int and not -extent <= n <= extent for n in asked)
        if step != 1 or outside:
            raise ShapeError(
                f"region={region!r} does not fit into {label}, whose shape is {shape}: "
                "give slices of step 1 within it"
            )
        boxes.append(slice(start, max(start, stop)))
    return tuple(boxes)


def codec_options(codecs: Any, zarr_format: int) -> dict[str, Any]:
    """What ``zarr.create_array`` takes for ``codecs``: names, dictionaries or Zarr's objects."""
    if codecs is None:
        return {}
    given = [codecs] if isinstance(codecs, (str, Mapping)) or not _is_list(codecs) else list(codecs)
    if zarr_format == 2:
        return _of_format_2(given)
    from zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec

    found = [_codec(one) for one in given]
    filters = [one for one in found if isinstance(one, ArrayArrayCodec)]
    into_bytes = [one for one in found if isinstance(one, ArrayBytesCodec)]
    rest = [one for one in found if not isinstance(one, (ArrayArrayCodec, ArrayBytesCodec))]
    if len(into_bytes) > 1:
        raise ParameterError(f"codecs={codecs!r}: only one codec can make bytes of an array")
    own = {"serializer": into_bytes[0]} if into_bytes else {}
    return {"filters": filters or None, "compressors": rest or None, **own}


def _is_list(codecs: Any) -> bool:
    return isinstance(codecs, (list, tuple))


def _codec(one: Any) -> Any:
    """Zarr's codec that ``one`` names or is."""
    from zarr.abc.codec import ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec
    from zarr.registry import get_codec_class

    if isinstance(one, (ArrayArrayCodec, ArrayBytesCodec, BytesBytesCodec)):
        return one
    found = {"name": one} if isinstance(one, str) else one
    name = found.get("name") if isinstance(found, Mapping) else None
    if not isinstance(name, str):
        raise ParameterError(
            f"codecs= takes names, dictionaries with a name, or codecs, not {one!r}"
        )
    try:
        kind = get_codec_class(name)
    except KeyError:
        raise ParameterError(
            f"Zarr knows no codec {name!r}; it has blosc, bytes, crc32c, gzip, transpose, zstd, "
            "and numcodecs' as 'numcodecs.lz4'"
        ) from None
    settings = dict(found)
    settings.setdefault("configuration", {})
    try:
        return kind.from_dict(settings)
    except (TypeError, ValueError, KeyError) as err:
        raise ParameterError(f"the codec {name!r} cannot be set up like this: {err}") from err


def _of_format_2(given: Sequence[Any]) -> dict[str, Any]:
    """Of Zarr's format 2, whose codecs are those of numcodecs; the last one compresses."""
    import numcodecs

    found = []
    for one in given:
        if not isinstance(one, (str, Mapping)):
            found.append(one)
            continue
        config = {"id": one} if isinstance(one, str) else dict(one)
        try:
            found.append(numcodecs.get_codec(config))
        except (ValueError, TypeError, KeyError) as err:
            raise ParameterError(f"numcodecs has no codec {one!r} ({err})") from None
    return {"filters": found[:-1] or None, "compressors": found[-1] if found else None}
