"""Every operation of `Through`: a row says all that can be said of it before it is run."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from . import between, grouping, ordering, ranks, ufuncs
from .operation import (
    BITS,
    BY_KEYS,
    BY_TREE,
    BY_VALUE,
    COUNTED,
    EXACT,
    ONE_BY_ONE,
    ORDER_FREE,
    PLACES_BY_KEYS,
    Operation,
)

_ORDERED: Final[dict[str, Operation]] = {
    "sort": Operation(
        ordering.sorted_lines,
        ORDER_FREE,
        f"{BY_VALUE}; -0 and 0 are equal, and NaN is NumPy's",
        "values in order",
        "exchange",
    ),
    "argsort": Operation(ordering.places, ORDER_FREE, BY_VALUE, "places in order", "exchange"),
    "order_statistics": Operation(
        ordering.order_statistics,
        ORDER_FREE,
        f"the elements that have these places when sorted: {BY_VALUE}",
        "selection",
        "rounds",
    ),
    "of_numbers": Operation(
        between.number_statistics,
        ORDER_FREE,
        f"counted, and elements by their place among what is no NaN: {BY_VALUE}",
        "selection of numbers",
    ),
    "partition": Operation(
        ordering.partition,
        ORDER_FREE,
        f"before, at and behind these places, then by position: {BY_VALUE}",
        "partition",
        "rounds",
    ),
    "rank": Operation(ranks.ranked, ORDER_FREE, f"counted: {BY_VALUE}", "lines"),
    "mode": Operation(
        ranks.commonest, ORDER_FREE, "counted; of several the least: in any order", "lines"
    ),
    "accumulate": Operation(ufuncs.accumulated, BITS, ONE_BY_ONE, "lines"),
    "reduce": Operation(ufuncs.reduced, BITS, ONE_BY_ONE, "lines"),
}
_COUNTED: Final[dict[str, Operation]] = {
    "group_count": Operation(grouping.counted, ORDER_FREE, COUNTED, "counts", "rounds"),
    "count": Operation(
        ordering.count, ORDER_FREE, "integers are counted: in any order", "counts", "rounds"
    ),
    "weigh": Operation(
        ordering.weigh,
        EXACT,
        "the exact sum of the weights of each, rounded once",
        "sums of weights",
        "rounds",
    ),
    "scatter_add": Operation(
        ordering.scatter_add,
        ORDER_FREE,
        "integers that wrap, added at each number: in any order",
        "scatter",
        "rounds",
    ),
    "scatter_min": Operation(
        ordering.scatter_min,
        ORDER_FREE,
        f"the least at each number, {BY_KEYS}",
        "scatter",
        "rounds",
    ),
    "scatter_max": Operation(
        ordering.scatter_max,
        ORDER_FREE,
        f"the greatest at each number, {BY_KEYS}",
        "scatter",
        "rounds",
    ),
}
_EXACTLY: Final = {
    "sum": "the exact sum of each group, rounded once; integers wrap in 64 bits",
    "mean": "the exact sum of each group over its count, rounded once",
    "var": "from the exact sums of x and of x*x of each group, rounded once",
    "std": "the root of each group's variance from exact sums, rounded once",
}
_FOREMOST: Final = {
    **dict.fromkeys(("min", "max"), BY_KEYS),
    **dict.fromkeys(("argmin", "argmax"), PLACES_BY_KEYS),
    **dict.fromkeys(("first", "last"), "by place: who lies first or last"),
}
_GROUPED: Final = {
    **{
        op: Operation(grouping.FOLDS[op], EXACT, why, "sums of groups", "rounds")
        for op, why in _EXACTLY.items()
    },
    **{
        op: Operation(grouping.FOLDS[op], ORDER_FREE, why, "foremost of groups", "rounds")
        for op, why in _FOREMOST.items()
    },
    "numbers": Operation(
        grouping.FOLDS["numbers"], ORDER_FREE, COUNTED, "numbers of groups", "rounds"
    ),
    "prod": Operation(
        grouping.FOLDS["prod"],
        BITS,
        f"of where(key == group, x, 1): {BY_TREE}; in float64, rounded once",
        "products of groups",
    ),
    "sort": Operation(
        grouping.sorted_groups,
        ORDER_FREE,
        f"each group's elements, group after group: {BY_VALUE}",
        "groups in order",
    ),
}

OPERATIONS: Final[dict[str, Operation]] = {
    **{op: replace(row, of="lines") for op, row in {**_ORDERED, **_COUNTED}.items()},
    **{f"group_{op}": replace(row, of="groups") for op, row in _GROUPED.items()},
}
