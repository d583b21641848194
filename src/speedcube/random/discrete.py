"""Discrete distributions: by inversion where the mean is below 10, else by attempts.

Each takes two call numbers, of a uniform and of the attempts, whichever is needed.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ..api import elementwise as sc
from ..api.array import Array
from ..expr.nodes import Shape
from .draws import Draws, Keys, Number, counted, sampled, shown, source, sources, tried
from .formulas import open_interval
from .gammas import gammas
from .parameters import (
    COUNT,
    FRACTION,
    POSITIVE,
    PROBABILITY,
    Domain,
    counts,
    drawn_shape,
    parameter,
    refuse_all,
    refuse_pair,
)

_SMALL: Final = 10.0  # means below it are inverted
_LAST: Final = int(np.iinfo("int64").max)
# NumPy's bound: ten standard deviations above it still fit an int64.
_LARGEST_MEAN: Final = _LAST - 10 * math.sqrt(_LAST)
MEAN: Final = Domain(
    f"{{name}} < 0 or {{name}} too large (the largest is {_LARGEST_MEAN:.17g})",
    lambda v: (v < 0) | (v > _LARGEST_MEAN),
)
ABOVE_ONE: Final = Domain("{name} <= 1", lambda v: v <= 1)
BELOW_ONE: Final = Domain("{name} < 0 or {name} >= 1", lambda v: (v < 0) | (v >= 1))
THINGS: Final = Domain("{name} < 0 or {name} >= 10**9", lambda v: (v < 0) | (v >= 10**9))  # NumPy's


# Poisson -----------------------------------------------------------------------------------------


def poisson(self: Draws, lam: Any = 1.0, size: Any = None, chunks: Any = None) -> Array:
    """Poisson of mean ``lam`` >= 0."""
    mean = parameter("lam", lam, MEAN)
    shape = drawn_shape(size, mean)
    variates = poissons(self, self.bit_generator.keys(2), shape, mean.value)
    return shown(variates.astype("int64"), chunks)


def poissons(draws: Draws, keys: Keys, shape: Shape, lam: Number) -> Array:
    """Poisson of mean ``lam``, as float64."""
    if not isinstance(lam, Array):
        return (_few_events if lam < _SMALL else _many_events)(draws, keys, shape, lam)
    few = _few_events(draws, keys, shape, sc.minimum(lam, _SMALL))
    many = _many_events(draws, keys, shape, sc.clip(lam, _SMALL, _LARGEST_MEAN))
    return sc.where(lam < _SMALL, few, many)


def _few_events(draws: Draws, keys: Keys, shape: Shape, lam: Number) -> Array:
    u = source(draws, "uniform", keys[0], shape)
    return counted("poisson_counted", u, sc.exp(-lam), lam)


def _many_events(draws: Draws, keys: Keys, shape: Shape, lam: Number) -> Array:
    """The constants are Hormann's (PTRS)."""
    width = 0.931 + 2.53 * sc.sqrt(lam)
    a = -0.059 + 0.02483 * width
    at_once = 0.9277 - 3.6224 / (width - 2.0)
    alpha = 1.1239 + 1.1328 / (width - 3.4)
    peak = 0.5 * sc.log((2.0 * math.pi) * lam)
    constants = lam, peak, a, width, at_once, lam + 0.43, alpha
    return tried(draws, "poisson_tried", keys[1], shape, *constants)


# Binomial ----------------------------------------------------------------------------------------


def binomial(self: Draws, n: Any, p: Any, size: Any = None, chunks: Any = None) -> Array:
    """Successes in ``n`` >= 0 trials, each of probability ``p`` in [0, 1]."""
    trials, chance = counts("n", n, COUNT), parameter("p", p, FRACTION)
    shape = drawn_shape(size, trials, chance)
    keys = self.bit_generator.keys(2)
    return shown(binomials(self, keys, shape, trials.value, chance.value), chunks)


