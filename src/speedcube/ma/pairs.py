"""Values and their mask as a pair of arrays, and what numpy.ma makes of pairs: the rules.

A mask of None masks nothing. What lies under a mask is what numpy.ma leaves there: nearly always
the first operand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from ..api.array import Array, array_of, elementwise

Pair: TypeAlias = tuple[Any, Any]  # values: an array or a number; mask: an array of bool, or None
Domain: TypeAlias = Callable[..., Array]

_LEAST: Final = float(np.finfo(float).tiny)


def either(first: Any, other: Any) -> Any:
    """What one of two masks masks."""
    if first is None or other is None:
        return other if first is None else first
    return elementwise("logical_or", first, other)


def isnt_finite(values: Any) -> Any:
    """Where ``values`` are NaN or infinite; None of dtypes that have neither."""
    if values.dtype.kind not in "fc":
        return None
    return elementwise("logical_not", elementwise("isfinite", values))


def cast(values: Any, dtype: Any) -> Any:
    """``values`` in ``dtype``, whatever is lost; None where there is no such cast."""
    array = array_of(values)
    if array.dtype == dtype:
        return array
    if array.dtype.kind == "c" and np.dtype(dtype).kind != "c":
        return array.real.astype(dtype)
    return array.astype(dtype)


def _dividing(first: Any, other: Any) -> Array:
    """Where a quotient would be larger than numbers are."""
    size = elementwise("multiply", elementwise("absolute", array_of(first)), _LEAST)
    return elementwise("greater_equal", size, elementwise("absolute", array_of(other)))


def _outside(least: float, largest: float) -> Domain:
    def outside(x: Any) -> Array:
        below, above = elementwise("less", x, least), elementwise("greater", x, largest)
        return elementwise("logical_or", below, above)

    return outside


def _below(least: float, op: str) -> Domain:
    return lambda x: elementwise(op, x, least)


# By the names of ufuncs: where a function is not defined, and what numpy.ma has there.
DOMAINS: Final[dict[str, tuple[Domain, float]]] = {
    **dict.fromkeys(("log", "log2", "log10"), (_below(0.0, "less_equal"), 1.0)),
    "sqrt": (_below(0.0, "less"), 0.0),
    "arccosh": (_below(1.0, "less"), 1.0),
    "arcsin": (_outside(-1.0, 1.0), 0.0),
    "arccos": (_outside(-1.0, 1.0), 0.0),
    "arctanh": (_outside(-1.0 + 1e-15, 1.0 - 1e-15), 0.0),
    "tan": (lambda x: elementwise("less", elementwise("absolute", np.cos(x)), 1e-35), 0.0),
    **dict.fromkeys(("divide", "floor_divide", "remainder", "fmod"), (_dividing, 1.0)),
}


def of_operator(op: str, first: Pair, other: Pair) -> Pair:
    """``first op other`` as Python's operator: numbers count as arrays, as in numpy.ma."""
    values = (array_of(np.asarray(one) if _is_number(one) else one) for one in (first[0], other[0]))
    (x, y), masks = values, (first[1], other[1])
    if op == "power":
        return _powers(x, y, either(*masks))
    result = elementwise(op, x, y)
    mask = either(*masks)
    if op in ("equal", "not_equal"):
        return _equal(op, result, masks), mask
    if op in ("less", "less_equal", "greater", "greater_equal"):
        return result, mask
    if op in DOMAINS:
        mask = either(either(isnt_finite(result), mask), DOMAINS[op][0](x, y))
        back = x if np.can_cast(x.dtype, result.dtype, "safe") else 0
        return elementwise("where", mask, back, result), mask
    if mask is None:
        return result, None
    return elementwise("where", mask, cast(x, result.dtype), result), mask


def of_ufunc(name: str, function: Callable[..., Any], operands: list[Pair]) -> Pair:
    """``function(*operands)`` of a ufunc called ``name``: masked outside of its domain, too."""
    values = [one for one, _ in operands]
    result = function(*values)
    mask = None
    for _, known in operands:
        mask = either(mask, known)
    if name in DOMAINS:
        domain, instead = DOMAINS[name]
        beyond = domain(*values)
        mask = either(mask, beyond)
        result = elementwise("where", beyond, cast(instead, result.dtype), result)
    return result, mask


def spread(pair: Pair) -> Pair:
    """The same with a mask of the shape of the values."""
    values, mask = pair
    if mask is None or mask.shape == values.shape:
        return pair
    return values, np.broadcast_to(mask, values.shape)


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, complex))


def _powers(x: Any, y: Any, mask: Any) -> Pair:
    result = np.power(x, y)
    if mask is not None:
        result = elementwise("where", mask, cast(x, result.dtype), result)
    beyond = isnt_finite(result)
    if beyond is None:
        return result, mask
    fill = np.ma.default_fill_value(result.dtype)
    result = elementwise("where", beyond, cast(fill, result.dtype), result)
    return result, either(mask, beyond)


def _equal(op: str, result: Array, masks: tuple[Any, Any]) -> Array:
    """Two that are masked are alike, one is unlike one that is not."""
    mask = either(*masks)
    if mask is None:
        return result
    first, other = (False if one is None else one for one in masks)
    return elementwise("where", mask, elementwise(op, first, other), result)
