"""How many threads the BLAS of NumPy uses: as many as the rung has.

The number belongs to the process. While several calls are under way it stays as the first set it.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Final

import numpy as np

# Of OpenBLAS in NumPy's wheels, of OpenBLAS elsewhere, of MKL, of BLIS: how many, and how to say.
_NAMES: Final = (
    ("scipy_openblas_get_num_threads64_", "scipy_openblas_set_num_threads64_"),
    ("scipy_openblas_get_num_threads", "scipy_openblas_set_num_threads"),
    ("openblas_get_num_threads64_", "openblas_set_num_threads64_"),
    ("openblas_get_num_threads", "openblas_set_num_threads"),
    ("MKL_Get_Max_Threads", "MKL_Set_Num_Threads"),
    ("bli_thread_get_num_threads", "bli_thread_set_num_threads"),
)
_lock = threading.Lock()
_under_way: list[int] = []  # of each call, how many threads there were before the first
_put: list[int] = []  # how many there were, where the first of these calls changed that


@cache
def _calls() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """What tells and sets the number of threads; None where the BLAS is not known."""
    loaded = ctypes.CDLL(np.linalg._umath_linalg.__file__)
    for get, put in _NAMES:
        if hasattr(loaded, get) and hasattr(loaded, put):
            return getattr(loaded, get), getattr(loaded, put)
    return None


def blas_threads(count: int) -> AbstractContextManager[None]:
    """``count`` threads for NumPy's BLAS within the block."""
    known = _calls()
    return nullcontext() if known is None else _Threads(count, *known)


class _Threads(AbstractContextManager[None]):
    """A block of `blas_threads`; no generator, which a small product would notice."""

    def __init__(self, count: int, get: Callable[[], int], put: Callable[[int], None]) -> None:
        self.count, self.get, self.put = count, get, put

    def __enter__(self) -> None:
        with _lock:
            before = _under_way[0] if _under_way else self.get()
            if not _under_way and before != self.count:
                self.put(self.count)
                _put.append(before)
            _under_way.append(before)

    def __exit__(self, *_: object) -> None:
        with _lock:
            _under_way.pop()
            if not _under_way and _put:
                self.put(_put.pop())