def binomials(draws: Draws, keys: Keys, shape: Shape, trials: int | Array, chance: Number) -> Array:
    """Binomial variates, as int64."""
    n = trials.astype("float64") if isinstance(trials, Array) else float(trials)
    if isinstance(n, Array) or isinstance(chance, Array):
        rarer = sc.minimum(chance, 1.0 - chance)
        small = sc.less(n * rarer, _SMALL)
        few = _few_successes(draws, keys, shape, n, sc.where(small, rarer, 0.0))
        n_many, p_many = sc.maximum(n, 4 * _SMALL), sc.where(small, 0.5, rarer)
        rarer_ones = sc.where(small, few, _many_successes(draws, keys, shape, n_many, p_many))
    else:
        p = min(chance, 1.0 - chance)
        variates = _few_successes if n * p < _SMALL else _many_successes
        rarer_ones = variates(draws, keys, shape, n, p)
    successes = sc.minimum(rarer_ones.astype("int64"), trials)
    return sc.where(sc.greater(chance, 0.5), trials - successes, successes)


def _few_successes(draws: Draws, keys: Keys, shape: Shape, n: Number, p: Number) -> Array:
    u = source(draws, "uniform", keys[0], shape)
    first = sc.exp(n * sc.log1p(-p))
    return counted("binomial_counted", u, first, n, p / (1.0 - p))


def _many_successes(draws: Draws, keys: Keys, shape: Shape, n: Number, p: Number) -> Array:
    """The constants are Hormann's (BTRS)."""
    q, mean = 1.0 - p, (n + 1.0) * p
    other = (n + 1.0) * q
    peak = sampled("log_binomial", sc.floor(mean), n, mean, other)
    deviation = sc.sqrt((n * p) * q)
    width = 1.15 + 2.53 * deviation
    a = (-0.0873 + 0.0248 * width) + 0.01 * p
    at_once = 0.92 - 4.2 / width
    alpha = (2.83 + 5.1 / width) * deviation
    constants = n, mean, other, peak, a, width, at_once, n * p + 0.5, alpha
    return tried(draws, "binomial_tried", keys[1], shape, *constants)


def negative_binomial(self: Draws, n: Any, p: Any, size: Any = None, chunks: Any = None) -> Array:
    """Failures before ``n`` > 0 successes of probability ``p`` in (0, 1]; n may be no integer.

    A Poisson variate whose mean is a gamma variate.
    """
    successes, chance = parameter("n", n, POSITIVE), parameter("p", p, PROBABILITY)
    refuse_pair("n too large or p too small", _too_many_failures, successes, chance)
    shape = drawn_shape(size, successes, chance)
    odds = (1.0 - chance.value) / chance.value
    keys = self.bit_generator.keys(4)
    mean = gammas(self, keys[:2], shape, successes.value) * odds
    return shown(poissons(self, keys[2:], shape, mean).astype("int64"), chunks)


def _too_many_failures(n: Any, p: Any) -> Any:
    """Whether the mean, ten standard deviations up, is more than a Poisson variate's may be."""
    return (1.0 - p) / p * (n + 10.0 * np.sqrt(n)) > _LARGEST_MEAN


# Hypergeometric ----------------------------------------------------------------------------------


def hypergeometric(
    self: Draws, ngood: Any, nbad: Any, nsample: Any, size: Any = None, chunks: Any = None
) -> Array:
    """Good ones among ``nsample`` things taken from ``ngood`` good and ``nbad`` bad ones."""
    good, bad = counts("ngood", ngood, THINGS), counts("nbad", nbad, THINGS)
    sample = counts("nsample", nsample, COUNT)
    refuse_all("ngood + nbad < nsample", lambda g, b, s: g + b < s, good, bad, sample)
    shape = drawn_shape(size, good, bad, sample)
    keys = self.bit_generator.keys(2)
    return shown(hypergeometrics(self, keys, shape, good.value, bad.value, sample.value), chunks)


