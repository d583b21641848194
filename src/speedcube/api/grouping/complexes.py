"""Functions of groups of complex numbers: of both parts, where that is what they mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from ... import dtypes
from ...errors import DTypeError
from ...expr.pairs.node import pair
from ..array import Array, elementwise
from ..methods.reducing import float_result, total_dtype
from .layout import GroupLayout

Fold: TypeAlias = Callable[[GroupLayout, Any], Array]

_OF_BOTH: Final = frozenset(("sum", "mean", "first", "last"))
_SPREADS: Final = frozenset(("var", "std"))
_AS_THEY_ARE: Final = frozenset(("any", "all"))


def of_parts(name: str, folds: Mapping[str, Fold], lie: GroupLayout, wanted: Any) -> Array:
    """The function ``name`` of ``folds``, of groups whose elements are complex.

    A number is NaN if one of its parts is: then both are, where NaN is left out.
    """
    x = lie.x
    if name in _AS_THEY_ARE:
        return folds[name](lie, wanted)
    real, imag = x.real, x.imag
    if wanted.skip or name == "count":
        none = elementwise("isnan", x)
        real, imag = (elementwise("where", none, float("nan"), part) for part in (real, imag))
    of_real, of_imag = replace(lie, x=real), replace(lie, x=imag)
    if name == "count":
        return folds[name](of_real, wanted)
    if name in _SPREADS:
        each = replace(wanted, dtype=float_result(x, name, wanted.dtype))
        both = elementwise("add", folds["var"](of_real, each), folds["var"](of_imag, each))
        return both if name == "var" else elementwise("sqrt", both)
    if name not in _OF_BOTH:
        raise DTypeError(
            f"{name} of groups takes real numbers, not {x.dtype}: give it .real, .imag or abs(x)"
        )
    dtype = total_dtype(x, wanted.dtype)
    each = replace(wanted, dtype=dtypes.PARTS.get(dtype))
    made = [folds[name](one, each)._expr for one in (of_real, of_imag)]
    return Array(pair(made[0], made[1]), gpu=x._gpu).astype(dtype)
