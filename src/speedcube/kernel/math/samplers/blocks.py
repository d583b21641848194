"""What samplers share: Philox blocks of their own, and attempts until one is accepted.

Attempt ``a`` of the element at position ``p`` has the words of block number ``p`` with ``a`` in the
counter's third word; its fourth counts the draws of an attempt that needs more than one block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ....philox import ROUNDS, WEYL
from ...builder import Builder, Value
from ..philox import Words, joined, philox_round

# After so many attempts the last one stands, so that no parameter can keep a kernel from ending.
# Of accepted proportions of a quarter and more, fewer than one element in 10**124 gets there.
ATTEMPTS: Final = 1000


def word(b: Builder, value: int) -> Value:
    return b.const(value, "uint64")


def number(b: Builder, value: float) -> Value:
    return b.const(value, "float64")


def divided(a: Value, c: Value) -> Value:
    return a.builder.emit("div", "float64", a, c)


def block(b: Builder, key: Value, place: Value, attempt: Value, draw: int = 0) -> Words:
    """The words A and B of an attempt; ``place`` is the position as uint64."""
    c: tuple[Value, ...] = (place, place >> 32, attempt, word(b, draw))
    k0, k1 = key, key >> 32
    for r in range(ROUNDS):
        c = philox_round(b, c, k0 + word(b, r * WEYL[0]), k1 + word(b, r * WEYL[1]))
    return joined(b, c)


Attempt = Callable[..., tuple[Value, Value]]


def tried(b: Builder, attempt: Attempt, *operands: Value) -> Value:
    """The first value that is accepted, as the bits of a uint64.

    ``attempt(builder, number, *operands)`` gives a value of eight bytes and whether it is accepted.
    """

    def once(inner: Builder, count: Value, *rest: Value) -> tuple[Value, Value]:
        value, accepted = attempt(inner, count, *rest)
        done = accepted | count.compare("ge", word(inner, ATTEMPTS - 1))
        bits = value if value.type == "uint64" else value.bitcast("uint64")
        return inner.select(done, bits, count + word(inner, 1)), inner.unary("not", done)

    return b.loop(b.const(True, "bool"), once, word(b, 0), *operands)
