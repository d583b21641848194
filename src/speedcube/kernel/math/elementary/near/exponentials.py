"""exp2, expm1, sinh and cosh: `x = n ln 2 + r`, and powers of two that are exact."""

from __future__ import annotations

from typing import Final

from ....builder import Builder, Value
from ...bits import magnitude, sign_of
from .. import tables as E
from ..doubles import SHIFTER, at_least, at_most, flipped, number, polynomial, zero_stays
from ..exponential import BIAS, nearest, power_of_two
from . import tables as T

FAR: Final = 100.0  # beyond it results are infinite, or those of infinity


def _reduced(b: Builder, x: Value, shifter: float) -> tuple[Value, Value]:
    """r, and n with ``shifter`` added."""
    n, shifted = nearest(b, x, E.LOG2E[0], shifter)
    return b.fma(n, number(b, -E.LN2[1]), b.fma(n, number(b, -E.LN2[0]), x)), shifted


def exp2(b: Builder, x: Value) -> Value:
    inside = at_least(b, at_most(b, x, 130.0), -160.0)
    n, shifted = nearest(b, inside, 1.0, SHIFTER + BIAS)
    return polynomial(b, inside - n, (1.0, *T.EXP2)) * power_of_two(shifted)


def expm1(b: Builder, x: Value) -> Value:
    """`2**n expm1(r) + (2**n - 1)`."""
    r, shifted = _reduced(b, at_least(b, at_most(b, x, FAR), -40.0), SHIFTER + BIAS)
    power = power_of_two(shifted)
    rest = r * polynomial(b, r, T.EXPM1)
    return zero_stays(b, x, b.fma(power, rest, power - number(b, 1.0)))


def _halves(b: Builder, size: Value) -> tuple[Value, Value, Value, Value]:
    """`exp(n ln 2) / 2` and its inverse's half, `sinh(r)` and `cosh(r)`."""
    r, shifted = _reduced(b, at_most(b, size, FAR), SHIFTER + BIAS - 1)
    up = power_of_two(shifted)
    down = power_of_two(number(b, 2 * SHIFTER + 2 * BIAS - 2) - shifted)
    z = r * r
    sine = b.fma(r * z, polynomial(b, z, T.SINH), r)
    return up, down, sine, b.fma(z, polynomial(b, z, T.COSH), number(b, 1.0))


def sinh(b: Builder, x: Value) -> Value:
    """`sinh(n ln 2) cosh(r) + cosh(n ln 2) sinh(r)`: nothing cancels."""
    up, down, sine, cosine = _halves(b, magnitude(b, x))
    return flipped(b.fma(up + down, sine, (up - down) * cosine), sign_of(b, x))


def cosh(b: Builder, x: Value) -> Value:
    up, down, sine, cosine = _halves(b, magnitude(b, x))
    return b.fma(up + down, cosine, (up - down) * sine)
