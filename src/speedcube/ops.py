"""The element-wise operations: one row each, read by the expression, the interpreter and lowering.

``rule`` says what dtype comes out of which dtypes:

* ``same``    the promoted dtype of the arguments (numbers only)
* ``any``     the promoted dtype, booleans too
* ``float``   the promoted dtype; integers become the float that holds them
* ``bits``    integers and booleans only
* ``integer`` integers only
* ``compare`` bool, of arguments promoted to one dtype
* ``logical`` bool, of arguments cast to bool
* ``test``    bool, of one argument of any dtype
* ``select``  (bool, a, b) -> promoted dtype of a and b
* ``cast``    the dtype asked for: ``cast`` converts values, ``bitcast`` keeps their bits
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from .dataclass import dataclass


@dataclass(frozen=True)
class Op:
    """One element-wise operation."""

    name: str
    arity: int
    rule: str
    numpy: Any  # the NumPy function that is its meaning


def _rows(rule: str, arity: int, names: str) -> list[Op]:
    return [Op(name, arity, rule, getattr(np, name)) for name in names.split()]


def _each(function: Callable[[float], float]) -> Callable[[Any], Any]:
    """A function of Python's `math`, which NumPy lacks, of each element; inf where it raises."""

    def one(value: float) -> float:
        try:
            return function(value)
        except (OverflowError, ValueError):
            return math.inf

    def apply(x: Any) -> Any:
        values = np.asarray(x)
        dtype = values.dtype if values.dtype.kind == "f" else np.float64
        results = [one(float(v)) for v in values.ravel().tolist()]
        return np.array(results).reshape(values.shape).astype(dtype)

    return apply


OPS: Final[dict[str, Op]] = {
    op.name: op
    for op in [
        *_rows("same", 2, "subtract floor_divide remainder"),
        *_rows("any", 2, "add multiply minimum maximum"),
        *_rows("float", 2, "divide"),
        *_rows("float", 1, "sqrt rint"),
        *_rows("float", 1, "exp exp2 expm1 log log1p log2 log10 cbrt"),
        *_rows("float", 1, "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh"),
        *_rows("float", 2, "atan2 hypot"),
        *_rows("same", 2, "power"),
        Op("erf", 1, "float", _each(math.erf)),
        Op("erfc", 1, "float", _each(math.erfc)),
        Op("gammaln", 1, "float", _each(math.lgamma)),
        Op("sigmoid", 1, "float", lambda x: 1 / (1 + np.exp(x * -1.0))),
        *_rows("same", 1, "negative positive square sign"),
        *_rows("any", 1, "absolute floor ceil trunc"),
        *_rows("bits", 2, "bitwise_and bitwise_or bitwise_xor"),
        *_rows("bits", 1, "invert"),
        *_rows("integer", 2, "left_shift right_shift gcd"),
        *_rows("compare", 2, "equal not_equal less less_equal greater greater_equal"),
        *_rows("logical", 2, "logical_and logical_or logical_xor"),
        *_rows("logical", 1, "logical_not"),
        *_rows("test", 1, "isnan isfinite isinf signbit"),
        Op("where", 3, "select", np.where),
        Op("cast", 1, "cast", None),
        Op("bitcast", 1, "cast", None),
    ]
}

# Those that are neither exact nor correctly rounded: ours, within an ulp (float32: 0.502), with the
# same bits everywhere, and not always the bits of NumPy's.
ELEMENTARY: Final = frozenset(
    {
        *("exp", "exp2", "expm1", "log", "log1p", "log2", "log10"),
        *("power", "sigmoid", "cbrt", "hypot"),
        *("sin", "cos", "tan", "asin", "acos", "atan", "atan2"),
        *("erf", "erfc", "gammaln"),
        *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    }
)

# Of a value and a sorted line: how many elements are before it, without and with those equal to it.
SEARCHES: Final = frozenset(("search_left", "search_right"))
# Their second argument is memory, which is read at positions that each element has of its own.
GATHERS: Final = SEARCHES | {"gather"}

# What random variates are made of, and the dtype of each: of a position, a key and a distribution's
# shape, or of a uniform. `expr.samplers` is their meaning, `kernel.samplers` their rules.
SAMPLERS: Final[dict[str, str]] = {
    "gamma_tried": "float64",
    "poisson_counted": "float64",
    "binomial_counted": "float64",
    "hypergeometric_counted": "float64",
    "poisson_tried": "float64",
    "binomial_tried": "float64",
    "hypergeometric_tried": "float64",
    "log_binomial": "float64",
    "factorial_rest": "float64",
    "von_mises_tried": "float64",
    "zeta_tried": "int64",
    "permuted": "int64",
    "permuted_back": "int64",
}

# Those whose result, of numbers of a float dtype, is a number of that dtype without rounding.
EXACT: Final = frozenset(
    {
        *("minimum", "maximum", "negative", "positive", "absolute", "sign"),
        *("floor", "ceil", "trunc", "rint"),
    }
)

# NumPy functions that users call under other names.
ALIASES: Final = {
    "true_divide": "divide",
    "abs": "absolute",
    "fabs": "absolute",
    "mod": "remainder",
    "pow": "power",
    "arcsin": "asin",
    "arccos": "acos",
    "arctan": "atan",
    "arctan2": "atan2",
    "arcsinh": "asinh",
    "arccosh": "acosh",
    "arctanh": "atanh",
}
