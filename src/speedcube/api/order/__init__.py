"""NumPy's functions that sort, select and count; the package has them from here."""

from . import twins as _twins  # noqa: F401  (NumPy's functions take our arrays from here on)
from .boxes import histogram2d, histogramdd
from .counting import bincount, histogram, histogram_bin_edges
from .distinct import unique, unique_all, unique_counts, unique_inverse, unique_values
from .lookup import digitize, isin, searchsorted
from .medians import median, percentile, quantile
from .parts import argpartition, argtopk, partition, topk
from .sets import intersect1d, setdiff1d, setxor1d, union1d
from .sorting import argsort, lexsort, sort, sort_complex
from .without_nan import nanmedian, nanpercentile, nanquantile

__all__ = [
    "argpartition",
    "argsort",
    "argtopk",
    "bincount",
    "digitize",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
    "intersect1d",
    "isin",
    "lexsort",
    "median",
    "nanmedian",
    "nanpercentile",
    "nanquantile",
    "partition",
    "percentile",
    "quantile",
    "searchsorted",
    "setdiff1d",
    "setxor1d",
    "sort",
    "sort_complex",
    "topk",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]
