"""Every public function with arguments that NumPy refuses: NumPy's exception type, our message.

Each function is called as it should be, with one argument exchanged for a bad one. Where NumPy
refuses that, ours is one of our errors, and of NumPy's kind.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.api import of_numpy
from speedcube.errors import SpeedcubeError

A: Final = np.arange(12.0).reshape(3, 4)
MASK: Final = np.array([True, False, True])
WINDOWS: Final = ("bartlett", "blackman", "hamming", "hanning")
SIZED: Final = ("zeros", "ones", "empty")
# What is given beside arrays, by place.
BESIDE: Final[dict[str, tuple[Any, ...]]] = {
    **{"take": ([0, 1],), "repeat": (2,), "reshape": ((4, 3),), "roll": (1,), "pad": (1,)},
    **{"full_like": (1,), "clip": (0, 1), "expand_dims": (0,), "swapaxes": (0, 1), "tile": (2,)},
    **{"moveaxis": (0, 1), "rollaxis": (1,), "resize": ((2, 2),), "split": (1,), "vsplit": (1,)},
    **{"array_split": (2,), "hsplit": (2,), "broadcast_to": ((3, 4),), "insert": (0, 1)},
    **{"delete": (0,), "append": ([1.0],), "take_along_axis": (np.zeros((3, 4), int), 1)},
    **{"astype": ("float32",), "ldexp": (2,), "convolve": (A[0],), "correlate": (A[0],)},
}
# Functions of no array, and what they take.
NO_ARRAY: Final[dict[str, tuple[Any, ...]]] = {
    **dict.fromkeys((*WINDOWS, *SIZED, "arange", "eye", "tri", "identity", "diag_indices"), (3,)),
    **{"kaiser": (3, 1.0), "tril_indices": (3,), "triu_indices": (3,), "linspace": (0, 1)},
    **{"logspace": (0, 1), "geomspace": (1, 2), "indices": ((2, 3),), "full": (3, 1)},
}
# They tell of dtypes, take other things than arrays, or change what they are given.
ELSEWHERE: Final = frozenset(
    (
        *("can_cast", "result_type", "issubdtype", "isdtype", "promote_types", "min_scalar_type"),
        *("finfo", "iinfo", "common_type", "fromfunction", "broadcast_shapes", "from_dlpack"),
        *("isscalar", "copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis"),
        *("random", "empty", "empty_like", "select", "choose", "compress"),
        *("apply_over_axes", "fromiter", "mask_indices", "piecewise"),  # which take functions
        *("may_share_memory", "shares_memory", "errstate", "seterr", "geterr"),
        *("einsum", "einsum_path", "frompyfunc"),  # which take text or a function first
        *of_numpy.own.__all__,  # NumPy's functions themselves
        *("fromfile", "fromregex", "frombuffer", "genfromtxt", "load", "loadtxt", "nditer"),
        "isfortran",  # which asks an array, and nothing else
    )
)
NO_NUMBERS: Final[dict[str, Any]] = {
    **{"ragged": [[1], [2, 3]], "objects": np.array([1, None], object), "dict": {"a": 1}},
    **{"strings": np.array(["a", "b"]), "text": "a", "none": None, "function": len},
    **{"dates": np.array(["2020-01-01"], "M8[D]")},
}
ARRAYS: Final[dict[str, Any]] = {
    **{"empty": np.zeros((0, 3)), "nothing": np.zeros(0), "number": np.float64(3)},
    **{"nan": np.array([np.nan, np.inf]), "mask": np.array([True, False])},
    **{"negative": np.array([-1, -2]), "three axes": np.ones((2, 3, 2))},
}
AXES: Final[dict[str, Any]] = {
    **{"5": 5, "-9": -9, "text": "x", "1.5": 1.5, "twice": (0, 0), "(0, 5)": (0, 5)},
    **{"list": [0, 1], "np.float64": np.float64(1)},
}
NUMBERS: Final[dict[str, Any]] = {
    **{"1.5": 1.5, "text": "x", "-1": -1, "None": None, "[[1]]": [[1]], "nan": float("nan")}
}
SHAPES: Final[dict[str, Any]] = {
    **{"negative": (-2, 3), "float": (2.5,), "text": "x", "None": None, "nested": ((2,), 3)},
    **{"huge": (2**40, 2**40), "two unknown": (-1, -1)},
}
WORDS: Final[dict[str, Any]] = {"word": "nonsense"}
PARAMETERS: Final[dict[str, dict[str, Any]]] = {
    **{name: AXES for name in ("axis", "axes", "axis1", "axis2", "source")},
    **{name: SHAPES for name in ("shape", "new_shape")},
    **{name: NUMBERS for name in ("k", "n", "repeats", "num", "N", "M", "m", "shift", "reps")},
    **{name: NUMBERS for name in ("pad_width", "offset", "ddof", "correction", "decimals", "obj")},
    "indices_or_sections": NUMBERS,
    "dtype": {"word": "nonsense", "3": 3, "function": len},
    **{name: WORDS for name in ("mode", "indexing", "order", "casting", "kind", "bitorder")},
    "where": {"shape": np.ones(7, bool), "text": "x"},
    **{"initial": {"text": "x"}, "weights": {"shape": np.ones(7)}, "values": {"text": "x"}},
}
# Why ours may be another one -> function and argument.
REASONS: Final[dict[str, tuple[str, ...]]] = {
    "another of the kinds that a wrong shape has": (
        *("average: weights shape", "take_along_axis: arr empty", "insert: values text"),
        *("resize: new_shape huge", "histogram2d: x number", "histogram2d: y number"),
    ),
    "two mistakes at once: ours tells of the other": (
        *("packbits: axis 5", "packbits: axis -9", "cross: axis twice"),
        *("unpackbits: axis 5", "unpackbits: axis -9", "polydiv: u empty", "polydiv: u nothing"),
        *("polydiv: v empty", "polydiv: v nothing"),
    ),
    "NumPy's have no where=; ours have it as all functions of elements": (
        *("isneginf: where shape", "isposinf: where shape", "fix: where shape"),
        "sinc: where shape",
    ),
    "None is what correction= has where it is left out": (
        *("std: correction None", "var: correction None"),
        *("nanstd: correction None", "nanvar: correction None"),
    ),
    "a polynomial of one number": (
        *("polyder: p number", "polyint: p number", "polyval: p number"),
        *("polyder: p three axes", "poly: seq_of_zeros number"),
    ),
}
DIFFERENT: Final = frozenset(one for several in REASONS.values() for one in several)


def calls() -> Iterator[tuple[str, str, tuple[Any, ...], dict[str, Any]]]:
    """Function, what is bad about its arguments, and these."""
    for name in sorted(set(sc.__all__) - ELSEWHERE):
        numpys, ours = getattr(np, name, None), getattr(sc, name)
        if numpys is None or isinstance(numpys, type) or not callable(numpys):
            continue
        parameters = list(inspect.signature(ours).parameters.values())
        needed = [p for p in parameters if p.default is p.empty and p.kind < p.VAR_POSITIONAL]
        beside = NO_ARRAY.get(name) or BESIDE.get(name, ())
        arrays = 0 if name in NO_ARRAY else max(len(needed) - len(beside), 1)
        right = (*(A,) * arrays, *beside)
        for k in range(arrays):
            for word, bad in (*NO_NUMBERS.items(), *ARRAYS.items()):
                yield name, f"{parameters[k].name} {word}", (*right[:k], bad, *right[k + 1 :]), {}
        for place, parameter in enumerate(parameters):
            bad_ones = PARAMETERS.get(parameter.name, {}) if place >= arrays else {}
            for word, bad in bad_ones.items():
                what = f"{parameter.name} {word}"
                if place < len(right):
                    yield name, what, (*right[:place], bad, *right[place + 1 :]), {}
                elif parameter.kind is not parameter.POSITIONAL_ONLY:
                    yield name, what, right, {parameter.name: bad}


def error_of(function: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> Exception | None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            made = function(*args, **keywords)
            if isinstance(made, sc.Array) and made.size < 1000:
                made.compute(on="core")
        except Exception as error:
            return error
    return None


def kind_of(error: Exception) -> type[Exception]:
    """NumPy's kind of error as users can catch it; a missing attribute is a wrong type."""
    kinds = (k for k in type(error).__mro__ if not k.__name__.startswith(("_", "UFunc", "DType")))
    kind = next(kinds)
    return TypeError if issubclass(kind, AttributeError) else kind


