"""NumPy's functions of one or two numbers that are made of several operations."""

from __future__ import annotations

import math
from typing import Any, Final

from ... import dtypes
from ...expr import build
from ...expr.pairs.node import check_real
from ..array import Array, array_of, elementwise
from ..complexes.of_parts import by_rule
from .ufuncs import binary, documented, plain, unary

_LOG2_E: Final = 1.4426950408889634


def floats(x: Any) -> Array:
    """``x`` as floats: integers and bool as float64; complex numbers as they are."""
    array = array_of(x)
    return array if dtypes.is_inexact(array._expr.dtype) else array.astype("float64")


def held(x: Any) -> Array:
    """``x`` as floats: integers and bool as the least floats that hold them, as NumPy's ufuncs."""
    array = array_of(x)
    check_real("this", array._expr)
    return array if is_of_floats(array) else array.astype(dtypes.holding(array._expr.dtype))


def together(x: Any, y: Any, as_floats: bool = False) -> tuple[Array, Array]:
    """Two operands in their common dtype, Python's numbers in that of the other."""
    pair = [one if isinstance(one, (bool, int, float)) else array_of(one) for one in (x, y)]
    names = [one._expr.dtype if isinstance(one, Array) else one for one in pair]
    common = dtypes.promote(*names)
    if as_floats and not dtypes.is_float(common):
        common = dtypes.holding(*(name if isinstance(name, str) else type(name) for name in names))
    for one in pair:
        dtypes.check_holds(common, one)
    first, second = map(array_of, pair)
    if as_floats:
        check_real("this", first._expr, second._expr)
    return first.astype(common), second.astype(common)


def either(condition: Any, x: Any, y: Any) -> Array:
    """``x`` where ``condition``, else ``y``."""
    return elementwise("where", condition, x, y)


def is_of_floats(x: Array) -> bool:
    """Whether NaN and infinities can occur in ``x``: it is of floats, or complex."""
    return dtypes.is_inexact(x._expr.dtype)


def magnitude(x: Any) -> Array:
    """The absolute value."""
    return elementwise("absolute", x)


def _fabs(x: Any) -> Array:
    return magnitude(held(x))


def _scaled(x: Any, factor: float) -> Array:
    return elementwise("multiply", held(x), factor)


def _extremum(op: str, pairwise: str) -> Any:
    def rule(x: Any, y: Any) -> Array:
        a, b = together(x, y)
        if not is_of_floats(a):
            return elementwise(pairwise, a, b)
        nearer = elementwise("logical_or", elementwise(op, a, b), elementwise("isnan", b))
        return either(nearer, a, b)

    return rule


def bits_as(array: Array, dtype: str) -> Array:
    """The bits of ``array`` as ``dtype``, which is as wide."""
    return array._view(build.bitcast(array._expr, dtype), array._grid)


_WORD: Final = {"float16": "uint16", "float32": "uint32", "float64": "uint64"}


def copied_sign(a: Array, b: Array) -> Array:
    """The size of ``a`` with the sign of ``b``, of one dtype."""
    name = a._expr.dtype
    word = _WORD[name]
    sign = 1 << 8 * dtypes.itemsize(name) - 1
    size = bits_as(a, word) & sign - 1
    return bits_as(size | bits_as(b, word) & sign, name)


def _copysign(x: Any, y: Any) -> Array:
    return copied_sign(*together(x, y, as_floats=True))


def _fmod(x: Any, y: Any) -> Array:
    a, b = together(x, y)
    if a.dtype == bool:
        return elementwise("remainder", a, b)
    check_real("fmod", a._expr)
    if is_of_floats(a):  # the remainder of sizes is exact, and what is left below it too
        return copied_sign(elementwise("remainder", magnitude(a), magnitude(b)), a)
    left = a % b  # with the sign of b
    return either((left != 0) & ((a < 0) != (b < 0)), left - b, left)


def _heaviside(x: Any, y: Any) -> Array:
    a, b = together(x, y, as_floats=True)
    step = either(a > 0, 1.0, either(a == 0, b, 0.0))
    return either(elementwise("isnan", a), a, step)


def _logaddexp(x: Any, y: Any) -> Array:
    a, b = together(x, y, as_floats=True)
    apart = elementwise("log1p", elementwise("exp", -magnitude(a - b)))
    return either(a == b, a + math.log(2), elementwise("maximum", a, b) + apart)


def _logaddexp2(x: Any, y: Any) -> Array:
    a, b = together(x, y, as_floats=True)
    apart = elementwise("log1p", elementwise("exp2", -magnitude(a - b))) * _LOG2_E
    return either(a == b, a + 1.0, elementwise("maximum", a, b) + apart)


def _reciprocal(x: Any) -> Array:
    array = array_of(x)
    if array.dtype.kind == "c":
        return by_rule("reciprocal", array)
    if is_of_floats(array):
        return elementwise("divide", 1.0, array)
    whole = array.astype("int8") if array.dtype == bool else array
    inverse = elementwise("divide", 1.0, whole)
    if whole._expr.dtype in dtypes.UNSIGNED:
        inverse = either(whole == 0, 0.0, inverse)
    return inverse.astype(whole.dtype)  # 0 where it is below 1; of 0 what casts make of infinity


def _float_power(x: Any, y: Any) -> Array:
    base, exponent = (
        one.astype("complex128" if one.dtype.kind == "c" else "float64")
        for one in map(array_of, (x, y))
    )
    return elementwise("power", base, exponent)


def _isposinf(x: Any) -> Array:
    array = array_of(x)
    check_real("isposinf", array._expr)
    endless = elementwise("isinf", array)
    return elementwise("logical_and", endless, array > 0) if is_of_floats(array) else endless


