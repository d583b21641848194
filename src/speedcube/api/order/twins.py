"""NumPy's functions that find their twins here: ``np.sort(x)`` where x is ours; and methods."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..methods.numpy_protocol import register
from ..methods.places import FUNCTIONS
from . import boxes, counting, distinct, lookup, medians, parts, sets, sorting, without_nan

# By module, those that take NumPy's arguments.
_SAME: Final[dict[Any, str]] = {
    boxes: "histogram2d histogramdd",
    counting: "bincount histogram histogram_bin_edges",
    distinct: "unique unique_all unique_counts unique_inverse unique_values",
    lookup: "digitize isin searchsorted",
    medians: "median percentile quantile",
    parts: "argpartition partition",
    sets: "intersect1d setdiff1d setxor1d union1d",
    sorting: "argsort lexsort sort sort_complex",
    without_nan: "nanmedian nanpercentile nanquantile",
}

register(
    {
        getattr(np, name): getattr(module, name)
        for module, names in _SAME.items()
        for name in names.split()
        if hasattr(np, name)
    }
)
FUNCTIONS.update(
    sort=sorting.sort,
    argsort=sorting.argsort,
    partition=parts.partition,
    argpartition=parts.argpartition,
    searchsorted=lookup.searchsorted,
)
