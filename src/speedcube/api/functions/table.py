"""What each element-wise function is: a line, and an example with its value, run as a doctest.

A first line has the name, the operation of `ops.OPS` where it is another word, and what it is.
"""

from __future__ import annotations

from typing import Final

OF_ONE: Final = """
abs = absolute: The absolute value.
    [-1.5, 2.0] -> array([1.5, 2. ])
absolute: The absolute value.
    [-1.5, 2.0] -> array([1.5, 2. ])
sign: -1, 0 or 1, as the number is below, at or above 0; NaN of NaN.
    [-2.5, 0.0, 3.0] -> array([-1.,  0.,  1.])
sqrt: The square root, rounded once; NaN below 0.
    [4.0, 2.0] -> array([2.        , 1.41421356])
square: The square.
    [1.5, -3.0] -> array([2.25, 9.  ])
exp: e to the power `x`, within one ulp, the same bits everywhere.
    [0.0, 1.0] -> array([1.        , 2.71828183])
exp2: 2 to the power `x`, within one ulp.
    [3.0, 0.5] -> array([8.        , 1.41421356])
expm1: ``exp(x) - 1``, near 0 too, within one ulp.
    [0.0, 1e-10] -> array([0.e+00, 1.e-10])
sigmoid: ``1 / (1 + exp(-x))``, within one ulp.
    [0.0, 2.0] -> array([0.5       , 0.88079708])
log: The natural logarithm, within one ulp; NaN below 0.
    [1.0, 10.0] -> array([0.        , 2.30258509])
log1p: ``log(1 + x)``, near 0 too, within one ulp.
    [0.0, 1e-10] -> array([0.e+00, 1.e-10])
log2: The logarithm to base 2, within one ulp.
    [8.0, 10.0] -> array([3.        , 3.32192809])
log10: The logarithm to base 10, within one ulp.
    [1000.0, 2.0] -> array([3.     , 0.30103])
sin: The sine of an angle in radians, within one ulp however large.
    [0.0, 1.0] -> array([0.        , 0.84147098])
cos: The cosine of an angle in radians, within one ulp however large.
    [0.0, 1.0] -> array([1.        , 0.54030231])
tan: The tangent of an angle in radians, within one ulp.
    [0.0, 1.0] -> array([0.        , 1.55740772])
asin: The angle in radians whose sine is `x`; NaN beyond 1.
    [0.0, 0.5] -> array([0.        , 0.52359878])
acos: The angle in radians whose cosine is `x`; NaN beyond 1.
    [1.0, 0.5] -> array([0.        , 1.04719755])
atan: The angle in radians whose tangent is `x`.
    [0.0, 1.0] -> array([0.        , 0.78539816])
cbrt: The cube root, within one ulp.
    [27.0, -2.0] -> array([ 3.        , -1.25992105])
sinh: The hyperbolic sine, within one ulp.
    [0.0, 1.0] -> array([0.        , 1.17520119])
cosh: The hyperbolic cosine, within one ulp.
    [0.0, 1.0] -> array([1.        , 1.54308063])
tanh: The hyperbolic tangent, within one ulp.
    [0.0, 1.0] -> array([0.        , 0.76159416])
asinh: The inverse of the hyperbolic sine.
    [0.0, 1.0] -> array([0.        , 0.88137359])
acosh: The inverse of the hyperbolic cosine; NaN below 1.
    [1.0, 2.0] -> array([0.       , 1.3169579])
atanh: The inverse of the hyperbolic tangent; NaN beyond 1.
    [0.0, 0.5] -> array([0.        , 0.54930614])
erf: The error function, within one ulp.
    [0.0, 1.0] -> array([0.        , 0.84270079])
erfc: ``1 - erf(x)``, for large `x` too, within one ulp.
    [0.0, 5.0] -> array([1.00000000e+00, 1.53745979e-12])
gammaln: The logarithm of the absolute value of the gamma function.
    [1.0, 5.0] -> array([0.        , 3.17805383])
floor: The greatest whole number that is not above `x`.
    [1.7, -1.2] -> array([ 1., -2.])
ceil: The least whole number that is not below `x`.
    [1.2, -1.7] -> array([ 2., -1.])
trunc: The whole number next to `x` on the side of 0.
    [1.7, -1.7] -> array([ 1., -1.])
rint: The nearest whole number, ties to even.
    [0.5, 1.5, 2.4] -> array([0., 2., 2.])
isnan: Whether it is NaN.
    [1.0, float("nan")] -> array([False,  True])
isfinite: Whether it is neither NaN nor infinite.
    [1.0, float("inf")] -> array([ True, False])
isinf: Whether it is infinite.
    [1.0, float("inf")] -> array([False,  True])
signbit: Whether the sign bit is set: below 0, and -0.0.
    [1.0, -0.0] -> array([False,  True])
negative: ``-x``.
    [1.5, -2.0] -> array([-1.5,  2. ])
positive: ``+x``: the numbers as they are.
    [1.5, -2.0] -> array([ 1.5, -2. ])
logical_not: Whether it is 0.
    [0, 3] -> array([ True, False])
invert: Every bit turned; the opposite of bool.
    [0, 5] -> array([-1, -6])
bitwise_invert = invert: Every bit turned; the opposite of bool.
    [0, 5] -> array([-1, -6])
bitwise_not = invert: Every bit turned; the opposite of bool.
    [0, 5] -> array([-1, -6])
"""

