"""Dask's names for the arguments of NumPy's functions: ``concatenate(seq=...)``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import isfunction
from typing import Any, Final

# By function, what Dask calls its first arguments, in their order.
_FIRST: Final[dict[str, str]] = {
    "allclose": "arr1 arr2",
    "angle": "x",
    "around": "x",
    "bincount": "x",
    "broadcast_to": "x",
    "concatenate": "seq",
    "cumprod": "x",
    "cumsum": "x",
    "digitize": "a",
    "empty_like": "a",
    "fromfunction": "func",
    "frompyfunc": "func",
    "isclose": "arr1 arr2",
    "masked_equal": "a",
    "masked_greater": "a",
    "masked_greater_equal": "a",
    "masked_less": "a",
    "masked_less_equal": "a",
    "masked_not_equal": "a",
    "matmul": "a b",
    "nancumprod": "x",
    "nancumsum": "x",
    "ravel": "array_like",
    "reshape": "x",
    "roll": "array",
    "shape": "array",
    "stack": "seq",
    "tensordot": "lhs rhs",
    "vdot": "a b",
    "where": "condition x y",
}
# What of Dask's arguments is about its graphs and its memory: here they decide nothing.
_IDLE: Final[dict[str, str]] = {
    "bincount": "split_every",
    "count": "split_every",
    "einsum": "split_every",
    "empty_like": "name",
    "full_like": "name",
    "ones_like": "name",
    "percentile": "internal_method",
    "reshape": "merge_chunks limit",
    "sfqr": "name",
    "solve": "sym_pos assume_a",
    "zeros_like": "name",
}


def with_dasks_names(namespace: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    """Functions of a module whose arguments Dask names otherwise, each for Dask's names, too.

    They stand in the modules that define them as well, where pickle looks for them.
    """
    made = {}
    for name in namespace.keys() & (_FIRST.keys() | _IDLE.keys()):
        function = namespace[name]
        if not hasattr(function, "__wrapped__"):  # another module's list has not had it
            called = _also(function, _FIRST.get(name, "").split(), _IDLE.get(name, "").split())
            setattr(sys.modules[function.__module__], function.__name__, called)
            made[function] = called
    same = ((name, made.get(one)) for name, one in namespace.items() if isfunction(one))
    return {name: called for name, called in same if called is not None}


def _also(function: Any, first: list[str], idle: list[str]) -> Callable[..., Any]:
    @wraps(function)
    def called(*given: Any, **named: Any) -> Any:
        if named:
            for name in first[len(given) :]:
                if name not in named:
                    break
                given = (*given, named.pop(name))
            for name in idle:
                named.pop(name, None)
        return function(*given, **named)

    return called
