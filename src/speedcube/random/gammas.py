"""Gamma variates, and the distributions that are no more than these.

A gamma variate takes two call numbers: its attempts have the key of the first; below shape 1 it is
one of shape + 1 times a power of a uniform, exp(-e / shape) of the second's exponential.
"""

from __future__ import annotations

from typing import Any

from ..api import elementwise as sc
from ..api.array import Array
from ..expr.nodes import Shape
from .draws import Draws, Keys, Number, shown, source, tried
from .parameters import NOT_NEGATIVE, POSITIVE, drawn_shape, float_dtype, parameter


def standard_gamma(
    self: Draws, shape: Any, size: Any = None, dtype: Any = "float64", chunks: Any = None
) -> Array:
    """Gamma of ``shape`` >= 0 and scale 1 (Marsaglia & Tsang 2000); 0 where the shape is 0.

    float32 is float64, rounded.
    """
    name = float_dtype("standard_gamma", dtype)
    a = parameter("shape", shape, NOT_NEGATIVE)
    drawn = drawn_shape(size, a)
    variates = gammas(self, self.bit_generator.keys(2), drawn, a.value)
    return shown(variates.astype(name), chunks)


def gamma(self: Draws, shape: Any, scale: Any = 1.0, size: Any = None, chunks: Any = None) -> Array:
    """Gamma of ``shape`` >= 0 and ``scale`` >= 0: the mean is their product."""
    a, b = parameter("shape", shape, NOT_NEGATIVE), parameter("scale", scale, NOT_NEGATIVE)
    drawn = drawn_shape(size, a, b)
    variates = gammas(self, self.bit_generator.keys(2), drawn, a.value)
    return shown(b.value * variates, chunks)


def beta(self: Draws, a: Any, b: Any, size: Any = None, chunks: Any = None) -> Array:
    """Beta of ``a`` > 0 and ``b`` > 0, in [0, 1]: X / (X + Y) of two gamma variates.

    The same number as 1 / (1 + exp(log Y - log X)) where a shape is below 1: small variates
    underflow, their logarithms do not.
    """
    first, second = parameter("a", a, POSITIVE), parameter("b", b, POSITIVE)
    shape = drawn_shape(size, first, second)
    keys = self.bit_generator.keys(4)
    x, less = _gamma_parts(self, keys[:2], shape, first.value)
    y, more = _gamma_parts(self, keys[2:], shape, second.value)
    ratio = x / (x + y)
    if isinstance(less, Array) or isinstance(more, Array):
        small = sc.less(sc.minimum(first.value, second.value), 1.0)
        by_logs = sc.sigmoid((sc.log(x) - less) - (sc.log(y) - more))
        ratio = sc.where(small, by_logs, ratio)
    return shown(ratio, chunks)


def chisquare(self: Draws, df: Any, size: Any = None, chunks: Any = None) -> Array:
    """Chi-square with ``df`` > 0 degrees of freedom."""
    freedom = parameter("df", df, POSITIVE)
    shape = drawn_shape(size, freedom)
    keys = self.bit_generator.keys(2)
    return shown(chi_squares(self, keys, shape, freedom.value), chunks)


def gammas(draws: Draws, keys: Keys, shape: Shape, a: Number) -> Array:
    """Gamma variates of shape ``a``."""
    variates, e = _gamma_parts(draws, keys, shape, a)
    if not isinstance(e, Array):
        return variates
    return sc.where(sc.equal(a, 0.0), 0.0, variates * sc.exp(-e))


def log_gammas(draws: Draws, keys: Keys, shape: Shape, a: Number) -> Array:
    """Their logarithms, which do not underflow."""
    variates, e = _gamma_parts(draws, keys, shape, a)
    return sc.subtract(sc.log(variates), e)


def chi_squares(draws: Draws, keys: Keys, shape: Shape, df: Number) -> Array:
    """Chi-square variates with ``df`` degrees of freedom."""
    return sc.multiply(2.0, gammas(draws, keys, shape, 0.5 * df))


def _gamma_parts(draws: Draws, keys: Keys, shape: Shape, a: Number) -> tuple[Array, Number]:
    """``g`` and ``e``: a gamma variate of shape ``a`` is g exp(-e), e = 0 from shape 1 on.

    That of shape 1 is an exponential.
    """
    exponentials = source(draws, "exponential", keys[1], shape)
    if not isinstance(a, Array) and a >= 1.0:
        one = a == 1.0
        return exponentials if one else _marsaglia_tsang(draws, keys[0], shape, a), 0.0
    below = sc.less(a, 1.0)
    variates = _marsaglia_tsang(draws, keys[0], shape, sc.where(below, a + 1.0, a))
    variates = sc.where(sc.equal(a, 1.0), exponentials, variates)
    return variates, sc.where(below, exponentials, 0.0) / a


def _marsaglia_tsang(draws: Draws, key: int, shape: Shape, a: Number) -> Array:
    d = a - 1.0 / 3.0
    c, q = sc.divide(1.0, sc.sqrt(9.0 * d)), sc.divide(1.0, 108.0 * d)
    return tried(draws, "gamma_tried", key, shape, d, c, q)
