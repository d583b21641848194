"""Resampling: statistics of samples drawn again, by index arrays that are never stored."""

from .boot import BootstrapResult, bootstrap
from .folds import cross_validation
from .knife import JackknifeResult, jackknife
from .permute import PermutationTestResult, permutation_test

__all__ = [
    "BootstrapResult",
    "JackknifeResult",
    "PermutationTestResult",
    "bootstrap",
    "cross_validation",
    "jackknife",
    "permutation_test",
]
