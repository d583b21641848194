"""Results of float32 by pairs of float32, where these decide them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from . import angles, exponentials, logarithms
from .rule import Enclosure

PAIRS: Final[dict[str, Callable[..., Enclosure]]] = {
    "exp2": exponentials.exp2,
    "expm1": exponentials.expm1,
    "sinh": exponentials.sinh,
    "cosh": exponentials.cosh,
    "log1p": logarithms.log1p,
    "log2": logarithms.log2,
    "log10": logarithms.log10,
    "asinh": logarithms.asinh,
    "acosh": logarithms.acosh,
    "atanh": logarithms.atanh,
    "atan": angles.atan,
    "atan2": angles.atan2,
    "cbrt": angles.cbrt,
}
