"""Arithmetic that several functions are made of: polynomials, and products of 128 bits."""

from __future__ import annotations

from ..builder import Builder, Value


def horner(b: Builder, x: Value, coefficients: tuple[float, ...]) -> Value:
    """The polynomial with ``coefficients`` (lowest degree first) at ``x``."""
    value = b.const(coefficients[-1], x.type)
    for c in coefficients[-2::-1]:
        value = b.fma(value, x, b.const(c, x.type))
    return value


def high_product(b: Builder, x: Value, n: Value) -> tuple[Value, Value]:
    """(high, low) 64 bits of the 128-bit product of ``x`` and ``n``."""

    def mul(p: Value, q: Value) -> Value:
        return b.emit("mul32", "uint64", p, q)

    low = b.const(0xFFFF_FFFF, "uint64")
    ll, lh, hl, hh = mul(x, n), mul(x, n >> 32), mul(x >> 32, n), mul(x >> 32, n >> 32)
    middle = (ll >> 32) + (lh & low) + hl
    return hh + (lh >> 32) + (middle >> 32), (middle << 32) | (ll & low)
