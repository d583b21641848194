"""``np.add.reduceat(x, indices)``: a ufunc of the elements between places."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...errors import AxisError, DTypeError, ParameterTypeError
from ..array import Array, array_of
from ..complexes.of_parts import complex_of
from ..functions.extremes import nanmax, nanmin
from ..functions.floats import either
from ..joining import stack
from ..methods.keywords import put
from ..methods.numpy_protocol import register
from ..namespace.axes import moveaxis
from ..scatter.segments import segmented
from ..take import take
from .in_order import accumulated, reduced
from .lines import OF_BOOL, one_axis, operand
from .reduce import REDUCED

_FEW: Final = 16  # ranges that are folded one by one
_SEGMENTS: Final = {"add": "add", "maximum": "max", "minimum": "min"}
_TRUTH: Final = {"logical_or": "max", "logical_and": "min"}
_WITHOUT_NAN: Final = {"fmax": nanmax, "fmin": nanmin}
_METHODS: Final = {
    "add": "sum",
    "multiply": "prod",
    "maximum": "max",
    "minimum": "min",
    "logical_or": "any",
    "logical_and": "all",
}


def reduceat(
    ufunc: Any, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Array:
    """``ufunc.reduceat(array, indices, axis)``; indices that are lazy are computed at once."""
    given = _widened(ufunc.__name__, array_of(array)) if dtype is None else operand(array, dtype)
    k = one_axis("reduceat", axis, given.ndim)
    starts = _checked(indices, given.shape[k])
    name = ufunc.__name__
    if given.dtype == bool:
        name = OF_BOOL.get(name, name)
    lines = moveaxis(given, k, 0)
    stops = np.append(starts[1:], given.shape[k])
    if name in _METHODS and len(starts) > _FEW and name not in _alone(given):
        found = _by_segments(name, lines, starts, np.maximum(stops, starts + 1))
    elif name in _METHODS or name in REDUCED or name in _WITHOUT_NAN:
        found = _one_by_one(name, lines, starts, stops)
    else:
        return put(out, moveaxis(_in_order(ufunc, lines, dtype, starts, stops), 0, k), name)
    kept = found if name.startswith("logical") else found.astype(given.dtype)
    return put(out, moveaxis(kept, 0, k), f"{name}.reduceat")


def _widened(name: str, given: Array) -> Array:
    """What is added or multiplied, narrow integers and bools as words, as NumPy has it."""
    if name not in ("add", "multiply") or given.dtype.kind not in "biu":
        return given
    return given.astype("uint64" if given.dtype.kind == "u" else "int64")


def _alone(given: Array) -> tuple[str, ...]:
    """What is folded for one range after the other."""
    return ("multiply", "maximum", "minimum") if given.dtype.kind == "c" else ("multiply",)


def _checked(indices: Any, extent: int) -> NDArray[np.int64]:
    known = type(indices) is np.ndarray and indices.dtype.kind in "iu"
    starts = indices if known else np.asarray(array_of(indices))
    if starts.ndim != 1:
        raise ParameterTypeError(f"reduceat takes indices of one axis, not {starts.ndim}")
    if starts.dtype.kind not in "iu" and starts.size:
        raise DTypeError(f"reduceat takes integers for indices, not {starts.dtype}")
    outside = starts[(starts < 0) | (starts >= extent)]
    if outside.size:
        raise AxisError(f"reduceat: index {int(outside[0])} is not among {extent} elements")
    return starts.astype(np.int64)


def _one_by_one(
    name: str, lines: Array, starts: NDArray[np.int64], stops: NDArray[np.int64]
) -> Array:
    if not len(starts):
        return lines[:0]
    found = []
    for first, end in zip(starts.tolist(), stops.tolist(), strict=True):
        part = lines[first : max(end, first + 1)]
        if len(part) == 1:
            found.append(part[0].astype(bool) if name.startswith("logical") else part[0])
        elif name in _METHODS:
            found.append(getattr(part, _METHODS[name])(0))
        elif name in _WITHOUT_NAN:
            found.append(_WITHOUT_NAN[name](part, 0))
        else:
            found.append(REDUCED[name](name, part, 0, False))
    return stack(found)


def _in_order(
    ufunc: Any, lines: Array, dtype: Any, starts: NDArray[np.int64], stops: NDArray[np.int64]
) -> Array:
    """Of a ufunc whose order counts: each range by as many steps as it has elements."""
    ends = np.maximum(stops, starts + 1).tolist()
    parts = [lines[first:end] for first, end in zip(starts.tolist(), ends, strict=True)]
    found = [reduced(ufunc, part, dtype, 0, False, None, True) for part in parts]
    return stack(found) if found else accumulated(ufunc, lines[:0], dtype, 0)


def _by_segments(
    name: str, lines: Array, starts: NDArray[np.int64], stops: NDArray[np.int64]
) -> Array:
    """All ranges at once: their elements, one range after the other, and the number of each."""
    lengths = stops - starts
    count = len(starts)
    numbers = np.repeat(np.arange(count), lengths)
    if (starts[1:] == stops[:-1]).all():  # as they nearly always lie
        elements = lines[int(starts[0]) :]
    else:
        before = np.cumsum(lengths) - lengths
        places = np.arange(int(lengths.sum())) - before[numbers] + starts[numbers]
        elements = take(lines, array_of(places), 0)
    ids = array_of(numbers)
    if name in _TRUTH:
        truth = either(elements.astype(bool), 1, 0).astype("uint8")
        return segmented(_TRUTH[name], truth, ids, count).astype(bool)
    if elements.dtype.kind == "c":
        parts = (segmented("add", x, ids, count) for x in (elements.real, elements.imag))
        return complex_of(*parts)
    return segmented(_SEGMENTS[name], elements, ids, count)


register({"reduceat": reduceat})
