"""Calls of every function that NumPy has, too, with arguments that few people give it.

A function is called as it should be, with its arrays exchanged for odd ones: other dtypes, nothing,
one number, NaN and infinity, views with negative steps, lists, text, objects; with each axis and
each choice it may have. What comes of such a call is a value, or an error.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import field
from functools import wraps
from operator import attrgetter
from typing import Any, Final, NamedTuple

import numpy as np

import speedcube as sc
from speedcube.dataclass import dataclass
from speedcube.errors import SpeedcubeError

from ..test_bad_arguments import BESIDE, ELSEWHERE, NO_ARRAY

_A: Final = np.arange(12.0).reshape(3, 4)
_INF: Final = np.inf

# Arrays by what is odd about them.
ARRAYS: Final[dict[str, Any]] = {
    "usual": _A,
    "square": np.array([[4.0, 1.0], [2.0, 3.0]]),
    "singular squares": np.array([[[1.0, 2.0], [2.0, 4.0]], [[0.0, 1.0], [1.0, 0.0]]]),
    "bools": _A % 3 > 0,
    "int8": np.array([[-128, 127, 0], [1, -1, 5]], "int8"),
    "uint8": np.array([255, 0, 7, 7], "uint8"),
    "int64": np.array([-(2**63), 2**61, 0, 5]),
    "uint64": np.array([2**64 - 1, 0, 3], "uint64"),
    "float16": np.array([6e4, -0.0, 1e-7, 1.5], "float16"),
    "float32": np.array([[3e38, -1e-40], [0.1, -_INF]], "float32"),
    "complex": np.array([1 + 2j, -_INF + 1j, complex(np.nan, 0), 0j]),
    "complex64": np.array([[1 - 1j, 2], [0, 3j]], "complex64"),
    "nan": np.array([[np.nan, 1.0, _INF], [-_INF, -0.0, np.nan]]),
    "all nan": np.full((2, 2), np.nan),
    "wide": np.array([1e308, 1.5e308, -1e308, 5e-324]),
    "nothing": np.zeros(0),
    "no rows": np.zeros((0, 3)),
    "no columns": np.zeros((3, 0), "int64"),
    "one": np.array([2.5]),
    "number": np.float64(3),
    "python number": 3,
    "python bool": True,
    "big integer": 2**70,
    "three axes": np.arange(12).reshape(2, 3, 2) - 4,
    "reversed": _A[::-1, ::-2],
    "turned": _A.T,
    "broadcast": np.broadcast_to(np.arange(3.0), (2, 3)),
    "list": [3, 1, 2],
    "tuple": (1.5, -2.0),
    "nested": [[1, 2], [3, 4]],
    "empty list": [],
    "ragged": [[1], [2, 3]],
    "objects": np.array([1, None], object),
    "integer objects": np.array([1, 2], object),
    "strings": np.array(["a", "b"]),
    "text": "a",
    "none": None,
    "dates": np.array(["2020-01-01"], "M8[D]"),
    "records": np.zeros(2, "i4,f8"),
}  # fmt: skip

_KEYS: Final = (0, -1, 9, -9, [0, 1], [], [0.5], True, [True, False], "x", slice(None, None, -1))
_SHAPES: Final = (0, 5, (), (2, 6), (-1,), (12, -1), (-1, -1), (2.5,), "x", [3, 4])
# What else a parameter may be given, by its name.
CHOICES: Final[dict[str, tuple[Any, ...]]] = {
    **dict.fromkeys(("axis", "axes"), (None, 0, 1, -1, -2, 5, (0, 1), (), (0, 0), True, 0.0, "x")),
    **dict.fromkeys(("axis1", "axis2", "start", "source", "destination"), (0, 1, -1, 5, "x")),
    **dict.fromkeys(("k", "offset"), (0, 1, -1, 9, -9, 1.5, "x", None)),
    **dict.fromkeys(("n", "N", "M", "num", "shift"), (0, 1, 2, 5, -1, 1.5, True, "x", None)),
    **dict.fromkeys(("repeats", "reps"), (0, 1, [1, 2], -1, 1.5, "x", None, [])),
    **dict.fromkeys(("indices", "obj"), _KEYS),
    **dict.fromkeys(("indices_or_sections",), (1, 2, 3, 0, -1, [1], [5], [2, 1], [], 1.5, "x")),
    **dict.fromkeys(("shape", "new_shape"), _SHAPES),
    **dict.fromkeys(("ddof", "correction"), (0, 1, 1.5, 50, -1, "x")),
    "decimals": (0, 1, -1, 400, -400, 1.5, "x"),
    "dtype": ("float32", "int8", "bool", "complex64", object, "nonsense", "M8[D]", None),
    "keepdims": (True,),
    "initial": (5, -1.5, None, "x"),
    "where": (True, False, np.array([True, False, True, True]), np.ones(7, bool), "x"),
    "weights": (None, 2, [1, 2, 0.5], np.ones((3, 4)), np.zeros(4), np.ones(7), "x"),
    "mode": ("full", "same", "valid", "wrap", "clip", "edge", "mean", "nonsense", 0, None),
    "side": ("left", "right", "nonsense"),
    "order": ("C", "F", "A", "K", "nonsense", 2, np.inf, None),
    "indexing": ("ij", "xy", "nonsense"),
    "endpoint": (False,),
    "equal_nan": (True,),
    "bitorder": ("little", "nonsense"),
    "count": (0, 3, -3, 99, 1.5),
    "rowvar": (False,),
    "bias": (True,),
    "returned": (True,),
    "increasing": (True,),
    "kth": (0, 1, -1, 9, [0, 1], 1.5),
    "q": (0, 0.5, 1, [0.25, 0.75], 2, -1, np.nan, "x", []),
    "bins": (3, [0, 1, 2], 0, -1, [2, 1], 1.5, "auto", "x", []),
    "range": ((0, 1), (1, 0), (0, np.nan), "x", (3, 3)),
    "density": (True,),
    "minlength": (0, 9, -1, 1.5, None),
    "pad_width": (0, 1, (1, 2), ((1, 0), (0, 1)), -1, 1.5, "x", ()),
    "prepend": (0, [1, 2], "x"),
    "append": (0, [1, 2], "x"),
    "period": (5, 0, -3, "x"),
    "rtol": (0, np.nan, -1, "x"),
    "trim": ("f", "fb", "x", 3),
    "deg": (0, 1, 3, -1, 1.5, "x"),
}  # fmt: skip


@dataclass(frozen=True)
class Call:
    """A call of ``name`` with the odd array that `ARRAYS` has, all over or at one ``place``.

    ``parameter`` is the one that is given ``choice``, if any is.
    """

    name: str
    array: str
    args: tuple[Any, ...]
    place: int | None = None
    parameter: str = ""
    choice: Any = None
    keywords: dict[str, Any] = field(default_factory=dict)

    @property
    def what(self) -> str:
        place = "" if self.place is None else f" as {self.place}"
        given = f", {self.parameter}={self.choice!r}" if self.parameter else ""
        return f"{self.array}{place}{given}"

    def __str__(self) -> str:
        return f"{self.name}: {self.what}"


class Outcome(NamedTuple):
    """What a call has come to: a value, or else an error."""

    value: Any
    error: Exception | None


def function_of(module: Any, name: str) -> Any:
    """The function ``name``: of ``module``, of one that it has, or ``ndarray.`` of its arrays."""
    kind, _, method = name.rpartition(".")
    if kind != "ndarray":
        return attrgetter(name)(module)
    function = getattr(np.ndarray if module is np else sc.Array, method)
    return _changing(function) if method in IN_PLACE else function


def _changing(function: Callable[..., Any]) -> Callable[..., Any]:
    """What ``function`` makes of a copy of its array, where it changes that."""

    @wraps(function)
    def changed(array: Any, *args: Any, **keywords: Any) -> Any:
        own = array.copy()
        function(own, *args, **keywords)
        return own

    return changed


IN_PLACE: Final = frozenset(("fill", "partition", "put", "sort"))


# Methods that make no values, take what is not of NumPy's, or write where it is told.
NO_METHODS: Final = frozenset(("device", "dtype", "to_device", "tolist", "tobytes", "tofile"))


def names_elsewhere() -> list[str]:
    """Functions of matrices and of spectra, and methods of arrays, that NumPy has, too."""
    found = [
        f"{module}.{name}"
        for module in ("linalg", "fft")
        for name in getattr(sc, module).__all__
        if inspect.isfunction(getattr(sc.linalg if module == "linalg" else sc.fft, name))
        and hasattr(getattr(np, module), name)
    ]
    methods = (name for name in dir(np.ndarray) if not name.startswith("_"))
    found += [
        f"ndarray.{name}"
        for name in methods
        if inspect.isfunction(inspect.getattr_static(sc.Array, name, None))
        and name not in NO_METHODS
    ]
    return sorted(found)


def names() -> list[str]:
    """The functions that are called: NumPy's, too, and of arrays."""
    shared = (name for name in sc.__all__ if name not in ELSEWHERE)
    return sorted(
        name
        for name in shared
        if callable(getattr(np, name, None)) and not isinstance(getattr(np, name), type)
    )


