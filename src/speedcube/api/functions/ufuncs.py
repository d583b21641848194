"""How a function that works element by element takes NumPy's keywords: ``out where dtype``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ... import dtypes
from ...errors import DTypeError
from ..array import Array, array_of, elementwise
from ..methods.keywords import converted, put

_KEYWORDS: Final = """\
    out : Array, optional
        Takes the result: it has its values from now on, and keeps its shape and dtype.
    where : array_like of bool, optional
        Elements where it does not hold are those of `out`; without `out` they are 0.
    dtype : dtype, optional
        What the operands are cast to before, and what is computed in.
"""
_OPERANDS: Final = {
    1: "    x : array_like\n        Any shape.\n",
    2: "    x1, x2 : array_like\n        Shapes that broadcast; dtypes combine as in NumPy.\n",
}


def documented(line: str, operands: int, example: str) -> str:
    """The docstring of a function of so many ``operands``: ``example`` is a call and its value."""
    call, _, value = example.partition(" -> ")
    return (
        f"{line}\n\n    Parameters\n    ----------\n{_OPERANDS[operands]}{_KEYWORDS}\n"
        "    Returns\n    -------\n    Array\n        Lazy, one value for each element.\n\n"
        "    Raises\n    ------\n    DTypeError\n        For a dtype that it does not take.\n"
        "    ShapeError\n        Where shapes do not broadcast, or do not fit `out`.\n\n"
        f"    Examples\n    --------\n    >>> import speedcube as sc\n    >>> {call}.compute()\n"
        f"    {value}\n    "
    )


def unary(name: str, rule: Callable[[Any], Array], doc: str) -> Callable[..., Array]:
    """``rule`` as a function ``name`` of one operand and NumPy's keywords."""

    def function(x: Any, /, out: Any = None, *, where: Any = True, dtype: Any = None) -> Array:
        if out is None and where is True and dtype is None:
            return rule(x)
        return _chosen(name, lambda: rule(*_cast(name, [x], dtype)), out, where, dtype)

    return _named(function, name, doc)


def binary(name: str, rule: Callable[[Any, Any], Array], doc: str) -> Callable[..., Array]:
    """``rule`` as a function ``name`` of two operands and NumPy's keywords."""

    def function(
        x1: Any, x2: Any, /, out: Any = None, *, where: Any = True, dtype: Any = None
    ) -> Array:
        if out is None and where is True and dtype is None:
            return rule(x1, x2)
        return _chosen(name, lambda: rule(*_cast(name, [x1, x2], dtype)), out, where, dtype)

    return _named(function, name, doc)


def _named(function: Callable[..., Array], name: str, doc: str) -> Callable[..., Array]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _cast(name: str, operands: list[Any], dtype: Any) -> list[Any]:
    wanted = None if dtype is None else dtypes.check(dtype)
    if wanted in (None, "bool"):  # bool is the dtype of comparisons, whose operands have theirs
        return operands
    numbers = (bool, int, float)
    return [
        one if isinstance(one, numbers) else converted(name, array_of(one), str(wanted))
        for one in operands
    ]


def _chosen(name: str, result_of: Callable[[], Array], out: Any, where: Any, dtype: Any) -> Array:
    result = result_of()
    if dtype is not None and result.dtype != dtypes.check(dtype):
        raise DTypeError(
            f"{name} has no result of dtype {dtypes.check(dtype)}: of these operands it is "
            f"{result.dtype}; leave dtype= out, or convert with .astype()"
        )
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    if where is not True:
        otherwise = out if isinstance(out, Array) else False if result.dtype == bool else 0
        chosen = elementwise("where", array_of(where).astype(bool), result, otherwise)
        result = chosen if out is not None else chosen.astype(result.dtype)
    return put(out, result, name, spread=True)
