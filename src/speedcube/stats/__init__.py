"""Statistics with the names of ``dask.array.stats``, lazy.

Skewness, kurtosis and central moments are expressions, with their laws. The tests are Dask's own,
which need SciPy: what they give is computed by ``.compute()``.
"""

from .distributions import chisquare, kurtosistest, normaltest, power_divergence, skewtest
from .means import f_oneway, ttest_1samp, ttest_ind, ttest_rel
from .shapes import kurtosis, moment, skew

__all__ = [
    "chisquare",
    "f_oneway",
    "kurtosis",
    "kurtosistest",
    "moment",
    "normaltest",
    "power_divergence",
    "skew",
    "skewtest",
    "ttest_1samp",
    "ttest_ind",
    "ttest_rel",
]
