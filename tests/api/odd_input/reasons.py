"""Where ours is not NumPy's answer to an odd call, and why: a rule for each reason."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any, Final

import numpy as np

from speedcube.errors import AxisError, DTypeError, SpeedcubeError

from .calls import Call, Outcome, function_of, kind_of, mistakes_apart, numpys

# What products take besides, where NumPy's of that name have it not.
OF_UFUNCS: Final = ("axes", "axis", "casting", "dtype", "keepdims", "order", "out", "where")
NO_NUMBERS: Final = frozenset(
    ("ragged", "objects", "integer objects", "strings", "text", "none", "dates", "records")
)
Rule = Callable[[Call, Outcome, Outcome], bool]


def _no_numbers(call: Call, ours: Outcome, theirs: Outcome) -> bool:
    refused = isinstance(ours.error, SpeedcubeError) and isinstance(
        ours.error, (TypeError, ValueError)
    )
    return call.array in NO_NUMBERS and refused


def _big(call: Call, ours: Outcome, theirs: Outcome) -> bool:
    return call.array == "big integer"


def _two_mistakes(call: Call, ours: Outcome, theirs: Outcome) -> bool:
    if not isinstance(ours.error, SpeedcubeError) or theirs.error is None:
        return False
    apart = [numpys(one).error for one in mistakes_apart(call)]
    return any(one is not None and isinstance(ours.error, kind_of(one)) for one in apart)


def _left_out(call: Call, ours: Outcome, theirs: Outcome) -> bool:
    masked = call.parameter == "where" and call.choice is not True
    ufunc = call.name == "clip" or isinstance(function_of(np, call.name), np.ufunc)
    return masked and ufunc and ours.error is None


def _no_objects(call: Call, ours: Outcome, theirs: Outcome) -> bool:
    kinds = call.parameter == "dtype" and call.choice in (object, "M8[D]")
    return kinds and isinstance(ours.error, SpeedcubeError)


def _words(call: Call, ours: Outcome, theirs: Outcome) -> bool:
    return isinstance(call.choice, str) and isinstance(ours.error, SpeedcubeError)


def _whole(call: Call, ours: Outcome, theirs: Outcome) -> bool:
    choices = call.choice if isinstance(call.choice, list) else [call.choice]
    odd = any(isinstance(one, (bool, float)) for one in choices)
    return odd and isinstance(ours.error, (TypeError, ValueError)) and theirs.error is None


def _imaginary(call: Call, ours: Outcome, theirs: Outcome) -> bool:
    lost = call.parameter == "dtype" and call.array in ("complex", "complex64")
    return lost and (isinstance(ours.error, DTypeError) or call.name.endswith(("std", "var")))


def _attributes(call: Call, ours: Outcome, theirs: Outcome) -> bool:
    """NumPy asks what it is given for ``.shape``, its length or its elements."""
    kinds = (AttributeError, TypeError)
    told = str(theirs.error)
    asked = "object has no" in told or "not iterable" in told or "iteration over" in told
    asked = asked or "list indices" in told or "of unsized" in told or "return an iterable" in told
    return isinstance(theirs.error, kinds) and asked and not isinstance(ours.error, AttributeError)


def _lists(call: Call, ours: Outcome, theirs: Outcome) -> bool:
    same = ours.error is None and isinstance(theirs.value, (list, tuple))
    listed = same and call.array in ("list", "tuple", "nested", "empty list")
    if not listed or isinstance(ours.value, (list, tuple)):
        return False
    return np.array_equal(np.asarray(ours.value), np.asarray(theirs.value))


def _exact(call: Call, ours: Outcome, theirs: Outcome) -> bool:
    """NumPy's overflows on the way, or cancels."""
    wide = call.array in ("wide", "float16", "float32", "int64", "uint64")
    return wide and ours.error is None and theirs.error is None and _of_floats(ours.value)


def _of_floats(value: Any) -> bool:
    several = value if isinstance(value, list) else [value]
    return all(np.asarray(one).dtype.kind in "fc" for one in several)


