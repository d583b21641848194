"""Results of float32 by pairs of float32 where those decide them, as nearly always.

A register holds twice as many float32 numbers as float64. A pair is `2**-33` to `2**-45` of the
exact value off; where all that is so near rounds to one float32, that is the result of any rule
that comes nearer. Elsewhere, once in a thousand, the rule of `near` is asked, and by it the exact
one. What a pair may be off was measured. Of a function of one argument all `2**32` results are
compared (`bench/every_float32.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from .....dataclass import dataclass
from ....builder import Builder, Value
from ...bits import magnitude, rare_nan
from ..single import F32, bits_of, number

OFF: Final = 2.0**-36


@dataclass(frozen=True)
class Enclosure:
    """A pair, what it may be ``off`` beside a ``part`` of itself, and where not to believe it.

    Where it is NaN, it never is.
    """

    high: Value
    low: Value
    off: Value | None = None
    odd: Value | None = None
    part: float = OFF
    sign: Value | None = None  # what the value's sign bit is set by, if it is not there yet

    def margin(self, b: Builder) -> Value:
        """What the sum of the pair may be off."""
        size, part = magnitude(b, self.high), number(b, self.part)
        return size * part if self.off is None else b.fma(size, part, self.off)


Rule: TypeAlias = Callable[..., Value]


def paired(pair: Callable[..., Enclosure], rule: Rule) -> Rule:
    """``rule``, for float32 by way of ``pair``, which nearly always decides it."""

    def both(b: Builder, *args: Value) -> Value:
        if args[0].type != F32:
            return rule(b, *args)
        found = pair(b, *args)
        high, low, margin = found.high, found.low, found.margin(b)
        below, above = high + (low - margin), high + (low + margin)
        doubt = below.compare("ne", above)
        doubt = doubt if found.odd is None else doubt | found.odd
        value = below if found.sign is None else (bits_of(below) | found.sign).bitcast(F32)
        return rare_nan(b, doubt, value, rule, *args)

    both.__doc__ = rule.__doc__
    return both
