"""NumPy's functions that are one operation of `ops.OPS`, with NumPy's spellings beside ours."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..errors import ParameterError
from .array import Array, array_of, elementwise
from .functions.table import OF_ONE, OF_TWO
from .functions.ufuncs import binary, documented, told, unary


def where(condition: Any, x: Any, y: Any) -> Array:
    """``x`` where ``condition``, else ``y``; Python integers wrap in the dtype of the other."""
    return elementwise("where", condition, _wrapped(x, y), _wrapped(y, x))


def _wrapped(number: Any, other: Any) -> Any:
    """A Python integer as NumPy's `where` takes it: cast to the other's dtype, whatever is lost."""
    if type(number) is not int or isinstance(other, (bool, int, float)):
        return number
    array = array_of(other)
    kind = array.dtype
    if kind.kind not in "iu" or not -(2**63) <= number < 2**64:
        return number
    known = np.iinfo(kind)
    if known.min <= number <= known.max:
        return number
    return int(np.array(number % 2**64, np.uint64).astype(kind))


def clip(
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    out: Any = None,
    *,
    min: Any = None,
    max: Any = None,
    where: Any = True,
    casting: Any = "same_kind",
    order: Any = "K",
    dtype: Any = None,
    subok: bool = True,
) -> Array:
    """Elements held between two limits.

    Parameters
    ----------
    a : array_like
        Any shape.
    a_min, a_max : array_like, optional
        The limits, which broadcast; NaN in one gives NaN. Python integers beyond what the dtype of
        `a` holds limit nothing on their side.
    out : Array, optional
        Takes the result.
    min, max : array_like, optional
        The Array API's words for `a_min` and `a_max`.
    where, casting, order, dtype, subok : optional
        As in `minimum`.

    Returns
    -------
    Array
        ``minimum(maximum(a, a_min), a_max)``.

    Raises
    ------
    ParameterError
        Where a limit is given under both names.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.clip([-3, 1, 7], 0, 5).compute()
    array([0, 1, 5])
    """
    for word, one, other in (("min", a_min, min), ("max", a_max, max)):
        if one is not None and other is not None:
            raise ParameterError(f"clip: a_{word} and {word} mean the same: give only one")
    low, high = min if a_min is None else a_min, max if a_max is None else a_max
    keywords = (where, casting, order, dtype)
    if where is True and keywords[1:] == ("same_kind", "K", None):
        return array_of(a).clip(low, high, out)

    def held(x: Any, *limits: Any) -> Array:
        return array_of(x).clip(*limits)

    return told("clip", held, (a, low, high), out, *keywords)


def round(a: Any, decimals: int = 0, out: Any = None) -> Array:
    """The nearest number of so many decimals, ties to even.

    As NumPy does: multiplied by a power of ten, rounded, divided by it; so the last decimal may be
    one off where the product is not exact.

    Parameters
    ----------
    a : array_like
        Any shape; bool gives float16.
    decimals : int
        Places behind the point; below 0, in front of it.
    out : Array, optional
        Takes the result.

    Returns
    -------
    Array
        Of the dtype of `a`.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.round([0.125, 2.675, -1.5], 2).compute()
    array([ 0.12,  2.68, -1.5 ])
    >>> sc.round([15, 25, -17], -1).compute()
    array([ 20,  20, -20])
    """
    return array_of(a).round(decimals, out)


around = round


def _table(text: str) -> dict[str, tuple[str, str, str]]:
    """Operation, line and example of each name of a table."""
    lines = text.strip().splitlines()
    rows = {}
    for head, example in zip(lines[::2], lines[1::2], strict=True):
        word, line = head.split(": ", 1)
        name, _, op = word.partition(" = ")
        given, value = example.strip().split(" -> ")
        rows[name] = (op or name, line, f"sc.{name}({given}) -> {value}")
    return rows


_ONE, _TWO = _table(OF_ONE), _table(OF_TWO)


def _unary(name: str) -> Callable[..., Array]:
    op, line, example = _ONE[name]
    return unary(name, partial(elementwise, op), documented(line, 1, example))


def _binary(name: str) -> Callable[..., Array]:
    op, line, example = _TWO[name]
    return binary(name, partial(elementwise, op), documented(line, 2, example))


abs, absolute, sign, sqrt, square = map(_unary, ("abs", "absolute", "sign", "sqrt", "square"))
exp, exp2, expm1, sigmoid, log = map(_unary, ("exp", "exp2", "expm1", "sigmoid", "log"))
log1p, log2, log10, sin, cos, tan = map(_unary, ("log1p", "log2", "log10", "sin", "cos", "tan"))
asin, acos, atan, cbrt, sinh, cosh = map(_unary, ("asin", "acos", "atan", "cbrt", "sinh", "cosh"))
tanh, asinh, acosh, atanh, erf = map(_unary, ("tanh", "asinh", "acosh", "atanh", "erf"))
erfc, gammaln, floor, ceil, trunc = map(_unary, ("erfc", "gammaln", "floor", "ceil", "trunc"))
rint, isnan, isfinite, isinf = map(_unary, ("rint", "isnan", "isfinite", "isinf"))
signbit, negative, positive = map(_unary, ("signbit", "negative", "positive"))
logical_not, invert, bitwise_invert = map(_unary, ("logical_not", "invert", "bitwise_invert"))
bitwise_not = _unary("bitwise_not")
add, subtract, multiply, divide = map(_binary, ("add", "subtract", "multiply", "divide"))
floor_divide, remainder, power, pow = map(_binary, ("floor_divide", "remainder", "power", "pow"))
atan2, hypot, minimum, maximum = map(_binary, ("atan2", "hypot", "minimum", "maximum"))
equal, not_equal, less, less_equal = map(_binary, ("equal", "not_equal", "less", "less_equal"))
greater, greater_equal, logical_and = map(_binary, ("greater", "greater_equal", "logical_and"))
logical_or, logical_xor, bitwise_and = map(_binary, ("logical_or", "logical_xor", "bitwise_and"))
bitwise_or, bitwise_xor, left_shift = map(_binary, ("bitwise_or", "bitwise_xor", "left_shift"))
right_shift, bitwise_left_shift = map(_binary, ("right_shift", "bitwise_left_shift"))
bitwise_right_shift = _binary("bitwise_right_shift")
arcsin, arccos, arctan, arctan2 = asin, acos, atan, atan2
arcsinh, arccosh, arctanh = asinh, acosh, atanh
mod, true_divide = remainder, divide


def as_the_other(one: Any, other: Any) -> Array:
    """``one``; a Python number in the dtype of ``other`` where that is an array of floats."""
    if type(one) in (int, float) and type(other) not in (int, float):
        dtype = array_of(other).dtype
        return array_of(one).astype(dtype) if dtype.kind == "f" else array_of(one)
    return array_of(one)
