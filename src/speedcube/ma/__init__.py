"""Masked arrays with the names of ``dask.array.ma`` and ``numpy.ma``: lazy, and fused.

A masked array is a pair: values, and whether they count. Both are arrays of speedcube, so the laws
of their operations hold.
"""

from . import operators as _operators  # noqa: F401  (which it gives MaskedArray)
from .array import MaskedArray
from .functions import (
    average,
    count,
    empty_like,
    filled,
    fix_invalid,
    getdata,
    getmaskarray,
    masked_array,
    masked_equal,
    masked_greater,
    masked_greater_equal,
    masked_inside,
    masked_invalid,
    masked_less,
    masked_less_equal,
    masked_not_equal,
    masked_outside,
    masked_values,
    masked_where,
    nonzero,
    ones_like,
    set_fill_value,
    where,
    zeros_like,
)

__all__ = [
    "MaskedArray",
    "average",
    "count",
    "empty_like",
    "filled",
    "fix_invalid",
    "getdata",
    "getmaskarray",
    "masked_array",
    "masked_equal",
    "masked_greater",
    "masked_greater_equal",
    "masked_inside",
    "masked_invalid",
    "masked_less",
    "masked_less_equal",
    "masked_not_equal",
    "masked_outside",
    "masked_values",
    "masked_where",
    "nonzero",
    "ones_like",
    "set_fill_value",
    "where",
    "zeros_like",
]
