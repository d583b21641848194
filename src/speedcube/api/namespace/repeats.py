"""NumPy's functions that repeat an array's elements or turn them round."""

from __future__ import annotations

import math
import operator
from typing import Any, Final

import numpy as np

from ...errors import (
    AxisError,
    AxisTypeError,
    DTypeError,
    MemoryLimitError,
    ParameterError,
    ParameterTypeError,
)
from ...expr import build
from ...expr.piecewise.build import rolled
from ..array import Array, array_of
from ..creation import full
from ..joining import concatenate
from ..methods.keywords import as_axes
from ..shapes import broadcast_to
from ..take import take

_FEW: Final = 32  # indices whose repetitions are regions of one kernel


def roll(a: Any, shift: Any, axis: Any = None) -> Array:
    """Move elements round: what leaves at one end enters at the other.

    Parameters
    ----------
    a : array
        The values.
    shift : int or tuple of int
        By how many places; less than zero moves back.
    axis : int or tuple of int, optional
        Along which axes; in C order through all of them where it is left out.

    Returns
    -------
    Array
        The same elements at other places.

    Raises
    ------
    ValueError
        If there are neither one shift nor one for each axis.

    Examples
    --------
    >>> sc.roll(sc.arange(5), 2).compute()
    array([3, 4, 0, 1, 2])
    """
    array = array_of(a)
    shifts = _integers("shift", shift)
    if axis is None:
        options = f"{shift}"
        line = rolled(array.reshape(-1)._expr, {0: sum(shifts)}, options)
        return array._view(line, None).reshape(array.shape)
    axes = [build.check_axis(k, array.ndim) for k in _listed(as_axes(axis))]
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
    value = value.tolist() if hasattr(value, "tolist") else value  # arrays, ours too
    try:
        return [operator.index(one) for one in _listed(value)]
    except TypeError as err:
        raise ParameterTypeError(f"{name} must be an integer or several, not {value!r}") from err


def _truncated(repeats: Any) -> Any:
    """Floats that are finite without their fractions, as NumPy casts them."""
    try:
        given = np.asarray(repeats) if isinstance(repeats, (float, list, tuple)) else repeats
    except ValueError:
        raise ParameterError(f"repeats={repeats!r}: its lists differ in length") from None
    floats = isinstance(given, (np.ndarray, np.floating)) and given.dtype.kind == "f"
    return given.astype(np.int64) if floats and np.isfinite(given).all() else repeats


def _counts(repeats: Any) -> Any:
    """Several numbers, as a list; many that are in an array stay there."""
    if not isinstance(repeats, np.ndarray) or repeats.size <= _FEW or repeats.dtype == np.uint64:
        return _integers("repeats", repeats)
    return repeats.astype(np.int64)


def repeat(a: Any, repeats: Any, axis: int | None = None) -> Array:
    """Repeat each element, or each index of an axis.

    Parameters
    ----------
    a : array
        The values.
    repeats : int, or sequence of int
        How often: one number, or one for each; of floats the whole part. Those that are lazy are
        computed at once.
    axis : int, optional
        Along which axis; all elements in C order where it is left out.

    Returns
    -------
    Array
        The repeated elements; nothing is copied.

    Raises
    ------
    ValueError
        If a number is negative, or there are not as many as indices.

    Examples
    --------
    >>> sc.repeat(sc.arange(3), [1, 0, 2]).compute()
    array([0, 2, 2])
    """
    array = array_of(a)
    if axis is None:
        array, axis = array.reshape(-1), 0
    array = array if array.ndim else array.reshape(1)  # as NumPy has it
    k = build.check_axis(axis, array.ndim)
    if isinstance(repeats, Array):
        repeats = np.asarray(repeats)  # their sum is the length
    if isinstance(repeats, np.ndarray) and repeats.ndim > 1:
        raise ParameterError(f"repeats are one number or a line, not of shape {repeats.shape}")
    if isinstance(repeats, np.ndarray) and repeats.dtype.kind not in "iub":
        raise DTypeError(f"repeats are integers, not {repeats.dtype}")
    counts = _counts(_truncated(repeats))
    if len(counts) and np.min(counts) < 0:
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
    if extent <= _FEW:
        before = (slice(None),) * k
        each = (array[(*before, slice(j, j + 1))] for j in range(extent))
        sizes = ((*array.shape[:k], n, *array.shape[k + 1 :]) for n in counts)
        parts = [
            broadcast_to(one, build.check_shape(n)) for one, n in zip(each, sizes, strict=True)
        ]
        return concatenate(parts, k) if parts else array
    try:
        places = np.repeat(np.arange(extent), np.asarray(counts, np.int64))
    except (MemoryError, ValueError, OverflowError) as err:
        total = sum(map(int, counts))
        raise MemoryLimitError(
            f"repeat: {total} places do not fit in memory; one number for all needs none"
        ) from err
    return take(array, places, k)