def lazy(value: Any) -> Any:
    numbers = isinstance(value, np.ndarray) and value.dtype.kind in "biuf"
    return sc.asarray(value) if numbers else value


CALLS: Final = list(calls())
NAMES: Final = sorted({name for name, *_ in CALLS})


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions that write a file take a text for its name."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_what_numpy_refuses_is_refused_alike(name: str) -> None:
    wrong = []
    for which, what, args, keywords in CALLS:
        if which != name or f"{name}: {what}" in DIFFERENT:
            continue
        numpys = error_of(getattr(np, name), args, keywords)
        if numpys is None:
            continue
        given = {key: lazy(value) for key, value in keywords.items()}
        error = error_of(getattr(sc, name), tuple(map(lazy, args)), given)
        kinds: tuple[type[Exception], ...] = (kind_of(numpys),)
        if what.split(" ", 1)[1] in NO_NUMBERS or what.endswith((" text", " nan")):
            kinds = (*kinds, TypeError, ValueError)  # NumPy's comes of what objects happen to do
        if not isinstance(error, kinds) or not isinstance(error, SpeedcubeError):
            wrong.append(f"{what}: {error!r} for {numpys!r}")
    assert not wrong, "\n".join(wrong)


def test_most_calls_are_refused_by_numpy_too() -> None:
    """So that the table tests something: thousands of calls of nearly all functions."""
    assert len(CALLS) > 4000
    assert len(NAMES) > 200
    assert {one.partition(":")[0] for one in DIFFERENT} <= set(NAMES)
