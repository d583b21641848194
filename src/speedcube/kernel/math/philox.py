"""Philox4x32-10 as IR: a block's number and the round keys become its words.

The counter is (block low, block high, attempt, draw), all 32-bit; attempt and draw are 0 in a
stream, samplers count in them (`samplers/blocks.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from ...philox import MULTIPLIERS, ROUNDS
from ..builder import Builder, Rounds, Value
from ..ir import Body

KEY_WORDS: Final = 2 * ROUNDS
Words: TypeAlias = tuple[Value, Value]


@lru_cache(maxsize=64)
def philox(words: bool, first: int) -> Rounds:
    """Block -> A, B (64 bits each), or -> w0 ... w3 (32 bits each)."""
    return Rounds(_philox_first(), _philox_round(first), _philox_last(words), ROUNDS, 2)


def _philox_first() -> Body:
    b = Builder()
    block = b.input("block", "uint64")
    zero = b.const(0, "uint64")
    for k, word in enumerate((block, block >> 32, zero, zero)):
        b.output(f"c{k}", word)
    return b.body()


def philox_round(b: Builder, c: Sequence[Value], k0: Value, k1: Value) -> tuple[Value, ...]:
    """One round of Philox4x32 on the counter words ``c``.

    Only low words are read: the high halves carry rubbish that mul32 ignores.
    """
    p0, p1 = (
        b.emit("mul32", "uint64", word, b.const(multiplier, "uint64"))
        for word, multiplier in zip(c[::2], MULTIPLIERS, strict=True)
    )
    return (p1 >> 32) ^ c[1] ^ k0, p1, (p0 >> 32) ^ c[3] ^ k1, p0


def _philox_round(first: int) -> Body:
    b = Builder()
    c = [b.input(f"c{k}", "uint64") for k in range(4)]
    k0, k1 = b.param(first, "uint64"), b.param(first + 1, "uint64")
    for k, word in enumerate(philox_round(b, c, k0, k1)):
        b.output(f"c{k}", word)
    return b.body()


def _philox_last(words: bool) -> Body:
    b = Builder()
    c = [b.input(f"c{k}", "uint64") for k in range(4)]
    if words:
        for k, word in enumerate(c):
            b.output(f"w{k}", word.cast("uint32"))
    else:
        for name, word in zip("AB", joined(b, c), strict=True):
            b.output(name, word)
    return b.body()


def joined(b: Builder, c: Sequence[Value]) -> Words:
    """A and B of the words that Philox gives."""
    low = b.const(0xFFFF_FFFF, "uint64")
    return (c[1] << 32) | (c[0] & low), (c[3] << 32) | (c[2] & low)
