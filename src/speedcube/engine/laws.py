"""Which law covers what: a row for every operation, reduction, distribution and source.

    position law    a value depends on the expression and its position alone
    bits law        the same bits on every CPU and GPU
    exact-sum law   the exact sum of the elements, rounded once
    view            positions are mapped; no value is touched
    not covered     computed by another library, with its own rounding

``tests/engine/test_explain.py`` fails where an operation has no row.
"""

from __future__ import annotations

from typing import Final

from ..expr.nodes import Const, Deferred, Position, Random, Source, StageResult, Stored
from ..ops import ELEMENTARY, SAMPLERS

POSITION, BITS, EXACT = "position law", "bits law", "exact-sum law"
VIEW, NOT_COVERED = "view", "not covered"


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
    "gather": "exact: read at positions that are computed",
    "cast": "rounded once to a float; truncated to an integer, its least value if out of range",
}

_KEYS: Final = "by integer keys that order like the numbers, NaN first, -0 below +0: in any order"
# Law and way of each reduction; how a reduction's sums are kept is `BINS`.
REDUCTIONS: Final[dict[str, tuple[str, str]]] = {
    "sum": (EXACT, "the exact sum, rounded once"),
    "mean": (EXACT, "the exact sum over the count, rounded once"),
    "dot": (EXACT, "the exact sum of the products, split exactly by fma, rounded once"),
    "var": (EXACT, "from the exact sums of x and of x*x, split exactly by fma, rounded once"),
    "std": (EXACT, "the root of the variance from exact sums, rounded once"),
    **dict.fromkeys(("min", "max"), (BITS, _KEYS)),
    **dict.fromkeys(("argmin", "argmax"), (BITS, f"{_KEYS}, then by place")),
}
_TREE: Final = "neighbours 2k and 2k + 1 first, then their products, by place"
# And of each scan, which takes its elements in their order.
SCANS: Final[dict[str, tuple[str, str]]] = {
    "prod": (BITS, f"{_TREE}; in float64, rounded once"),
    "cumsum": (
        EXACT,
        "exact sums, each rounded once: in doubles or integers with room for every bit, or limbs",
    ),
    "cumprod": (BITS, f"what is before each 1024th: {_TREE}; then one by one; in float64"),
}
_BY_VALUE: Final = "by value, NaN last, then by position: whoever compares which"
# And of what is made of all elements of an array.
THROUGH: Final[dict[str, tuple[str, str]]] = {
    "sort": (BITS, f"{_BY_VALUE}; -0 and 0 are equal, and NaN is NumPy's"),
    "argsort": (BITS, _BY_VALUE),
    "order_statistics": (BITS, f"the elements that have these places when sorted: {_BY_VALUE}"),
    "partition": (BITS, f"before, at and behind these places, then by position: {_BY_VALUE}"),
    "count": (BITS, "integers are counted: in any order"),
    "weigh": (EXACT, "the exact sum of the weights of each, rounded once"),
    "group_sum": (EXACT, "the exact sum of each group, rounded once; integers wrap in 64 bits"),
    "group_mean": (EXACT, "the exact sum of each group over its count, rounded once"),
    "group_var": (EXACT, "from the exact sums of x and of x*x of each group, rounded once"),
    "group_std": (EXACT, "the root of each group's variance from exact sums, rounded once"),
    **dict.fromkeys(("group_count", "group_numbers"), (BITS, "counted: in any order")),
    **dict.fromkeys(("group_min", "group_max"), (BITS, _KEYS)),
    **dict.fromkeys(("group_argmin", "group_argmax"), (BITS, f"{_KEYS}, then by place")),
    **dict.fromkeys(("group_first", "group_last"), (BITS, "by place: who lies first or last")),
    "group_prod": (BITS, f"of where(key == group, x, 1): {_TREE}; in float64, rounded once"),
    "rank": (BITS, f"counted: {_BY_VALUE}"),
    "mode": (BITS, "counted; of several the least: in any order"),
    "group_sort": (BITS, f"each group's elements, group after group: {_BY_VALUE}"),
    "scatter_add": (BITS, "integers that wrap, added at each number: in any order"),
    "scatter_min": (BITS, f"the least at each number, {_KEYS}"),
    "scatter_max": (BITS, f"the greatest at each number, {_KEYS}"),
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

# Law and way of each source of an expression.
SOURCES: Final[dict[type[Source], tuple[str, str]]] = {
    Const: (POSITION, "one value everywhere"),
    Position: (POSITION, "the position itself"),
    Random: (POSITION, "stream v1, of key and position alone"),
    Stored: (BITS, "read as it lies in memory, every bit"),
    Deferred: (NOT_COVERED, "computed by Dask, with its own order and rounding, which may follow "
               "its chunks; what is made of it is covered"),
    StageResult: (BITS, "read as that stage left it"),
}  # fmt: skip
