"""What Fourier transforms have in common: what they take, checked, and the routine called."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from .. import dtypes
from ..api.array import Array, array_of
from ..api.methods.keywords import put
from ..errors import AxisError, DTypeError, ParameterError, ParameterTypeError
from ..expr.nodes import Shape
from ..expr.pairs.node import filled, is_pair, of_pairs_in, parts
from ..expr.routines.row import called
from ..expr.routines.table import ROUTINES

NORMS: Final = ("backward", "ortho", "forward")
REAL_INPUT: Final = frozenset(("rfft", "ihfft", "rfftn"))
REAL_OUTPUT: Final = frozenset(("irfft", "hfft", "irfftn"))


def transformed(name: str, a: Any, shape: Shape, out: Any, *given: Any) -> Array:
    """What routine ``name`` makes of ``a``: an array of ``shape``."""
    x = array_of(a)
    dtype = x._expr.dtype
    check_input(name, x)
    pair = is_pair(x._expr)
    exprs = parts(x._expr) if pair else (x._expr,)
    axes = given[1] if isinstance(given[1], tuple) else (given[1],)
    part = _part_of(name, dtype, len(axes))
    is_real = name in REAL_OUTPUT
    room = shape if is_real else (*shape, 2)
    (leaf,) = called(ROUTINES[name], exprs, [room], part, given, (pair,))
    result = Array(leaf if is_real else of_pairs_in(leaf), gpu=x._gpu)
    return result if out is None else put(out, result, name)


def of_nothing(name: str, x: Array, shape: Shape, out: Any, axes: int) -> Array:
    """The transform of an axis without elements: zeros, of ``shape``."""
    check_input(name, x)
    part = _part_of(name, x._expr.dtype, axes)
    dtype = part if name in REAL_OUTPUT else dtypes.OF_PARTS[part]
    made = Array(filled(0, dtype, shape), gpu=x._gpu)
    return made if out is None else put(out, made, name)


def check_input(name: str, x: Array) -> None:
    """Refuse complex numbers for a transform of real ones."""
    if name in REAL_INPUT and x._expr.dtype in dtypes.COMPLEX:
        raise DTypeError(
            f"{name} takes real numbers, not {x._expr.dtype}: give it x.real, or use fft"
        )


@cache
def _part_of(name: str, dtype: str, axes: int) -> str:
    """The dtype of the real numbers in what ``name`` makes along ``axes`` of ``dtype``: NumPy's."""
    one = getattr(np.fft, name)(np.ones((2,) * axes, dtype))
    return str(one.real.dtype)


def checked_norm(name: str, norm: Any) -> str:
    """``norm`` as NumPy's text."""
    if norm is not None and norm not in NORMS:
        raise ParameterError(f"{name}: norm must be one of {NORMS}, not {norm!r}")
    return norm or "backward"


def checked_axis(name: str, ndim: int, axis: Any) -> int:
    """``axis`` counted from the front."""
    try:
        k = operator.index(axis)
    except TypeError as err:
        raise ParameterTypeError(f"{name}: axis must be an integer, not {axis!r}") from err
    if not -ndim <= k < ndim:
        raise AxisError(f"{name}: axis {k} is out of range for an array of {ndim} axes")
    return k % ndim


def checked_points(name: str, n: Any) -> int:
    """A number of points, which there has to be one of."""
    try:
        if isinstance(n, bool):
            raise TypeError(n)
        count = operator.index(n)
    except TypeError as err:
        raise ParameterTypeError(f"{name}: n must be an integer, not {n!r}") from err
    if count < 1:
        raise ParameterError(f"{name} needs at least one point, not {count}")
    return count


def checked_sizes(
    name: str, shape: Shape, s: Any, axes: Any, last: int = 0
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The points along each of the axes that are transformed, and those; ``last``: half of one."""
    if axes is None:
        count = len(shape) if s is None else len(tuple(s))
        axes = range(-count, 0)
    chosen = tuple(checked_axis(name, len(shape), k) for k in _sequence(name, axes))
    sizes: list[Any] = [None] * len(chosen) if s is None else list(_sequence(name, s))
    if len(sizes) != len(chosen):
        raise ParameterError(f"{name}: s has {len(sizes)} sizes, and there are {len(chosen)} axes")
    if last and sizes and sizes[-1] is None:
        sizes[-1] = 2 * (shape[chosen[-1]] - 1)
    whole = (None, -1)
    sizes = [shape[k] if n in whole else n for n, k in zip(sizes, chosen, strict=True)]
    return tuple(checked_points(name, n) for n in sizes), chosen


def _sequence(name: str, values: Any) -> Sequence[Any]:
    try:
        return tuple(values)
    except TypeError as err:
        raise ParameterTypeError(f"{name}: s and axes are sequences, not {values!r}") from err
