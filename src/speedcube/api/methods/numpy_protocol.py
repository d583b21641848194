"""NumPy's functions called with our arrays: ``np.sum(x)`` is ``x.sum()``; others say what to do."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Final, NoReturn

import numpy as np

from ...errors import UnsupportedError
from ...ops import ALIASES, OPS
from .dask_collection import Collection
from .operators import Knowing, Operators, is_pandas

_VALUES: Final = "compute it first (x.compute())"

# Twins: NumPy's function to ours, which takes the first argument by position and the others by
# NumPy's names.
_TWINS: Final[dict[Any, Callable[..., Any]]] = {}

# NumPy's functions that write values to a file or into a text: they take ours computed.
_OF_VALUES: Final = frozenset(
    (
        *(np.savez, np.savez_compressed, np.savetxt),
        *(np.array2string, np.array_repr, np.array_str),
    )
)


def register(twins: dict[Any, Callable[..., Any]]) -> None:
    """Let ours be called for NumPy's functions, ``{np.sum: ours, ...}``."""
    _TWINS.update(twins)


def array_function(
    self: Collection, func: Any, types: Iterable[type], args: Any, kwargs: Any
) -> Any:
    """What ``func(*args, **kwargs)`` gives: the method ``__array_function__``.

    Raises `UnsupportedError` for a function or a keyword without a twin, unless another kind of
    array among the arguments may know it.
    """
    if len(args) == 1 and not kwargs and args[0] is self and _takes_one(func):  # as most calls
        return _TWINS[func](self)
    if func in _OF_VALUES:
        given = {name: _values(value) for name, value in kwargs.items()}
        return func(*(_values(value) for value in args), **given)
    name = f"{func.__module__}.{func.__name__}"
    twin = _TWINS.get(func)
    listed = bool(args) and isinstance(args[0], list | tuple)  # arrays to be put together
    others = [one for one in types if not issubclass(one, (Collection, np.ndarray))]
    listed = listed and not all(hasattr(one, "__dask_graph__") for one in others)
    if others and (twin is None or listed):
        return NotImplemented
    if twin is None:
        raise UnsupportedError(_no_twin(name, func))
    if "args" in _parameters(twin):  # which it hands on to a function
        return twin(*args, **kwargs)
    first, *rest = _arguments(func, args, kwargs)
    several = [value for name, value in rest if name == "varargs"]  # np.gradient's spacings
    rest = [one for one in rest if one[0] != "varargs"]
    known = _parameters(twin)
    for keyword, _ in rest:
        if keyword not in known and "kwargs" not in known:
            options = ", ".join(known[1:]) or "no other argument"
            raise UnsupportedError(
                f"{name} of a speedcube array takes {options}, not {keyword}=: leave it out, or "
                f"{_VALUES}"
            )
    return twin(first[1], *(several[0] if several else ()), **dict(rest))


@cache
def _takes_one(func: Any) -> bool:
    """Whether ``func`` has a twin, and is whole with one argument, which is no list of several."""
    if func not in _TWINS or func in _OF_VALUES or _least(func) > 1:
        return False
    kinds = [one.kind for one in _signature(func).parameters.values()]
    return inspect.Parameter.VAR_POSITIONAL not in kinds[:1]


def _values(argument: Any) -> Any:
    """``argument``, computed where it is an array of ours, or a list with some."""
    if isinstance(argument, list | tuple):
        return type(argument)(map(_values, argument))
    return np.asarray(argument) if isinstance(argument, Collection) else argument


@cache
def _parameters(twin: Callable[..., Any]) -> tuple[str, ...]:
    return tuple(inspect.signature(twin).parameters)


@cache
def _signature(func: Any) -> inspect.Signature:
    return inspect.signature(func)


def _arguments(func: Any, args: Any, kwargs: Any) -> list[tuple[str, Any]]:
    """The arguments of a call by NumPy's names; what is given as the default is as if left out."""
    names = _names(func)
    if not kwargs and len(args) <= len(names):  # as nearly always: as `bind` would have it
        bound = dict(zip(names, args, strict=False))
        if len(bound) < _least(func):
            _signature(func).bind(*args)  # which says what is missing
    else:
        bound = _signature(func).bind(*args, **kwargs).arguments
        bound |= bound.pop("kwargs", {})
    parameters = _signature(func).parameters
    return [
        (name, value)
        for k, (name, value) in enumerate(bound.items())
        if k == 0
        or name not in parameters
        or not isinstance(value, _PLAIN)
        or not isinstance(parameters[name].default, _PLAIN)
        or value != parameters[name].default
    ]


_PLAIN: Final = (bool, int, str, type(None))


