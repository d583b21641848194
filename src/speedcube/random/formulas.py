"""Distributions that are formulas over the sources of stream v1: docs/stream-v1.md lists them.

Numbers and arrays of parameters go through the same operations, so they give the same bits. A
formula that needs the far ends of a uniform u folds it, without rounding, to `m = min(u, 1 - u)`.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ..api import elementwise as sc
from ..api.array import Array
from .draws import Draws, shown, sources
from .parameters import (
    FINITE,
    NOT_NEGATIVE,
    POSITIVE,
    PROBABILITY,
    Parameter,
    drawn_shape,
    parameter,
    refuse_pair,
)
from .sources import normal

_LAST: Final = int(np.iinfo("int64").max)


def lognormal(
    self: Draws, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None, chunks: Any = None
) -> Array:
    """Numbers whose logarithm is normal, of mean ``mean`` and deviation `sigma >= 0`."""
    centre, width = parameter("mean", mean), parameter("sigma", sigma, NOT_NEGATIVE)
    shape = drawn_shape(size, centre, width)
    return shown(sc.exp(normal(self, centre.value, width.value, shape)), chunks)


def laplace(
    self: Draws, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, chunks: Any = None
) -> Array:
    """Double exponential around ``loc``, with `scale >= 0`."""
    a, b = parameter("loc", loc), parameter("scale", scale, NOT_NEGATIVE)
    u = _open_uniforms(self, size, a, b)
    return shown(a.value + b.value * _signed(u, -sc.log(2.0 * _folded(u))), chunks)


def logistic(
    self: Draws, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, chunks: Any = None
) -> Array:
    """Logistic around ``loc``, with `scale >= 0`."""
    a, b = parameter("loc", loc), parameter("scale", scale, NOT_NEGATIVE)
    u = _open_uniforms(self, size, a, b)
    m = _folded(u)
    logit = sc.log1p((1.0 - 2.0 * m) / m)
    return shown(a.value + b.value * _signed(u, logit), chunks)


def gumbel(
    self: Draws, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, chunks: Any = None
) -> Array:
    """Gumbel (largest values) with mode ``loc`` and `scale >= 0`."""
    a, b = parameter("loc", loc), parameter("scale", scale, NOT_NEGATIVE)
    e = _exponentials(self, size, a, b)
    return shown(a.value - b.value * sc.log(e), chunks)


def standard_cauchy(self: Draws, size: Any = None, chunks: Any = None) -> Array:
    """Cauchy of mode 0 and half width 1; the largest magnitude is 2.87e15."""
    u = _open_uniforms(self, size)
    m = _folded(u)
    outer = m < 0.25
    t = sc.tan(math.pi * sc.where(outer, m, 0.5 - m))  # of an angle up to an eighth turn
    return shown(_signed(u, sc.where(outer, 1.0 / t, t)), chunks)


def weibull(self: Draws, a: Any, size: Any = None, chunks: Any = None) -> Array:
    """Weibull of shape `a >= 0` and scale 1; zeros where ``a`` is 0, as NumPy has them."""
    shape = parameter("a", a, NOT_NEGATIVE)
    e = _exponentials(self, size, shape)
    powers = sc.power(e, sc.divide(1.0, shape.value))
    return shown(sc.where(sc.equal(shape.value, 0.0), 0.0, powers), chunks)


def pareto(self: Draws, a: Any, size: Any = None, chunks: Any = None) -> Array:
    """Pareto II (Lomax) of shape `a > 0`: one more is the classical Pareto of scale 1."""
    shape = parameter("a", a, POSITIVE)
    return shown(sc.expm1(_exponentials(self, size, shape) / shape.value), chunks)


def power(self: Draws, a: Any, size: Any = None, chunks: Any = None) -> Array:
    """In `[0, 1]` with density `a x**(a - 1)`, `a > 0`."""
    shape = parameter("a", a, POSITIVE)
    return shown(sc.exp(-_exponentials(self, size, shape) / shape.value), chunks)


def rayleigh(self: Draws, scale: Any = 1.0, size: Any = None, chunks: Any = None) -> Array:
    """Rayleigh of mode `scale >= 0`."""
    b = parameter("scale", scale, NOT_NEGATIVE)
    return shown(b.value * sc.sqrt(2.0 * _exponentials(self, size, b)), chunks)


def triangular(
    self: Draws, left: Any, mode: Any, right: Any, size: Any = None, chunks: Any = None
) -> Array:
    """In [``left``, ``right``] with a triangle's density, its peak at ``mode``."""
    ends = [("left", left), ("mode", mode), ("right", right)]
    a, c, b = (parameter(name, value, FINITE) for name, value in ends)
    refuse_pair("left > mode", lambda x, y: x > y, a, c)
    refuse_pair("mode > right", lambda x, y: x > y, c, b)
    refuse_pair("left == right", lambda x, y: x == y, a, b)
    refuse_pair("right - left must be finite", lambda x, y: abs(y - x) == math.inf, a, b)
    u = _open_uniforms(self, size, a, c, b)
    width = b.value - a.value
    below, above = (c.value - a.value) / width, (b.value - c.value) / width
    rising = a.value + width * sc.sqrt(u * below)
    falling = b.value - width * sc.sqrt((1.0 - u) * above)
    return shown(sc.clip(sc.where(u <= below, rising, falling), a.value, b.value), chunks)


def wald(self: Draws, mean: Any, scale: Any, size: Any = None, chunks: Any = None) -> Array:
    """Inverse Gaussian of `mean > 0` and `scale > 0` (Michael, Schucany & Haas 1976).

    It takes two call numbers: one for a normal, the next for a uniform.
    """
    mu, lam = parameter("mean", mean, POSITIVE), parameter("scale", scale, POSITIVE)
    z, u = sources(self, ["normal", "uniform"], drawn_shape(size, mu, lam))
    w = (z * z) * ((0.5 * mu.value) / lam.value)
    # The two roots of the paper's quadratic are mean / g and mean * g: nothing cancels.
    g = 1.0 + w + sc.sqrt(w) * sc.sqrt(w + 2.0)
    near = open_interval(u) * (1.0 + g) >= 1.0
    return shown(sc.where(near, mu.value / g, mu.value * g), chunks)


def geometric(self: Draws, p: Any, size: Any = None, chunks: Any = None) -> Array:
    """Trials up to the first success, int64: `0 < p <= 1`; `2**63 - 1` for any beyond."""
    chance = parameter("p", p, PROBABILITY)
    trials = sc.ceil(_exponentials(self, size, chance) / -sc.log1p(-chance.value))
    fits = trials < 2.0**63
    whole = sc.maximum(sc.where(fits, trials, 1.0), 1.0).astype("int64")
    return shown(sc.where(fits, whole, _LAST), chunks)


def open_interval(u: Array) -> Array:
    """Uniform in `(0, 1)`, the odd multiples of `2**-53`, of a uniform in `[0, 1)`."""
    return sc.add(u, 2.0**-53)


def _exponentials(draws: Draws, size: Any, *parameters: Parameter) -> Array:
    (e,) = sources(draws, ["exponential"], drawn_shape(size, *parameters))
    return e


def _open_uniforms(draws: Draws, size: Any, *parameters: Parameter) -> Array:
    (u,) = sources(draws, ["uniform"], drawn_shape(size, *parameters))
    return open_interval(u)


def _folded(u: Array) -> Array:
    """The distance of ``u`` from the nearer of 0 and 1."""
    return sc.minimum(u, 1.0 - u)


def _signed(u: Array, size: Array) -> Array:
    """``size``, negative in the lower half of ``u``."""
    return sc.where(u < 0.5, -size, size)