# What NumPy would raise as Python's integers to a large power, for as long as there is memory.
POWERS: Final = frozenset(("left_shift", "pow", "power"))


def calls_of(name: str) -> Iterator[Call]:
    """Every call of the function ``name`` that ends."""
    for call in _calls_of(name):
        if repr(call.choice) == "'wrap'" and call.array in ("int64", "uint64"):
            continue  # NumPy adds the length until there is one: for centuries
        of_array = isinstance(_ours(call.args[0]), sc.Array) if call.args else False
        if name.startswith("ndarray.") and not of_array:
            continue
        if name not in POWERS or (call.array != "big integer" and call.choice is not object):
            yield call


def _calls_of(name: str) -> Iterator[Call]:
    """Each odd array by itself, then beside each choice."""
    parameters = list(inspect.signature(function_of(sc, name)).parameters.values())
    needed = [p for p in parameters if p.default is p.empty and p.kind < p.VAR_POSITIONAL]
    beside = NO_ARRAY.get(name) or BESIDE.get(name, ())
    arrays = 0 if name in NO_ARRAY else max(len(needed) - len(beside), 1)
    right = (*(_A,) * arrays, *beside)
    for word, odd in ARRAYS.items() if arrays else {}.items():
        yield Call(name, word, (*(odd,) * arrays, *beside))
        for place in range(arrays) if arrays > 1 else ():
            yield Call(name, word, (*right[:place], odd, *right[place + 1 :]), place)
    given = ARRAYS.items() if arrays else [("usual", _A)]
    for place, parameter in enumerate(parameters):
        for choice in CHOICES.get(parameter.name, ()) if place >= arrays else ():
            for word, odd in given:
                args = (*(odd,) * arrays, *beside)
                if place < len(args):
                    args = (*args[:place], choice, *args[place + 1 :])
                    yield Call(name, word, args, None, parameter.name, choice)
                elif parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
                    keywords = {parameter.name: choice}
                    yield Call(name, word, args, None, parameter.name, choice, keywords)


