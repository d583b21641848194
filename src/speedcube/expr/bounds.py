"""What is known of an expression's values before any is computed: interval arithmetic.

`Bounds` says that every element lies in [low, high] and is a whole multiple of 2**grain. The
exact sums choose their bins from it: values below 2**E that are multiples of 2**G need E - G bits.
Rounding to nearest never leaves an interval whose ends are representable, and never makes a
multiple of 2**G anything finer; a value of size m or more is a multiple of its own last place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from .. import dtypes
from .nodes import Const, Expr, Leaf, Map, Position, Random, walk

INF: Final = math.inf
FINEST: Final = {"float16": -24, "float32": -149, "float64": -1074}


@dataclass(frozen=True)
class Bounds:
    """Every element is in [low, high] and a multiple of 2**grain; infinite ends: nothing known."""

    low: float
    high: float
    grain: int

    @property
    def known(self) -> bool:
        """Whether the range is finite (so no element is an infinity or a NaN)."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def exponent(self) -> int:
        """The least E with every magnitude below 2**E."""
        return math.frexp(max(abs(self.low), abs(self.high), 2.0**-1073))[1]


FINITE16: Final = Bounds(-65504.0, 65504.0, FINEST["float16"])  # of finite float16 numbers


def unknown(dtype: str) -> Bounds:
    """What the dtype alone says."""
    if dtype in FINEST:
        return Bounds(-INF, INF, FINEST[dtype])
    if dtype == "bool":
        return Bounds(0.0, 1.0, 0)
    info = np.iinfo(dtype)
    return Bounds(float(info.min), float(info.max), 0)


# Of stream-v1 variates (math/streams.py): the least and the largest, rounded outwards, and their
# grain. A normal is r * (c - s) where r is 0 or at least 2**-27 (float32: 2**-13) and c - s is 0 or
# at least 2**-53 (2**-24): as rounded it has no bit below 2**-133 (2**-61). An exponential is 0 or
# at least 2**-54 (2**-25), a uniform a multiple of 2**-52 (2**-24).
_UNIT: Final[dict[str, dict[str, tuple[float, float, int]]]] = {
    "normal": {"float64": (-8.6, 8.6, -140), "float32": (-6.7, 6.7, -70)},
    "exponential": {"float64": (0.0, 36.8, -110), "float32": (0.0, 22.2, -60)},
    "uniform": {"float64": (0.0, 1.0, -52), "float32": (0.0, 1.0, -24)},
}


def _grain_of(value: float) -> int:
    """The largest g with ``value`` a multiple of 2**g."""
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


def _rounded(low: float, high: float, grain: int, dtype: str) -> Bounds:
    """Bounds of a result rounded to ``dtype``: ends move out a few places, grain by magnitude."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return unknown(dtype)
    if not dtypes.is_float(dtype):
        return _whole(low, high, grain, dtype)
    low, high = -_outward(-low, dtype), _outward(high, dtype)
    if max(abs(low), abs(high)) > float(np.finfo(dtype).max) / 2:
        return unknown(dtype)
    least = max(low, -high, 0.0)
    if least > 0:
        grain = max(grain, math.frexp(least)[1] - dtypes.MANTISSA[dtype])
    return Bounds(low, high, max(grain, FINEST[dtype]))


def _whole(low: float, high: float, grain: int, dtype: str) -> Bounds:
    """Bounds of integers, where their ends are exact as doubles."""
    exact = max(abs(low), abs(high)) <= 2.0**53
    return Bounds(float(low), float(high), max(grain, 0)) if exact else unknown(dtype)


def _random(source: Random) -> Bounds:
    if source.distribution in ("integers", "integers_wide"):
        first, count = (int(p) for p in source.parameters)
        return _whole(first, first + count - 1, 0, source.dtype)
    if source.distribution not in _UNIT:
        return unknown(source.dtype)
    low, high, grain = _UNIT[source.distribution][source.dtype]
    a, b = (float(p) for p in source.parameters)
    if source.distribution == "uniform":  # a + (b - a) * u
        b -= a
    grain = min(_grain_of(a), _grain_of(b) + grain)
    ends = sorted((a + b * low, a + b * high))
    return _rounded(ends[0], ends[1], grain, source.dtype)


def _leaf(leaf: Leaf) -> Bounds:
    source = leaf.source
    if isinstance(source, Const):
        with np.errstate(over="ignore"):
            value = float(np.array(source.value, source.dtype))
        return (
            Bounds(value, value, _grain_of(value))
            if math.isfinite(value)
            else unknown(source.dtype)
        )
    if isinstance(source, Random):
        return _random(source)
    if isinstance(source, Position):
        reach = [s * (n - 1) for s, n in zip(leaf.strides, leaf.shape, strict=True) if n]
        low = leaf.offset + sum(min(0, r) for r in reach)
        return Bounds(float(low), float(leaf.offset + sum(max(0, r) for r in reach)), 0)
    return unknown(source.dtype)


def _products(a: Bounds, b: Bounds) -> tuple[float, float]:
    ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return (math.nan, math.nan) if any(map(math.isnan, ends)) else (min(ends), max(ends))


def _add(a: Bounds, b: Bounds, dtype: str) -> Bounds:
    return _rounded(a.low + b.low, a.high + b.high, min(a.grain, b.grain), dtype)


def _subtract(a: Bounds, b: Bounds, dtype: str) -> Bounds:
    return _rounded(a.low - b.high, a.high - b.low, min(a.grain, b.grain), dtype)


def _multiply(a: Bounds, b: Bounds, dtype: str) -> Bounds:
    low, high = _products(a, b)
    return _rounded(low, high, a.grain + b.grain, dtype)


def _divide(a: Bounds, b: Bounds, dtype: str) -> Bounds:
    if not b.known or b.low <= 0 <= b.high:
        return unknown(dtype)
    inverse = Bounds(1 / b.high, 1 / b.low, -1074)
    low, high = _products(a, inverse)
    return _rounded(low, high, -1074, dtype)


def _floor_divide(a: Bounds, b: Bounds, dtype: str) -> Bounds:
    if dtypes.is_float(dtype):
        return unknown(dtype)
    size = max(abs(a.low), abs(a.high))  # by zero it is 0
    return _whole(-size if min(a.low, b.low) < 0 else 0.0, size, 0, dtype)


def _remainder(a: Bounds, b: Bounds, dtype: str) -> Bounds:
    """It has the divisor's sign and is smaller than it; by zero it is 0."""
    if dtypes.is_float(dtype):
        return unknown(dtype)
    return _whole(min(b.low, 0.0), max(b.high, 0.0), 0, dtype)


