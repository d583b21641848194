"""Which law covers what: a row for every operation, reduction, distribution and source.

    position law    a value depends on the expression and its position alone
    bits law        the same bits on every CPU and GPU
    exact-sum law   the exact sum of the elements, rounded once
    order-free law  sorted, selected, counted: elements may be taken in any order
    view            positions are mapped; no value is touched
    not covered     computed by another library, with its own rounding
    no law          a routine of BLAS or LAPACK: about n eps, and other bits on other machines

``tests/engine/test_explain.py`` fails where an operation has no row.
"""

from __future__ import annotations

from typing import Final

from ..expr.nodes import (
    Const,
    Deferred,
    Held,
    Position,
    Random,
    Source,
    StageResult,
    Stored,
    Tiled,
)
from ..expr.routines.table import ROUTINES
from ..expr.through import operation
from ..expr.through.operation import BY_KEYS, BY_TREE, PLACES_BY_KEYS
from ..expr.through.table import OPERATIONS as _THROUGH
from ..ops import ELEMENTARY, SAMPLERS, SEARCHES

POSITION, BITS, EXACT = "position law", operation.BITS, operation.EXACT
ORDER_FREE = operation.ORDER_FREE
VIEW, NOT_COVERED, NO_LAW = "view", "not covered", "no law"


def _rows(text: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), text)


_OURS: Final = "of correctly rounded operations alone: within 1 ulp, 0.502 in float32"

# How each element-wise operation comes to the same bits everywhere: the bits law.
OPERATIONS: Final[dict[str, str]] = {
    **_rows(
        "one IEEE 754 operation, rounded once and never contracted; integers wrap",
        "add subtract multiply divide square sqrt",
    ),
    **_rows("exact", "negative positive absolute sign floor ceil trunc rint minimum maximum where"),
    **_rows("exact: Euclid's remainders", "gcd"),
    **_rows("exact, on bits", "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift"),
    **_rows(
        "exact; integers that have no common dtype too",
        "equal not_equal less less_equal greater greater_equal",
    ),
    **_rows("exact", "logical_and logical_or logical_xor logical_not"),
    **_rows("exact", "isnan isfinite isinf signbit"),
    **_rows("of the exact quotient, rounded once", "floor_divide remainder"),
    **dict.fromkeys(ELEMENTARY, _OURS),
    "power": f"{_OURS}; of integers by multiplication, which wraps",
    "gammaln": f"{_OURS}; 2 in float64, or 2**-53 below 1 in size",
    **dict.fromkeys(SAMPLERS, "stream v1: of correctly rounded operations alone, and of a key"),
    **dict.fromkeys(SEARCHES, "exact: a number of elements; NaN comes last"),
    "gather": "exact: read at positions that are computed",
    "bitcast": "exact: the bits of an element, of which NaN has NumPy's",
    "cast": "rounded once to a float; truncated to an integer, its least value if out of range",
}

# Law and way of each reduction; how a reduction's sums are kept is `BINS`.
REDUCTIONS: Final[dict[str, tuple[str, str]]] = {
    "sum": (EXACT, "the exact sum, rounded once"),
    "mean": (EXACT, "the exact sum over the count, rounded once"),
    "dot": (EXACT, "the exact sum of the products, split exactly by fma, rounded once"),
    "var": (EXACT, "from the exact sums of x and of x*x, split exactly by fma, rounded once"),
    "std": (EXACT, "the root of the variance from exact sums, rounded once"),
    **dict.fromkeys(("min", "max"), (BITS, BY_KEYS)),
    **dict.fromkeys(("nanmin", "nanmax"), (BITS, BY_KEYS.replace("NaN first", "NaN last"))),
    **dict.fromkeys(("argmin", "argmax"), (BITS, PLACES_BY_KEYS)),
}
# And of each scan, which takes its elements in their order.
SCANS: Final[dict[str, tuple[str, str]]] = {
    "prod": (BITS, f"{BY_TREE}; in float64, rounded once"),
    "cumsum": (
        EXACT,
        "exact sums, each rounded once: in doubles or integers with room for every bit, or limbs",
    ),
    "cumprod": (BITS, f"what is before each 1024th: {BY_TREE}; then one by one; in float64"),
}
# And of what is made of all elements of an array, which their own table has.
THROUGH: Final[dict[str, tuple[str, str]]] = {
    **{op: (row.law, row.why) for op, row in _THROUGH.items()},
    **{
        name: (NO_LAW, row.warning) if row.library else (BITS, row.how)
        for name, row in ROUTINES.items()
    },
}
WRAPPING: Final = (BITS, "integers wrap in 64 bits: in any order")
# How partial sums that cannot round are kept, by `kernel.program.Bins.mode`.
BINS: Final[dict[str, str]] = {
    "plain": "a double, which has room for every bit",
    "split": "two doubles, each term split between them without rounding",
    "residual": "two doubles; bits finer than both go to a superaccumulator one by one",
    "search": "two doubles with units by each tile's largest term; what is finer, and tiles of "
    "extreme size, go to a superaccumulator one by one",
    "rare": "a superaccumulator, terms that are not 0 one by one",
}

# How each distribution of stream v1 comes from a Philox block.
DISTRIBUTIONS: Final[dict[str, str]] = {
    "normal": "by Box and Muller",
    "uniform": "by pasting bits",
    "exponential": "by inversion",
    "integers": "by multiplication with the range",
    "integers_wide": "by multiplication with the range",
    "bits64": "the block's own bits",
}

# Of blocks that somebody's function makes, or one of Dask's that is given our arrays.
OF_BLOCKS: Final = (
    NOT_COVERED,
    "what it does with the blocks of x.chunks is its own, with its own order and rounding; what is "
    "made of it is covered",
)

# Law and way of each source of an expression.
SOURCES: Final[dict[type[Source], tuple[str, str]]] = {
    Const: (POSITION, "one value everywhere"),
    Position: (POSITION, "the position itself"),
    Random: (POSITION, "stream v1, of key and position alone"),
    Stored: (BITS, "read as it lies in memory, every bit"),
    Tiled: (BITS, "read as it lies there, a box at a time, every bit"),
    Held: (BITS, "read as it lies with a worker, every bit"),
    Deferred: (NOT_COVERED, "computed by Dask, with its own order and rounding, which may follow "
               "its chunks; what is made of it is covered"),
    StageResult: (BITS, "read as that stage left it"),
}  # fmt: skip
