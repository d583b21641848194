"""Named values in one safetensors file, whose header also tells their structure.

A file is the length of its header (8 bytes, little-endian), the header, a JSON object that gives
dtype, shape and place of each array, and the arrays one after another. Any reader of safetensors
finds the tensors under names such as ``checkpoint.model.weight``. The structure of each value
(`tree`) is a string of the header's metadata.

It is written and read here rather than by the library because this way a file is hashed while it
is written, and the bytes that are hashed are those that are returned. The library maps files into
memory instead; a mapped file that another process cuts short ends this one (SIGBUS).
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol

import numpy as np

from ...dataclass import dataclass
from ...errors import CheckpointError
from . import leaves, strict, tree
from .leaves import WIDTHS, SavedLeaf

HEADER_LIMIT: Final = 64 << 20
_METADATA: Final = "__metadata__"
_FORMAT: Final = {"format": "pt"}  # what the library writes there for tensors of PyTorch
_ALIGNMENT: Final = 64
_BLOCK: Final = 1 << 20


class ByteSource(Protocol):
    """What a file is read from: like ``io.RawIOBase``, it may give less than was asked."""

    def readinto(self, buffer: memoryview, /) -> int | None: ...


@dataclass(frozen=True)
class Contents:
    """A file to be: its first bytes, and the arrays that follow in this order."""

    head: bytes
    leaves: tuple[SavedLeaf, ...]

    @property
    def nbytes(self) -> int:
        return len(self.head) + sum(leaf.nbytes for leaf in self.leaves)

    def blocks(self) -> Iterator[bytes | memoryview]:
        """Yield the bytes of the file: large arrays one at a time, small ones together."""
        small = bytearray(self.head)
        for leaf in self.leaves:
            if leaf.nbytes < _BLOCK:
                small += leaf.data()
            if leaf.nbytes >= _BLOCK or len(small) >= _BLOCK:
                yield bytes(small)
                small.clear()
            if leaf.nbytes >= _BLOCK:
                yield leaf.data()
        yield bytes(small)


def contents(values: Mapping[str, Any]) -> Contents:
    """Return the file of some named values; nothing is copied yet.

    Raises
    ------
    CheckpointError
        For a value that cannot be saved, naming where it stands.
    """
    encoder = tree.Encoder()
    trees = {name: _dumps(encoder.node(value, (name,))) for name, value in values.items()}
    # Wide elements first, so that each array begins at a multiple of its element's width.
    order = sorted(encoder.leaves.items(), key=lambda item: -WIDTHS[item[1].code])
    header: dict[str, Any] = {_METADATA: _FORMAT | trees}
    stop = 0
    for name, leaf in order:
        start, stop = stop, stop + leaf.nbytes
        entry = {"dtype": leaf.code, "shape": leaf.shape, "data_offsets": (start, stop)}
        header[name] = entry
    text = _dumps(header)
    text += " " * (-len(text) % 8)
    _require_readable(text)
    head = len(text).to_bytes(8, "little") + text.encode("ascii")
    return Contents(head, tuple(leaf for _, leaf in order))


def _require_readable(header: str) -> None:
    """Raise for a header that `load` would refuse: it must be no surprise when it is needed."""
    values = strict.most_values(header)
    if len(header) > HEADER_LIMIT or values > strict.MOST_VALUES:
        raise CheckpointError(
            f"the structure of this checkpoint takes {len(header)} bytes and up to {values} "
            f"values, at most {HEADER_LIMIT} and {strict.MOST_VALUES} are read back: put long "
            "lists of numbers into a tensor or an array, long texts into bytes"
        )


def _dumps(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


def pack(value: Any) -> bytes:
    """Return a value as the bytes of a file, to be sent to another process; `unpack` reads it."""
    return b"".join(contents({"value": value}).blocks())


def unpack(raw: bytes) -> Any:
    """Return the value that `pack` was given; other bytes raise `CheckpointError`."""
    return load(io.BytesIO(raw), len(raw)).get("value")


def load(source: ByteSource, size: int, map_location: Any = "cpu") -> dict[str, Any]:
    """Return the named values of a file of ``size`` bytes, its tensors on ``map_location``.

    Raises
    ------
    CheckpointError
        For whatever `contents` does not write. Memory beyond the file's size is bounded.
    """
    header = _Header.read(source, size)
    raw = {name: _read(source, entry.nbytes) for name, entry in header.entries.items()}
    restored: dict[tuple[str, str, str], Any] = {}

    def resolve(kind: str, name: str, dtype: Any) -> Any:
        entry = header.entry(kind, name, dtype)
        key = kind, name, dtype
        if key not in restored:
            value = leaves.restore(kind, dtype, entry.shape, raw[name])
            restored[key] = value.to(map_location) if kind == "tensor" else value
        return restored[key]

    return {name: tree.decode(node, resolve) for name, node in header.trees.items()}


def check(source: ByteSource, size: int) -> None:
    """Read a file to its end in little memory; `CheckpointError` where `load` would raise it."""
    header = _Header.read(source, size)
    for node in header.trees.values():
        tree.decode(node, header.entry)
    left = size - header.length
    block = memoryview(bytearray(min(_BLOCK, left)))
    while left:
        left -= fill(source, block[:left])


def fill(source: ByteSource, buffer: memoryview) -> int:
    """Fill ``buffer`` from ``source``, which must not end before; return its length."""
    done = 0
    while done < len(buffer):
        got = source.readinto(buffer[done:])
        if not got:
            raise CheckpointError("a file ends before it should")
        done += got
    return done


def _read(source: ByteSource, nbytes: int) -> np.ndarray[Any, Any]:
    """Return the next bytes, aligned as PyTorch aligns memory: speed and rounding depend on it."""
    room = np.empty(nbytes + _ALIGNMENT, np.uint8)
    start = -room.ctypes.data % _ALIGNMENT
    wanted = room[start : start + nbytes]
    fill(source, wanted.data)
    return wanted


@dataclass(frozen=True)
class _Entry:
    code: str
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * WIDTHS[self.code]


@dataclass(frozen=True)
class _Header:
    entries: dict[str, _Entry]  # in the order of the file
    trees: dict[str, Any]
    length: int  # with the eight bytes before it

    @classmethod
    def read(cls, source: ByteSource, size: int) -> _Header:
        """Read and check the header: its arrays must fill the file without a gap."""
        start = bytearray(8)
        if size < len(start):
            raise CheckpointError(f"a file of {size} bytes is not a safetensors file")
        fill(source, memoryview(start))
        length = int.from_bytes(start, "little")
        if length > min(HEADER_LIMIT, size - len(start)):
            raise CheckpointError(f"a header of {length} bytes in a file of {size} bytes")
        text = bytearray(length)
        fill(source, memoryview(text))
        header = strict.parse(bytes(text), "the header")
        if type(header) is not dict or type(header.get(_METADATA)) is not dict:
            raise CheckpointError("the header is not an object with metadata")
        metadata = header.pop(_METADATA)
        trees = {
            name: strict.parse(text if type(text) is str else "", f"the structure of {name!r:.40}")
            for name, text in metadata.items()
            if name not in _FORMAT
        }
        entries = {}
        stop = 0
        for name, fields in header.items():
            entries[name] = _entry(fields, stop)
            stop += entries[name].nbytes
        if stop != size - len(start) - length:
            raise CheckpointError(f"arrays of {stop} bytes in a file of {size} bytes")
        return cls(entries, trees, len(start) + length)

    def entry(self, kind: str, name: str, dtype: Any) -> _Entry:
        """Return the entry of this name if it can come back as that kind and dtype."""
        if name not in self.entries:
            raise CheckpointError(f"the structure names an array that is not there: {name!r:.80}")
        entry = self.entries[name]
        leaves.check(kind, dtype, entry.code, entry.shape)
        return entry


_FIELDS: Final = frozenset({"dtype", "shape", "data_offsets"})
_MOST_AXES: Final = 64  # of NumPy and of PyTorch


def _entry(value: Any, start: int) -> _Entry:
    """Return the entry of one array, which must begin where the one before it ended."""
    fields = strict.fields(value, _FIELDS, "an array of the header")
    code, shape, offsets = fields["dtype"], fields["shape"], fields["data_offsets"]
    if type(code) is not str or code not in WIDTHS:
        raise CheckpointError(f"no dtype of safetensors: {code!r:.40}")
    if type(shape) is not list or len(shape) > _MOST_AXES:
        raise CheckpointError(f"a shape that is not a short list: {shape!r:.80}")
    entry = _Entry(code, tuple(strict.count(size, "a size of a shape") for size in shape))
    if offsets != [start, start + entry.nbytes] or any(type(end) is not int for end in offsets):
        raise CheckpointError(f"an array of {entry.nbytes} bytes lies at {offsets!r:.80}")
    return entry
