"""Files interpolated along an axis, block after block: two neighbours of each place, no more.

A block stays as it lies in the file: xarray moves the axis to the end, which would copy it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial, wraps
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...api.array import Array
from ...api.blocks import map_blocks
from ...api.namespace.axes import moveaxis
from ...expr.nodes import Leaf

Line: TypeAlias = NDArray[np.float64]
_SLAB: Final = 1 << 16  # elements


def with_lines(theirs: Callable[..., Any]) -> Callable[..., Any]:
    """What xarray calls for one step of ``interp``, which leaves straight lines of ours to us.

    SciPy's `interp1d` copies a block three times. The numbers are its own, bit for bit.
    """

    @wraps(theirs)
    def interpolate_variable(
        var: Any, indexes_coords: Any, *, method: Any, kwargs: dict[str, Any]
    ) -> Any:
        found = None
        if method == "linear" and not kwargs and isinstance(var._data, Array):
            found = _along_last(var, indexes_coords)
        given = {"method": method, "kwargs": kwargs}
        return theirs(var, indexes_coords, **given) if found is None else found

    return interpolate_variable


def _along_last(var: Any, indexes_coords: Any) -> Any:
    """``var`` at new places of its last axis; None where these are no plain lines of floats."""
    if len(indexes_coords) != 1 or var.dtype.kind != "f":
        return None
    ((name, (old, new)),) = indexes_coords.items()
    if name != var.dims[-1] or new.ndim != 1 or (new.dims[0] in var.dims[:-1]):
        return None
    places = [one._data if hasattr(one, "_data") else one for one in (old, new)]
    lines = [np.asarray(one) for one in places if not isinstance(one, Array)]
    if len(lines) < 2 or any(one.dtype.kind not in "fiu" for one in lines):
        return None
    x, at = (one.astype("float64") for one in lines)
    if len(x) < 2 or not len(at) or not (np.diff(x) > 0).all() or not np.isfinite(x).all():
        return None
    data = _lines_of(var._data, x, at)
    return type(var)((*var.dims[:-1], new.dims[0]), data, var.attrs)


def _lines_of(data: Array, x: Line, at: Line) -> Array:
    """``data``, whose last axis lies at ``x``, at the places ``at``; its blocks are made whole."""
    axis = _lies_behind(data)
    lying = moveaxis(data, -1, axis)
    lying = lying.rechunk({axis: -1})
    chunks = tuple((len(at),) if k == axis else one for k, one in enumerate(lying.chunks))
    meta = np.empty((0,) * data.ndim, data.dtype)
    line = partial(between, x=x, at=at, axis=axis)
    made = map_blocks(line, lying, dtype=data.dtype, chunks=chunks, meta=meta)
    return moveaxis(made, axis, -1)


def _lies_behind(data: Array) -> int:
    """How many axes of ``data`` the last one lies behind where the elements are."""
    expr = data._expr
    if not isinstance(expr, Leaf):
        return data.ndim - 1
    return sum(step > expr.strides[-1] for step in expr.strides[:-1])


def between(values: NDArray[Any], x: Line, at: Line, axis: int) -> NDArray[Any]:
    """``values``, which lie at ``x`` along ``axis``, at the places ``at``; outside NaN."""
    above = np.searchsorted(x, at).clip(1, len(x) - 1)
    below = above - 1
    along = (-1, *(1,) * (values.ndim - 1 - axis))
    far, steps = (x[above] - x[below]).reshape(along), (at - x[below]).reshape(along)
    outside = (slice(None),) * axis + (~((at >= x[0]) & (at <= x[-1])),)
    shape = (*values.shape[:axis], len(at), *values.shape[axis + 1 :])
    made = np.empty(shape, values.dtype)
    for some in _slabs(values.shape, axis):
        low, slope = (values[some].take(places, axis=axis) for places in (below, above))
        slope -= low
        line = slope / far
        line *= steps
        line += low
        line[outside] = np.nan
        made[some] = line
    return made


def _slabs(shape: tuple[int, ...], axis: int) -> Iterator[slice]:
    """Some of the first axis each, whose numbers stay in a core's cache."""
    if not axis or not math.prod(shape):
        yield slice(None)
        return
    step = max(1, _SLAB // math.prod(shape[1:]))
    yield from (slice(k, k + step) for k in range(0, shape[0], step))
