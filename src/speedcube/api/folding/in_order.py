"""``np.divide.reduce(x)`` and others whose order counts: one step for each entry of the axis."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from ...errors import DTypeError, ParameterError, UnsupportedError
from ...expr import build
from ..array import Array
from ..creation import full
from ..functions.floats import either
from ..joining import stack
from ..methods.keywords import first_value, mask_of
from ..methods.numpy_protocol import array_ufunc
from .lines import one_axis

_MOST: Final = 1024  # steps of one fold: each of them is an operation


def steps(ufunc: Any, given: Array, dtype: Any, axis: int, method: str) -> Iterator[Array]:
    """The entries along an axis, in the dtype in which they are folded."""
    whole = _resolved(ufunc, given, dtype)
    extent = whole.shape[axis]
    if extent > _MOST:
        raise UnsupportedError(
            f"numpy.{ufunc.__name__}.{method} of {extent} entries would be {extent} steps, and at "
            f"most {_MOST} are possible: compute the array first (x.compute())"
        )
    before = (slice(None),) * axis
    return (whole[(*before, place)] for place in range(extent))


def accumulated(ufunc: Any, given: Array, dtype: Any, axis: int) -> Array:
    """``ufunc.accumulate``, each result made of the one before."""
    made: list[Array] = []
    for entry in steps(ufunc, given, dtype, axis, "accumulate"):
        made.append(_next(ufunc, made[-1], entry) if made else entry)
    return stack(made, axis) if made else _resolved(ufunc, given, dtype)


def reduced(
    ufunc: Any, given: Array, dtype: Any, axis: Any, keepdims: bool, initial: Any, where: Any
) -> Array:
    """``ufunc.reduce`` along one axis, in its order, from ``initial`` on where that is given."""
    name = f"{ufunc.__name__}.reduce"
    if build.normalise_axes(axis, given.ndim):
        k = one_axis(name, axis, given.ndim)
    else:  # of no axis, or 0-d: each element is a line of its own
        where = where if where is True else mask_of(given, where).reshape((1, *given.shape))
        k, given, keepdims = 0, given.reshape((1, *given.shape)), False
    state: Array | None = None
    shape = tuple(n for place, n in enumerate(given.shape) if place != k)
    if initial is not None:
        kind = _resolved(ufunc, given, dtype)._expr.dtype
        state = full(shape, first_value(initial, kind), kind)
    elif where is not True:
        raise ParameterError(f"{name} has no identity: where= needs initial=")
    mask = None if where is True else mask_of(given, where)
    before = (slice(None),) * k
    for place, entry in enumerate(steps(ufunc, given, dtype, k, "reduce")):
        made = entry if state is None else _next(ufunc, state, entry)
        if mask is not None and state is not None:
            made = either(mask[(*before, place)], made, state)
        state = made
    if state is None:
        raise ParameterError(f"{name} of no elements has no value: axis {k} is empty")
    return state.reshape((*shape[:k], 1, *shape[k:])) if keepdims else state


def _next(ufunc: Any, state: Array, entry: Array) -> Array:
    made: Array = array_ufunc(state, ufunc, "__call__", state, entry)
    return made.astype(state.dtype)


def _resolved(ufunc: Any, given: Array, dtype: Any) -> Array:
    """What is folded, in the dtype of the results: NumPy's, by its own rule."""
    kinds = (None, np.dtype(given._expr.dtype), None)
    try:
        found = ufunc.resolve_dtypes(kinds, reduction=True)
    except TypeError as error:
        raise DTypeError(
            f"numpy.{ufunc.__name__} of {given.dtype} cannot be folded: its results differ"
        ) from error
    if len(set(found)) > 1 or (dtype is not None and found[-1] != np.dtype(dtype)):
        raise DTypeError(f"{ufunc.__name__} of {given.dtype} cannot be folded as {found[-1]}")
    return given.astype(found[-1])
