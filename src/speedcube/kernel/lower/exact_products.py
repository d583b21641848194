"""Products in exact sums: x * y as a double and the bits its rounding dropped, found by fma.

The two add up to the product unless it overflows or is so small that those bits lie below 2**-1074.
Such products are taken out and made again of scaled operands, for limbs of their own
(`program.SCALE`). Dekker, A Floating-Point Technique for Extending the Available Precision (1971).
"""

from __future__ import annotations

import math
from typing import Final

from ...dataclass import dataclass
from ...expr.bounds import FINEST, Bounds
from ..builder import Builder, Value
from ..math.bits import magnitude
from ..program import SCALE


@dataclass(frozen=True)
class Summand:
    """A value that is summed into limb group ``group``; ``bounds`` None: nearly always zero."""

    value: Value
    group: int
    bounds: Bounds | None


@dataclass(frozen=True)
class _Apart:
    """Products that are taken out: their group, the operands' factor, and how they are recognised.

    ``applies`` holds for the size of the product, ``sound`` for its size when it is made of scaled
    operands, which is then exact: neither zero, nor infinite, nor NaN.
    """

    group: int
    factor: float
    applies: tuple[str, float]
    sound: tuple[str, float]


# A product of 2**-900 or more is a multiple of 2**-1006. Of a smaller one that is not zero no
# operand is above 2**174, so that both can be multiplied by 2**608; the product is then below
# 2**316 and a multiple of 2**-932.
_TINY: Final = _Apart(1, 2.0**SCALE, ("lt", 2.0**-900), ("gt", 0.0))
# Finite operands of a product that overflows are above 1: nothing is lost below 2**-608.
_HUGE: Final = _Apart(2, 2.0**-SCALE, ("eq", math.inf), ("lt", math.inf))
_LARGE: Final = 2.0**900


def products(
    b: Builder, x: Value, y: Value, known: tuple[Bounds, Bounds], single: bool, group: int
) -> list[Summand]:
    """Summands whose exact sum is that of x * y, for limbs from ``group`` on.

    ``x`` and ``y`` are float64 within ``known``; ``single``: they are float32 numbers, whose
    products have 48 bits at most.
    """
    size = math.prod(max(abs(k.low), abs(k.high)) if k.known else math.inf for k in known)
    grain = sum(k.grain for k in known)
    p = x * y
    if single:
        return [Summand(p, group, Bounds(-size, size, grain))]
    error = b.fma(x, y, -p)
    if size < _LARGE and grain >= FINEST["float64"]:
        return _pair(p, error, group, size, grain)
    zero, whole = b.const(0.0, "float64"), magnitude(b, p)
    error = b.select(_is(b, whole, "lt", math.inf), error, zero)
    apart = []
    for kind in (_TINY,) if size < _LARGE else (_TINY, _HUGE):
        factor = b.const(kind.factor, "float64")
        scaled_x, scaled_y = x * factor, y * factor
        scaled = scaled_x * scaled_y
        left = b.fma(scaled_x, scaled_y, -scaled)
        here = _is(b, whole, *kind.applies) & _is(b, magnitude(b, scaled), *kind.sound)
        apart += [
            Summand(b.select(here, v, zero), group + kind.group, None) for v in (scaled, left)
        ]
        p, error = b.select(here, zero, p), b.select(here, zero, error)
    return [*_pair(p, error, group, size, FINEST["float64"]), *apart]


def _is(b: Builder, size: Value, relation: str, limit: float) -> Value:
    return size.compare(relation, b.const(limit, "float64"))


def _pair(p: Value, error: Value, group: int, size: float, grain: int) -> list[Summand]:
    left = size * 2.0**-53
    return [
        Summand(p, group, Bounds(-size, size, grain)),
        Summand(error, group, Bounds(-left, left, grain)),
    ]
