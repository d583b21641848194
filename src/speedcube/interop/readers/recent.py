"""The last chunks of which a box needed a part: the next needs the rest, and decodes nothing."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

Bytes: TypeAlias = NDArray[np.uint8]
Key: TypeAlias = tuple[str, int, int, int]

MOST: Final = 32 << 20  # bytes of all that is kept
_LOCK: Final = threading.Lock()
_KEPT: Final[dict[Key, Bytes]] = {}  # the one that was asked for last is the last


def key_of(place: Path) -> Key | None:
    """What is known of the file now, by which one that was written anew is told; None: nothing."""
    try:
        seen = os.stat(place)
    except OSError:
        return None
    return str(place), seen.st_mtime_ns, seen.st_size, seen.st_ino


def found(key: Key) -> Bytes | None:
    """The decoded bytes of the file, if they are there."""
    with _LOCK:
        known = _KEPT.pop(key, None)
        if known is not None:
            _KEPT[key] = known
        return known


def keep(key: Key, decoded: Bytes) -> None:
    """Keep ``decoded``, which nobody writes any more, in place of what was asked for before."""
    with _LOCK:
        _KEPT[key] = decoded
        while sum(one.size for one in _KEPT.values()) > MOST:
            del _KEPT[next(iter(_KEPT))]
