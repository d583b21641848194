"""Continuous distributions that need attempts: the gamma family and the von Mises.

A gamma variate takes two call numbers: its attempts have the key of the first; below shape 1 it is
one of shape + 1 times a power of a uniform, exp(-e / shape) of the second's exponential.
"""

from __future__ import annotations

import math
from typing import Any, Final

from ..api import functions as sc
from ..api.array import Array
from ..expr.nodes import Shape
from .discrete import Discrete
from .draws import Keys, Number
from .parameters import NOT_NEGATIVE, POSITIVE, drawn_shape, float_dtype, parameter

# Below the first the density is flat in every bit, above the second an angle is its centre.
_KAPPAS: Final = (1e-100, 1e300)


class Continuous(Discrete):
    """Distributions made of gamma variates, and the von Mises distribution."""

    def _gamma_parts(self, keys: Keys, shape: Shape, a: Number) -> tuple[Array, Number]:
        """``g`` and ``e``: a gamma variate of shape ``a`` is g exp(-e), e = 0 from shape 1 on.

        That of shape 1 is an exponential.
        """
        exponentials = self._source("exponential", keys[1], shape)
        if not isinstance(a, Array) and a >= 1.0:
            one = a == 1.0
            return exponentials if one else self._marsaglia_tsang(keys[0], shape, a), 0.0
        below = sc.less(a, 1.0)
        variates = self._marsaglia_tsang(keys[0], shape, sc.where(below, a + 1.0, a))
        variates = sc.where(sc.equal(a, 1.0), exponentials, variates)
        return variates, sc.where(below, exponentials, 0.0) / a

    def _gammas(self, keys: Keys, shape: Shape, a: Number) -> Array:
        """Gamma variates of shape ``a``."""
        variates, e = self._gamma_parts(keys, shape, a)
        if not isinstance(e, Array):
            return variates
        return sc.where(sc.equal(a, 0.0), 0.0, variates * sc.exp(-e))

    def _log_gammas(self, keys: Keys, shape: Shape, a: Number) -> Array:
        """Their logarithms, which do not underflow."""
        variates, e = self._gamma_parts(keys, shape, a)
        return sc.subtract(sc.log(variates), e)

    def _marsaglia_tsang(self, key: int, shape: Shape, a: Number) -> Array:
        d = a - 1.0 / 3.0
        c, q = sc.divide(1.0, sc.sqrt(9.0 * d)), sc.divide(1.0, 108.0 * d)
        return self._tried("gamma_tried", key, shape, d, c, q)

    def standard_gamma(
        self, shape: Any, size: Any = None, dtype: Any = "float64", chunks: Any = None
    ) -> Array:
        """Gamma of ``shape`` >= 0 and scale 1 (Marsaglia & Tsang 2000); 0 where the shape is 0.

        float32 is float64, rounded.
        """
        name = float_dtype("standard_gamma", dtype)
        a = parameter("shape", shape, NOT_NEGATIVE)
        drawn = drawn_shape(size, a)
        found = self._gammas(self._keys(2), drawn, a.value)
        return self._shown(found.astype(name), chunks)

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None, chunks: Any = None) -> Array:
        """Gamma of ``shape`` >= 0 and ``scale`` >= 0: the mean is their product."""
        a, b = parameter("shape", shape, NOT_NEGATIVE), parameter("scale", scale, NOT_NEGATIVE)
        drawn = drawn_shape(size, a, b)
        found = self._gammas(self._keys(2), drawn, a.value)
        return self._shown(b.value * found, chunks)

    def beta(self, a: Any, b: Any, size: Any = None, chunks: Any = None) -> Array:
        """Beta of ``a`` > 0 and ``b`` > 0, in [0, 1]: X / (X + Y) of two gamma variates.

        The same number as 1 / (1 + exp(log Y - log X)) where a shape is below 1: small variates
        underflow, their logarithms do not.
        """
        first, second = parameter("a", a, POSITIVE), parameter("b", b, POSITIVE)
        shape = drawn_shape(size, first, second)
        keys = self._keys(4)
        x, less = self._gamma_parts(keys[:2], shape, first.value)
        y, more = self._gamma_parts(keys[2:], shape, second.value)
        found = x / (x + y)
        if isinstance(less, Array) or isinstance(more, Array):
            small = sc.less(sc.minimum(first.value, second.value), 1.0)
            found = sc.where(small, sc.sigmoid((sc.log(x) - less) - (sc.log(y) - more)), found)
        return self._shown(found, chunks)

    def chisquare(self, df: Any, size: Any = None, chunks: Any = None) -> Array:
        """Chi-square with ``df`` > 0 degrees of freedom."""
        freedom = parameter("df", df, POSITIVE)
        shape = drawn_shape(size, freedom)
        return self._shown(self._chi_squares(self._keys(2), shape, freedom.value), chunks)

    def _chi_squares(self, keys: Keys, shape: Shape, df: Number) -> Array:
        return sc.multiply(2.0, self._gammas(keys, shape, 0.5 * df))

    def noncentral_chisquare(
        self, df: Any, nonc: Any, size: Any = None, chunks: Any = None
    ) -> Array:
        """Sum of squares of ``df`` > 0 normals whose means' squares add up to ``nonc`` >= 0."""
        freedom, shift = parameter("df", df, POSITIVE), parameter("nonc", nonc, NOT_NEGATIVE)
        shape = drawn_shape(size, freedom, shift)
        found = self._noncentral(self._keys(7), shape, freedom.value, shift.value)
        return self._shown(found, chunks)

    def _noncentral(self, keys: Keys, shape: Shape, df: Number, nonc: Number) -> Array:
        """Above one degree of freedom one shifted normal and the rest; else a Poisson mixture."""

        def shifted() -> Array:
            one = self._source("normal", keys[0], shape) + sc.sqrt(nonc)
            rest = self._chi_squares(keys[1:3], shape, sc.maximum(df - 1.0, 0.0))
            return sc.add(rest, one * one)

        def mixed() -> Array:
            terms = self._poisson(keys[3:5], shape, 0.5 * nonc)
            return self._chi_squares(keys[5:], shape, df + 2.0 * terms)

        if isinstance(df, Array):
            return sc.where(df > 1.0, shifted(), mixed())
        return shifted() if df > 1.0 else mixed()

    def f(self, dfnum: Any, dfden: Any, size: Any = None, chunks: Any = None) -> Array:
        """Fisher's F with ``dfnum`` > 0 and ``dfden`` > 0 degrees of freedom."""
        above, below = parameter("dfnum", dfnum, POSITIVE), parameter("dfden", dfden, POSITIVE)
        shape = drawn_shape(size, above, below)
        keys = self._keys(4)
        x = self._gammas(keys[:2], shape, 0.5 * above.value)
        y = self._gammas(keys[2:], shape, 0.5 * below.value)
        return self._shown((x * below.value) / (y * above.value), chunks)

    def noncentral_f(
        self, dfnum: Any, dfden: Any, nonc: Any, size: Any = None, chunks: Any = None
    ) -> Array:
        """F whose numerator is noncentral, with ``nonc`` >= 0."""
        above, below = parameter("dfnum", dfnum, POSITIVE), parameter("dfden", dfden, POSITIVE)
        shift = parameter("nonc", nonc, NOT_NEGATIVE)
        shape = drawn_shape(size, above, below, shift)
        keys = self._keys(9)
        x = self._noncentral(keys[:7], shape, above.value, shift.value)
        y = self._chi_squares(keys[7:], shape, below.value)
        return self._shown((x * below.value) / (y * above.value), chunks)

    def standard_t(self, df: Any, size: Any = None, chunks: Any = None) -> Array:
        """Student's t with ``df`` > 0 degrees of freedom."""
        freedom = parameter("df", df, POSITIVE)
        shape = drawn_shape(size, freedom)
        keys, half = self._keys(3), 0.5 * freedom.value
        normals = self._source("normal", keys[0], shape)
        found = normals * sc.sqrt(half / self._gammas(keys[1:], shape, half))
        return self._shown(found, chunks)

    def vonmises(self, mu: Any, kappa: Any, size: Any = None, chunks: Any = None) -> Array:
        """An angle in [-pi, pi] around ``mu``, with concentration ``kappa`` >= 0."""
        centre, given = parameter("mu", mu), parameter("kappa", kappa, NOT_NEGATIVE)
        shape = drawn_shape(size, centre, given)
        k = sc.clip(given.value, *_KAPPAS)
        s = (1.0 + sc.hypot(1.0, 2.0 * k)) / (2.0 * k)
        less = s / k / (s + 1.0)
        root = sc.sqrt(less / (s + 1.0))
        tangents = self._tried("von_mises_tried", self._keys(1)[0], shape, s, less, root)
        angles = 2.0 * sc.atan(tangents) + centre.value
        turned = sc.remainder(angles + math.pi, 2.0 * math.pi) - math.pi
        return self._shown(sc.where(abs(angles) <= math.pi, angles, turned), chunks)
