"""Integers that are added by number, and least and greatest values: NumPy's loops, in any order.

Zeros become those without a sign and NaN is NumPy's, so that it does not matter which comes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...expr.through.node import Through
from ...expr.through.ordering import neutral, one_nan, one_zero
from .elements import BLOCK, AllElements, Array, in_step

_UFUNCS: Final[dict[str, Any]] = {
    "scatter_add": np.add,
    "scatter_min": np.minimum,
    "scatter_max": np.maximum,
}


def scattered(source: Through, given: list[AllElements]) -> Array:
    """The sum, least or greatest of the values of each number below the length."""
    index, values = given
    length, ufunc = source.options[0], _UFUNCS[source.op]
    spans = index.spans()
    if 4 * length > index.size:
        spans = [(0, index.size)]

    def some(span: tuple[int, int]) -> Array:
        found = np.full(length, neutral(source.op, values.dtype), values.dtype)
        for places, held in in_step(index, values, span, BLOCK):
            with np.errstate(invalid="ignore"):
                ufunc.at(found, places, one_zero(held))
        return found

    return scattered_together(source.op, index.each(some, spans))


def scattered_together(op: str, found: Sequence[Array]) -> Array:
    """What several threads or workers found, put together."""
    whole = found[0].copy()
    for other in found[1:]:
        with np.errstate(invalid="ignore", over="ignore"):
            _UFUNCS[op](whole, other, out=whole)
    return one_nan(whole)
