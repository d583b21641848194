"""NumPy's functions that repeat, turn round or surround an array's elements."""

from __future__ import annotations

import math
import operator
from typing import Any, Final

import numpy as np

from .. import dtypes
from ..errors import AxisError, ParameterError, ParameterTypeError, UnsupportedError
from ..expr import build
from ..expr.piecewise.build import MODES, padded, rolled, surrounded
from .array import Array, array_of
from .shapes import broadcast_to
from .take import take

# The keywords of each mode of `pad`, with what they must be (None: what they like).
_KEYWORDS: Final[dict[str, dict[str, Any]]] = {
    "constant": {"constant_values": None},
    "empty": {},
    "edge": {},
    "wrap": {},
    "reflect": {"reflect_type": "even"},
    "symmetric": {"reflect_type": "even"},
}


def pad(x: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Array:
    """``x`` with elements round it, as many as `numpy.pad` takes ``pad_width`` to say.

    Modes are constant (``constant_values``), edge, wrap, reflect, symmetric and empty (zeros).
    """
    array = array_of(x)
    if mode not in _KEYWORDS:
        raise UnsupportedError(
            f"pad has no mode {mode!r}: it takes {', '.join(_KEYWORDS)}; others with concatenate, "
            "or compute it first (x.compute())"
        )
    for name, value in kwargs.items():
        allowed = _KEYWORDS[mode]
        if name not in allowed or (allowed[name] is not None and value != allowed[name]):
            listed = ", ".join(f"{k}={v!r}" if v else f"{k}=" for k, v in allowed.items())
            raise UnsupportedError(
                f"pad with mode={mode!r} takes {listed or 'no keyword'}, not {name}={value!r}"
            )
    pads = _widths(pad_width, array.ndim)
    options = f"{pad_width}, mode={mode!r}" if mode != "constant" else f"{pad_width}"
    if mode in MODES:
        return array._view(padded(array._expr, mode, pads, options), None)
    values = _values(kwargs.get("constant_values", 0), array)
    return array._view(surrounded(array._expr, values, pads, options), None)


def _widths(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    """How many elements go before and behind each axis."""
    if isinstance(pad_width, dict):
        pairs: list[Any] = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            pairs[build.check_axis(axis, ndim)] = np.broadcast_to(width, (2,)).tolist()
        pad_width = pairs
    widths = np.asarray(pad_width)
    if widths.dtype.kind not in "iu" and (widths.size or not ndim):
        raise ParameterTypeError(f"pad_width must be integers, not {pad_width!r}")
    if (widths < 0).any():
        raise ParameterError(f"pad_width must be 0 or more, not {pad_width!r}: a slice takes away")
    return [(int(a), int(b)) for a, b in _pairs("pad_width", widths, ndim)]


def _pairs(name: str, values: Any, ndim: int) -> Any:
    try:
        return np.broadcast_to(values, (ndim, 2)).tolist()
    except ValueError as err:
        raise ParameterError(
            f"{name} takes one value, (before, behind), or such a pair for each of {ndim} axes, "
            f"not an array of shape {np.shape(values)}"
        ) from err


def _values(constants: Any, array: Array) -> list[tuple[float, float]]:
    """What is put before and behind each axis, in the dtype of ``array``."""
    if isinstance(constants, Array):
        raise UnsupportedError("pad takes numbers as constant_values: see concatenate for arrays")
    given = np.asarray(constants)
    dtypes.check(given.dtype)
    with np.errstate(all="ignore"):
        held = np.empty(given.shape, array.dtype)
        try:
            held[...] = constants
        except OverflowError as err:
            raise ParameterError(f"pad: {constants!r} does not fit {array.dtype}") from err
    return [(a, b) for a, b in _pairs("constant_values", held, array.ndim)]


def roll(x: Any, shift: Any, axis: Any = None) -> Array:
    """``x`` moved by ``shift`` places along ``axis``; what leaves at one end enters at the other.

    Without an axis, elements move in C order. Several axes take a shift each, or the same one.
    """
    array = array_of(x)
    shifts = _integers("shift", shift)
    if axis is None:
        options = f"{shift}"
        line = rolled(array.reshape(-1)._expr, {0: sum(shifts)}, options)
        return array._view(line, None).reshape(array.shape)
    axes = [build.check_axis(k, array.ndim) for k in _listed(axis)]
    if 1 not in (len(shifts), len(axes)) and len(shifts) != len(axes):
        raise ParameterError(
            f"roll takes a shift for each axis, or one: {len(shifts)} shifts and {len(axes)} axes"
        )
    count = max(len(shifts), len(axes)) if shifts and axes else 0
    total: dict[int, int] = {}
    for k in range(count):
        where = axes[k % len(axes)]
        total[where] = total.get(where, 0) + shifts[k % len(shifts)]
    return array._view(rolled(array._expr, total, f"{shift}, axis={axis}"), array._grid)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list, np.ndarray)) else [value]