OF_TWO: Final = """
add: ``x1 + x2``; integers wrap, of bool it is whether one is true.
    [1, 2], 0.5 -> array([1.5, 2.5])
subtract: ``x1 - x2``; integers wrap.
    [1, 2], 0.5 -> array([0.5, 1.5])
multiply: ``x1 * x2``; integers wrap, of bool it is whether both are true.
    [1, 2], 1.5 -> array([1.5, 3. ])
divide: ``x1 / x2``, of integers in float64.
    [1, 2], 4 -> array([0.25, 0.5 ])
floor_divide: The floor of the exact quotient; of integers by 0 it is 0.
    [7, -7], 2 -> array([ 3, -4])
remainder: What `floor_divide` leaves, with the sign of `x2`.
    [7, -7], 4 -> array([3, 1])
power: `x1` to the power `x2`, within one ulp; of integers by multiplication.
    [2, 3], 5 -> array([ 32, 243])
pow = power: `x1` to the power `x2`, within one ulp; of integers by multiplication.
    [2, 3], 5 -> array([ 32, 243])
atan2: The angle in radians of the point (`x2`, `x1`).
    [0.0, 1.0], -1.0 -> array([3.14159265, 2.35619449])
hypot: ``sqrt(x1**2 + x2**2)`` without overflow, within one ulp.
    [3.0, 1.0], [4.0, 1.0] -> array([5.        , 1.41421356])
minimum: The lesser of two; NaN if one is.
    [1, 5], 3 -> array([1, 3])
maximum: The greater of two; NaN if one is.
    [1, 5], 3 -> array([3, 5])
equal: Whether they are equal.
    [1, 2], 2 -> array([False,  True])
not_equal: Whether they differ.
    [1, 2], 2 -> array([ True, False])
less: Whether `x1` is below `x2`.
    [1, 2], 2 -> array([ True, False])
less_equal: Whether `x1` is not above `x2`.
    [1, 2], 2 -> array([ True,  True])
greater: Whether `x1` is above `x2`.
    [1, 2], 1 -> array([False,  True])
greater_equal: Whether `x1` is not below `x2`.
    [1, 2], 2 -> array([False,  True])
logical_and: Whether both are not 0.
    [0, 1], [1, 2] -> array([False,  True])
logical_or: Whether one is not 0.
    [0, 1], [0, 2] -> array([False,  True])
logical_xor: Whether just one is not 0.
    [0, 1], [1, 2] -> array([ True, False])
bitwise_and: The bits that both have.
    [6, 3], 5 -> array([4, 1])
bitwise_or: The bits that one of them has.
    [6, 3], 5 -> array([7, 7])
bitwise_xor: The bits that just one of them has.
    [6, 3], 5 -> array([3, 6])
left_shift: The bits moved up by `x2` places; 0 from the width on.
    [1, 3], 4 -> array([16, 48])
right_shift: The bits moved down by `x2` places, with the sign.
    [64, -8], 2 -> array([16, -2])
bitwise_left_shift = left_shift: The bits moved up by `x2` places; 0 from the width on.
    [1, 3], 4 -> array([16, 48])
bitwise_right_shift = right_shift: The bits moved down by `x2` places, with the sign.
    [64, -8], 2 -> array([16, -2])
"""
