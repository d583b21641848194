"""The names of the data as a sorted array of hashes: enough to tell whether a name is new."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from ...dataclass import dataclass


def tidy(name: str) -> str:
    """``name`` without spaces at its ends, and with single ones within."""
    return " ".join(name.split())


@dataclass(frozen=True)
class Known:
    """A set of names by the first 64 bits of their BLAKE2b, uint64, ascending."""

    hashes: npt.NDArray[np.uint64]

    @classmethod
    def of(cls, names: Iterable[str]) -> Known:
        return cls(np.array(sorted({_hash(name) for name in names}), np.uint64))

    def __contains__(self, name: str) -> bool:
        place = np.searchsorted(self.hashes, np.uint64(_hash(name)))
        return bool(place < len(self.hashes) and self.hashes[place] == _hash(name))


def _hash(name: str) -> int:
    digest = hashlib.blake2b(tidy(name).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")
