"""Distributions that are formulas over the sources of stream v1: docs/stream-v1.md lists them.

Numbers and arrays of parameters go through the same operations, so they give the same bits. A
formula that needs the far ends of a uniform u folds it, without rounding, to m = min(u, 1 - u).
"""

from __future__ import annotations

import builtins
import math
from typing import Any, Final

import numpy as np

from ..api import functions as sc
from ..api.array import Array
from ..errors import ParameterError
from .draws import Draws
from .parameters import (
    FINITE,
    NOT_NEGATIVE,
    POSITIVE,
    PROBABILITY,
    Parameter,
    drawn_shape,
    parameter,
    refuse_pair,
    whole_number,
)

_LAST: Final = int(np.iinfo("int64").max)


class Formulas(Draws):
    """What `Generator` draws by formulas; `normal` is its own."""

    def normal(self, loc: Any, scale: Any, size: Any, dtype: Any, chunks: Any) -> Array:
        """Normals."""
        raise NotImplementedError

    def _exponentials(self, size: Any, *parameters: Parameter) -> Array:
        return self._sources(["exponential"], drawn_shape(size, *parameters))[0]

    def _open_uniforms(self, size: Any, *parameters: Parameter) -> Array:
        (u,) = self._sources(["uniform"], drawn_shape(size, *parameters))
        return _between(u)

    def lognormal(
        self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None, chunks: Any = None
    ) -> Array:
        """Numbers whose logarithm is normal, of mean ``mean`` and deviation ``sigma`` >= 0."""
        centre, width = parameter("mean", mean), parameter("sigma", sigma, NOT_NEGATIVE)
        shape = drawn_shape(size, centre, width)
        normals = self.normal(centre.value, width.value, shape, "float64", None)
        return self._shown(sc.exp(normals), chunks)

    def laplace(
        self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, chunks: Any = None
    ) -> Array:
        """Double exponential around ``loc``, with ``scale`` >= 0."""
        a, b = parameter("loc", loc), parameter("scale", scale, NOT_NEGATIVE)
        u = self._open_uniforms(size, a, b)
        return self._shown(a.value + b.value * _signed(u, -sc.log(2.0 * _folded(u))), chunks)

    def logistic(
        self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, chunks: Any = None
    ) -> Array:
        """Logistic around ``loc``, with ``scale`` >= 0."""
        a, b = parameter("loc", loc), parameter("scale", scale, NOT_NEGATIVE)
        u = self._open_uniforms(size, a, b)
        m = _folded(u)
        logit = sc.log1p((1.0 - 2.0 * m) / m)
        return self._shown(a.value + b.value * _signed(u, logit), chunks)

    def gumbel(
        self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, chunks: Any = None
    ) -> Array:
        """Gumbel (largest values) with mode ``loc`` and ``scale`` >= 0."""
        a, b = parameter("loc", loc), parameter("scale", scale, NOT_NEGATIVE)
        e = self._exponentials(size, a, b)
        return self._shown(a.value - b.value * sc.log(e), chunks)

    def standard_cauchy(self, size: Any = None, chunks: Any = None) -> Array:
        """Cauchy of mode 0 and half width 1; the largest magnitude is 2.87e15."""
        u = self._open_uniforms(size)
        m = _folded(u)
        outer = m < 0.25
        t = sc.tan(math.pi * sc.where(outer, m, 0.5 - m))  # of an angle up to an eighth turn
        return self._shown(_signed(u, sc.where(outer, 1.0 / t, t)), chunks)

    def weibull(self, a: Any, size: Any = None, chunks: Any = None) -> Array:
        """Weibull of shape ``a`` >= 0 and scale 1; zeros where ``a`` is 0, as NumPy has them."""
        shape = parameter("a", a, NOT_NEGATIVE)
        e = self._exponentials(size, shape)
        drawn = sc.power(e, sc.divide(1.0, shape.value))
        return self._shown(sc.where(sc.equal(shape.value, 0.0), 0.0, drawn), chunks)

    def pareto(self, a: Any, size: Any = None, chunks: Any = None) -> Array:
        """Pareto II (Lomax) of shape ``a`` > 0: one more is the classical Pareto of scale 1."""
        shape = parameter("a", a, POSITIVE)
        return self._shown(sc.expm1(self._exponentials(size, shape) / shape.value), chunks)

    def power(self, a: Any, size: Any = None, chunks: Any = None) -> Array:
        """In [0, 1] with density a x**(a - 1), ``a`` > 0."""
        shape = parameter("a", a, POSITIVE)
        return self._shown(sc.exp(-self._exponentials(size, shape) / shape.value), chunks)

    def rayleigh(self, scale: Any = 1.0, size: Any = None, chunks: Any = None) -> Array:
        """Rayleigh of mode ``scale`` >= 0."""
        b = parameter("scale", scale, NOT_NEGATIVE)
        return self._shown(b.value * sc.sqrt(2.0 * self._exponentials(size, b)), chunks)

    def triangular(
        self, left: Any, mode: Any, right: Any, size: Any = None, chunks: Any = None
    ) -> Array:
        """In [``left``, ``right``] with a triangle's density, its peak at ``mode``."""
        ends = [("left", left), ("mode", mode), ("right", right)]
        a, c, b = (parameter(name, given, FINITE) for name, given in ends)
        refuse_pair("left > mode", lambda x, y: x > y, a, c)
        refuse_pair("mode > right", lambda x, y: x > y, c, b)
        refuse_pair("left == right", lambda x, y: x == y, a, b)
        refuse_pair("right - left must be finite", lambda x, y: abs(y - x) == math.inf, a, b)
        u = self._open_uniforms(size, a, c, b)
        width = b.value - a.value
        below, above = (c.value - a.value) / width, (b.value - c.value) / width
        rising = a.value + width * sc.sqrt(u * below)
        falling = b.value - width * sc.sqrt((1.0 - u) * above)
        drawn = sc.where(u <= below, rising, falling)
        return self._shown(sc.clip(drawn, a.value, b.value), chunks)

    def wald(self, mean: Any, scale: Any, size: Any = None, chunks: Any = None) -> Array:
        """Inverse Gaussian of ``mean`` > 0 and ``scale`` > 0 (Michael, Schucany & Haas 1976).

        It takes two call numbers: one for a normal, the next for a uniform.
        """
        mu, lam = parameter("mean", mean, POSITIVE), parameter("scale", scale, POSITIVE)
        z, u = self._sources(["normal", "uniform"], drawn_shape(size, mu, lam))
        w = (z * z) * ((0.5 * mu.value) / lam.value)
        # The two roots of the paper's quadratic are mean / g and mean * g: nothing cancels.
        g = 1.0 + w + sc.sqrt(w) * sc.sqrt(w + 2.0)
        near = _between(u) * (1.0 + g) >= 1.0
        return self._shown(sc.where(near, mu.value / g, mu.value * g), chunks)

    def geometric(self, p: Any, size: Any = None, chunks: Any = None) -> Array:
        """Trials up to the first success, int64: 0 < ``p`` <= 1; 2**63 - 1 for any beyond."""
        chance = parameter("p", p, PROBABILITY)
        trials = sc.ceil(self._exponentials(size, chance) / -sc.log1p(-chance.value))
        fits = trials < 2.0**63
        held = sc.maximum(sc.where(fits, trials, 1.0), 1.0).astype("int64")
        return self._shown(sc.where(fits, held, _LAST), chunks)

    def bytes(self, length: int) -> builtins.bytes:
        """``length`` random bytes, computed at once as NumPy's are."""
        count = whole_number("length", length)
        if count < 0:
            raise ParameterError(f"length must be 0 or more, not {count}")
        (words,) = self._sources(["bits64"], (-(-count // 8),), "uint64")
        found: builtins.bytes = words.compute().astype("<u8").tobytes()
        return found[:count]


def _between(u: Array) -> Array:
    """Uniform in (0, 1), the odd multiples of 2**-53, of a uniform in [0, 1)."""
    return sc.add(u, 2.0**-53)


def _folded(u: Array) -> Array:
    """The distance of ``u`` from the nearer of 0 and 1."""
    return sc.minimum(u, 1.0 - u)


def _signed(u: Array, size: Array) -> Array:
    """``size``, negative in the lower half of ``u``."""
    return sc.where(u < 0.5, -size, size)
