"""Interval arithmetic: what is known of a result before it is computed, by its operation.

`Bounds` says that every element lies in ``[low, high]`` and is a whole multiple of ``2**grain``.
The exact sums choose their bins from it: values below ``2**E`` that are multiples of ``2**G`` need
``E - G`` bits. Rounding to nearest never leaves an interval whose ends are representable. It never
makes a multiple of ``2**G`` anything finer. A value of size ``m`` or more is a multiple of the last
place of ``m``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Final

import numpy as np

from .. import dtypes
from ..dataclass import dataclass

INF: Final = math.inf
FINEST: Final = {"float16": -24, "float32": -149, "float64": -1074}


@dataclass(frozen=True)
class Bounds:
    """Every element is in ``[low, high]`` and a multiple of ``2**grain``.

    Infinite ends say that nothing is known.
    """

    low: float
    high: float
    grain: int

    @property
    def known(self) -> bool:
        """Whether the range is finite (so no element is an infinity or a NaN)."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def exponent(self) -> int:
        """The least ``E`` with every magnitude below ``2**E``."""
        return math.frexp(max(abs(self.low), abs(self.high), 2.0**-1073))[1]


FINITE16: Final = Bounds(-65504.0, 65504.0, FINEST["float16"])  # of finite float16 numbers


@cache
def unknown(dtype: str) -> Bounds:
    """What the dtype alone says."""
    if dtype in FINEST:
        return Bounds(-INF, INF, FINEST[dtype])
    if dtype == "bool":
        return Bounds(0.0, 1.0, 0)
    info = np.iinfo(dtype)
    return Bounds(float(info.min), float(info.max), 0)


def grain_of(value: float) -> int:
    """The largest ``g`` with ``value`` a multiple of ``2**g``."""
    if value == 0 or not math.isfinite(value):
        return 1100 if value == 0 else -1074
    numerator, denominator = float(value).as_integer_ratio()
    zeros = (numerator & -numerator).bit_length() - 1
    return zeros - (denominator.bit_length() - 1)


def _outward(end: float, dtype: str) -> float:
    """At least what a rounding to ``dtype`` can make of a number up to ``end``."""
    mantissa, finest = dtypes.MANTISSA[dtype], FINEST[dtype]
    end += abs(end) * 2.0 ** (2 - mantissa)
    if abs(end) >= 2.0 ** (finest + mantissa):
        return end
    return math.ldexp(math.ceil(math.ldexp(end, -finest)), finest)  # a subnormal has few places


def rounded(low: float, high: float, grain: int, dtype: str) -> Bounds:
    """Bounds of a result rounded to ``dtype``: ends move out a few places, grain by magnitude."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return unknown(dtype)
    if not dtypes.is_float(dtype):
        return integer_bounds(low, high, grain, dtype)
    low, high = -_outward(-low, dtype), _outward(high, dtype)
    if max(abs(low), abs(high)) > float(np.finfo(dtype).max) / 2:
        return unknown(dtype)
    least = max(low, -high, 0.0)
    if least > 0:
        grain = max(grain, math.frexp(least)[1] - dtypes.MANTISSA[dtype])
    return Bounds(low, high, max(grain, FINEST[dtype]))


def integer_bounds(low: float, high: float, grain: int, dtype: str) -> Bounds:
    """Bounds of integers, where their ends are exact as doubles."""
    exact = max(abs(low), abs(high)) <= 2.0**53
    return Bounds(float(low), float(high), max(grain, 0)) if exact else unknown(dtype)


def _products(a: Bounds, b: Bounds) -> tuple[float, float]:
    ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return (math.nan, math.nan) if any(map(math.isnan, ends)) else (min(ends), max(ends))


def _add(a: Bounds, b: Bounds, dtype: str) -> Bounds:
    return rounded(a.low + b.low, a.high + b.high, min(a.grain, b.grain), dtype)


def _subtract(a: Bounds, b: Bounds, dtype: str) -> Bounds:
    return rounded(a.low - b.high, a.high - b.low, min(a.grain, b.grain), dtype)


def _multiply(a: Bounds, b: Bounds, dtype: str) -> Bounds:
    low, high = _products(a, b)
    return rounded(low, high, a.grain + b.grain, dtype)


def _divide(a: Bounds, b: Bounds, dtype: str) -> Bounds:
    if not b.known or b.low <= 0 <= b.high:
        return unknown(dtype)
    inverse = Bounds(1 / b.high, 1 / b.low, -1074)
    low, high = _products(a, inverse)
    return rounded(low, high, -1074, dtype)


def _floor_divide(a: Bounds, b: Bounds, dtype: str) -> Bounds:
    if dtypes.is_float(dtype):
        return unknown(dtype)
    size = max(abs(a.low), abs(a.high))  # by zero it is 0
    return integer_bounds(-size if min(a.low, b.low) < 0 else 0.0, size, 0, dtype)


def _remainder(a: Bounds, b: Bounds, dtype: str) -> Bounds:
    """It has the divisor's sign and is smaller than it; by zero it is 0."""
    if dtypes.is_float(dtype):
        return unknown(dtype)
    return integer_bounds(min(b.low, 0.0), max(b.high, 0.0), 0, dtype)


