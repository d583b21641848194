"""What xarray and flox have no door for, so that they have to be told: grids, points, groups."""

from __future__ import annotations

import sys
from functools import wraps
from typing import Any, Final

import numpy as np
from xarray.backends.zarr import ZarrStore
from xarray.core import duck_array_ops, missing
from xarray.core.dataset import Dataset
from xarray.core.dtypes import NA
from xarray.core.groupby import GroupBy
from xarray.core.indexing import ArrayApiIndexingAdapter
from xarray.core.variable import Variable

from ...api.array import Array
from ...api.grouping import groupby_reduce
from ...api.take import take
from .fits import fitted
from .interpolated import with_lines

# Where xarray has its own function of fits, by versions.
_FITTING: Final = ("xarray.core.duck_array_ops", "xarray.computation.fit", "xarray.core.dataset")


def teach() -> None:
    """Tell xarray how our arrays are cut and read at points, and flox how grouped; once."""
    if not hasattr(ArrayApiIndexingAdapter._vindex_get, "__wrapped__"):
        ArrayApiIndexingAdapter._vindex_get = _with_points(ArrayApiIndexingAdapter._vindex_get)
        GroupBy._flox_reduce = _with_flox(GroupBy._flox_reduce)
        for kind in (Dataset, Variable):
            kind.chunk = _with_own_grid(kind.chunk)
        ZarrStore.set_variables = _with_even_grids(ZarrStore.set_variables)
        missing.interpolate_variable = with_lines(missing.interpolate_variable)
        theirs = duck_array_ops.least_squares
        for name in _FITTING:
            module: Any = sys.modules.get(name)
            if getattr(module, "least_squares", None) is theirs:
                module.least_squares = _with_fits(theirs)


def _with_fits(theirs: Any) -> Any:
    """``polyfit`` of our arrays is sums of products: NumPy's would read all into memory."""

    @wraps(theirs)
    def least_squares(lhs: Any, rhs: Any, rcond: Any = None, skipna: bool = False) -> Any:
        if isinstance(rhs, Array) and not skipna and rhs.dtype.kind in "biuf":
            return fitted(lhs, rhs, rcond)
        return theirs(lhs, rhs, rcond=rcond, skipna=skipna)

    return least_squares


def _with_own_grid(theirs: Any) -> Any:
    """``chunk()`` cuts for Dask where nobody says otherwise; our arrays stay what they are.

    So does what lies beside them in a dataset: xarray mixes no two kinds of chunks.
    """

    @wraps(theirs)
    def chunk(self: Any, *args: Any, **kwargs: Any) -> Any:
        variables = self._variables.values() if isinstance(self, Dataset) else [self]
        if any(isinstance(one._data, Array) for one in variables):
            kwargs["chunked_array_type"] = "speedcube"
        return theirs(self, *args, **kwargs)

    return chunk


def _with_even_grids(theirs: Any) -> Any:
    """``to_zarr`` refuses chunks that borders of Dask's cut; ours are cut as it needs them.

    Whoever writes whole arrays: of what is appended or put into a region xarray knows the borders.
    """

    @wraps(theirs)
    def set_variables(self: Any, variables: Any, *args: Any, **kwargs: Any) -> Any:
        if not (getattr(self, "_write_region", None) or getattr(self, "_append_dim", None)):
            variables = {name: _cut_for_zarr(one) for name, one in variables.items()}
        return theirs(self, variables, *args, **kwargs)

    return set_variables


def _cut_for_zarr(variable: Any) -> Any:
    """``variable`` in a grid that Zarr's chunks lie in: those it is to have, or even ones."""
    data = variable._data
    if not isinstance(data, Array) or 0 in data.shape:
        return variable
    told = variable.encoding.get("shards") or variable.encoding.get("chunks")
    wanted = tuple(max(along) for along in data.chunks) if told is None else told
    sizes = (wanted,) * data.ndim if isinstance(wanted, int) else wanted
    if not isinstance(sizes, tuple) or len(sizes) != data.ndim:
        return variable  # xarray says what is wrong with it
    if not all(isinstance(n, int) and n > 0 for n in sizes):
        return variable
    return variable.copy(deep=False, data=data.rechunk(sizes))


def _with_points(theirs: Any) -> Any:
    """Points, which xarray refuses in arrays of the Array API, and ours have."""

    @wraps(theirs)
    def points(self: Any, indexer: Any) -> Any:
        array, key = self.array, indexer.tuple
        if not isinstance(array, Array):
            return theirs(self, indexer)
        if len(key) == 1 and isinstance(key[0], Array):
            return take(array, key[0], axis=0)
        return array.vindex[key]

    return points


def _with_flox(theirs: Any) -> Any:
    """Flox is told where xarray imports it, which is when it first needs it."""

    @wraps(theirs)
    def reduced(self: Any, *args: Any, **kwargs: Any) -> Any:
        import flox.xarray

        if not hasattr(flox.xarray.groupby_reduce, "__wrapped__"):
            flox.xarray.groupby_reduce = _with_groups(flox.xarray.groupby_reduce)
        return theirs(self, *args, **kwargs)

    return reduced


def _with_groups(theirs: Any) -> Any:
    @wraps(theirs)
    def groups(array: Any, *by: Any, **kwargs: Any) -> Any:
        if isinstance(array, Array) and all(isinstance(one, np.ndarray) for one in by):
            if repr(kwargs.get("fill_value")) == repr(
                NA
            ):  # "what a missing value is", which is our default
                kwargs["fill_value"] = None
            return groupby_reduce(array, *by, **kwargs)
        return theirs(array, *by, **kwargs)

    return groups
