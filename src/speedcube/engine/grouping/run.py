"""A function for each way to make a `Through` that has a result of each group."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from ...expr.through.grouping import Options
from ...expr.through.node import Through
from ..ordering.elements import AllElements, Array
from .folds import extremes, numbers, sorted_groups
from .products import products
from .sums import summed


def _op(source: Through) -> str:
    return source.op.removeprefix("group_")


def _sums(source: Through, given: list[AllElements]) -> Array:
    codes, x = given
    return summed(_op(source), codes, x, Options(*source.options), np.dtype(source.dtype))


def _foremost(source: Through, given: list[AllElements]) -> Array:
    codes, x = given
    return extremes(_op(source), codes, x, Options(*source.options))


def _folded(
    fold: Callable[[AllElements, AllElements, Options], Array],
    source: Through,
    given: list[AllElements],
) -> Array:
    """``fold`` of the groups; rows are folded as they lie, lines along themselves."""
    codes, x = given
    results = fold(codes, x, Options(*source.options))
    return results.astype(source.dtype, copy=False)


GROUPED: Final[dict[str, Callable[[Through, list[AllElements]], Array]]] = {
    "sums of groups": _sums,
    "foremost of groups": _foremost,
    "numbers of groups": partial(_folded, numbers),
    "products of groups": partial(_folded, products),
    "groups in order": partial(_folded, sorted_groups),
}
