"""Results of float32 by plain float64 arithmetic where that decides them, as nearly always.

A function of float32 is the exact rule's result, made in pairs of float64, rounded. Plain float64
comes within ``2**-38`` of that; where all that is so near rounds to one float32, it is the same
one. Elsewhere, once in four thousand, and where the plain result is NaN, the exact rule is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from ....builder import Builder, Value
from ...bits import magnitude
from ..doubles import F64, number

Rule: TypeAlias = Callable[..., Value]
NEAR: Final = 2.0**-38


def nearly(plain: Rule, exact: Rule, off: float = 0.0) -> Rule:
    """``exact``, for float32 by way of ``plain``, which takes float64, and may be ``off`` more."""

    def narrowed(b: Builder, *args: Value) -> Value:
        return exact(b, *(a.cast(F64) for a in args)).cast("float32")

    def both(b: Builder, *args: Value) -> Value:
        if args[0].type == F64:
            return exact(b, *args)
        value = plain(b, *(a.cast(F64) for a in args))
        below, above = value * number(b, 1 - NEAR), value * number(b, 1 + NEAR)
        if off:
            margin = magnitude(b, value) * number(b, NEAR) + number(b, off)
            below, above = value - margin, value + margin
        below, above = below.cast("float32"), above.cast("float32")
        return b.rare(below.compare("ne", above), below, narrowed, *args)

    both.__doc__ = exact.__doc__
    return both


def only(b: Builder, condition: Value, value: Value) -> Value:
    """``value`` where ``condition`` holds; elsewhere NaN, so that the exact rule is asked."""
    return b.select(condition, value, number(b, float("nan")))
