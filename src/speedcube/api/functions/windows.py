"""Windows of signals, lazy lines of weights, and the Bessel function that one is made of."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from ...errors import DTypeError, ParameterError, ParameterTypeError
from ..array import Array, array_of, elementwise
from ..creation import ones
from ..namespace.ranges import arange
from .floats import either, floats, magnitude

# Chebyshev coefficients of i0 from 0 to 8, and of its decay beyond (Cephes, as in NumPy).
_NEAR: Final = (
    -4.41534164647933937950e-18, 3.33079451882223809783e-17, -2.43127984654795469359e-16,
    1.71539128555513303061e-15, -1.16853328779934516808e-14, 7.67618549860493561688e-14,
    -4.85644678311192946090e-13, 2.95505266312963983461e-12, -1.72682629144155570723e-11,
    9.67580903537323691224e-11, -5.18979560163526290666e-10, 2.65982372468238665035e-9,
    -1.30002500998624804212e-8, 6.04699502254191894932e-8, -2.67079385394061173391e-7,
    1.11738753912010371815e-6, -4.41673835845875056359e-6, 1.64484480707288970893e-5,
    -5.75419501008210370398e-5, 1.88502885095841655729e-4, -5.76375574538582365885e-4,
    1.63947561694133579842e-3, -4.32430999505057594430e-3, 1.05464603945949983183e-2,
    -2.37374148058994688156e-2, 4.93052842396707084878e-2, -9.49010970480476444210e-2,
    1.71620901522208775349e-1, -3.04682672343198398683e-1, 6.76795274409476084995e-1,
)  # fmt: skip
_FAR: Final = (
    -7.23318048787475395456e-18, -4.83050448594418207126e-18, 4.46562142029675999901e-17,
    3.46122286769746109310e-17, -2.82762398051658348494e-16, -3.42548561967721913462e-16,
    1.77256013305652638360e-15, 3.81168066935262242075e-15, -9.55484669882830764870e-15,
    -4.15056934728722208663e-14, 1.54008621752140982691e-14, 3.85277838274214270114e-13,
    7.18012445138366623367e-13, -1.79417853150680611778e-12, -1.32158118404477131188e-11,
    -3.14991652796324136454e-11, 1.18891471078464383424e-11, 4.94060238822496958910e-10,
    3.39623202570838634515e-9, 2.26666899049817806459e-8, 2.04891858946906374183e-7,
    2.89137052083475648297e-6, 6.88975834691682398426e-5, 3.36911647825569408990e-3,
    8.04490411014108831608e-1,
)  # fmt: skip


def _series(x: Array, coefficients: tuple[float, ...]) -> Array:
    """A Chebyshev series by Clenshaw's recurrence."""
    first: Any = coefficients[0]
    second: Any = 0.0
    third: Any = 0.0
    for one in coefficients[1:]:
        third, second = second, first
        first = x * second - third + one
    result: Array = (first - third) * 0.5
    return result


def i0(x: Any) -> Array:
    """The modified Bessel function of the first kind and order 0, by NumPy's series.

    Parameters
    ----------
    x : array_like
        Any shape.

    Returns
    -------
    Array
        Of floats.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.i0([0.0, 1.0]).compute()
    array([1.        , 1.26606588])
    """
    array = floats(x)
    if array.dtype.kind == "c":
        raise DTypeError("i0 takes real numbers, not complex ones: give it .real, .imag or abs(x)")
    size = magnitude(array).astype("float64")
    near = elementwise("exp", size) * _series(size / 2.0 - 2.0, _NEAR)
    held = elementwise("maximum", size, 1.0)
    far = elementwise("exp", size) * _series(32.0 / held - 2.0, _FAR) / elementwise("sqrt", held)
    return either(size <= 8.0, near, far).astype(array.dtype)


Weights: TypeAlias = Callable[[Array, float], Array]


def _window(name: str, rule: Weights, line: str, value: str) -> Any:
    def function(M: float) -> Array:
        return _made(name, M, rule)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{line}\n\n    Parameters\n    ----------\n    M : int\n        How many weights; below 1 "
        "there is none. A fraction makes the window wider, and cuts it off.\n\n"
        "    Returns\n    -------\n    Array\n        One axis, float64.\n\n"
        "    Examples\n    --------\n    >>> import speedcube as sc\n"
        f"    >>> sc.{name}(5).compute()\n    {value}\n    "
    )
    return function


def _made(name: str, count: Any, rule: Weights, lacks: float = 0.5) -> Array:
    """The weights at -(M - 1), -(M - 3) ... below M, or where ``lacks`` is 0, one more."""
    if getattr(count, "ndim", None) == 0:
        count = count.item()
    if not isinstance(count, (int, float, np.integer, np.floating)):
        raise ParameterTypeError(f"{name} takes a number of weights, not {count!r}")
    if not math.isfinite(count):
        raise ParameterError(f"{name} takes a finite number of weights, not {count!r}")
    if count <= 1:
        return ones(int(count == 1))
    size = math.ceil(count - lacks)
    if count == int(count):
        return rule(arange(1 - size, size, 2).astype("float64"), float(size))
    return rule(arange(size).astype("float64") * 2.0 + (1.0 - float(count)), float(count))


def _cosine(n: Array, size: float, times: int = 1) -> Array:
    return elementwise("cos", n * (math.pi * times / (size - 1)))


bartlett = _window(
    "bartlett", lambda n, m: 1.0 - magnitude(n) / (m - 1), "A triangle with 0 at both ends.",
    "array([0. , 0.5, 1. , 0.5, 0. ])",
)  # fmt: skip
hanning = _window(
    "hanning", lambda n, m: _cosine(n, m) * 0.5 + 0.5, "A raised cosine with 0 at both ends.",
    "array([0. , 0.5, 1. , 0.5, 0. ])",
)  # fmt: skip
hamming = _window(
    "hamming", lambda n, m: _cosine(n, m) * 0.46 + 0.54, "A raised cosine with 0.08 at both ends.",
    "array([0.08, 0.54, 1.  , 0.54, 0.08])",
)  # fmt: skip
blackman = _window(
    "blackman", lambda n, m: _cosine(n, m) * 0.5 + _cosine(n, m, 2) * 0.08 + 0.42,
    "Three terms of cosines with 0, or next to it, at both ends.",
    "array([0.  , 0.34, 1.  , 0.34, 0.  ])",
)  # fmt: skip


def kaiser(M: float, beta: float) -> Array:
    """A Bessel function's window: the larger `beta`, the narrower.

    Parameters
    ----------
    M : int
        How many weights; below 1 there is none. A fraction makes the window wider, and cuts it off.
    beta : float
        The shape.

    Returns
    -------
    Array
        One axis, float64.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.kaiser(3, 14.0).compute()
    array([7.72686684e-06, 1.00000000e+00, 7.72686684e-06])
    """

    def rule(n: Array, size: float) -> Array:
        part = n / (size - 1)
        inside = 1.0 - part * part
        if size == int(size):
            inside = elementwise("maximum", inside, 0.0)
        weights: Array = i0(elementwise("sqrt", inside) * float(beta)) / i0(array_of(float(beta)))
        return weights

    return _made("kaiser", M, rule, 0.0)
