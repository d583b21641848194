"""A keyed bijection of `0 ... n - 1`: any element of a permutation without the others.

An index is a pair `(q, r) = divmod(index, across)`, `0 <= q < down`, where across is even and about
the root of n, and `down * across >= n`. Each of 24 rounds moves one of the two around by a hash of
the other, a Feistel network over numbers modulo down and across: even and odd permutations of pairs
come alike, since a turn of one row of even length is odd. A pair beyond n goes through the network
again until one falls inside ("cycle walking", Black & Rogaway 2002): for large n hardly ever.

The hash is two multiplications to 64 bits, each followed by exclusive or of the halves, with words
of a 128-bit key that moves on by Weyl's constants each round, as in Philox (Salmon et al. 2011).
Mitchell et al., "Bandwidth-optimal random shuffling for GPUs" (2022), use as many rounds.
"""

from __future__ import annotations

from typing import Final

from ....philox import MULTIPLIERS, WEYL
from ...builder import Builder, Value
from .blocks import number, word

ROUNDS: Final = 24


def forward(b: Builder, index: Value, *shape: Value) -> Value:
    """Where ``index`` goes; then n, down, across (int64) and the key's two words (uint64)."""
    return _walked(b, index, shape, False)


def back(b: Builder, index: Value, *shape: Value) -> Value:
    """The index that goes to ``index``."""
    return _walked(b, index, shape, True)


def _walked(b: Builder, index: Value, shape: tuple[Value, ...], inverse: bool) -> Value:
    def once(b: Builder, x: Value, n: Value, *rest: Value) -> tuple[Value, Value]:
        moved = _network(b, inverse, x, *rest)
        return moved, moved.compare("ge", n)

    n, down, across, low, high = shape
    # What lies outside (elements beyond the end of an array, in a vector's last lanes) stays.
    inside = index.compare("lt", n) & index.compare("ge", b.const(0, "int64"))
    unsigned = [value.bitcast("uint64") for value in (index, n, down, across)]
    one = number(b, 1.0)
    inverse_across = b.emit("div", "float64", one, across.cast("float64"))
    return b.loop(inside, once, *unsigned, inverse_across, low, high).bitcast("int64")


def _network(
    b: Builder,
    inverse: bool,
    x: Value,
    down: Value,
    across: Value,
    inverse_across: Value,
    low: Value,
    high: Value,
) -> Value:
    q, r = _split(b, x, across, inverse_across)
    keys = ((low, low >> 32), (high, high >> 32))
    for t in reversed(range(ROUNDS)) if inverse else range(ROUNDS):
        k0, k1 = (k + word(b, t * w) for k, w in zip(keys[t % 2], WEYL, strict=True))
        if t % 2:
            r = _turned(b, r, _hash(b, q, k0, k1, across), across, inverse)
        else:
            q = _turned(b, q, _hash(b, r, k0, k1, down), down, inverse)
    return _product(b, q, across) + r


def _product(b: Builder, x: Value, y: Value) -> Value:
    """The product of two words of 32 bits."""
    return b.emit("mul32", "uint64", x, y)


def _split(b: Builder, x: Value, across: Value, inverse_across: Value) -> tuple[Value, Value]:
    """`divmod(x, across)`: the quotient in doubles is at most one off."""
    estimate = x.bitcast("int64").cast("float64") * inverse_across
    q = b.unary("floor", estimate).cast("int64").bitcast("uint64")
    r = x - _product(b, q, across)
    below = r.bitcast("int64").compare("lt", b.const(0, "int64"))
    q, r = b.select(below, q - word(b, 1), q), b.select(below, r + across, r)
    above = r.compare("ge", across)
    return b.select(above, q + word(b, 1), q), b.select(above, r - across, r)


def _turned(b: Builder, x: Value, by: Value, size: Value, inverse: bool) -> Value:
    """`x + by`, or `x - by`, modulo ``size``."""
    turned = x + (size - by if inverse else by)
    return b.select(turned.compare("ge", size), turned - size, turned)


def _hash(b: Builder, x: Value, k0: Value, k1: Value, size: Value) -> Value:
    """A number below ``size`` from ``x`` and two words of the key; low words count alone."""
    for multiplier, key in zip(MULTIPLIERS, (k0, k1), strict=True):
        product = _product(b, x ^ key, word(b, multiplier))
        x = product ^ (product >> 32)
    return _product(b, x, size) >> 32
