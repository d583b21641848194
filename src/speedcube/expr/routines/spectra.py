"""Fourier transforms: rows for pocketfft and cuFFT."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from ..nodes import Shape
from .row import Routine

# NumPy's transforms of one axis and of several, by their names there; those of CuPy are the same.
ALONG_ONE: Final = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
ALONG_SEVERAL: Final = ("fftn", "ifftn", "rfftn", "irfftn")


def _transformed(name: str, xp: Any, a: Any, *given: Any) -> Any:
    return getattr(xp.fft, name)(a, *given)


def _flops(shapes: Sequence[Shape], results: Sequence[Shape]) -> float:
    """About 5 n log n of n points."""
    size = max(math.prod(shapes[0]), math.prod(results[0]), 2)
    return 5.0 * size * math.log2(size)


ROWS: Final = tuple(
    Routine(name, "pocketfft", partial(_transformed, name), 2.0, 8, flops=_flops)
    for name in (*ALONG_ONE, *ALONG_SEVERAL)
)
