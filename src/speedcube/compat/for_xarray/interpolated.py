"""Files interpolated along an axis, block after block: two neighbours of each place, no more."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...api.array import Array
from ...api.blocks import apply_gufunc

Line: TypeAlias = NDArray[np.float64]


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
    data = apply_gufunc(
        partial(between, x=x, at=at),
        "(i)->(j)",
        var._data,
        output_dtypes=[var.dtype],
        output_sizes={"j": len(at)},
        allow_rechunk=True,
    )
    return type(var)((*var.dims[:-1], new.dims[0]), data, var.attrs)


def between(values: NDArray[Any], x: Line, at: Line) -> NDArray[Any]:
    """``values`` along their last axis, which lie at ``x``, at the places ``at``; outside NaN."""
    above = np.searchsorted(x, at).clip(1, len(x) - 1)
    below = above - 1
    low = values.take(below, axis=-1)
    slope = (values.take(above, axis=-1) - low) / (x[above] - x[below])
    slope *= at - x[below]
    slope += low
    slope[..., ~((at >= x[0]) & (at <= x[-1]))] = np.nan
    return np.asarray(slope.astype(values.dtype, copy=False))
