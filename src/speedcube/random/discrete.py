"""Discrete distributions: by inversion where the mean is below 10, else by attempts.

Each takes two call numbers, of a uniform and of the attempts, whichever is needed.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ..api import functions as sc
from ..api.array import Array
from ..expr.nodes import Shape
from .draws import Keys, Number, sampled
from .formulas import Formulas
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


# NumPy's bound.
THINGS: Final = Domain("{name} < 0 or {name} >= 10**9", lambda v: (v < 0) | (v >= 10**9))


def _too_many_failures(n: Any, p: Any) -> Any:
    """Whether the mean, ten standard deviations up, is more than a Poisson variate's may be."""
    return (1.0 - p) / p * (n + 10.0 * np.sqrt(n)) > _LARGEST_MEAN


class Discrete(Formulas):
    """Counts, as int64."""

    def poisson(self, lam: Any = 1.0, size: Any = None, chunks: Any = None) -> Array:
        """Poisson of mean ``lam`` >= 0."""
        mean = parameter("lam", lam, MEAN)
        shape = drawn_shape(size, mean)
        found = self._poisson(self._keys(2), shape, mean.value)
        return self._shown(found.astype("int64"), chunks)

    def _poisson(self, keys: Keys, shape: Shape, lam: Number) -> Array:
        """Poisson of mean ``lam``, as float64."""
        if not isinstance(lam, Array):
            return (self._few if lam < _SMALL else self._many)(keys, shape, lam)
        few = self._few(keys, shape, sc.minimum(lam, _SMALL))
        many = self._many(keys, shape, sc.clip(lam, _SMALL, _LARGEST_MEAN))
        return sc.where(lam < _SMALL, few, many)

    def _few(self, keys: Keys, shape: Shape, lam: Number) -> Array:
        u = self._source("uniform", keys[0], shape)
        return self._counted("poisson_counted", u, sc.exp(-lam), lam)

    def _many(self, keys: Keys, shape: Shape, lam: Number) -> Array:
        """The constants are Hormann's (PTRS)."""
        width = 0.931 + 2.53 * sc.sqrt(lam)
        a = -0.059 + 0.02483 * width
        at_once = 0.9277 - 3.6224 / (width - 2.0)
        alpha = 1.1239 + 1.1328 / (width - 3.4)
        peak = 0.5 * sc.log((2.0 * math.pi) * lam)
        given = lam, peak, a, width, at_once, lam + 0.43, alpha
        return self._tried("poisson_tried", keys[1], shape, *given)

    def binomial(self, n: Any, p: Any, size: Any = None, chunks: Any = None) -> Array:
        """Successes in ``n`` >= 0 trials, each of probability ``p`` in [0, 1]."""
        trials, chance = counts("n", n, COUNT), parameter("p", p, FRACTION)
        shape = drawn_shape(size, trials, chance)
        return self._shown(self._binomial(self._keys(2), shape, trials.value, chance.value), chunks)

    def _binomial(self, keys: Keys, shape: Shape, trials: int | Array, chance: Number) -> Array:
        n = trials.astype("float64") if isinstance(trials, Array) else float(trials)
        if isinstance(n, Array) or isinstance(chance, Array):
            rarer = sc.minimum(chance, 1.0 - chance)
            small = sc.less(n * rarer, _SMALL)
            few = self._few_successes(keys, shape, n, sc.where(small, rarer, 0.0))
            many = sc.maximum(n, 4 * _SMALL), sc.where(small, 0.5, rarer)
            found = sc.where(small, few, self._many_successes(keys, shape, *many))
        else:
            p = min(chance, 1.0 - chance)
            draw = self._few_successes if n * p < _SMALL else self._many_successes
            found = draw(keys, shape, n, p)
        successes = sc.minimum(found.astype("int64"), trials)
        return sc.where(sc.greater(chance, 0.5), trials - successes, successes)

    def _few_successes(self, keys: Keys, shape: Shape, n: Number, p: Number) -> Array:
        u = self._source("uniform", keys[0], shape)
        first = sc.exp(n * sc.log1p(-p))
        return self._counted("binomial_counted", u, first, n, p / (1.0 - p))

    def _many_successes(self, keys: Keys, shape: Shape, n: Number, p: Number) -> Array:
        """The constants are Hormann's (BTRS)."""
        q, mean = 1.0 - p, (n + 1.0) * p
        other = (n + 1.0) * q
        peak = sampled("log_binomial", sc.floor(mean), n, mean, other)
        deviation = sc.sqrt((n * p) * q)
        width = 1.15 + 2.53 * deviation
        a = (-0.0873 + 0.0248 * width) + 0.01 * p
        at_once = 0.92 - 4.2 / width
        alpha = (2.83 + 5.1 / width) * deviation
        given = n, mean, other, peak, a, width, at_once, n * p + 0.5, alpha
        return self._tried("binomial_tried", keys[1], shape, *given)

    def negative_binomial(self, n: Any, p: Any, size: Any = None, chunks: Any = None) -> Array:
        """Failures before ``n`` > 0 successes of probability ``p`` in (0, 1]; n may be no integer.

        A Poisson variate whose mean is a gamma variate.
        """
        successes, chance = parameter("n", n, POSITIVE), parameter("p", p, PROBABILITY)
        refuse_pair("n too large or p too small", _too_many_failures, successes, chance)
        shape = drawn_shape(size, successes, chance)
        odds = (1.0 - chance.value) / chance.value
        keys = self._keys(4)
        mean = self._gammas(keys[:2], shape, successes.value) * odds
        return self._shown(self._poisson(keys[2:], shape, mean).astype("int64"), chunks)

    def _gammas(self, keys: Keys, shape: Shape, a: Number) -> Array:
        """Gamma variates of shape ``a``."""
        raise NotImplementedError

    def hypergeometric(
        self, ngood: Any, nbad: Any, nsample: Any, size: Any = None, chunks: Any = None
    ) -> Array:
        """Good ones among ``nsample`` things taken from ``ngood`` good and ``nbad`` bad ones."""
        named = ("ngood", ngood), ("nbad", nbad), ("nsample", nsample)
        good, bad, sample = (counts(name, given, THINGS) for name, given in named)
        refuse_all("ngood + nbad < nsample", lambda g, b, s: g + b < s, good, bad, sample)
        shape = drawn_shape(size, good, bad, sample)
        found = self._hypergeometric(self._keys(2), shape, good.value, bad.value, sample.value)
        return self._shown(found, chunks)

    def _hypergeometric(self, keys: Keys, shape: Shape, good: Any, bad: Any, sample: Any) -> Array:
        left = good + bad - sample
        # Of good and bad, of what is taken and what is left, the fewer decide.
        fewer, more = sc.minimum(good, bad), sc.maximum(good, bad)
        taken = sc.minimum(sample, left)
        drawn = [value.astype("float64") for value in (fewer, more, taken)]
        if any(isinstance(value, Array) for value in (good, bad, sample)):
            small = drawn[2] * drawn[0] < _SMALL * sc.maximum(drawn[0] + drawn[1], 1.0)
            few = self._few_good(keys, shape, *drawn)
            many = [sc.where(small, 100.0, value) for value in drawn]
            found = sc.where(small, few, self._many_good(keys, shape, *many))
        else:
            few_expected = min(sample, left) * min(good, bad) < _SMALL * max(good + bad, 1)
            found = (self._few_good if few_expected else self._many_good)(keys, shape, *drawn)
        found = found.astype("int64")
        found = sc.where(sc.greater(good, bad), taken - found, found)
        return sc.where(sc.less(left, sample), good - found, found)

    def _few_good(self, keys: Keys, shape: Shape, good: Array, bad: Array, taken: Array) -> Array:
        u = self._source("uniform", keys[0], shape)
        whole, h = good + bad + 0.5, bad + 0.5
        logs = taken * sc.log(h / whole)
        logs = logs - (h - taken) * sc.log1p(-taken / h)
        logs = logs + (whole - taken) * sc.log1p(-taken / whole)
        rests = [sampled("factorial_rest", x) for x in (h, h - taken, whole, whole - taken)]
        first = sc.exp(logs + ((rests[0] - rests[1]) - (rests[2] - rests[3])))
        return self._counted("hypergeometric_counted", u, first, good, bad, taken)

    def _many_good(self, keys: Keys, shape: Shape, good: Array, bad: Array, taken: Array) -> Array:
        """The constants are Stadlober's (HRUA)."""
        total = good + bad
        mean = taken * good / total
        variance = mean * (bad / total) * ((total - taken) / (total - 1.0))
        width = 1.7155277699214135 * sc.sqrt(variance + 0.5) + 0.8989161620588988
        peak = sc.floor((taken + 1.0) * (good + 1.0) / (total + 2.0))
        above = (peak + 0.5) / (good - peak + 0.5)
        below = (bad - taken + peak + 0.5) / (taken - peak + 0.5)
        given = good, bad, taken, peak, sc.log(above * below), mean + 0.5, width
        return self._tried("hypergeometric_tried", keys[1], shape, *given)

    def zipf(self, a: Any, size: Any = None, chunks: Any = None) -> Array:
        """Zeta distribution of exponent ``a`` > 1 (Devroye 1986), among the int64 numbers."""
        exponent = parameter("a", a, ABOVE_ONE)
        shape = drawn_shape(size, exponent)
        less = sc.minimum(exponent.value - 1.0, 1000.0)
        given = less, sc.exp2(-63.0 * less), sc.expm1(math.log(2.0) * less)
        return self._shown(self._tried("zeta_tried", self._keys(1)[0], shape, *given), chunks)

    def logseries(self, p: Any, size: Any = None, chunks: Any = None) -> Array:
        """Logarithmic series distribution, 0 <= ``p`` < 1 (Kemp 1981, LK)."""
        chance = parameter("p", p, BELOW_ONE)
        v, u = (_open(w) for w in self._sources(["uniform"] * 2, drawn_shape(size, chance)))
        q = -sc.expm1(sc.log1p(-chance.value) * u)
        far = sc.floor(1.0 + sc.log(v) / sc.log(q))
        fits = far < 2.0**63
        held = sc.where(fits, sc.where(sc.less_equal(v, q * q), far, 1.0), 1.0).astype("int64")
        held = sc.where(fits, held, _LAST)
        between = (v > q * q) & (v < q)
        found = sc.where(between, 2, held)
        return self._shown(sc.where(sc.greater_equal(v, chance.value), 1, found), chunks)


def _open(u: Array) -> Array:
    return sc.add(u, 2.0**-53)
