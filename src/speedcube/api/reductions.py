"""NumPy's functions for reductions and running sums: `Array`'s methods, of whatever is an array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import AxisError
from .array import Array, array_of
from .methods.reductions import running


def _function(method: Callable[..., Array]) -> Callable[..., Array]:
    """A method of `Array` as a function of an array or of what is like one."""

    def function(x: Any, *args: Any, **kwargs: Any) -> Array:
        return method(array_of(x), *args, **kwargs)

    function.__name__ = function.__qualname__ = method.__name__
    function.__doc__ = method.__doc__
    return function


sum, prod = _function(Array.sum), _function(Array.prod)
mean, var, std = _function(Array.mean), _function(Array.var), _function(Array.std)
cumsum, cumprod = _function(Array.cumsum), _function(Array.cumprod)
min, max = _function(Array.min), _function(Array.max)
any, all = _function(Array.any), _function(Array.all)
argmin, argmax = _function(Array.argmin), _function(Array.argmax)


def count_nonzero(x: Any, axis: Any = None, keepdims: bool = False) -> Array:
    """How many elements are not zero."""
    return array_of(x).astype(bool).sum(axis, keepdims=keepdims)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Array:
    """The Array API's `cumsum`: ``axis`` may be left out for one axis only.

    With ``include_initial`` each line begins with 0, the sum of nothing.
    """
    return _cumulative("cumsum", x, axis, dtype, include_initial)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Array:
    """The Array API's `cumprod`: ``axis`` may be left out for one axis only.

    With ``include_initial`` each line begins with 1, the product of nothing.
    """
    return _cumulative("cumprod", x, axis, dtype, include_initial)


def _cumulative(op: str, x: Any, axis: Any, dtype: Any, initial: bool) -> Array:
    array = array_of(x)
    if axis is None and array.ndim != 1:
        name = {"cumsum": "cumulative_sum", "cumprod": "cumulative_prod"}[op]
        raise AxisError(
            f"{name} of an array of {array.ndim} dimensions needs axis=; {op} runs through all of "
            "them"
        )
    return running(array, op, axis, dtype, initial)
