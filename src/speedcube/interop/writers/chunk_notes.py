"""What the note of a written block says of its chunks: how many files they are, of how many bytes.

Who goes on with a write looks whether they are there still. Zarr keeps no file of a chunk that is
all fill value, so how many there are is known only when they are written. Of a store that is no
folder nothing is noted: to ask it for each chunk would take as long as to write it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from itertools import product
from typing import Any, Final

from .assigned import unit_of

Box = tuple[slice, ...]

_WRITTEN: Final = b"1"


def note_of(array: Any, box: Box) -> bytes:
    """The note of the Zarr ``array``'s chunks in ``box``, as they are now."""
    if getattr(array.store, "root", None) is None:
        return _WRITTEN
    count = size = 0
    for place in _files(array, box):
        with contextlib.suppress(FileNotFoundError):
            size += os.stat(place).st_size
            count += 1
    return b"%d chunks, %d bytes" % (count, size)


def take_away(array: Any, box: Box) -> None:
    """The chunks of ``array`` in ``box``: Zarr would read what is left of a shard."""
    if getattr(array.store, "root", None) is not None:
        for place in _files(array, box):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(place)


def _files(array: Any, box: Box) -> Iterator[str]:
    folder = os.path.join(array.store.root, array.store_path.path)
    name = array.metadata.encode_chunk_key
    for chunk in product(*map(_whole, box, unit_of(array, len(box)), array.shape)):
        yield os.path.join(folder, name(chunk))


def _whole(part: slice, unit: int, extent: int) -> range:
    """The chunks of an axis within ``part``: others write to those on its borders, too."""
    last = -(-part.stop // unit) if part.stop == extent else part.stop // unit
    return range(-(-part.start // unit), last)
