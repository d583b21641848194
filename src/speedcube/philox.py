"""Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).

The plain form, in the operators of arrays: the oracle of the kernels and the source of their round
keys. Constants are those of C++26 ``std::philox4x32``. Keys are hashed from (entropy, spawn key,
call number).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from .late import hashlib

MULTIPLIERS: Final = (0xD2511F53, 0xCD9E8D57)
WEYL: Final = (0x9E3779B9, 0xBB67AE85)
ROUNDS: Final = 10
_LOW: Final = 0xFFFFFFFF


_BUMPS: Final = [(r * WEYL[0], r * WEYL[1]) for r in range(ROUNDS)]


def round_keys(key: Any) -> tuple[Any, ...]:
    """The 2 x 10 round keys of a 64-bit ``key``: (k0, k1) of round 0, of round 1, ..."""
    k0, k1 = key & _LOW, key >> 32
    return tuple([word & _LOW for a, b in _BUMPS for word in (k0 + a, k1 + b)])


def philox4x32(counter: Sequence[Any], key: Any, rounds: int = ROUNDS) -> tuple[Any, ...]:
    """Four 32-bit words for each counter of four 32-bit words.

    Counters and 64-bit keys are integers or uint64 arrays that broadcast: NumPy's, or lazy ones.
    """
    c0, c1, c2, c3 = counter
    keys = round_keys(key)
    for r in range(rounds):
        p0, p1 = c0 * MULTIPLIERS[0], c2 * MULTIPLIERS[1]
        c0, c1, c2, c3 = (
            (p1 >> 32) ^ c1 ^ keys[2 * r],
            p1 & _LOW,
            (p0 >> 32) ^ c3 ^ keys[2 * r + 1],
            p0 & _LOW,
        )
    return c0, c1, c2, c3


def derive_key(entropy: tuple[int, ...], spawn_key: tuple[int, ...], call: int) -> int:
    """The 64-bit key of one call: BLAKE2b-64 of ``"entropy|spawn key|call"`` in decimal ASCII."""
    state = _begun(entropy, spawn_key).copy()
    state.update(b"%d" % call)
    return int.from_bytes(state.digest(), "little")


@lru_cache(maxsize=256)
def _begun(entropy: tuple[int, ...], spawn_key: tuple[int, ...]) -> Any:
    """The hash of what all calls of a stream begin with."""
    text = f"{','.join(map(str, entropy))}|{','.join(map(str, spawn_key))}|"
    return hashlib.blake2b(text.encode(), digest_size=8, person=b"speedcube v1")
