"""Which programs are made step by step: those for which kernels would not pay.

A kernel takes 10 to 40 ms to compile and each call of one 15 to 40 us; NumPy's functions take one
or two for few elements. So a program of several kernels over few elements is made node by node
always, one kernel's the first times that it is seen.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

# Elements of any node of a program of several kernels. (A kernel per step of 16,384 elements and
# ten operations takes as long as NumPy's ten functions.)
MOST: Final = 1 << 14
# Elements of any node of a program that was not seen often, and how often that is.
FIRST: Final = 1 << 17
OFTEN: Final = 2
# Of few elements a kernel saves a tenth of a millisecond; to compile it takes hundreds of these.
FEW: Final = 1 << 12
OFTEN_OF_FEW: Final = 12

_seen: dict[Hashable, int] = {}
_MOST_SEEN: Final = 1024
_lock = threading.Lock()


# NumPy computes in the caller's floating-point environment, which some libraries change. Kernels
# have their own. These are names, for the compiler would compute with literals.
_LEAST, _ONE, _HALF_ULP = 5e-324, 1.0, 2.0**-53


def is_ordinary() -> bool:
    """Whether this thread rounds to nearest and keeps subnormal numbers."""
    ends = _ONE + _HALF_ULP == _ONE and -_ONE - _HALF_ULP == -_ONE
    return ends and _LEAST * _ONE > 0.0


class Limits:
    """Elements up to which programs are made step by step now."""

    several: int = MOST
    first: int = FIRST


@contextmanager
def limited_to(several: int, first: int) -> Iterator[None]:
    """Other limits for this process, while this lasts."""
    before = Limits.several, Limits.first
    Limits.several, Limits.first = several, first
    try:
        yield
    finally:
        Limits.several, Limits.first = before


def by_kernels() -> AbstractContextManager[None]:
    """Kernels make everything, as where they are what is compared."""
    return limited_to(-1, -1)


def is_new(key: Hashable, size: int) -> bool:
    """Whether a structure, now of ``size`` elements, was not seen often; it counts once more."""
    with _lock:
        times = _seen.get(key, 0)
        if times >= (OFTEN_OF_FEW if size <= FEW else OFTEN):
            return False
        while len(_seen) >= _MOST_SEEN:
            del _seen[next(iter(_seen))]
        _seen[key] = times + 1
    return True
