"""Hyperbolic functions of complex numbers, those of angles, and their inverses.

Functions of angles are hyperbolic ones of numbers turned by a right angle.
"""

from __future__ import annotations

import math
from typing import Final

from .arithmetic import Pair
from .functions import LARGE, LN2, rule, scaled, signed, sqrt, wild
from .reals import Real, of, where


def _turned(z: Pair) -> Pair:
    """``i z``."""
    return -z[1], z[0]


def _turned_back(z: Pair) -> Pair:
    """``-i z``; so ``i f(-i z)`` is the function of angles that belongs to a hyperbolic one."""
    return z[1], -z[0]


@rule("sinh")
def sinh(z: Pair) -> Pair:
    """``sinh x cos y + i cosh x sin y``."""
    x, y = z
    re = signed(1.0, x) * _of_half("sinh", x, of("cos", y))
    im = _of_half("cosh", x, of("sin", y))
    re = where(x.equals(0.0) & wild(y), x, where(of("isinf", x) & wild(y), math.inf, re))
    return re, where(y.equals(0.0), y, im)


@rule("cosh")
def cosh(z: Pair) -> Pair:
    """``cosh x cos y + i sinh x sin y``."""
    x, y = z
    re = _of_half("cosh", x, of("cos", y))
    im = signed(1.0, x) * _of_half("sinh", x, of("sin", y))
    re = where(of("isinf", x) & wild(y), math.inf, re)
    im = where(x.equals(0.0) & wild(y), 0.0, im)
    return re, where(y.equals(0.0), signed(0.0, x) * signed(1.0, y), im)


def _of_half(name: str, x: Real, number: Real) -> Real:
    """``name``, sinh or cosh, of ``|x|``, times ``number``; of a large x half of exp(x)."""
    size = abs(x)
    far = size > LARGE
    near = of(name, where(far, 0.0, size)) * number
    tiny = abs(number) < 2.0**-1000  # whose half may be nothing
    half, back = where(tiny, number, number * 0.5), where(tiny, 0.5, 1.0)
    return where(far, scaled(size, half) * back, near)


@rule("tanh")
def tanh(z: Pair) -> Pair:
    """Kahan's quotient; towards infinity what is left of it."""
    x, y = z
    far = abs(x) > 22.0
    near = where(far, 1.0, x)
    tan, sine = of("tan", y), of("sinh", near)
    beta = 1.0 + tan * tan
    rho = of("sqrt", 1.0 + sine * sine)
    over = 1.0 + beta * sine * sine
    edge = of("isinf", tan)
    re = where(edge, rho / sine, beta * rho * sine / over)
    im = where(edge, 1.0 / tan, tan / over)
    rest = of("exp", -abs(x))
    far_im = 4.0 * of("sin", y) * of("cos", y) * rest * rest
    endless = of("isinf", x)
    re = where(far, where(wild(y) & ~endless, math.nan, signed(1.0, x)), re)
    im = where(far, where(endless, signed(0.0, where(wild(y), y, far_im)), far_im), im)
    re = where(x.equals(0.0), x, where(of("isnan", x), x, re))
    return re, where(y.equals(0.0), y, im)


@rule("sin")
def sin(z: Pair) -> Pair:
    """``i sinh(-i z)``."""
    return _turned(sinh(_turned_back(z)))


@rule("cos")
def cos(z: Pair) -> Pair:
    """``cosh(i z)``."""
    return cosh(_turned(z))


@rule("tan")
def tan(z: Pair) -> Pair:
    """``i tanh(-i z)``."""
    return _turned(tanh(_turned_back(z)))


# Their inverses ----------------------------------------------------------------------------------


def _roots_beside(z: Pair) -> tuple[Pair, Pair]:
    """The roots of ``1 - z`` and ``1 + z``."""
    x, y = z
    return sqrt((1.0 - x, -y)), sqrt((1.0 + x, y))


_FAR: Final = 2.0**500  # beyond it products of roots may overflow


@rule("asin")
def asin(z: Pair) -> Pair:
    """Kahan's, from the roots of ``1 - z`` and ``1 + z``."""
    x, y = z
    (a, b), (c, d) = _roots_beside(z)
    re = of("atan2", x, a * c - b * d)
    im = of("asinh", a * d - b * c)
    re, im = _of_far(z, re, im, of("atan2", x, abs(y)))
    return where(x.equals(0.0), x, re), im


@rule("acos")
def acos(z: Pair) -> Pair:
    """Kahan's, from the same roots."""
    (a, b), (c, d) = _roots_beside(z)
    re = 2.0 * of("atan2", a, c)
    im = of("asinh", c * b - d * a)
    re, im = _of_far(z, re, -im, of("atan2", abs(z[1]), z[0]))
    return where(z[0].equals(0.0), math.pi / 2, re), -im


def _of_far(z: Pair, re: Real, im: Real, angle: Real) -> Pair:
    """``re`` and ``im``; far away ``angle`` and the logarithm of ``|2 z|``, with the sign of y."""
    x, y = z
    size = of("hypot", x, y)
    far = (size > _FAR) | of("isinf", x) | of("isinf", y)
    log_size = of("log", of("hypot", x * 0.5, y * 0.5)) + 2 * LN2
    return where(far, angle, re), where(far, signed(log_size, y), im)


@rule("asinh")
def asinh(z: Pair) -> Pair:
    """``i asin(-i z)``."""
    return _turned(asin(_turned_back(z)))


@rule("acosh")
def acosh(z: Pair) -> Pair:
    """``acos(z)`` turned so that its real part is not negative."""
    re, im = acos(z)
    return abs(im), signed(re, z[1])


@rule("atanh")
def atanh(z: Pair) -> Pair:
    """Kahan's, from the distances to 1 and -1."""
    x, y = z
    size = abs(x)
    rest = 1.0 - size
    far = (size > 2.0**60) | (abs(y) > 2.0**60)
    a, b = where(far, 0.0, size), where(far, 1.0, y)
    close = size.equals(1.0) & (abs(y) < 2.0**-30)
    ratio = 4.0 * a / ((1.0 - a) * (1.0 - a) + b * b)
    re = where(close, 0.5 * (LN2 - of("log", abs(y))), 0.25 * of("log1p", ratio))
    im = 0.5 * of("atan2", 2.0 * y, rest * (1.0 + size) - y * y)
    modulus = of("hypot", x, y)
    re = where(far, where(of("isinf", modulus), 0.0, size / modulus / modulus), re)
    re = where(of("isinf", y) | (x.equals(0.0) & of("isnan", y)), 0.0, re)
    nan = of("isnan", x) | of("isnan", y)
    turned = where(far, where(nan, math.nan, signed(math.pi / 2, y)), im)
    return signed(re, x), where(of("isinf", y), signed(math.pi / 2, y), turned)


@rule("atan")
def atan(z: Pair) -> Pair:
    """``i atanh(-i z)``."""
    return _turned(atanh(_turned_back(z)))