def _sqrt(a: Bounds, dtype: str) -> Bounds:
    if not a.known or a.low < 0:
        return unknown(dtype)
    return _rounded(math.sqrt(a.low), math.sqrt(a.high), -1074, dtype)


def _exp(a: Bounds, dtype: str) -> Bounds:
    if not a.known or a.high > 700:
        return unknown(dtype)
    low = math.exp(a.low) if a.low > -80 else 0.0  # a subnormal's rounding is no small share of it
    return _rounded(low, max(math.exp(a.high), 1e-30), -1074, dtype)


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
        return _rounded(low - abs(low) * slack, high + abs(high) * slack, -1074, dtype)

    return rule


def _absolute(a: Bounds, dtype: str) -> Bounds:
    low = max(a.low, -a.high, 0.0)
    return Bounds(low, max(abs(a.low), abs(a.high)), a.grain) if a.known else unknown(dtype)


def _negative(a: Bounds, dtype: str) -> Bounds:
    return Bounds(-a.high, -a.low, a.grain)


def _square(a: Bounds, dtype: str) -> Bounds:
    size = _absolute(a, dtype)
    return _rounded(size.low**2, size.high**2, 2 * a.grain, dtype) if a.known else unknown(dtype)


def _either(*sides: Bounds) -> Bounds:
    return Bounds(
        min(s.low for s in sides), max(s.high for s in sides), min(s.grain for s in sides)
    )


def _minimum(a: Bounds, b: Bounds, dtype: str) -> Bounds:
    return Bounds(min(a.low, b.low), min(a.high, b.high), min(a.grain, b.grain))


def _maximum(a: Bounds, b: Bounds, dtype: str) -> Bounds:
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


_RULES: Final[dict[str, Callable[..., Bounds]]] = {
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


def _cast(a: Bounds, dtype: str) -> Bounds:
    """Casting to a float rounds; a value in range of an integer type is truncated, others wrap."""
    if dtypes.is_float(dtype):
        return _rounded(a.low, a.high, a.grain, dtype) if a.known else unknown(dtype)
    limits = unknown(dtype)
    if a.known and limits.low <= a.low and a.high <= limits.high:
        return Bounds(math.floor(a.low), math.ceil(a.high), 0)
    return limits


def _map(node: Map, args: list[Bounds]) -> Bounds:
    if node.op == "cast":
        return _cast(args[0], node.dtype)
    rule = _RULES.get(node.op)
    if rule is None or node.dtype == "bool":
        return unknown(node.dtype)
    found = rule(*args, node.dtype)
    if dtypes.is_float(node.dtype):
        return found
    # Integer arithmetic wraps, so a range is only known while it stays inside the type.
    limits = unknown(node.dtype)
    return found if limits.low <= found.low and found.high <= limits.high else limits


def analyse(root: Expr) -> Bounds:
    """The bounds of ``root``'s elements."""
    found: dict[int, Bounds] = {}
    for node in walk(root):
        if isinstance(node, Leaf):
            found[id(node)] = _leaf(node)
        else:
            found[id(node)] = _map(node, [found[id(arg)] for arg in node.args])
    return found[id(root)]