def _isneginf(x: Any) -> Array:
    array = array_of(x)
    check_real("isneginf", array._expr)
    endless = elementwise("isinf", array)
    return elementwise("logical_and", endless, array < 0) if is_of_floats(array) else endless


def _fix(x: Any) -> Array:
    return elementwise("trunc", x)


def _sinc(x: Any) -> Array:
    array = floats(x)
    angle = math.pi * either(array == 0, 1e-20 if array.dtype != "float16" else 6e-8, array)
    return elementwise("divide", elementwise("sin", angle), angle)


def isnull(values: Any) -> Array:
    """Whether it is NaN, of any dtype: Dask's name, as pandas has it.

    Parameters
    ----------
    values : array_like
        Any shape; integers and bool are never.

    Returns
    -------
    Array
        Of bool.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.isnull([1.0, float("nan")]).compute()
    array([False,  True])
    """
    return elementwise("isnan", array_of(values))


def notnull(values: Any) -> Array:
    """Whether it is not NaN, of any dtype: Dask's name, as pandas has it.

    Parameters
    ----------
    values : array_like
        Any shape; integers and bool always are not.

    Returns
    -------
    Array
        Of bool.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.notnull([1.0, float("nan")]).compute()
    array([ True, False])
    """
    return elementwise("logical_not", isnull(values))


def _one(name: str, rule: Any, line: str, example: str) -> Any:
    return unary(name, rule, documented(line, 1, f"sc.{name}({example}"))


def _alone(name: str, rule: Any, takes_out: bool, line: str, example: str) -> Any:
    return plain(name, rule, line, f"sc.{name}({example}", takes_out)


def _two(name: str, rule: Any, line: str, example: str) -> Any:
    return binary(name, rule, documented(line, 2, f"sc.{name}({example}"))


fabs = _one("fabs", _fabs, "The absolute value as a float.", "[-1, 2]) -> array([1., 2.])")
degrees = _one(
    "degrees", lambda x: _scaled(x, 180 / math.pi), "An angle in degrees, from radians.",
    "[0.0, 3.141592653589793]) -> array([  0., 180.])",
)  # fmt: skip
radians = _one(
    "radians", lambda x: _scaled(x, math.pi / 180), "An angle in radians, from degrees.",
    "[0.0, 180.0]) -> array([0.        , 3.14159265])",
)  # fmt: skip
rad2deg = _one(
    "rad2deg", lambda x: _scaled(x, 180 / math.pi), "An angle in degrees, from radians.",
    "[0.0, 3.141592653589793]) -> array([  0., 180.])",
)  # fmt: skip
deg2rad = _one(
    "deg2rad", lambda x: _scaled(x, math.pi / 180), "An angle in radians, from degrees.",
    "[0.0, 180.0]) -> array([0.        , 3.14159265])",
)  # fmt: skip
reciprocal = _one(
    "reciprocal", _reciprocal, "``1 / x``, of integers truncated to an integer.",
    "[2.0, -4.0]) -> array([ 0.5 , -0.25])",
)  # fmt: skip
isposinf = _alone(
    "isposinf", _isposinf, True, "Whether it is plus infinity.",
    '[1.0, float("inf"), -float("inf")]) -> array([False,  True, False])',
)  # fmt: skip
isneginf = _alone(
    "isneginf", _isneginf, True, "Whether it is minus infinity.",
    '[1.0, float("inf"), -float("inf")]) -> array([False, False,  True])',
)  # fmt: skip
fix = _alone(
    "fix", _fix, True, "The whole number next to `x` on the side of 0.",
    "[2.7, -2.7]) -> array([ 2., -2.])",
)  # fmt: skip
sinc = _alone(
    "sinc", _sinc, False, "``sin(pi * x) / (pi * x)``, 1 at 0.",
    "[0.0, 0.5]) -> array([1.        , 0.63661977])",
)  # fmt: skip
fmin = _two(
    "fmin", _extremum("less_equal", "minimum"), "The lesser of two; the other where one is NaN.",
    '[1.0, float("nan")], 0.5) -> array([0.5, 0.5])',
)  # fmt: skip
fmax = _two(
    "fmax", _extremum("greater_equal", "maximum"),
    "The greater of two; the other where one is NaN.",
    '[1.0, float("nan")], 0.5) -> array([1. , 0.5])',
)  # fmt: skip
fmod = _two(
    "fmod", _fmod, "What is left of a division rounded towards 0, exact; with the sign of `x1`.",
    "[7.0, -7.0], 4.0) -> array([ 3., -3.])",
)  # fmt: skip
copysign = _two(
    "copysign", _copysign, "The size of `x1` with the sign of `x2`.",
    "[1.0, 2.0], [-0.0, 3.0]) -> array([-1.,  2.])",
)  # fmt: skip
heaviside = _two(
    "heaviside", _heaviside, "0 below 0, 1 above it, and `x2` at 0; NaN of NaN.",
    "[-1.5, 0.0, 2.0], 0.5) -> array([0. , 0.5, 1. ])",
)  # fmt: skip
logaddexp = _two(
    "logaddexp", _logaddexp, "``log(exp(x1) + exp(x2))`` without overflow.",
    "[0.0, 1000.0], [0.0, 999.0]) -> array([6.93147181e-01, 1.00031326e+03])",
)  # fmt: skip
logaddexp2 = _two(
    "logaddexp2", _logaddexp2, "``log2(2**x1 + 2**x2)`` without overflow.",
    "[0.0, 3.0], [0.0, 3.0]) -> array([1., 4.])",
)  # fmt: skip
float_power = _two(
    "float_power", _float_power, "`x1` to the power `x2` in float64, of integers too.",
    "[2, 4], -1) -> array([0.5 , 0.25])",
)  # fmt: skip
