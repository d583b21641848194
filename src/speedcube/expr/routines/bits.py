"""Bits of bytes: rows for NumPy's functions, which move eight at once. No bit depends on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from ..nodes import Shape
from .row import Routine

NAMES: Final = ("packbits", "unpackbits")


def _along_last(name: str, xp: Any, a: Any, bitorder: str) -> Any:
    return getattr(xp, name)(a, axis=-1, bitorder=bitorder)


def _flops(shapes: Sequence[Shape], results: Sequence[Shape]) -> float:
    """About one for each bit."""
    return float(max(math.prod(shapes[0]), math.prod(results[0])))


ROWS: Final = tuple(
    Routine(
        name,
        "",
        partial(_along_last, name),
        0.0,
        how="bits are moved: the same everywhere",
        on_gpu=False,
        flops=_flops,
    )
    for name in NAMES
)