def mistakes_apart(call: Call) -> Iterator[Call]:
    """The call with its odd array alone, and with its choice alone, of a usual array."""
    for other in calls_of(call.name):
        alone = other.array == call.array and not other.parameter and other.place == call.place
        chosen = other.array == "usual" and other.parameter == call.parameter
        if alone or (chosen and repr(other.choice) == repr(call.choice)):
            yield other


def numpys(call: Call) -> Outcome:
    """What NumPy makes of ``call``."""
    return _outcome(function_of(np, call.name), call.args, call.keywords)


def ours(call: Call) -> Outcome:
    """What we make of it: of our arrays where NumPy's are of numbers."""
    keywords = {key: _ours(value) for key, value in call.keywords.items()}
    return _outcome(function_of(sc, call.name), tuple(map(_ours, call.args)), keywords)


def _ours(value: Any) -> Any:
    of_numbers = isinstance(value, np.ndarray) and value.dtype.kind in "biufc"
    return sc.asarray(value) if of_numbers else value


def _outcome(function: Callable[..., Any], args: tuple[Any, ...], keywords: Any) -> Outcome:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return Outcome(_computed(function(*args, **keywords)), None)
        except Exception as error:
            return Outcome(None, error)


def _computed(value: Any) -> Any:
    if isinstance(value, sc.Array):
        return value.compute(on="core")
    if isinstance(value, (tuple, list)):
        return [_computed(one) for one in value]
    return value


def kind_of(error: Exception) -> type[Exception]:
    """NumPy's kind of error as users can catch it; a missing attribute is a wrong type."""
    kinds = (k for k in type(error).__mro__ if not k.__name__.startswith(("_", "UFunc", "DType")))
    kind = next(kinds)
    return TypeError if issubclass(kind, AttributeError) else kind


def differs(ours: Any, numpys: Any) -> str:
    """How two values differ; '' where they do not."""
    if isinstance(numpys, (tuple, list)):
        if not isinstance(ours, (tuple, list)) or len(ours) != len(numpys):
            return f"{ours!r} is not {numpys!r}"
        return next(filter(None, map(differs, ours, numpys)), "")
    try:
        mine, theirs = np.asarray(ours), np.asarray(numpys)
    except ValueError:
        return ""
    if theirs.dtype.kind not in "biufc":
        return "" if repr(ours) == repr(numpys) else f"{ours!r} is not {numpys!r}"
    if mine.shape != theirs.shape or mine.dtype != theirs.dtype:
        return f"{mine.dtype} {mine.shape} is not {theirs.dtype} {theirs.shape}"
    if theirs.dtype.kind in "biu":
        return "" if np.array_equal(mine, theirs) else f"{ours!r} is not {numpys!r}"
    if theirs.dtype.kind == "c":
        return differs(mine.real, theirs.real) or differs(mine.imag, theirs.imag)
    with np.errstate(all="ignore"):
        eps = float(np.finfo(theirs.dtype).eps)
        finite = theirs[np.isfinite(theirs)]
        near = eps * 64 * max(1.0, math.sqrt(theirs.size))
        size = float(np.abs(finite).max()) if finite.size else 0.0
        close = np.isclose(mine, theirs, rtol=near, atol=near * min(size, 1e300), equal_nan=True)
    return "" if close.all() else f"{ours!r} is not {numpys!r}"


def wrong(ours: Outcome, numpys: Outcome) -> str:
    """What is not NumPy's of ``ours``: the kind of the error, or the value; '' where all is."""
    if numpys.error is None:
        if ours.error is not None:
            return f"{ours.error!r} for {numpys.value!r}"
        return differs(ours.value, numpys.value)
    if ours.error is None:
        return f"{ours.value!r} for {numpys.error!r}"
    alike = isinstance(ours.error, kind_of(numpys.error)) and isinstance(ours.error, SpeedcubeError)
    return "" if alike else f"{ours.error!r} for {numpys.error!r}"
