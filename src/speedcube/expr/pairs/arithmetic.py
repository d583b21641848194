"""What element-wise operations make of complex numbers: rules of pairs of real expressions.

A rule takes pairs and gives a pair, or a real expression. They are NumPy's formulas, so that zeros,
infinities and NaN come out as NumPy's do; each operation in them is rounded as ever, and never
contracted, so the bits are the same everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from .reals import Real, of, where

Pair: TypeAlias = tuple[Real, Real]
Rule: TypeAlias = Callable[..., Any]

RULES: Final[dict[str, Rule]] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    """What the operations ``names`` make of pairs."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


@rule("add")
def add(x: Pair, y: Pair) -> Pair:
    """Part by part."""
    return x[0] + y[0], x[1] + y[1]


@rule("subtract")
def subtract(x: Pair, y: Pair) -> Pair:
    """Part by part."""
    return x[0] - y[0], x[1] - y[1]


@rule("multiply")
def multiply(x: Pair, y: Pair) -> Pair:
    """Four products, each rounded, and their sums."""
    (a, b), (c, d) = x, y
    return a * c - b * d, a * d + b * c


@rule("divide")
def divide(x: Pair, y: Pair) -> Pair:
    """Smith's quotient, as NumPy has it: by the greater part of the divisor first.

    By zero both parts are divided by it.
    """
    (a, b), (c, d) = x, y
    wide = abs(c) >= abs(d)
    great, small = where(wide, c, d), where(wide, d, c)
    none = great.equals(0.0)
    ratio = small / great
    scale = 1.0 / (great + small * ratio)
    first, second = where(wide, a, b), where(wide, b, a)
    re = (first + second * ratio) * scale
    im = where(wide, b - a * ratio, b * ratio - a) * scale
    return where(none, a / abs(c), re), where(none, b / abs(c), im)


@rule("negative")
def negative(x: Pair) -> Pair:
    """Part by part."""
    return -x[0], -x[1]


@rule("positive")
def positive(x: Pair) -> Pair:
    """The numbers as they are."""
    return x


@rule("square")
def square(x: Pair) -> Pair:
    """The product with itself."""
    a, b = x
    return a * a - b * b, a * b + b * a


@rule("absolute")
def absolute(x: Pair) -> Real:
    """The modulus, without overflow on the way: of float32 in float64, whose squares have room."""
    a, b = x
    if a.expr.dtype != "float32":
        return of("hypot", a, b)
    wide, other = a.astype("float64"), b.astype("float64")
    size = of("sqrt", wide * wide + other * other)
    endless = of("isinf", a) | of("isinf", b)
    return where(endless, math.inf, size).astype("float32")


@rule("rint")
def rint(x: Pair) -> Pair:
    """Part by part."""
    return of("rint", x[0]), of("rint", x[1])


@rule("sign")
def sign(x: Pair) -> Pair:
    """The number over its modulus; 0 of 0, and the infinite part alone of an infinite number."""
    a, b = x
    size = absolute(x)
    known = where(size.equals(0.0), 1.0, size)
    endless, nothing = of("isinf", size), size.equals(0.0)
    both = of("isinf", a) & of("isinf", b)

    def part(one: Real) -> Real:
        alone = where(of("isinf", one), of("sign", one), 0.0)
        of_endless = where(both, math.nan, alone)
        return where(endless, of_endless, where(nothing, 0.0, one / known))

    return part(a), part(b)


# Comparisons -------------------------------------------------------------------------------------


@rule("equal")
def equal(x: Pair, y: Pair) -> Real:
    """Whether both parts are equal."""
    return x[0].equals(y[0]) & x[1].equals(y[1])


@rule("not_equal")
def not_equal(x: Pair, y: Pair) -> Real:
    """Whether a part differs."""
    return ~(x[0].equals(y[0]) & x[1].equals(y[1]))


def is_nan(x: Pair) -> Real:
    """Whether a part is NaN."""
    return of("isnan", x[0]) | of("isnan", x[1])


def _ordered(name: str) -> Rule:
    """NumPy's order: by the real part, then by the imaginary one; none where a part is NaN."""
    strict = {"less_equal": "less", "greater_equal": "greater"}.get(name, name)

    def compare(x: Pair, y: Pair) -> Real:
        (a, b), (c, d) = x, y
        by_real: Real = of(strict, a, c) & ~of("isnan", b) & ~of("isnan", d)
        return by_real | (a.equals(c) & of(name, b, d))

    return compare


RULES.update({name: _ordered(name) for name in ("less", "less_equal", "greater", "greater_equal")})


def chosen(condition: Real, x: Pair, y: Pair) -> Pair:
    """``x`` where the condition holds, else ``y``."""
    return where(condition, x[0], y[0]), where(condition, x[1], y[1])


@rule("minimum")
def minimum(x: Pair, y: Pair) -> Pair:
    """The first in NumPy's order; the first operand with NaN, if there is one."""
    return chosen(is_nan(x) | (~is_nan(y) & RULES["less_equal"](x, y)), x, y)


@rule("maximum")
def maximum(x: Pair, y: Pair) -> Pair:
    """The last in NumPy's order; the first operand with NaN, if there is one."""
    return chosen(is_nan(x) | (~is_nan(y) & RULES["greater_equal"](x, y)), x, y)


@rule("where")
def select(condition: Real, x: Pair, y: Pair) -> Pair:
    """Part by part."""
    return chosen(condition, x, y)


# Tests and logic ---------------------------------------------------------------------------------


def truth(x: Pair) -> Real:
    """Whether it is not 0; NaN is not."""
    return ~(x[0].equals(0.0) & x[1].equals(0.0))


@rule("logical_and")
def logical_and(x: Pair, y: Pair) -> Real:
    """Of truths."""
    return truth(x) & truth(y)


@rule("logical_or")
def logical_or(x: Pair, y: Pair) -> Real:
    """Of truths."""
    return truth(x) | truth(y)


@rule("logical_xor")
def logical_xor(x: Pair, y: Pair) -> Real:
    """Of truths."""
    return of("logical_xor", truth(x), truth(y))


@rule("logical_not")
def logical_not(x: Pair) -> Real:
    """Of truths."""
    return ~truth(x)


RULES["isnan"] = is_nan


@rule("isinf")
def is_inf(x: Pair) -> Real:
    """Whether a part is infinite."""
    return of("isinf", x[0]) | of("isinf", x[1])


@rule("isfinite")
def is_finite(x: Pair) -> Real:
    """Whether both parts are finite."""
    return of("isfinite", x[0]) & of("isfinite", x[1])
