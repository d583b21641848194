"""Continuous distributions made of gamma variates and others, and the von Mises distribution."""

from __future__ import annotations

import math
from typing import Any, Final

from ..api import elementwise as sc
from ..api.array import Array
from ..expr.nodes import Shape
from .discrete import poissons
from .draws import Draws, Keys, Number, shown, source, tried
from .gammas import chi_squares, gammas
from .parameters import NOT_NEGATIVE, POSITIVE, drawn_shape, parameter

# Below the first the density is flat in every bit, above the second an angle is its centre.
_KAPPAS: Final = (1e-100, 1e300)


def noncentral_chisquare(
    self: Draws, df: Any, nonc: Any, size: Any = None, chunks: Any = None
) -> Array:
    """Sum of squares of ``df`` > 0 normals whose means' squares add up to ``nonc`` >= 0."""
    freedom, shift = parameter("df", df, POSITIVE), parameter("nonc", nonc, NOT_NEGATIVE)
    shape = drawn_shape(size, freedom, shift)
    keys = self.bit_generator.keys(7)
    return shown(_noncentral(self, keys, shape, freedom.value, shift.value), chunks)


def f(self: Draws, dfnum: Any, dfden: Any, size: Any = None, chunks: Any = None) -> Array:
    """Fisher's F with ``dfnum`` > 0 and ``dfden`` > 0 degrees of freedom."""
    above, below = parameter("dfnum", dfnum, POSITIVE), parameter("dfden", dfden, POSITIVE)
    shape = drawn_shape(size, above, below)
    keys = self.bit_generator.keys(4)
    x = gammas(self, keys[:2], shape, 0.5 * above.value)
    y = gammas(self, keys[2:], shape, 0.5 * below.value)
    return shown((x * below.value) / (y * above.value), chunks)


def noncentral_f(
    self: Draws, dfnum: Any, dfden: Any, nonc: Any, size: Any = None, chunks: Any = None
) -> Array:
    """F whose numerator is noncentral, with ``nonc`` >= 0."""
    above, below = parameter("dfnum", dfnum, POSITIVE), parameter("dfden", dfden, POSITIVE)
    shift = parameter("nonc", nonc, NOT_NEGATIVE)
    shape = drawn_shape(size, above, below, shift)
    keys = self.bit_generator.keys(9)
    x = _noncentral(self, keys[:7], shape, above.value, shift.value)
    y = chi_squares(self, keys[7:], shape, below.value)
    return shown((x * below.value) / (y * above.value), chunks)


def standard_t(self: Draws, df: Any, size: Any = None, chunks: Any = None) -> Array:
    """Student's t with ``df`` > 0 degrees of freedom."""
    freedom = parameter("df", df, POSITIVE)
    shape = drawn_shape(size, freedom)
    keys, half = self.bit_generator.keys(3), 0.5 * freedom.value
    normals = source(self, "normal", keys[0], shape)
    return shown(normals * sc.sqrt(half / gammas(self, keys[1:], shape, half)), chunks)


def vonmises(self: Draws, mu: Any, kappa: Any, size: Any = None, chunks: Any = None) -> Array:
    """An angle in [-pi, pi] around ``mu``, with concentration ``kappa`` >= 0."""
    centre, concentration = parameter("mu", mu), parameter("kappa", kappa, NOT_NEGATIVE)
    shape = drawn_shape(size, centre, concentration)
    k = sc.clip(concentration.value, *_KAPPAS)
    s = (1.0 + sc.hypot(1.0, 2.0 * k)) / (2.0 * k)
    less = s / k / (s + 1.0)
    root = sc.sqrt(less / (s + 1.0))
    (key,) = self.bit_generator.keys(1)
    tangents = tried(self, "von_mises_tried", key, shape, s, less, root)
    angles = 2.0 * sc.atan(tangents) + centre.value
    turned = sc.remainder(angles + math.pi, 2.0 * math.pi) - math.pi
    return shown(sc.where(abs(angles) <= math.pi, angles, turned), chunks)


def _noncentral(draws: Draws, keys: Keys, shape: Shape, df: Number, nonc: Number) -> Array:
    """Above one degree of freedom one shifted normal and the rest; else a Poisson mixture."""

    def shifted() -> Array:
        one = source(draws, "normal", keys[0], shape) + sc.sqrt(nonc)
        rest = chi_squares(draws, keys[1:3], shape, sc.maximum(df - 1.0, 0.0))
        return sc.add(rest, one * one)

    def mixed() -> Array:
        terms = poissons(draws, keys[3:5], shape, 0.5 * nonc)
        return chi_squares(draws, keys[5:], shape, df + 2.0 * terms)

    if isinstance(df, Array):
        return sc.where(df > 1.0, shifted(), mixed())
    return shifted() if df > 1.0 else mixed()
