"""A function for each operation of `Through` that makes a result of each group."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from ...expr.through.grouping import Options
from ...expr.through.node import Through
from ...expr.through.ranks import MEANING
from ..ordering.counting import counted
from ..ordering.elements import AllElements, Array
from .folds import extremes, numbers, products, sorted_groups
from .sums import summed


def _sums(op: str, source: Through, given: list[AllElements]) -> Array:
    codes, x = given
    return summed(op, codes, x, Options(*source.options), np.dtype(source.dtype))


def _folded(
    fold: Callable[[AllElements, AllElements, Options], Array],
    source: Through,
    given: list[AllElements],
) -> Array:
    """``fold`` of the groups; rows are folded as they lie, lines along themselves."""
    codes, x = given
    results = fold(codes, x, Options(*source.options))
    return results.astype(source.dtype, copy=False)


def _lines(meaning: Callable[..., Array], source: Through, given: list[AllElements]) -> Array:
    """What NumPy makes of lines in memory."""
    held = given[0].held().reshape(given[0].root.shape)
    return meaning(held, source.options)


GROUPED: Final[dict[str, Callable[[Through, list[AllElements]], Array]]] = {
    **{f"group_{op}": partial(_sums, op) for op in ("sum", "mean", "var", "std")},
    **{
        f"group_{op}": partial(_folded, partial(extremes, op))
        for op in ("min", "max", "argmin", "argmax", "first", "last")
    },
    "group_numbers": partial(_folded, numbers),
    "group_prod": partial(_folded, products),
    "group_sort": partial(_folded, sorted_groups),
    "group_count": counted,
    **{op: partial(_lines, meaning) for op, meaning in MEANING.items()},
}
