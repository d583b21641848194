"""NumPy's functions for reductions and running sums: `Array`'s methods, of whatever is an array."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

from ..errors import AxisError
from .array import Array, array_of
from .methods.keywords import put
from .methods.reductions import running

_KEYWORDS: Final = {
    "axis": "axis : int or tuple of int, optional\n    What is folded; all axes by default.",
    "dtype": "dtype : dtype, optional\n    Of the result.",
    "out": "out : Array, optional\n    Takes the result: it has its values from now on.",
    "keepdims": "keepdims : bool\n    Whether folded axes stay, with size one.",
    "initial": "initial : number, optional\n    What it starts with.",
    "where": "where : array_like of bool, optional\n    The elements that count.",
    "ddof": "ddof : float\n    What is taken off the count, which is then the divisor.",
    "mean": "mean : array_like, optional\n    Known means, with the folded axes kept.",
    "split_every": "split_every : optional\n    Dask's; it decides nothing.",
    "method": "method : optional\n    Dask's; it decides nothing.",
    "correction": "correction : float, optional\n    The Array API's word for `ddof`.",
}
_EXAMPLES: Final = {
    "sum": "[[1, 2], [3, 4]], axis=0 -> array([4, 6])",
    "prod": "[[1, 2], [3, 4]], axis=0 -> array([3, 8])",
    "mean": "[[1, 2], [3, 4]], axis=0 -> array([2., 3.])",
    "var": "[[1, 2], [3, 4]], axis=0 -> array([1., 1.])",
    "std": "[[1, 2], [3, 6]], axis=0 -> array([1., 2.])",
    "cumsum": "[1, 2, 3] -> array([1, 3, 6])",
    "cumprod": "[1, 2, 3, 4] -> array([ 1,  2,  6, 24])",
    "min": "[[1, 5], [3, 4]], axis=0 -> array([1, 4])",
    "max": "[[1, 5], [3, 4]], axis=0 -> array([3, 5])",
    "any": "[[0, 5], [0, 4]], axis=0 -> array([False,  True])",
    "all": "[[0, 5], [3, 4]], axis=0 -> array([False,  True])",
    "argmin": "[[1, 5], [3, 4]], axis=0 -> array([0, 1])",
    "argmax": "[[1, 5], [3, 4]], axis=0 -> array([1, 0])",
}


def _function(method: Callable[..., Array]) -> Callable[..., Array]:
    """A method of `Array` as a function of an array or of what is like one."""
    name = method.__name__

    def function(a: Any, *args: Any, **kwargs: Any) -> Array:
        result: Array = getattr(array_of(a), name)(*args, **kwargs)  # of its own kind
        return result

    own = inspect.signature(method)
    first, *others = own.parameters.values()
    function.__signature__ = own.replace(  # type: ignore[attr-defined]
        parameters=[first.replace(name="a", annotation="Any"), *others]
    )
    taken = "\n".join(_KEYWORDS[one.name] for one in others)
    kind = "Lazy, of running values." if name[:3] == "cum" else "Lazy, without the folded axes."
    call, _, value = _EXAMPLES[name].partition(" -> ")
    operand, _, axis = call.partition(", axis=")
    of_method = f"sc.asarray({operand}).{name}({axis and f'axis={axis}'})"
    about = inspect.getdoc(method)

    def text(parameters: str, example: str) -> str:
        return (
            f"{about}\n\nParameters\n----------\n{parameters}{taken}\n\n"
            f"Returns\n-------\nArray\n    {kind}\n\n"
            "Raises\n------\nAxisError\n    For an axis that it has not, or one given twice.\n\n"
            "Examples\n--------\n>>> import speedcube as sc\n"
            f">>> {example}.compute()\n{value}\n"
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = text("a : array_like\n    Any shape.\n", f"sc.{name}({call})")
    method.__doc__ = text("", of_method)
    return function


sum, prod = _function(Array.sum), _function(Array.prod)
mean, var, std = _function(Array.mean), _function(Array.var), _function(Array.std)
cumsum, cumprod = _function(Array.cumsum), _function(Array.cumprod)
min, max = _function(Array.min), _function(Array.max)
any, all = _function(Array.any), _function(Array.all)
argmin, argmax = _function(Array.argmin), _function(Array.argmax)
amin, amax = min, max


def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Array:
    """How many elements are not zero.

    Parameters
    ----------
    a : array_like
        Any shape.
    axis : int or tuple of int, optional
        What is folded; all axes by default.
    keepdims : bool
        Whether folded axes stay, with size one.

    Returns
    -------
    Array
        int64.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.count_nonzero([[0, 1], [2, 3]], axis=0).compute()
    array([1, 2])
    """
    return array_of(a).astype(bool).sum(axis, keepdims=keepdims)


def cumulative_sum(
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    out: Any = None,
    include_initial: bool = False,
) -> Array:
    """The Array API's `cumsum`: exact sums of the elements so far, each rounded once.

    Parameters
    ----------
    x : array_like
        Any shape.
    axis : int, optional
        Along which; may be left out for one axis only.
    dtype : dtype, optional
        Of the result; integers become int64 or uint64.
    out : Array, optional
        Takes the result.
    include_initial : bool
        Whether each line begins with 0, the sum of nothing.

    Returns
    -------
    Array
        Of the shape of `x`, one longer along `axis` with `include_initial`.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.cumulative_sum([1, 2, 3], include_initial=True).compute()
    array([0, 1, 3, 6])
    """
    return put(out, _cumulative("cumsum", x, axis, dtype, include_initial), "cumulative_sum")


def cumulative_prod(
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    out: Any = None,
    include_initial: bool = False,
) -> Array:
    """The Array API's `cumprod`: products of the elements so far.

    Parameters
    ----------
    x : array_like
        Any shape.
    axis : int, optional
        Along which; may be left out for one axis only.
    dtype : dtype, optional
        Of the result; integers become int64 or uint64.
    out : Array, optional
        Takes the result.
    include_initial : bool
        Whether each line begins with 1, the product of nothing.

    Returns
    -------
    Array
        Of the shape of `x`, one longer along `axis` with `include_initial`.

    Examples
    --------
    >>> import speedcube as sc
    >>> sc.cumulative_prod([2, 3, 4]).compute()
    array([ 2,  6, 24])
    """
    return put(out, _cumulative("cumprod", x, axis, dtype, include_initial), "cumulative_prod")


def _cumulative(op: str, x: Any, axis: Any, dtype: Any, initial: bool) -> Array:
    array = array_of(x)
    array = array if array.ndim else array.reshape(1)
    if axis is None and array.ndim != 1:
        name = {"cumsum": "cumulative_sum", "cumprod": "cumulative_prod"}[op]
        raise AxisError(
            f"{name} of an array of {array.ndim} dimensions needs axis=; {op} runs through all of "
            "them"
        )
    return running(array, op, axis, dtype, initial)
