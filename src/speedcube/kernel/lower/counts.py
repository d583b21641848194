"""What a kernel that finishes exact sums has to know of the number of their terms."""

from __future__ import annotations

import math
import struct
from typing import Final

PROBES: Final = 4  # rows from which units come first
# The six numbers that `kernel.many.Many` names, and the parameters that they are.
NUMBERS: Final = struct.Struct("<dddqqd")
WORDS: Final = struct.Struct("<6Q")


def numbers_of(n: int, ddof: float) -> tuple[float, float, float, int, int, float]:
    """Those of ``n`` terms, of which ``ddof`` are no degrees of freedom."""
    bits = (n - 1).bit_length()
    return (
        float(n),
        float(n) * float(n - ddof),
        math.ldexp(float(n) * n, -53 - 52),
        (bits + 4) << 52 | 1 << 51,
        max(1, n // PROBES),
        math.ldexp(1.0, bits - 52),
    )
