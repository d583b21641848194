"""`pad`: elements round an array."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ... import dtypes
from ...errors import ParameterError, ParameterTypeError, UnsupportedError
from ...expr import build
from ...expr.piecewise.build import MODES, padded, surrounded
from ..array import Array, array_of
from . import sides

# The keywords of each mode of `pad`.
_KEYWORDS: Final[dict[str, tuple[str, ...]]] = {
    "constant": ("constant_values",),
    "edge": (),
    "empty": (),
    "linear_ramp": ("end_values",),
    "maximum": ("stat_length",),
    "mean": ("stat_length",),
    "median": ("stat_length",),
    "minimum": ("stat_length",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
    "wrap": (),
}

# More turns than this along an axis are elements at computed places, fewer are views.
_TURNS: Final = 64


def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Array:
    """Put elements round an array.

    Parameters
    ----------
    array : array
        The values.
    pad_width : int, pair of int, a pair for each axis, or a dict of axes
        How many elements go before and behind each axis.
    mode : str or callable
        ``"constant"``, ``"edge"``, ``"wrap"``, ``"reflect"``, ``"symmetric"``, ``"linear_ramp"``,
        ``"maximum"``, ``"mean"`` (exact, rounded once), ``"median"``, ``"minimum"`` or ``"empty"``
        (zeros). A function is called by NumPy with each line of the values, which are computed at
        once.
    **kwargs : optional
        ``constant_values``, ``end_values``, ``stat_length`` and ``reflect_type``, as NumPy has
        them.

    Returns
    -------
    Array
        Where it is read, each region is computed from what lies there.

    Raises
    ------
    ValueError
        If there is no such mode or keyword of it, or an axis is empty that elements are taken from.

    Examples
    --------
    >>> sc.pad(sc.arange(3), (1, 2), mode="edge").compute()
    array([0, 0, 1, 2, 2, 2])
    """
    x = array_of(array)
    if callable(mode):
        return array_of(sides.called(x, pad_width, mode, kwargs))
    _check_keywords(mode, kwargs)
    widths = _widths(pad_width, x.ndim)
    options = f"{pad_width}, mode={mode!r}" if mode != "constant" else f"{pad_width}"
    if mode in MODES and kwargs.get("reflect_type", "even") == "even":
        for axis, (n, pair) in enumerate(zip(x.shape, widths, strict=True)):
            if mode != "edge" and sum(pair) > _TURNS * n > 0:
                x = sides.turned(x, axis, pair, mode)
                widths[axis] = (0, 0)
        return x._view(padded(x._expr, mode, widths, options), None)
    if mode in ("constant", "empty"):
        values = _values(kwargs.get("constant_values", 0), x)
        return x._view(surrounded(x._expr, values, widths, options), None)
    if mode == "linear_ramp":
        ends = _pairs("end_values", kwargs.get("end_values", 0), x.ndim)
        return sides.by_axes(x, widths, ends, sides.ramps)
    if mode in sides.STATISTICS:
        lengths = _lengths(kwargs.get("stat_length"), x.ndim)
        return sides.by_axes(x, widths, lengths, sides.statistic(mode))
    return sides.by_axes(x, widths, [(0, 0)] * x.ndim, sides.mirrored(mode))


def _check_keywords(mode: Any, kwargs: dict[str, Any]) -> None:
    if mode not in _KEYWORDS:
        raise ParameterError(f"pad has no mode {mode!r}: it takes {', '.join(_KEYWORDS)}")
    for name, value in kwargs.items():
        if name not in _KEYWORDS[mode]:
            listed = ", ".join(f"{one}=" for one in _KEYWORDS[mode])
            raise ParameterError(
                f"pad with mode={mode!r} takes {listed or 'no keyword'}, not {name}={value!r}"
            )
    if kwargs.get("reflect_type", "even") not in ("even", "odd"):
        raise ParameterError(f"reflect_type is 'even' or 'odd', not {kwargs['reflect_type']!r}")


def _lengths(given: Any, ndim: int) -> Any:
    """How many elements at each end of each axis go into a statistic (None: all)."""
    if given is None:
        return [(None, None)] * ndim
    pairs = _pairs("stat_length", given, ndim)
    for n in (n for pair in pairs for n in pair if n is not None):
        if build.check_integer("stat_length", n) < 0:
            raise ParameterError(f"stat_length must be 0 or more, not {given!r}")
    return pairs


def _widths(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    """How many elements go before and behind each axis."""
    if type(pad_width) is int and pad_width >= 0:  # as nearly always
        return [(pad_width, pad_width)] * ndim
    if isinstance(pad_width, dict):
        pairs: list[Any] = [(0, 0)] * ndim
        for axis, width in pad_width.items():
            pairs[build.check_axis(axis, ndim)] = np.broadcast_to(width, (2,)).tolist()
        pad_width = pairs
    widths = np.asarray(pad_width)
    if widths.dtype.kind not in "iu" and (widths.size or not ndim):
        raise ParameterTypeError(f"pad_width must be integers, not {pad_width!r}")
    if (widths < 0).any():
        raise ParameterError(
            f"pad_width must be 0 or more, not {pad_width!r}: to remove elements, slice"
        )
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
    if type(constants) is int and not constants and array.dtype.kind in "iuf":  # as nearly always
        zero: float = 0.0 if array.dtype.kind == "f" else 0
        return [(zero, zero)] * array.ndim
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
