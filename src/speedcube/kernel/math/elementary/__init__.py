"""Elementary functions as IR, built from correctly rounded operations: the same bits anywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...builder import Value
from . import (
    exponential,
    hyperbolic,
    inverse,
    logarithm,
    power,
    roots,
    special,
    trigonometric,
)
from .near import angles, exponentials, logarithms
from .near.rule import nearly
from .pairs import PAIRS
from .pairs.rule import paired

_RULES: Final[dict[str, Callable[..., Value]]] = {
    "exp": exponential.exp,
    "exp2": nearly(exponentials.exp2, exponential.exp2),
    "expm1": nearly(exponentials.expm1, exponential.expm1),
    "sigmoid": exponential.sigmoid,
    "log": logarithm.log,
    "log1p": nearly(logarithms.log1p, logarithm.log1p),
    "log2": nearly(logarithms.log2, logarithm.log2),
    "log10": nearly(logarithms.log10, logarithm.log10),
    "power": power.power,
    "hypot": roots.hypot,
    "cbrt": nearly(angles.cbrt, roots.cbrt),
    "sin": trigonometric.sin,
    "cos": trigonometric.cos,
    "tan": nearly(angles.tan, trigonometric.tan),
    "asin": nearly(angles.asin, inverse.asin),
    "acos": nearly(angles.acos, inverse.acos),
    "atan": nearly(angles.atan, inverse.atan),
    "atan2": nearly(angles.atan2, inverse.atan2),
    "sinh": nearly(exponentials.sinh, hyperbolic.sinh),
    "cosh": nearly(exponentials.cosh, hyperbolic.cosh),
    "tanh": hyperbolic.tanh,
    "asinh": nearly(logarithms.asinh, hyperbolic.asinh),
    "acosh": nearly(logarithms.acosh, hyperbolic.acosh),
    "atanh": nearly(logarithms.atanh, hyperbolic.atanh),
    "erf": special.erf,
    "erfc": special.erfc,
    "gammaln": nearly(logarithms.gammaln, special.gammaln, logarithms.TERMS_OFF),
}

# One rule for each name of `ops.ELEMENTARY`.
ELEMENTARY: Final = _RULES | {op: paired(pair, _RULES[op]) for op, pair in PAIRS.items()}

# Functions whose every NaN comes out of a rare case, which makes it the one that is stored.
ONE_NAN: Final = frozenset(
    [
        *((op, "float32") for op in ("exp", *PAIRS)),
        *((op, f) for op in ("log", "sin", "cos") for f in ("float32", "float64")),
    ]
)
