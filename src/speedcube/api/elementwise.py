"""NumPy's functions that work element by element: one name for each operation of `ops.OPS`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .array import Array, array_of, elementwise


def where(condition: Any, x: Any, y: Any) -> Array:
    """``x`` where ``condition``, else ``y``."""
    return elementwise("where", condition, x, y)


def clip(x: Any, low: Any = None, high: Any = None) -> Array:
    """``x`` held between ``low`` and ``high``."""
    raised = x if low is None else elementwise("maximum", x, low)
    return raised if high is None else elementwise("minimum", raised, high)


def round(x: Any, decimals: int = 0) -> Array:
    """To the nearest whole number, ties to even (``decimals`` must be 0); integers stay as is."""
    return array_of(x).round(decimals)


def _unary(op: str) -> Callable[[Any], Array]:
    def function(x: Any) -> Array:
        return elementwise(op, x)

    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"``numpy.{op}``, element by element."
    return function


def _binary(op: str) -> Callable[[Any, Any], Array]:
    def function(x: Any, y: Any) -> Array:
        return elementwise(op, x, y)

    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"``numpy.{op}``, element by element."
    return function


abs = absolute = _unary("absolute")
sign, sqrt, square = map(_unary, ("sign", "sqrt", "square"))
exp, exp2, expm1, sigmoid = map(_unary, ("exp", "exp2", "expm1", "sigmoid"))
log, log1p, log2, log10 = map(_unary, ("log", "log1p", "log2", "log10"))
sin, cos, tan = map(_unary, ("sin", "cos", "tan"))
asin, acos, atan, cbrt = map(_unary, ("asin", "acos", "atan", "cbrt"))
sinh, cosh, tanh = map(_unary, ("sinh", "cosh", "tanh"))
asinh, acosh, atanh = map(_unary, ("asinh", "acosh", "atanh"))
erf, erfc, gammaln = map(_unary, ("erf", "erfc", "gammaln"))
atan2, hypot = map(_binary, ("atan2", "hypot"))
pow = power = _binary("power")
floor, ceil, trunc, rint = map(_unary, ("floor", "ceil", "trunc", "rint"))
isnan, isfinite, isinf, signbit = map(_unary, ("isnan", "isfinite", "isinf", "signbit"))
negative, positive, logical_not = map(_unary, ("negative", "positive", "logical_not"))
bitwise_invert = invert = _unary("invert")
add, subtract, multiply, divide = map(_binary, ("add", "subtract", "multiply", "divide"))
floor_divide, remainder = map(_binary, ("floor_divide", "remainder"))
minimum, maximum = map(_binary, ("minimum", "maximum"))
equal, not_equal, less, less_equal = map(_binary, ("equal", "not_equal", "less", "less_equal"))
greater, greater_equal = map(_binary, ("greater", "greater_equal"))
logical_and, logical_or, logical_xor = map(_binary, ("logical_and", "logical_or", "logical_xor"))
bitwise_and, bitwise_or, bitwise_xor = map(_binary, ("bitwise_and", "bitwise_or", "bitwise_xor"))
left_shift, right_shift = map(_binary, ("left_shift", "right_shift"))
