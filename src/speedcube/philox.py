"""Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).

The plain NumPy form: the oracle of the kernels and the source of their round keys. Constants are
those of C++26 ``std::philox4x32``. Keys are hashed from (entropy, spawn key, call number).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

MULTIPLIERS: Final = (0xD2511F53, 0xCD9E8D57)
WEYL: Final = (0x9E3779B9, 0xBB67AE85)
ROUNDS: Final = 10
_LOW: Final = np.uint64(0xFFFFFFFF)
_32: Final = np.uint64(32)


def round_keys(key: int) -> tuple[int, ...]:
    """The 2 x 10 round keys of a 64-bit ``key``: (k0, k1) of round 0, of round 1, ..."""
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    return tuple(
        (k + r * w) & 0xFFFFFFFF for r in range(ROUNDS) for k, w in ((k0, WEYL[0]), (k1, WEYL[1]))
    )


def philox4x32(
    counter: Sequence[NDArray[np.uint64]], key: int, rounds: int = ROUNDS
) -> tuple[NDArray[np.uint64], ...]:
    """Four 32-bit words (in uint64 arrays) for each counter of four 32-bit words."""
    c0, c1, c2, c3 = (np.asarray(c, np.uint64) for c in counter)
    keys = round_keys(key)
    for r in range(rounds):
        p0 = c0 * np.uint64(MULTIPLIERS[0])
        p1 = c2 * np.uint64(MULTIPLIERS[1])
        c0, c1, c2, c3 = (
            (p1 >> _32) ^ c1 ^ np.uint64(keys[2 * r]),
            p1 & _LOW,
            (p0 >> _32) ^ c3 ^ np.uint64(keys[2 * r + 1]),
            p0 & _LOW,
        )
    return c0, c1, c2, c3


def derive_key(entropy: tuple[int, ...], spawn_key: tuple[int, ...], call: int) -> int:
    """The 64-bit key of one call: BLAKE2b-64 of ``"entropy|spawn key|call"`` in decimal ASCII."""
    text = "|".join((",".join(map(str, entropy)), ",".join(map(str, spawn_key)), str(call)))
    digest = hashlib.blake2b(text.encode(), digest_size=8, person=b"speedcube v1").digest()
    return int.from_bytes(digest, "little")