@cache
def _names(func: Any) -> tuple[str, ...]:
    """What may be given by position, each by its own name."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(one.name for one in _signature(func).parameters.values() if one.kind in kinds)


@cache
def _least(func: Any) -> int:
    """How many of these have to be given."""
    parameters = _signature(func).parameters
    return sum(parameters[name].default is inspect.Parameter.empty for name in _names(func))


# Ufuncs ------------------------------------------------------------------------------------------

# ``np.add.reduce(x)``: the reductions that are some ufunc's, along axis 0 unless told otherwise.
REDUCTIONS: Final = {
    "add": np.sum,
    "multiply": np.prod,
    "maximum": np.max,
    "minimum": np.min,
    "fmax": np.nanmax,
    "fmin": np.nanmin,
    "logical_or": np.any,
    "logical_and": np.all,
}

# ``np.add.accumulate(x)``, in the same way.
SCANS: Final = {"add": np.cumsum, "multiply": np.cumprod}


def array_ufunc(self: Operators, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """What a ufunc's call or method gives: the method ``__array_ufunc__``."""
    if ufunc is np.matmul and method == "__call__" and not kwargs:
        first, other = inputs
        if type(first) is type(other):  # as nearly always
            return _TWINS["@"](first, other)
    if any(isinstance(one, Knowing) for one in inputs):
        return NotImplemented
    if any(map(is_pandas, inputs)):  # theirs have labels, which the result keeps
        values = [np.asarray(one) if isinstance(one, Collection) else one for one in inputs]
        return getattr(ufunc, method)(*values, **kwargs)
    name = ALIASES.get(ufunc.__name__, ufunc.__name__)
    if ufunc is np.matmul and method == "__call__" and not kwargs:
        if all(not _is_foreign(one) or _is_values(one) for one in inputs):
            return _TWINS[ufunc](*inputs)
        return NotImplemented
    if method == "__call__" and not kwargs and name in OPS:  # others' arrays are operands, too
        twin = _TWINS.get(ufunc)
        if twin is None and ufunc is _scipys(name):
            return self._elementwise(name, *inputs)
        if twin is not None:
            return twin(*inputs)
    if any(map(_is_foreign, inputs)):
        return NotImplemented
    kwargs = {k: v for k, v in kwargs.items() if (k, v) not in (("order", "K"), ("subok", True))}
    if method in ("reduce", "accumulate"):
        whole = (REDUCTIONS if method == "reduce" else SCANS).get(name)
        twin = _TWINS.get(whole)
        if twin is not None and kwargs.keys() <= set(_parameters(twin)):
            return twin(inputs[0], **{"axis": 0, **kwargs})
    if method in ("reduce", "accumulate", "reduceat", "at"):
        return _TWINS[method](ufunc, *inputs, **kwargs)
    twin = _TWINS.get(ufunc)
    if method == "outer" and twin is not None and len(inputs) == 2:
        first = np.reshape(inputs[0], (*np.shape(inputs[0]), *(1 for _ in np.shape(inputs[1]))))
        return array_ufunc(self, ufunc, "__call__", first, inputs[1], **kwargs)
    if method == "__call__" and twin is not None and kwargs.keys() <= set(_parameters(twin)):
        return twin(*inputs, **kwargs)
    if method == "__call__" and not kwargs and getattr(np, name, None) is not ufunc:
        result = _TWINS["ufunc"](ufunc, *inputs)
        if result is not None:
            return result
    return _no_ufunc(ufunc, method, kwargs)


def _scipys(name: str) -> Any:
    """The ufunc of `scipy.special` of that name, where SciPy was imported."""
    public = getattr(sys.modules.get("scipy.special"), name, None)
    return getattr(public, "__wrapped__", public)


def _no_ufunc(ufunc: Any, method: str, kwargs: dict[str, Any]) -> NoReturn:
    """`UnsupportedError` for what no function of ours does: what there is instead."""
    name = f"numpy.{ufunc.__name__}" + (f".{method}" if method != "__call__" else "")
    twin = _TWINS.get(ufunc)
    others = {k: v for k, v in kwargs.items() if twin is None or k not in _parameters(twin)}
    if others and (twin is not None or ufunc.__name__ in REDUCTIONS):
        _no_keywords(name, others)
    raise UnsupportedError(_no_twin(name, ufunc if method == "__call__" else None))


def _no_twin(name: str, func: Any) -> str:
    """That NumPy's ``func`` takes no array of ours, and who takes what: Dask only what it has."""
    text = f"{name} does not take speedcube arrays: {_VALUES}"
    if func is None or not _dask_has(func):
        return text
    return f"{text}, or, of what does not fit into memory, give it to Dask (x.to_dask_array())"


def _dask_has(func: Any) -> bool:
    """Whether ``func`` of a Dask array is computed by Dask; it turns others' into NumPy's."""
    from dask import array

    _, *modules = getattr(func, "__module__", "numpy").split(".")
    for module in modules:
        array = getattr(array, module, None)
    return hasattr(array, func.__name__)


def _no_keywords(name: str, kwargs: dict[str, Any]) -> NoReturn:
    listed = ", ".join(f"{keyword}=" for keyword in kwargs)
    raise UnsupportedError(
        f"{name} of a speedcube array takes no {listed}: leave it out (speedcube.where chooses, "
        f".astype converts), or {_VALUES}"
    )


def _is_foreign(value: Any) -> bool:
    """Whether ``value`` is an array of another kind that answers ufuncs itself."""
    return hasattr(value, "__array_ufunc__") and not isinstance(
        value, (Collection, np.ndarray, np.generic)
    )


def _is_values(value: Any) -> bool:
    """Whether an array of another kind is its values and nothing else: Dask's and CuPy's."""
    return type(value).__module__.partition(".")[0] in ("dask", "cupy")


# Keywords ----------------------------------------------------------------------------------------


def check_keywords(method: str, unknown: dict[str, Any], known: str) -> None:
    """`UnsupportedError` where ``unknown`` holds a keyword: a misspelt one would change nothing."""
    for keyword in unknown:
        raise UnsupportedError(f"{method}() has no keyword {keyword!r}; it takes {known}")
