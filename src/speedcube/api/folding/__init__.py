"""What NumPy's ufuncs have beside calls: ``reduce accumulate reduceat outer at``, ``nin``..."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from inspect import signature
from types import FunctionType
from typing import Any, Final, NoReturn

import numpy as np

from ...errors import ParameterError
from ..array import Array, array_of
from ..methods.numpy_protocol import array_ufunc
from .accumulate import accumulate
from .at import ufunc_at
from .reduce import reduce
from .reduceat import reduceat

__all__: list[str] = []

_METHODS: Final[dict[str, Callable[..., Any]]] = {"reduceat": reduceat, "accumulate": accumulate}


# What a ufunc says of itself; `types` are those of the dtypes that are here.
_ATTRIBUTES: Final = ("nin", "nout", "nargs", "identity", "signature", "resolve_dtypes")
_DTYPES: Final = frozenset("?bBhHiIlLqQefdFD->")
_OF_ONE_RESULT: Final = ("reduce", "accumulate", "reduceat")
_OF_BINARY: Final = (*_OF_ONE_RESULT, "outer")


def _refuse(ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> NoReturn:
    takes = f"{ufunc.nin} operand{'s'[: ufunc.nin - 1]}, and gives {ufunc.nout}"
    raise ParameterError(
        f"{ufunc.__name__}.{method}: only functions of two operands that give one result have it; "
        f"{ufunc.__name__} takes {takes}"
    )


def _by_protocol(ufunc: Any, method: str, array: Any, *inputs: Any, **keywords: Any) -> Any:
    """As ``ufunc.method(array, ...)`` is, of what becomes an array of ours."""
    given: Array = array_of(array)
    return array_ufunc(given, ufunc, method, given, *inputs, **keywords)


def _reduce(ufunc: Any, array: Any, axis: Any = 0, *inputs: Any, **keywords: Any) -> Any:
    names = tuple(signature(reduce).parameters)[3:]
    return _by_protocol(
        ufunc, "reduce", array, axis=axis, **dict(zip(names, inputs, strict=False)), **keywords
    )


def give_methods(functions: Iterable[Callable[..., Any]]) -> None:
    """``sc.maximum.accumulate`` and kin: functions of two operands have NumPy's methods."""
    for function in functions:
        ufunc = getattr(np, getattr(function, "__name__", ""), None)
        if not isinstance(ufunc, np.ufunc) or not isinstance(function, FunctionType):
            continue
        vars(function).update({name: getattr(ufunc, name) for name in _ATTRIBUTES})
        types = [one for one in ufunc.types if _DTYPES.issuperset(one)]
        vars(function).update(types=types, ntypes=len(types))
        vars(function)["at"] = partial(ufunc_at, ufunc)
        vars(function)["outer"] = partial(_by_protocol, ufunc, "outer")
        if ufunc.nin != 2 or ufunc.nout != 1:
            lacks = _OF_BINARY if ufunc.nin != 2 else _OF_ONE_RESULT
            vars(function).update({name: partial(_refuse, ufunc, name) for name in lacks})
            continue
        for name, method in _METHODS.items():
            vars(function)[name] = partial(method, ufunc)
        vars(function)["reduce"] = partial(_reduce, ufunc)