def _integers(name: str, value: Any) -> list[int]:
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]
    try:
        return [operator.index(one) for one in _listed(value)]
    except TypeError as err:
        raise ParameterTypeError(f"{name} must be an integer or several, not {value!r}") from err


def repeat(x: Any, repeats: Any, axis: int | None = None) -> Array:
    """Each element of ``x``, or each index of ``axis``, ``repeats`` times: one number, or a list.

    Without an axis, elements are taken in C order.
    """
    array = array_of(x)
    if axis is None:
        array, axis = array.reshape(-1), 0
    k = build.check_axis(axis, array.ndim)
    if isinstance(repeats, Array):
        raise UnsupportedError(
            "repeat takes integers that are known: their sum is the length (repeats.compute())"
        )
    counts = _integers("repeats", repeats)
    if any(n < 0 for n in counts):
        raise ParameterError(f"repeats must be 0 or more, not {repeats!r}")
    extent = array.shape[k]
    if len(counts) == 1:
        shape = (*array.shape[: k + 1], counts[0], *array.shape[k + 1 :])
        build.check_shape(shape)
        several = broadcast_to(array[(slice(None),) * (k + 1) + (None,)], shape)
        return several.reshape((*array.shape[:k], extent * counts[0], *array.shape[k + 1 :]))
    if len(counts) != extent:
        raise ParameterError(
            f"repeat takes one number, or one for each of {extent} indices of axis {k}, not "
            f"{len(counts)}"
        )
    return take(array, np.repeat(np.arange(extent), counts), k)


def tile(x: Any, reps: Any) -> Array:
    """``x`` side by side with itself, ``reps`` times along each axis; new axes go in front."""
    array = array_of(x)
    counts = _integers("reps", reps)
    if any(n < 0 for n in counts):
        raise ParameterError(f"reps must be 0 or more, not {reps!r}")
    ndim = max(array.ndim, len(counts))
    counts = [1] * (ndim - len(counts)) + counts
    array = array[(None,) * (ndim - array.ndim)] if array.ndim < ndim else array
    if all(n == 1 for n in counts):
        return array
    shape = tuple(n for pair in zip(counts, array.shape, strict=True) for n in pair)
    build.check_shape(shape)
    spread = broadcast_to(array[(None, slice(None)) * ndim], shape)
    return spread.reshape(tuple(math.prod(pair) for pair in zip(counts, array.shape, strict=True)))


def rot90(x: Any, k: int = 1, axes: Any = (0, 1)) -> Array:
    """``x`` turned by ``k`` quarters in the plane of ``axes``, from the first to the second."""
    array = array_of(x)
    if len(axes) != 2:
        raise AxisError(f"rot90 takes two axes, not {axes!r}")
    first, second = (build.check_axis(one, array.ndim) for one in axes)
    if first == second:
        raise AxisError(f"rot90 takes two different axes, not {axes!r}")
    (quarters,) = _integers("k", k)
    if quarters % 4 in (1, 3):
        array = array.swapaxes(first, second)
    backwards = {1: (first,), 2: (first, second), 3: (second,)}.get(quarters % 4, ())
    return array[tuple(slice(None, None, -1 if a in backwards else 1) for a in range(array.ndim))]