def _endless(call: Call, ours: Outcome, theirs: Outcome) -> bool:
    """What products and powers of complex infinities are."""
    if ours.error is not None or theirs.error is not None:
        return False
    several = theirs.value if isinstance(theirs.value, list) else [theirs.value]
    return any(np.iscomplexobj(one) and not np.isfinite(one).all() for one in several)


def _order(call: Call, ours: Outcome, theirs: Outcome) -> bool:
    """Equal but for an order that NumPy does not promise, or of what has no order."""
    if ours.error is not None or theirs.error is not None:
        return False
    if call.name.rpartition(".")[2] in ("argsort", "argpartition", "lexsort", "searchsorted"):
        return True
    return call.name == "unique_values" and np.array_equal(
        np.sort(ours.value), np.sort(theirs.value)
    )


def _keys(call: Call, ours: Outcome, theirs: Outcome) -> bool:
    """Keys of no axes, which are the elements of a line: NumPy sorts each by itself."""
    a_line = call.name == "lexsort" and any(np.ndim(_array(one)) < 2 for one in call.args[:1])
    return a_line and isinstance(ours.error, AxisError)


def _no_line(call: Call, ours: Outcome, theirs: Outcome) -> bool:
    polynomials = call.name in ("polyder", "polydiv")
    return polynomials and any(np.ndim(_array(one)) != 1 for one in call.args)


def _array(value: Any) -> Any:
    try:
        return np.asarray(value)
    except ValueError:
        return np.empty(0)


def _equal_to_nothing(call: Call, ours: Outcome, theirs: Outcome) -> bool:
    return call.name in ("array_equal", "array_equiv") and call.array in NO_NUMBERS


def _lists_too(call: Call, ours: Outcome, theirs: Outcome) -> bool:
    array_likes = ("list", "tuple", "nested", "empty list", "python number", "python bool")
    return call.name == "astype" and call.array in array_likes


