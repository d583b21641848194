"""hypot and cbrt: a first guess, and one correction by the exact remainder."""

from __future__ import annotations

from ...builder import Builder, Value
from ..bits import magnitude, sign_of
from . import tables as T
from .doubles import F64, flipped, number, plus, polynomial, root, two_product, widened
from .exponential import TWICE, by_power, nearest
from .logarithm import split


@widened
def hypot(b: Builder, x: Value, y: Value) -> Value:
    """`sqrt(x x + y y)`, the squares with their rounding errors, scaled out of harm's way."""
    zero, one, infinite = (number(b, v) for v in (0.0, 1.0, float("inf")))
    p, q = magnitude(b, x), magnitude(b, y)
    endless = p.compare("eq", infinite) | q.compare("eq", infinite)
    larger = b.select(p.compare("gt", q), p, q)
    up, down = number(b, 2.0**600), number(b, 2.0**-600)
    factor = b.select(larger.compare("gt", number(b, 2.0**400)), down, one)
    back = b.select(larger.compare("gt", number(b, 2.0**400)), up, one)
    tiny = larger.compare("lt", number(b, 2.0**-400))
    factor, back = b.select(tiny, up, factor), b.select(tiny, down, back)
    p, q = p * factor, q * factor
    first, second = root(b, plus(two_product(b, p, p), two_product(b, q, q)))
    length = (first + second) * back
    length = b.select(larger.compare("eq", zero), larger, length)
    no_number = x.compare("ne", x) | y.compare("ne", y)
    length = b.select(no_number, number(b, float("nan")), length)
    return b.select(endless, infinite, length)


@widened
def cbrt(b: Builder, x: Value) -> Value:
    """`2**q` times the root of `m` in [0.35, 2.83]: a polynomial, Newton's step, the remainder."""
    return rounded_cbrt(b, x)


def rounded_cbrt(b: Builder, x: Value, remainder: bool = True) -> Value:
    """The root of float64; without the ``remainder`` some last places off."""
    size = magnitude(b, x)
    tiny = size.compare("lt", number(b, 2.0**-1000))
    f, e = split(b, b.select(tiny, size * number(b, 2.0**90), size))
    q, _ = nearest(b, e, 1.0 / 3.0)
    rest = e - q * number(b, 3.0)
    zero = number(b, 0.0)
    up, down = rest.compare("gt", zero), rest.compare("lt", zero)
    m = f * b.select(up, number(b, 2.0), b.select(down, number(b, 0.5), number(b, 1.0)))
    guess = polynomial(b, m, T.CBRT)
    for _ in range(2):  # each step squares the error
        square = guess * guess
        over = b.emit("div", F64, b.fma(-square, guess, m), square * number(b, 3.0))
        guess = guess + over
    if remainder:
        square, lost = two_product(b, guess, guess)
        cube, lost_cube = two_product(b, square, guess)
        lost_cube = b.fma(lost, guess, lost_cube)
        over = b.emit("div", F64, (m - cube) - lost_cube, square * number(b, 3.0))
        guess = guess + over
    shifted = (q - b.select(tiny, number(b, 30.0), zero)) + number(b, TWICE)
    cube_root = by_power(guess, shifted)
    odd = size.compare("eq", zero) | b.unary("not", size.compare("lt", number(b, float("inf"))))
    return flipped(b.select(odd, size, cube_root), sign_of(b, x))
