"""Zarr arrays whose chunks gzip encodes without the time, so that the same elements are the same.

Gzip's header has the time of writing (RFC 1952, 2.3.1), or 0 where none is told. Readers skip it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

_TIME: Final = slice(4, 8)  # bytes of the header
_MAGIC: Final = b"\x1f\x8b"


def timeless(array: Any) -> Any:
    """The Zarr ``array``, for who writes chunks: the same one if gzip encodes none of it."""
    import zarr

    meta = array.metadata
    if meta.zarr_format == 2:
        compressor = _of_numcodecs(meta.compressor)
        if compressor is meta.compressor:
            return array
        changed = replace(meta, compressor=compressor)
    else:
        codecs = _of_zarr(meta.codecs)
        if codecs == tuple(meta.codecs):
            return array
        changed = replace(meta, codecs=codecs)
    inner = array._async_array
    config = inner.config if hasattr(inner, "config") else inner._config  # of Zarr 3.1.0
    return zarr.Array(zarr.AsyncArray(changed, array.store_path, config))


def _without_time(encoded: bytes) -> bytes:
    if encoded[:2] != _MAGIC:
        return encoded
    return encoded[: _TIME.start] + bytes(_TIME.stop - _TIME.start) + encoded[_TIME.stop :]


def _of_numcodecs(codec: Any) -> Any:
    """The numcodecs ``codec``, or one like it that tells no time."""
    from numcodecs import GZip

    if type(codec) is not GZip:
        return codec

    class Timeless(GZip):  # type: ignore[misc]
        def encode(self, buf: Any) -> bytes:
            return _without_time(bytes(super().encode(buf)))

    return Timeless(codec.level)


def _of_zarr(codecs: Any) -> tuple[Any, ...]:
    """Zarr's ``codecs``, those of chunks in shards, too, with such as tell no time."""
    from zarr.codecs import GzipCodec, ShardingCodec

    class Timeless(GzipCodec):  # type: ignore[misc]
        async def _encode_single(self, chunk: Any, spec: Any) -> Any:
            return _again(await super()._encode_single(chunk, spec), spec)

        def _encode_sync(self, chunk: Any, spec: Any) -> Any:
            return _again(super()._encode_sync(chunk, spec), spec)

    def _again(encoded: Any, spec: Any) -> Any:
        if encoded is None:
            return None
        return spec.prototype.buffer.from_bytes(_without_time(encoded.to_bytes()))

    def changed(codec: Any) -> Any:
        if type(codec) is GzipCodec:
            return Timeless(level=codec.level)
        if isinstance(codec, ShardingCodec):
            inner = _of_zarr(codec.codecs)
            return codec if inner == tuple(codec.codecs) else replace(codec, codecs=inner)
        return codec

    return tuple(map(changed, codecs))
