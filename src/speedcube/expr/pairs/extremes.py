"""Extremes of complex arrays in NumPy's order, and their places: by the real part, then by the
imaginary one.

Of the least real parts the least imaginary one, and of equal ones the first. A number with NaN in a
part comes before all: the first of them.
"""

from __future__ import annotations

import math
from typing import Any, Final

from ...errors import AxisTypeError, ShapeError
from .. import build, gather, reductions, views
from ..nodes import Expr
from .arithmetic import is_nan
from .node import parts
from .reals import Real, where

# The real reduction, and what no number is beyond.
_LAST: Final = {"min": math.inf, "max": -math.inf}


def _place(op: str, lines: Expr) -> Expr:
    """Where the ``op`` of each line along the last axis is."""
    (re, im), last = map(Real, parts(lines)), len(lines.shape) - 1

    def least(values: Real, candidates: Real) -> Real:
        held = where(candidates, values, _LAST[op]).expr
        return Real(reductions.reduction(op, held, last, True, held.dtype))

    nan = is_nan((re, im))
    first = re.equals(least(re, ~nan)) & ~nan
    found = first & im.equals(least(im, first))
    some = Real(reductions.reduction("any", nan.expr, last, True, "bool"))
    chosen = where(some, nan, found)
    return reductions.reduction("argmax", chosen.expr, last, True, "int64")


def _in_lines(op: str, arg: Expr, axes: tuple[int, ...]) -> Expr:
    """``arg`` with all elements that are compared along its last axis."""
    kept = [k for k in range(len(arg.shape)) if k not in axes]
    count = math.prod(arg.shape[k] for k in axes)
    shape = tuple(arg.shape[k] for k in kept)
    if not count:
        raise ShapeError(f"{op} of no elements: axes {axes} of shape {arg.shape} are empty")
    return views.reshape(views.transpose(arg, (*kept, *axes)), (*shape, count))


def _folded(made: Expr, shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> Expr:
    """``made``, whose last axis has one element, with the axes that stay."""
    kept = [1 if k in axes else n for k, n in enumerate(shape) if keepdims or k not in axes]
    return views.reshape(made, tuple(kept))


def _extreme(op: str) -> Any:
    def value(arg: Expr, axis: Any, keepdims: bool, dtype: str, ddof: float = 0.0) -> Expr:
        axes = build.normalise_axes(axis, len(arg.shape))
        lines = _in_lines(op, arg, axes)
        found = gather.take_along(lines, _place(op, lines), len(lines.shape) - 1)
        return _folded(found, arg.shape, axes, keepdims)

    return value


def _argument(op: str) -> Any:
    def place(arg: Expr, axis: Any, keepdims: bool, dtype: str, ddof: float = 0.0) -> Expr:
        if isinstance(axis, (tuple, list)):
            raise AxisTypeError(f"arg{op} takes one axis or None, not {axis}")
        axes = build.normalise_axes(axis, len(arg.shape))
        return _folded(_place(op, _in_lines(f"arg{op}", arg, axes)), arg.shape, axes, keepdims)

    return place


reductions.of_pairs.update(
    min=_extreme("min"), max=_extreme("max"), argmin=_argument("min"), argmax=_argument("max")
)
