"""Random arrays whose every element depends on (seed, call, position) alone: stream v1.

`default_rng` gives a `Generator`, `RandomState` the legacy interface. Chunks, devices and thread
counts never change a number. See docs/random.md for what is promised.

Every method of `RandomState` is a function here too, ``speedcube.random.normal(...)``, of one
`RandomState` that the process shares: ``seed(7)`` makes it repeatable, without it the system seeds
it. Threads may call these at once; which of them gets which call number is then left to chance.
"""

from collections.abc import Callable
from typing import Any

from numpy.random import SeedSequence

from ..errors import MissingError
from .generator import Generator, default_rng
from .legacy import FUNCTIONS, RandomState
from .permutations import inverse_permutation
from .resampling import bootstrap, cross_validation, jackknife, permutation_test

__all__ = ["Generator", "RandomState", "SeedSequence", "default_rng", "inverse_permutation"]
__all__ += ["bootstrap", "cross_validation", "jackknife", "permutation_test"]
__all__ += FUNCTIONS

globals().update(FUNCTIONS)

_OTHERS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64", "BitGenerator")


def __getattr__(name: str) -> Callable[..., Any]:
    if name in _OTHERS:
        raise MissingError(
            f"speedcube.random has no {name}: there is one stream, v1; call default_rng(seed)"
        )
    raise MissingError(f"module 'speedcube.random' has no attribute {name!r}")
