"""The elementary functions: how near the exact value, at every special case, with the same bits.

Exact values come from mpmath with 100 digits and more. An ulp is the last place of the exact value
rounded to the result's dtype; below the normal numbers it is the least subnormal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import mpmath
import numpy as np
import pytest
from mpmath import mp
from oracle import assert_same_bits, run_body

import speedcube as sc
from speedcube import dtypes
from speedcube.kernel.builder import Builder
from speedcube.kernel.evaluate import evaluate
from speedcube.kernel.ir import Body
from speedcube.kernel.llvm.simd import targets
from speedcube.kernel.lower.rules import RULES
from speedcube.kernel.math.bits import canonical
from speedcube.ops import ELEMENTARY, OPS

INF, NAN = math.inf, math.nan
LIMIT = {"float64": 1.0, "float32": 0.502}
LIMITS = {("gammaln", "float64"): 2.0}  # others than LIMIT's
FLOATS = ["float64", "float32"]
COUNT = 400  # points of each stratum

# Where to look -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reach:
    """The strata of one dtype; logarithms of the least and the greatest number."""

    dtype: str
    rng: np.random.Generator

    @property
    def most(self) -> float:
        return 709.7 if self.dtype == "float64" else 88.7

    @property
    def least(self) -> float:
        return -745.1 if self.dtype == "float64" else -103.9

    def even(self, low: float, high: float) -> np.ndarray:
        return self.rng.uniform(low, high, COUNT)

    def sizes(self, low: float | None = None, high: float | None = None) -> np.ndarray:
        """Evenly in the logarithm, of both signs."""
        low = self.least if low is None else low
        numbers = np.exp(self.even(low, self.most if high is None else high))
        return numbers * self.rng.choice([-1.0, 1.0], COUNT)

    def near(self, value: float) -> np.ndarray:
        """At every distance from ``value``."""
        lowest = -36.0 if self.dtype == "float64" else -16.0
        return value + self.sizes(lowest, -1.0) * (value or 1.0)


def _angles(r: Reach) -> list[np.ndarray]:
    quarters = r.rng.integers(1, 2**20, COUNT) * (math.pi / 2)
    far = np.ldexp(r.rng.integers(1, 2**50, COUNT).astype(float), 3) * (math.pi / 2)
    return [r.even(-7, 7), r.even(-1e5, 1e5), r.even(1e8, 2e9), r.sizes(), quarters, far]


STRATA: dict[str, Callable[[Reach], list[Any]]] = {
    "exp": lambda r: [r.even(r.least, r.most), r.even(-1, 1), r.even(r.least, r.least * 0.94),
                      r.sizes(high=0), r.even(r.most * 0.999, r.most)],
    "log": lambda r: [abs(r.sizes()), r.even(0.5, 2), r.near(1.0), abs(r.sizes(high=r.least * 0.9)),
                      np.ldexp(1.0, r.rng.integers(-120, 120, COUNT))],
    "exp2": lambda r: [r.even(r.least, r.most) * 1.4426950408889634, r.even(-1, 1), r.sizes(high=0),
                       r.even(r.least, r.least * 0.94) * 1.4426950408889634],
    "expm1": lambda r: [r.even(-45, r.most), r.even(-1, 1), r.sizes(high=0), r.even(30, 50),
                        r.even(r.most * 0.999, r.most)],
    "sigmoid": lambda r: [r.even(r.least, 40), r.even(-1, 1), r.sizes(high=0), r.even(-50, -30)],
    "log1p": lambda r: [abs(r.sizes()), r.even(-0.999, 2), r.sizes(high=0), r.near(-1.0),
                        -1 + abs(r.sizes(-36 if r.dtype == "float64" else -16, 0))],
    "log2": lambda r: STRATA["log"](r),
    "log10": lambda r: [*STRATA["log"](r), 10.0 ** r.rng.integers(-30, 30, COUNT)],
    "sin": _angles,
    "cos": _angles,
    "tan": _angles,
    "asin": lambda r: [r.even(-1, 1), r.sizes(high=0), np.clip(r.near(1.0), -1, 1),
                       r.even(0.4, 0.5)],
    "acos": lambda r: [r.even(-1, 1), r.sizes(high=0), np.clip(r.near(1.0), -1, 1),
                       np.clip(r.near(-1.0), -1, 1)],
    "atan": lambda r: [r.even(-3, 3), r.sizes(), r.near(1.0), r.near(math.tan(math.pi / 8))],
    "atan2": lambda r: [(r.even(-3, 3), r.even(-3, 3)), (r.sizes(), r.sizes()),
                        (r.sizes(-9, 9), r.sizes(-9, 9)), (r.near(2.0), r.even(1.9, 2.1)),
                        (r.sizes(r.least, r.least * 0.87), r.sizes(-40, 40))],
    "hypot": lambda r: [(r.even(-3, 3), r.even(-3, 3)), (r.sizes(), r.sizes()),
                        (r.sizes(r.least, r.least * 0.9), r.sizes(r.least, r.least * 0.9)),
                        (r.sizes(r.most - 2), r.sizes(r.most - 2)),
                        (r.rng.integers(1, 99, COUNT) * 1.0, r.rng.integers(1, 99, COUNT) * 1.0)],
    "cbrt": lambda r: [r.even(-9, 9), r.sizes(), r.sizes(r.least, r.least * 0.9),
                       np.ldexp(1.0, r.rng.integers(-40, 40, COUNT)),
                       r.rng.integers(1, 999, COUNT) ** 3.0],
    "sinh": lambda r: [r.even(-1, 1), r.even(-r.most, r.most), r.sizes(high=0), r.even(15, 45),
                       r.even(r.most, r.most + 0.69)],
    "cosh": lambda r: [r.even(-1, 1), r.even(-r.most, r.most), r.sizes(high=0), r.even(15, 45),
                       r.even(r.most, r.most + 0.69)],
    "asinh": lambda r: [r.even(-2, 2), r.sizes(), r.sizes(high=0), r.near(2.0**28)],
    "acosh": lambda r: [r.even(1, 3), abs(r.sizes(0)), 1 + abs(r.sizes(-36, 0)),
                        abs(r.near(2.0**28))],
    "atanh": lambda r: [r.even(-1, 1), r.sizes(high=0), np.clip(r.near(1.0), -1, 1),
                        r.even(-0.1, 0.1)],
    "erf": lambda r: [r.even(-1, 1), r.even(-7, 7), r.sizes(high=0), r.near(0.5)],
    "erfc": lambda r: [r.even(-1, 1), r.even(-7, 28), r.sizes(high=0), r.even(25, 27.5),
                       r.even(9, 10.1), r.near(0.5)],
    "gammaln": lambda r: [r.even(0, 12), abs(r.sizes(high=r.most - 7)), r.even(-20, 0),
                          r.sizes(high=0),
                          r.near(1.0), r.near(2.0), r.near(8.0), r.near(-2.4570247382208006),
                          r.even(-200, -170)],
    "tanh": lambda r: [r.even(-1, 1), r.even(-20, 20), r.sizes(high=0), r.even(8, 10)],
    "power": lambda r: [
        (abs(r.sizes()), r.even(-1.1, 1.1)),
        (r.even(0.01, 10), r.even(-30, 30)),
        (abs(r.near(1.0)), r.sizes(0, r.most / 9)),
        (abs(r.near(2.0)), r.even(r.least, r.least * 0.93) / math.log(2)),
        (r.rng.integers(-40, 40, COUNT).astype(float), r.rng.integers(-12, 12, COUNT) * 1.0),
    ],
}  # fmt: skip

# The arguments that are known to be hard, whatever the function: next to multiples of pi/2 (Kahan's
# and Muller's worst cases among them), last and first numbers of a range, next to whole powers.
HARD = [
    6381956970095103.0 * 2.0**797, 5.319372648326541e255, 1.7976931348623157e308, 2.0**1023,
    3.0386355440411636e-11 + 2.0**30, 2.0**30, 2.0**30 - 2.0**-22, 1073741824.25, 1e22, 1e16,
    2.0**53 - 1, 16367173.0 * 2.0**72, 3.4028234663852886e38, 2.0**31 + 256, 11.0, 22.0, 355.0,
    710.0, 103993.0, math.pi, math.pi / 2, math.pi / 4, 3 * math.pi / 4, 1.5 * math.pi,
    245850922.0, 6134899525417045.0, 709.782712893384, 709.7827128933841, 745.1332191019411,
    745.1332191019412, 708.3964185322641, 88.72283172607422, 88.7228393, 103.97207641601562,
    87.33654022216797, 103.27893, 1.0, 1.0 + 2.0**-52, 1.0 - 2.0**-53, 1.0 + 2.0**-23,
    1.0 - 2.0**-24, 0.5, 2.0, 10.0, 100.0, 1000.0, math.e, math.sqrt(2), math.sqrt(0.5),
    0.7071067690849304, 1.4142135381698608, math.log(2) / 2, 2.0**-27, 2.0**-28, 2.0**-54, 1e-300,
    2.2250738585072014e-308, 2.225073858507201e-308, 5e-324, 1e-40, 1.1754943508222875e-38,
    1.401298464324817e-45, 18.714973875118524, 19.0615474653984, 9.01, 22.5,
]  # fmt: skip


def arguments(op: str, dtype: str) -> tuple[np.ndarray, ...]:
    """All the points of ``op``, one array for each argument."""
    rng = np.random.default_rng(sum(map(ord, op)))
    strata = STRATA[op](Reach(dtype, rng))
    hard = np.array([*HARD, *(-v for v in HARD)])
    with np.errstate(over="ignore"):
        if OPS[op].arity == 1:
            return (np.concatenate([*strata, hard]).astype(dtype),)
        x, y = (g.ravel() for g in np.meshgrid(hard[::3], hard[::2]))
        first = np.concatenate([*(np.broadcast_arrays(*s)[0] for s in strata), x])
        second = np.concatenate([*(np.broadcast_arrays(*s)[1] for s in strata), y])
        return first.astype(dtype), second.astype(dtype)


# Exact values ------------------------------------------------------------------------------------


def _inside(function: Callable[[Any], Any], low: float, high: float) -> Callable[[Any], Any]:
    """``function`` where it has a finite real value."""
    return lambda x: function(x) if low < x < high else None


def _exact_power(x: Any, y: Any) -> Any:
    if x < 0 and y != mp.floor(y):
        return None
    return mp.power(x, y) if x or y > 0 else None


EXACT: dict[str, Callable[..., Any]] = {
    "exp": mp.exp,
    "exp2": lambda x: mp.power(2, x),
    "expm1": mp.expm1,
    "sigmoid": lambda x: 1 / (1 + mp.exp(-x)),
    "log": _inside(mp.log, 0, INF),
    "log1p": _inside(mp.log1p, -1, INF),
    "log2": _inside(lambda x: mp.log(x, 2), 0, INF),
    "log10": _inside(mp.log10, 0, INF),
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": mp.tan,
    "asin": lambda x: mp.asin(x) if abs(x) <= 1 else None,
    "acos": lambda x: mp.acos(x) if abs(x) <= 1 else None,
    "atan": mp.atan,
    "atan2": lambda y, x: mp.atan2(y, x) if y else None,
    "hypot": mp.hypot,
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "sinh": mp.sinh,
    "cosh": mp.cosh,
    "asinh": mp.asinh,
    "acosh": lambda x: mp.acosh(x) if x >= 1 else None,
    "atanh": _inside(mp.atanh, -1, 1),
    "erf": mp.erf,
    "erfc": lambda x: mp.erfc(x) if abs(x) < 40 else mp.mpf(0 if x > 0 else 2),
    "gammaln": lambda x: mp.re(mp.loggamma(x)) if x > 0 or x != mp.floor(x) else None,
    "tanh": mp.tanh,
    "power": _exact_power,
}


def exact(op: str, values: tuple[float, ...]) -> Any:
    """The value as an mpf, or None where the function has none."""
    large = max(abs(math.frexp(v)[1]) for v in values)
    with mp.workprec(180 + (large if op in ("sin", "cos", "tan") else 0)):
        value = EXACT[op](*map(mp.mpf, values))
        return None if isinstance(value, mpmath.mpc) else value


def last_place(value: Any, dtype: str) -> Any:
    """The ulp of ``dtype`` at ``value``."""
    info = np.finfo(dtype)
    exponent = max(mp.frexp(value)[1] - 1, int(info.minexp)) if value else int(info.minexp)
    return mp.ldexp(1, exponent - info.nmant)


def error(op: str, near: float, values: tuple[float, ...], dtype: str) -> float:
    """How far ``near`` is off, in ulps; an overflow is right where the exact value overflows."""
    wanted = exact(op, values)
    if wanted is None or any(map(math.isnan, values)):
        return 0.0  # the special cases have their own test
    most = mp.mpf(float(np.finfo(dtype).max))
    if math.isinf(near):
        ulp = last_place(most, dtype)
        return float(max(0, (most + ulp - abs(wanted)) / ulp)) if near * wanted > 0 else INF
    off = abs(mp.mpf(near) - wanted)
    if op == "gammaln" and dtype == "float64" and abs(wanted) < 1 and off <= mp.mpf(2) ** -53:
        return 0.0  # beside its zeros an absolute error is what is promised
    return float(off / last_place(wanted, dtype))


def worst(op: str, values: np.ndarray, args: tuple[np.ndarray, ...]) -> tuple[float, Any]:
    """The largest error, and where."""
    dtype = values.dtype.name
    points = zip(values.tolist(), *(a.tolist() for a in args), strict=True)
    finite = [p for p in points if all(map(math.isfinite, p[1:]))]
    return max((error(op, p[0], p[1:], dtype), p[1:]) for p in finite)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", sorted(ELEMENTARY))
def test_accuracy(op: str, dtype: str) -> None:
    args = arguments(op, dtype)
    values = getattr(sc, op)(*map(sc.asarray, args)).compute(on="core")
    assert values.dtype == dtype
    size, where = worst(op, values, args)
    assert size <= LIMITS.get((op, dtype), LIMIT[dtype]), f"{op}{where} is off by {size} ulp"


def test_every_function_has_its_points() -> None:
    assert set(STRATA) == set(EXACT) == set(ELEMENTARY)
    assert all(SPECIAL_CASES[op] for op in ELEMENTARY)


# Special cases: the Array API's, where it is silent C's (IEEE 754-2019, 9.2.1) -------------------

_ODD_EVEN = [
    case
    for sign in (1.0, -1.0)
    for case in [
        # (x, y) -> result for zeros, infinities and odd, even and broken exponents
        ((0.0 * sign, 3.0), 0.0 * sign), ((0.0 * sign, 2.0), 0.0), ((0.0 * sign, 0.5), 0.0),
        ((0.0 * sign, -3.0), INF * sign), ((0.0 * sign, -2.0), INF), ((0.0 * sign, -0.5), INF),
        ((0.0 * sign, INF), 0.0), ((0.0 * sign, -INF), INF),
        ((INF * sign, 3.0), INF * sign), ((INF * sign, 2.0), INF), ((INF * sign, 0.5), INF),
        ((INF * sign, -3.0), 0.0 * sign), ((INF * sign, -2.0), 0.0), ((INF * sign, -0.5), 0.0),
        ((INF * sign, INF), INF), ((INF * sign, -INF), 0.0),
        ((2.0 * sign, INF), INF), ((2.0 * sign, -INF), 0.0),
        ((0.5 * sign, INF), 0.0), ((0.5 * sign, -INF), INF), ((1.0 * sign, INF), 1.0),
        ((1.0 * sign, -INF), 1.0), ((3.0 * sign, 3.0), 27.0 * sign), ((3.0 * sign, 2.0), 9.0),
        ((2.0 * sign, -1.0), 0.5 * sign), ((1.0 * sign, 3.0), 1.0 * sign),
        ((2.0 * sign, 1e30), INF), ((2.0 * sign, -1e30), 0.0),
        ((2.0 * sign, 16777215.0), INF * sign), ((0.5 * sign, 16777215.0), 0.0 * sign),
    ]
]  # fmt: skip

SPECIAL_CASES: dict[str, list[tuple[tuple[float, ...], float]]] = {
    "exp": [((NAN,), NAN), ((0.0,), 1.0), ((-0.0,), 1.0), ((INF,), INF), ((-INF,), 0.0),
            ((1e5,), INF), ((-1e5,), 0.0)],
    "exp2": [((NAN,), NAN), ((0.0,), 1.0), ((-0.0,), 1.0), ((INF,), INF), ((-INF,), 0.0),
             ((1e5,), INF), ((-1e5,), 0.0), ((-149.0,), 2.0**-149), ((10.0,), 1024.0)],
    "expm1": [((NAN,), NAN), ((0.0,), 0.0), ((-0.0,), -0.0), ((INF,), INF), ((-INF,), -1.0),
              ((1e5,), INF), ((-1e5,), -1.0), ((1e-45,), 1e-45), ((-1e-45,), -1e-45)],
    "sigmoid": [((NAN,), NAN), ((0.0,), 0.5), ((-0.0,), 0.5), ((INF,), 1.0), ((-INF,), 0.0),
                ((1e5,), 1.0), ((-1e5,), 0.0)],
    "log1p": [((NAN,), NAN), ((-2.0,), NAN), ((-INF,), NAN), ((-1.0,), -INF), ((0.0,), 0.0),
              ((-0.0,), -0.0), ((INF,), INF), ((1e-45,), 1e-45), ((-1e-45,), -1e-45)],
    "log2": [((NAN,), NAN), ((-1.0,), NAN), ((-INF,), NAN), ((0.0,), -INF), ((-0.0,), -INF),
             ((1.0,), 0.0), ((INF,), INF), ((8.0,), 3.0), ((2.0**-149,), -149.0),
             ((2.0**100,), 100.0)],
    "log10": [((NAN,), NAN), ((-1.0,), NAN), ((-INF,), NAN), ((0.0,), -INF), ((-0.0,), -INF),
              ((1.0,), 0.0), ((INF,), INF), ((1000.0,), 3.0), ((1e10,), 10.0)],
    "tan": [((NAN,), NAN), ((0.0,), 0.0), ((-0.0,), -0.0), ((INF,), NAN), ((-INF,), NAN),
            ((1e-45,), 1e-45)],
    "asin": [((NAN,), NAN), ((1.5,), NAN), ((-1.5,), NAN), ((INF,), NAN), ((0.0,), 0.0),
             ((-0.0,), -0.0), ((1.0,), math.pi / 2), ((-1.0,), -math.pi / 2), ((1e-45,), 1e-45)],
    "acos": [((NAN,), NAN), ((1.5,), NAN), ((-1.5,), NAN), ((-INF,), NAN), ((1.0,), 0.0),
             ((-1.0,), math.pi), ((0.0,), math.pi / 2), ((-0.0,), math.pi / 2)],
    "atan": [((NAN,), NAN), ((0.0,), 0.0), ((-0.0,), -0.0), ((INF,), math.pi / 2),
             ((-INF,), -math.pi / 2), ((1e-45,), 1e-45)],
    "atan2": [
        ((NAN, 1.0), NAN), ((1.0, NAN), NAN), ((NAN, NAN), NAN),
        ((1.0, 0.0), math.pi / 2), ((1.0, -0.0), math.pi / 2), ((-1.0, 0.0), -math.pi / 2),
        ((-1.0, -0.0), -math.pi / 2), ((0.0, 1.0), 0.0), ((0.0, 0.0), 0.0), ((0.0, -0.0), math.pi),
        ((0.0, -1.0), math.pi), ((-0.0, 1.0), -0.0), ((-0.0, 0.0), -0.0), ((-0.0, -0.0), -math.pi),
        ((-0.0, -1.0), -math.pi), ((1.0, INF), 0.0), ((1.0, -INF), math.pi), ((-1.0, INF), -0.0),
        ((-1.0, -INF), -math.pi), ((INF, 1.0), math.pi / 2), ((-INF, 1.0), -math.pi / 2),
        ((INF, INF), math.pi / 4), ((INF, -INF), 3 * math.pi / 4), ((-INF, INF), -math.pi / 4),
        ((-INF, -INF), -3 * math.pi / 4), ((1e-45, 1.0), 1e-45), ((1e-45, 1e-45), math.pi / 4),
    ],
    "hypot": [((INF, NAN), INF), ((NAN, -INF), INF), ((-INF, 1.0), INF), ((NAN, 1.0), NAN),
              ((1.0, NAN), NAN), ((0.0, 0.0), 0.0), ((-0.0, -0.0), 0.0), ((3.0, -4.0), 5.0),
              ((-2.5, 0.0), 2.5), ((1e-45, 0.0), 1e-45), ((0.0, -1e-45), 1e-45)],
    "cbrt": [((NAN,), NAN), ((0.0,), 0.0), ((-0.0,), -0.0), ((INF,), INF), ((-INF,), -INF),
             ((27.0,), 3.0), ((-8.0,), -2.0), ((2.0**-147,), 2.0**-49)],
    "sinh": [((NAN,), NAN), ((0.0,), 0.0), ((-0.0,), -0.0), ((INF,), INF), ((-INF,), -INF),
             ((1e5,), INF), ((-1e5,), -INF), ((1e-45,), 1e-45)],
    "cosh": [((NAN,), NAN), ((0.0,), 1.0), ((-0.0,), 1.0), ((INF,), INF), ((-INF,), INF),
             ((1e5,), INF), ((-1e5,), INF)],
    "asinh": [((NAN,), NAN), ((0.0,), 0.0), ((-0.0,), -0.0), ((INF,), INF), ((-INF,), -INF),
              ((1e-45,), 1e-45)],
    "acosh": [((NAN,), NAN), ((0.5,), NAN), ((-1.0,), NAN), ((-INF,), NAN), ((1.0,), 0.0),
              ((INF,), INF)],
    "atanh": [((NAN,), NAN), ((1.5,), NAN), ((-1.5,), NAN), ((INF,), NAN), ((1.0,), INF),
              ((-1.0,), -INF), ((0.0,), 0.0), ((-0.0,), -0.0), ((1e-45,), 1e-45)],
    "erf": [((NAN,), NAN), ((0.0,), 0.0), ((-0.0,), -0.0), ((INF,), 1.0), ((-INF,), -1.0),
            ((9.0,), 1.0), ((-9.0,), -1.0), ((1e5,), 1.0)],
    "erfc": [((NAN,), NAN), ((0.0,), 1.0), ((-0.0,), 1.0), ((INF,), 0.0), ((-INF,), 2.0),
             ((30.0,), 0.0), ((-30.0,), 2.0), ((1e5,), 0.0)],
    "gammaln": [((NAN,), NAN), ((INF,), INF), ((-INF,), INF), ((0.0,), INF), ((-0.0,), INF),
                ((-1.0,), INF), ((-2.0,), INF), ((-1e16,), INF), ((1.0,), 0.0), ((2.0,), 0.0)],
    "log": [((NAN,), NAN), ((-1.0,), NAN), ((-INF,), NAN), ((-1e-45,), NAN), ((0.0,), -INF),
            ((-0.0,), -INF), ((1.0,), 0.0), ((INF,), INF)],
    "sin": [((NAN,), NAN), ((0.0,), 0.0), ((-0.0,), -0.0), ((INF,), NAN), ((-INF,), NAN),
            ((1e-45,), 1e-45), ((-1e-45,), -1e-45)],
    "cos": [((NAN,), NAN), ((0.0,), 1.0), ((-0.0,), 1.0), ((INF,), NAN), ((-INF,), NAN)],
    "tanh": [((NAN,), NAN), ((0.0,), 0.0), ((-0.0,), -0.0), ((INF,), 1.0), ((-INF,), -1.0),
             ((40.0,), 1.0), ((-40.0,), -1.0), ((1e-45,), 1e-45)],
    "power": [
        *(((1.0, y), 1.0) for y in (0.0, -0.0, 5.0, INF, -INF, NAN)),
        *(((x, 0.0), 1.0) for x in (0.0, -0.0, 5.0, -5.0, INF, -INF, NAN)),
        *(((x, -0.0), 1.0) for x in (0.0, -0.0, 5.0, -5.0, INF, -INF, NAN)),
        *(((x, NAN), NAN) for x in (0.0, -0.0, 5.0, -1.0, INF, -INF, NAN)),
        *(((NAN, y), NAN) for y in (1.0, -1.0, 0.5, INF, -INF)),
        ((-2.0, 0.5), NAN), ((-2.0, -1.5), NAN), ((-0.5, 1e-3), NAN), ((-1e-45, 0.5), NAN),
        *_ODD_EVEN,
    ],
}  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", sorted(ELEMENTARY))
def test_special_cases(op: str, dtype: str) -> None:
    """Each alone among ordinary numbers, so that a vector holds both kinds."""
    cases = SPECIAL_CASES[op]
    columns = [np.array(c).astype(dtype) for c in zip(*(args for args, _ in cases), strict=True)]
    wanted = np.array([result for _, result in cases]).astype(dtype)
    spread = [np.full(7 * len(c), 1.5, dtype) for c in columns]
    for full, column in zip(spread, columns, strict=True):
        full[::7] = column
    values = getattr(sc, op)(*map(sc.asarray, spread)).compute(on="core")
    for k, (args, _) in enumerate(cases):
        assert_same_bits(values[7 * k : 7 * k + 1], wanted[k : k + 1], f"{op}{args}")
    assert len({v.tobytes() for v in values[1::7]}) == 1


# The same bits -----------------------------------------------------------------------------------


def body_of(op: str, dtype: str) -> Body:
    b = Builder()
    values = [b.input(f"leaf{k}", dtype) for k in range(OPS[op].arity)]
    b.output("x", canonical(b, RULES[op](b, *values)))
    return b.body()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("op", sorted(ELEMENTARY))
def test_every_target_gives_the_evaluators_bits(op: str, dtype: str) -> None:
    special = np.array([case for case, _ in SPECIAL_CASES[op]]).astype(dtype)
    args = [
        np.concatenate([a[::5], a[-len(HARD) :], column])
        for a, column in zip(arguments(op, dtype), special.T, strict=True)
    ]
    body, inputs = body_of(op, dtype), {f"leaf{k}": a for k, a in enumerate(args)}
    wanted = evaluate(body, inputs)["x"]
    for target in targets():
        assert_same_bits(run_body(body, inputs, target), wanted, f"{op} {dtype} {target}")


# Functions of float32 by plain float64, where that decides (`near.rule`).
PLAIN = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cosh", "exp2", "expm1",
    "gammaln", "log10", "log1p", "log2", "sinh", "tan",
]  # fmt: skip
LOGARITHMS = ("acosh", "gammaln", "log10", "log1p", "log2")


@pytest.mark.parametrize("op", PLAIN)
def test_float32_by_plain_arithmetic_is_the_exact_rules_rounded(op: str) -> None:
    bits = np.random.default_rng(5).integers(0, 1 << 32, (2, 200_000), dtype=np.uint32)
    special = np.array([case for case, _ in SPECIAL_CASES[op]]).astype("float32").T
    args = [
        np.concatenate([any_.view("float32"), usual, column])
        for any_, usual, column in zip(bits, arguments(op, "float32"), special, strict=False)
    ]
    function = getattr(sc, op)
    ours = function(*map(sc.asarray, args)).compute(on="core")
    with np.errstate(invalid="ignore", over="ignore"):  # of NaNs that signal, too
        wide = function(*(sc.asarray(a.astype("float64")) for a in args)).compute(on="core")
        assert_same_bits(ours, np.where(np.isnan(wide), np.nan, wide).astype("float32"))


@pytest.mark.parametrize("op", PLAIN)
def test_the_exact_rule_is_rarely_asked(op: str) -> None:
    low, high = (1.0, 20.0) if op in LOGARITHMS else (-0.999, 0.999)
    args = np.random.default_rng(6).uniform(low, high, (2, 100_000)).astype("float32")
    body = body_of(op, "float32")
    rare = next(one for one in reversed(body.instrs) if one.op == "rare")
    asked = replace(body, outputs=(("x", rare.args[0]),))
    given = {f"leaf{k}": args[k] for k in range(OPS[op].arity)}
    assert 0 < np.count_nonzero(evaluate(asked, given)["x"]) < 100


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    "op", ["sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "cbrt"]
)
def test_odd_functions_are_odd(op: str, dtype: str) -> None:
    (x,) = arguments(op, dtype)
    function = getattr(sc, op)
    assert_same_bits(function(sc.asarray(-x)).compute(on="core"),
                     -function(sc.asarray(x)).compute(on="core"))  # fmt: skip


# Dtypes and names --------------------------------------------------------------------------------


@pytest.mark.parametrize("op", sorted(ELEMENTARY - {"power"}))
def test_integers_become_the_floats_that_hold_them(op: str) -> None:
    for dtype in dtypes.ALL:
        values = np.array([1, 0, 1, 1]).astype(dtype)
        args = [sc.asarray(values)] * OPS[op].arity
        computed = getattr(sc, op)(*args)
        with np.errstate(all="ignore"):
            known = getattr(np, op)(*([values] * OPS[op].arity)) if hasattr(np, op) else None
        own = np.dtype(dtype if dtypes.is_float(dtype) else "float64")
        assert computed.dtype == (own if known is None else known.dtype)
    wanted = getattr(sc, op)(*(a.astype(computed.dtype) for a in args))
    assert_same_bits(computed.compute(on="core"), wanted.compute(on="core"))


@pytest.mark.parametrize("op", sorted(op for op in ELEMENTARY if hasattr(np, op)))
def test_numpys_functions_are_ours(op: str) -> None:
    x = sc.asarray(np.linspace(0.1, 0.9, 17))
    args = [x] * OPS[op].arity
    values = getattr(np, op)(*args)
    assert isinstance(values, sc.Array)
    assert_same_bits(values.compute(on="core"), getattr(sc, op)(*args).compute(on="core"))


@pytest.mark.parametrize("dtype", [d for d in dtypes.ALL if dtypes.is_integer(d)])
def test_integer_powers_wrap(dtype: str) -> None:
    info = np.iinfo(dtype)
    bases = [info.min, info.max, 0, 1, 2, 3, 5, 7, 10, *([-1, -2, -3] if info.min else [])]
    exponents = [0, 1, 2, 3, 5, 7, 31, 63, 64, 65, 100, 127, info.max, info.max - 1]
    fit = [e for e in exponents if e <= info.max]
    x, y = (g.ravel() for g in np.meshgrid(np.array(bases, dtype), np.array(fit, dtype)))
    values = sc.power(sc.asarray(x), sc.asarray(y)).compute(on="core")
    size = 1 << 8 * x.itemsize
    wanted = [pow(a, b, size) for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    assert [v % size for v in values.tolist()] == wanted


def test_negative_integer_powers_are_cut_towards_zero() -> None:
    x, y = np.array([1, -1, -1, 2, -3, 0, 5]), np.array([-3, -3, -4, -1, -2, -1, -(2**63)])
    # Exponents in memory are refused; these are computed.
    values = sc.power(sc.asarray(x), sc.asarray(y) + 0).compute(on="core")
    assert values.tolist() == [1, -1, 1, 0, 0, 0, 0]
    with pytest.raises(ValueError, match="integers to negative integer powers are not allowed"):
        sc.power(sc.asarray(x), sc.asarray(y))