def _sqrt(a: Bounds, dtype: str) -> Bounds:
    if not a.known or a.low < 0:
        return unknown(dtype)
    return rounded(math.sqrt(a.low), math.sqrt(a.high), -1074, dtype)


def _exp(a: Bounds, dtype: str) -> Bounds:
    if not a.known or a.high > 700:
        return unknown(dtype)
    low = math.exp(a.low) if a.low > -80 else 0.0  # a subnormal's rounding is no small share of it
    return rounded(low, max(math.exp(a.high), 1e-30), -1074, dtype)


def _wave(a: Bounds, dtype: str) -> Bounds:
    """Of sin and cos, which never leave -1 .. 1 whatever their rounding."""
    return Bounds(-1.0, 1.0, FINEST[dtype]) if a.known else unknown(dtype)


def _increasing(function: Callable[[float], float], least: float = -INF) -> Callable[..., Bounds]:
    """Of a function that grows, of arguments above ``least``."""

    def rule(a: Bounds, dtype: str) -> Bounds:
        if not a.known or a.low <= least:
            return unknown(dtype)
        try:
            low, high = function(a.low), function(a.high)
        except OverflowError:
            return unknown(dtype)
        slack = 2.0**-50  # of libm's own errors
        return rounded(low - abs(low) * slack, high + abs(high) * slack, -1074, dtype)

    return rule


def _absolute(a: Bounds, dtype: str) -> Bounds:
    low = max(a.low, -a.high, 0.0)
    return Bounds(low, max(abs(a.low), abs(a.high)), a.grain) if a.known else unknown(dtype)


def _negative(a: Bounds, dtype: str) -> Bounds:
    return Bounds(-a.high, -a.low, a.grain)


def _square(a: Bounds, dtype: str) -> Bounds:
    size = _absolute(a, dtype)
    return rounded(size.low**2, size.high**2, 2 * a.grain, dtype) if a.known else unknown(dtype)


def _either(*sides: Bounds) -> Bounds:
    return Bounds(
        min(s.low for s in sides), max(s.high for s in sides), min(s.grain for s in sides)
    )


def _minimum(a: Bounds, b: Bounds, dtype: str) -> Bounds:
    if dtypes.is_float(dtype) and not (a.known and b.known):
        return unknown(dtype)  # a NaN is less than nothing, and stays one
    return Bounds(min(a.low, b.low), min(a.high, b.high), min(a.grain, b.grain))


def _maximum(a: Bounds, b: Bounds, dtype: str) -> Bounds:
    if dtypes.is_float(dtype) and not (a.known and b.known):
        return unknown(dtype)
    return Bounds(max(a.low, b.low), max(a.high, b.high), min(a.grain, b.grain))


def _to_integral(a: Bounds, dtype: str) -> Bounds:
    if not a.known:
        return unknown(dtype)
    return Bounds(math.floor(a.low), math.ceil(a.high), max(a.grain, 0))


def _where(condition: Bounds, a: Bounds, b: Bounds, dtype: str) -> Bounds:
    return _either(a, b)


def _positive(a: Bounds, dtype: str) -> Bounds:
    return a


def _sign(a: Bounds, dtype: str) -> Bounds:
    return Bounds(-1.0, 1.0, 0) if a.known else unknown(dtype)


RULES: Final[dict[str, Callable[..., Bounds]]] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "floor_divide": _floor_divide,
    "remainder": _remainder,
    "sqrt": _sqrt,
    "exp": _exp,
    "log": _increasing(math.log, 0.0),
    "log2": _increasing(math.log2, 0.0),
    "log10": _increasing(math.log10, 0.0),
    "log1p": _increasing(math.log1p, -1.0),
    "expm1": _increasing(math.expm1),
    "atan": _increasing(math.atan),
    "asinh": _increasing(math.asinh),
    "sinh": _increasing(math.sinh),
    "sin": _wave,
    "cos": _wave,
    "tanh": _increasing(math.tanh),
    "absolute": _absolute,
    "negative": _negative,
    "positive": _positive,
    "square": _square,
    "minimum": _minimum,
    "maximum": _maximum,
    "where": _where,
    "sign": _sign,
    "floor": _to_integral,
    "ceil": _to_integral,
    "trunc": _to_integral,
    "rint": _to_integral,
}


def cast(a: Bounds, dtype: str) -> Bounds:
    """Casting to a float rounds; a value in range of an integer type is truncated, others wrap."""
    if dtypes.is_float(dtype):
        return rounded(a.low, a.high, a.grain, dtype) if a.known else unknown(dtype)
    limits = unknown(dtype)
    if a.known and limits.low <= a.low and a.high <= limits.high:
        return Bounds(math.floor(a.low), math.ceil(a.high), 0)
    return limits