def hypergeometrics(
    draws: Draws, keys: Keys, shape: Shape, good: Any, bad: Any, sample: Any
) -> Array:
    """Hypergeometric variates, as int64."""
    rest = good + bad - sample
    # Of good and bad, of the sample and the rest, the fewer decide.
    fewer, more = sc.minimum(good, bad), sc.maximum(good, bad)
    smaller = sc.minimum(sample, rest)
    floats = [value.astype("float64") for value in (fewer, more, smaller)]
    if any(isinstance(value, Array) for value in (good, bad, sample)):
        small = floats[2] * floats[0] < _SMALL * sc.maximum(floats[0] + floats[1], 1.0)
        few = _few_good(draws, keys, shape, *floats)
        many = [sc.where(small, 100.0, value) for value in floats]
        float_counts = sc.where(small, few, _many_good(draws, keys, shape, *many))
    else:
        few_expected = min(sample, rest) * min(good, bad) < _SMALL * max(good + bad, 1)
        float_counts = (_few_good if few_expected else _many_good)(draws, keys, shape, *floats)
    fewer_ones = float_counts.astype("int64")
    good_ones = sc.where(sc.greater(good, bad), smaller - fewer_ones, fewer_ones)
    return sc.where(sc.less(rest, sample), good - good_ones, good_ones)


def _few_good(
    draws: Draws, keys: Keys, shape: Shape, good: Array, bad: Array, sample: Array
) -> Array:
    u = source(draws, "uniform", keys[0], shape)
    total, h = good + bad + 0.5, bad + 0.5
    logs = sample * sc.log(h / total)
    logs = logs - (h - sample) * sc.log1p(-sample / h)
    logs = logs + (total - sample) * sc.log1p(-sample / total)
    rests = [sampled("factorial_rest", x) for x in (h, h - sample, total, total - sample)]
    first = sc.exp(logs + ((rests[0] - rests[1]) - (rests[2] - rests[3])))
    return counted("hypergeometric_counted", u, first, good, bad, sample)


def _many_good(
    draws: Draws, keys: Keys, shape: Shape, good: Array, bad: Array, sample: Array
) -> Array:
    """The constants are Stadlober's (HRUA)."""
    total = good + bad
    mean = sample * good / total
    variance = mean * (bad / total) * ((total - sample) / (total - 1.0))
    width = 1.7155277699214135 * sc.sqrt(variance + 0.5) + 0.8989161620588988
    peak = sc.floor((sample + 1.0) * (good + 1.0) / (total + 2.0))
    above = (peak + 0.5) / (good - peak + 0.5)
    below = (bad - sample + peak + 0.5) / (sample - peak + 0.5)
    constants = good, bad, sample, peak, sc.log(above * below), mean + 0.5, width
    return tried(draws, "hypergeometric_tried", keys[1], shape, *constants)


# Zeta and logarithmic series ---------------------------------------------------------------------


def zipf(self: Draws, a: Any, size: Any = None, chunks: Any = None) -> Array:
    """Zeta distribution of exponent ``a`` > 1 (Devroye 1986), among the int64 numbers."""
    exponent = parameter("a", a, ABOVE_ONE)
    shape = drawn_shape(size, exponent)
    less = sc.minimum(exponent.value - 1.0, 1000.0)
    constants = less, sc.exp2(-63.0 * less), sc.expm1(math.log(2.0) * less)
    (key,) = self.bit_generator.keys(1)
    return shown(tried(self, "zeta_tried", key, shape, *constants), chunks)


def logseries(self: Draws, p: Any, size: Any = None, chunks: Any = None) -> Array:
    """Logarithmic series distribution, 0 <= ``p`` < 1 (Kemp 1981, LK)."""
    chance = parameter("p", p, BELOW_ONE)
    uniforms = sources(self, ["uniform"] * 2, drawn_shape(size, chance))
    v, u = (open_interval(w) for w in uniforms)
    q = -sc.expm1(sc.log1p(-chance.value) * u)
    far = sc.floor(1.0 + sc.log(v) / sc.log(q))
    fits = far < 2.0**63
    whole = sc.where(fits, sc.where(sc.less_equal(v, q * q), far, 1.0), 1.0).astype("int64")
    whole = sc.where(fits, whole, _LAST)
    between = (v > q * q) & (v < q)
    numbers = sc.where(between, 2, whole)
    return shown(sc.where(sc.greater_equal(v, chance.value), 1, numbers), chunks)
