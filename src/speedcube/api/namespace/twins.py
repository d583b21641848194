"""NumPy's functions that find their twins here: ``np.tril(x)`` where x is ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..methods.dask_collection import Collection
from ..methods.numpy_protocol import register
from ..shapes import broadcast_to
from . import (
    axes,
    broadcasting,
    diagonals,
    grids,
    inserting,
    likes,
    padding,
    parts,
    ranges,
    repeats,
    splitting,
    triangles,
    types,
)

# Those that take the same arguments, by module.
_SAME: Final[dict[Any, str]] = {
    axes: "fliplr flipud matrix_transpose moveaxis rollaxis swapaxes transpose",
    broadcasting: "kron outer",
    diagonals: "diag diag_indices_from diagflat diagonal trace",
    inserting: "block delete insert",
    likes: "empty_like full_like ones_like zeros_like",
    padding: "pad",
    parts: "copy iscomplexobj isrealobj ndim shape size",
    ranges: "geomspace linspace logspace",
    repeats: "repeat resize roll rot90 tile",
    splitting: "array_split dsplit hsplit split unstack vsplit",
    triangles: "tril tril_indices_from triu triu_indices_from",
    types: "can_cast min_scalar_type",
}


def _spread(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` of several arrays, which NumPy's protocol hands over as one tuple."""

    def twin(arrays: Any) -> Any:
        return function(*arrays)

    return twin


def _broadcast_arrays(arrays: Any, subok: bool = False) -> tuple[Any, ...]:
    """Ours and numbers as ours; None, text and objects, which matplotlib adds, as NumPy's."""
    others = [None if isinstance(one, Collection) else np.asarray(one) for one in arrays]
    shape = np.broadcast_shapes(*map(np.shape, arrays))
    return tuple(
        broadcast_to(one, shape)
        if other is None or other.dtype.kind in "biuf"
        else np.broadcast_to(other, shape)
        for one, other in zip(arrays, others, strict=True)
    )


def _meshgrid(xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    return grids.meshgrid(*xi, copy=copy, sparse=sparse, indexing=indexing)


register(
    {
        **{
            getattr(np, name): getattr(module, name)
            for module, names in _SAME.items()
            for name in names.split()
        },
        **{
            getattr(np, function.__name__): _spread(function)
            for function in (
                *(broadcasting.atleast_1d, broadcasting.atleast_2d, broadcasting.atleast_3d),
                *(types.common_type, types.result_type, grids.ix_),
            )
        },
        np.broadcast_arrays: _broadcast_arrays,
        np.meshgrid: _meshgrid,
    }
)