RULES: Final[dict[str, Rule]] = {
    "what holds no numbers is refused, whatever else is asked": _no_numbers,
    "an integer beyond 64 bits is an object to NumPy": _big,
    "two mistakes at once: ours tells of the other": _two_mistakes,
    "what where= leaves out is 0 here, and any memory in NumPy": _left_out,
    "there are no objects and no dates": _no_objects,
    "a word where a number or a truth is asked is refused": _words,
    "a float or a bool where an integer is asked is refused": _whole,
    "imaginary parts are not dropped in silence": _imaginary,
    "lists and numbers are taken where NumPy asks for an attribute": _attributes,
    "an array, where NumPy gives back the list it was given": _lists,
    "sums are exact: nothing overflows or cancels on the way": _exact,
    "complex arithmetic with infinities": _endless,
    "an order that NumPy does not promise": _order,
    "lexsort takes keys of one axis or more": _keys,
    "polynomials are lines of coefficients": _no_line,
    "what holds no numbers is equal to nothing": _equal_to_nothing,
    "lists are arrays to every function": _lists_too,
}
# What is left, by function and what is odd: patterns as file names have them.
ALONE: Final[dict[str, tuple[str, ...]]] = {
    "two mistakes in one argument or two: ours tells of the other": (
        *("arg*: *number, axis=*", "arg*: python bool, axis=*", "append: *number, axis=*"),
        *("append: python bool, axis=*", "*split: python *"),
        *("split: number, *", "ravel_multi_index: *, mode=None"),
        *("bincount: tuple*", "packbits: *, axis=*", "unpackbits: *, axis=*"),
        "*ile: complex* as 1",
        *("take: *, indices=*True*", "take: *, indices=[[]0.5]", "average: no rows, axis=True"),
        *("pad: *, pad_width=()"),
    ),
    "of nothing, NumPy answers as its code happens to": (
        *("cov: no rows, dtype=*", "corrcoef: no rows, dtype=*", "*ile: empty list*"),
        *("*ile: *no* as 0", "*ile: nothing*", "*ile: empty list as 0", "*median: *, axis=()"),
        *("histogram*: n*, weights=*", "histogram*: empty list, weights=*"),
        "*mean: *, dtype='bool'",
        *("histogram2d: *, bins=[[]]", "nanm*: *, initial=*"),
        *("repeat: *, repeats=-1", "tile: *, reps=-1", "unravel_index: empty list*"),
        "linalg.pinv: no columns*",
        "linalg.multi_dot: tuple",
        *("polymul: no *", "ravel_multi_index: no*", "ravel_multi_index: empty list*"),
    ),
    "initial=None is what is left out, of reductions with a value of nothing": (
        *("*sum: *, initial=None", "*prod: *, initial=None"),
    ),
    "ddof is 0 or more": ("*std: *, ddof=-1", "*var: *, ddof=-1", "*: *, correction=-1"),
    "None is what axis= and axes= have where they are left out": (
        *("mat*: *, ax?s=None", "vec*: *, ax?s=None"),
    ),
    "NumPy's conversion is the processor's, or drops what is lost": (
        *("round: uint64, decimals=-1", "around: uint64, decimals=-1", "clip: *, dtype='int8'"),
        *("po*w*: *, dtype='int8'", "ldexp: *, dtype=*", "indices: *, dtype='bool'"),
        *("*partition: uint64 as 1", "unwrap: *, period=5", "vecmat: complex64, order='F'"),
    ),
    "bins of complex numbers": ("histogram*: complex64*", "interp: complex, period=*"),
    "bool and integers": ("fft.fftfreq: python bool", "real: python bool", "imag: python bool",
        "vander: *, N=True"),
    "polynomials are lines of coefficients, and poly() of a matrix needs eigenvalues": (
        *("poly*: number*", "polyfit: one*", "poly: complex64*"),
        *("polyadd: * as ?", "polysub: * as ?", "polyint: *, k=*", "roots: float16*"),
        "poly: nested",
    ),
    "NumPy's way with odd axes and odd keys": (
        *("tensordot: *, axes=-?", "nan*ile: *, axis=()", "squeeze: *, axis=*"),
        "roll: *, axis=()",
    ),
    "modes are words": ("take: *, mode=*", "choose: *, mode=None", "choose: *, mode=0",
        "ravel_multi_index: *, mode=0"),
    "an index beyond 63 bits is out of bounds": ("*.choose: uint64*", "*.take: uint64 as 1*"),
    "a bool that has no limits is what it is": ("ndarray.clip: bools",),
    "bools and floats are no places": (
        *("ndarray.take: *bool*", "ndarray.take: number as 1*", "ndarray.take: tuple as 1*"),
        "ndarray.swapaxes: python number as 1*",
    ),

    "complex numbers are refused before axes are looked at": ("fft.rfft2: complex*",),
    "what is transformed has axes in a sequence": ("fft.*: *, axes=5", "fft.*: *, axes=?"),
    "NumPy's memory is not written there": ("fft.*fft: *no*, n=?", "fft.*fft: empty list, n=?"),
    "a number is shifted as an array without axes": ("fft.*shift: *number*", "fft.*shift: *bool*"),
    "keywords of the functions of this name elsewhere": (
        *(f"linalg.{name}: *, {word}=*" for name in ("matmul", "vecdot") for word in OF_UFUNCS),
        *("ndarray.std: *, correction=*", "ndarray.var: *, correction=*"),
    ),
    "the window's ends are 0": ("blackman: *, M=2",),
}  # fmt: skip


def reason(call: Call, ours: Outcome, theirs: Outcome) -> str:
    """Why ``ours`` may be another outcome than ``theirs``; '' where it may not."""
    for why, rule in RULES.items():
        if rule(call, ours, theirs):
            return why
    texts = (str(call), str(call).removeprefix("ndarray.").removeprefix("linalg."))
    for why, patterns in ALONE.items():
        if any(fnmatchcase(text, pattern) for pattern in patterns for text in texts):
            return why
    return ""