def tile(A: Any, reps: Any) -> Array:
    """Put an array side by side with itself.

    Parameters
    ----------
    A : array
        The values.
    reps : int or tuple of int
        How often along each axis; new axes go in front.

    Returns
    -------
    Array
        The repeated array; nothing is copied.

    Raises
    ------
    ValueError
        If a number is negative.

    Examples
    --------
    >>> sc.tile(sc.arange(2), (2, 2)).compute()
    array([[0, 1, 0, 1],
           [0, 1, 0, 1]])
    """
    array = array_of(A)
    counts = _integers("reps", reps)
    if any(n < 0 for n in counts):
        raise ParameterError(f"reps must be 0 or more, not {reps!r}")
    ndim = max(array.ndim, len(counts))
    counts = [1] * (ndim - len(counts)) + counts
    array = array[(None,) * (ndim - array.ndim)] if array.ndim < ndim else array
    if all(n == 1 for n in counts):
        return array._view(array._expr, array._grid)  # another one, to be assigned to
    shape = tuple(n for pair in zip(counts, array.shape, strict=True) for n in pair)
    build.check_shape(shape)
    spread = broadcast_to(array[(None, slice(None)) * ndim], shape)
    return spread.reshape(tuple(math.prod(pair) for pair in zip(counts, array.shape, strict=True)))


def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Array:
    """Turn an array by quarters in a plane.

    Parameters
    ----------
    m : array
        An array of two axes or more.
    k : int
        By how many quarters.
    axes : pair of int
        The plane: turned from the first axis to the second.

    Returns
    -------
    Array
        A view of the same elements.

    Raises
    ------
    ValueError
        If they are not two different axes.

    Examples
    --------
    >>> sc.rot90(sc.asarray([[1, 2], [3, 4]])).compute()
    array([[2, 4],
           [1, 3]])
    """
    array = array_of(m)
    plane = as_axes(axes)
    if not isinstance(plane, tuple) or len(plane) != 2:
        raise AxisTypeError(f"rot90 takes two axes, not {axes!r}")
    first, second = (build.check_axis(one, array.ndim) for one in plane)
    if first == second:
        raise AxisError(f"rot90 takes two different axes, not {axes!r}")
    (quarters,) = _integers("k", k)
    if quarters % 4 in (1, 3):
        array = array.swapaxes(first, second)
    backwards = {1: (first,), 2: (first, second), 3: (second,)}.get(quarters % 4, ())
    return array[tuple(slice(None, None, -1 if a in backwards else 1) for a in range(array.ndim))]


def resize(a: Any, new_shape: Any) -> Array:
    """Give an array another size: its elements again from the first, as often as they are needed.

    Parameters
    ----------
    a : array
        The values.
    new_shape : int or tuple of int
        The sizes.

    Returns
    -------
    Array
        The elements in C order; zeros where there are none.

    Raises
    ------
    ValueError
        If a size is negative.

    Examples
    --------
    >>> sc.resize(sc.arange(3), (2, 2)).compute()
    array([[0, 1],
           [2, 0]])
    """
    x = array_of(a).ravel()
    shape = build.check_shape(new_shape)
    size = math.prod(shape)
    if not size or not x.size:
        return full(shape, 0, x.dtype)
    return tile(x, -(-size // x.size))[:size].reshape(shape)
