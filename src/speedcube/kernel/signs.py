"""The sign bit of a float: taken off, or taken alone."""

from __future__ import annotations

from typing import Final

from .ir import Builder, Value

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
