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
    nearly,
    power,
    roots,
    special,
    trigonometric,
)

# One rule for each name of `ops.ELEMENTARY`.
ELEMENTARY: Final[dict[str, Callable[..., Value]]] = {
    "exp": exponential.exp,
    "exp2": exponential.exp2,
    "expm1": exponential.expm1,
    "sigmoid": exponential.sigmoid,
    "log": logarithm.log,
    "log1p": nearly.nearly(nearly.log1p, logarithm.log1p),
    "log2": logarithm.log2,
    "log10": logarithm.log10,
    "power": power.power,
    "hypot": roots.hypot,
    "cbrt": nearly.nearly(nearly.cbrt, roots.cbrt),
    "sin": trigonometric.sin,
    "cos": trigonometric.cos,
    "tan": trigonometric.tan,
    "asin": nearly.nearly(nearly.asin, inverse.asin),
    "acos": nearly.nearly(nearly.acos, inverse.acos),
    "atan": nearly.nearly(nearly.atan, inverse.atan),
    "atan2": nearly.nearly(nearly.atan2, inverse.atan2),
    "sinh": hyperbolic.sinh,
    "cosh": hyperbolic.cosh,
    "tanh": hyperbolic.tanh,
    "asinh": nearly.nearly(nearly.asinh, hyperbolic.asinh),
    "acosh": nearly.nearly(nearly.acosh, hyperbolic.acosh),
    "atanh": nearly.nearly(nearly.atanh, hyperbolic.atanh),
    "erf": special.erf,
    "erfc": special.erfc,
    "gammaln": nearly.nearly(nearly.gammaln, special.gammaln, nearly.TERMS_OFF),
}

# Functions whose every NaN comes out of a rare case, which makes it the one that is stored.
ONE_NAN: Final = frozenset(
    [("exp", "float32"), *((op, f) for op in ("log", "sin", "cos") for f in ("float32", "float64"))]
)
