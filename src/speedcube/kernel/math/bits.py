"""The sign bit of a float, taken off or alone; and the one NaN that is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..builder import Builder, Value

WORD: Final = {"float64": "uint64", "float32": "uint32"}  # of the same size
_SIGN: Final = {"float64": 1 << 63, "float32": 1 << 31}


def magnitude(b: Builder, x: Value) -> Value:
    """``x`` without its sign."""
    word = WORD[x.type]
    return (x.bitcast(word) & b.const(_SIGN[x.type] - 1, word)).bitcast(x.type)


def sign_of(b: Builder, x: Value) -> Value:
    """The sign bit of ``x``, in place, as a word."""
    word = WORD[x.type]
    return x.bitcast(word) & b.const(_SIGN[x.type], word)


_NAN: Final = {"float64": 0x7FF8 << 48, "float32": 0x7FC0 << 16}


def canonical(b: Builder, x: Value) -> Value:
    """``x`` with NumPy's NaN for every NaN; which one arithmetic makes depends on the processor.

    The choice is made between integers: between floats a compiler may leave it out.
    """
    word = WORD[x.type]
    bits = b.select(x.compare("ne", x), b.const(_NAN[x.type], word), x.bitcast(word))
    return bits.bitcast(x.type)


def rare_nan(
    b: Builder, condition: Value, otherwise: Value, rule: Callable[..., Value], *args: Value
) -> Value:
    """`Builder.rare` where every NaN comes out of ``rule``, made canonical there."""
    return b.rare(condition, otherwise, lambda b, *args: canonical(b, rule(b, *args)), *args)
