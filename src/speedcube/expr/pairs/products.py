"""Products of complex arrays, whose parts are coupled: by trees of elements in their order.

Neighbours 2k and 2k + 1 are multiplied first, then their products, as those of real numbers are, in
float64. So the bits are the same however the work is cut: each level of the tree is an expression
of the one before, which lies in memory. Running products come from the same levels, up and down.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from ... import dtypes
from .. import build, reductions, views
from ..nodes import Expr
from ..piecewise.joined import concatenated
from ..routines.row import called
from ..routines.table import ROUTINES
from .apply import cast
from .node import filled, of_pairs_in, parts

_WIDE = "complex128"
_AT_ONCE: Final = 1 << 24  # elements up to which all levels of a tree are made together


def _at_once(op: str, lines: Expr, shape: tuple[int, ...]) -> Expr | None:
    """What routine ``op`` makes of ``lines``, of ``shape``; None where they are none, or many."""
    if not 0 < math.prod(lines.shape) <= _AT_ONCE:
        return None
    (made,) = called(ROUTINES[op], parts(lines), [(*shape, 2)], "float64", (), (True,))
    return of_pairs_in(made)


def _lines(arg: Expr, axes: tuple[int, ...]) -> Expr:
    """``arg`` with the elements of a product along its last axis, in C order."""
    kept = [k for k in range(len(arg.shape)) if k not in axes]
    count = math.prod(arg.shape[k] for k in axes)
    shape = tuple(arg.shape[k] for k in kept)
    return views.reshape(views.transpose(arg, (*kept, *axes)), (*shape, count))


def _pairs(lines: Expr) -> Expr:
    """The products of neighbours along the last axis; the last of an odd number is left out."""
    even = lines.shape[-1] // 2 * 2
    first = views.index(lines, (..., slice(0, even, 2)))
    return build.elementwise("multiply", [first, views.index(lines, (..., slice(1, even, 2)))])


def _product(arg: Expr, axis: Any, keepdims: bool, dtype: str) -> Expr:
    """The product over ``axis``: 1 of nothing."""
    if dtype not in dtypes.COMPLEX:
        return reductions.product(cast(arg, dtype), axis, keepdims, dtype)
    axes = build.normalise_axes(axis, len(arg.shape))
    lines = _lines(build.cast(arg, _WIDE), axes)
    if not lines.shape[-1]:
        lines = filled(1, _WIDE, (*lines.shape[:-1], 1))
    made = _at_once("prod_of_pairs", lines, lines.shape[:-1])
    if made is None:
        made = _by_levels(lines)
    kept = [1 if k in axes else n for k, n in enumerate(arg.shape) if keepdims or k not in axes]
    return build.cast(views.reshape(made, tuple(kept)), dtype)


def _by_levels(lines: Expr) -> Expr:
    """The products of ``lines``, with a level of the tree in memory after the other."""
    last = len(lines.shape) - 1
    while (count := lines.shape[-1]) > 1:
        halves = _pairs(lines)
        rest = views.index(lines, (..., slice(count // 2 * 2, count)))
        lines = concatenated([halves, rest], last) if count % 2 else halves
    return lines


def _running(lines: Expr) -> Expr:
    """The products of the elements so far along the last axis.

    At odd places they are those of the pairs so far; at even ones that times the element.
    """
    count = lines.shape[-1]
    if count < 2:
        return lines
    last, odd = len(lines.shape) - 1, _running(_pairs(lines))
    before = views.index(odd, (..., slice(0, (count - 1) // 2)))
    own = views.index(lines, (..., slice(2, None, 2)))
    first = views.index(lines, (..., slice(0, 1)))
    even = concatenated([first, build.elementwise("multiply", [before, own])], last)
    return _alternating(even, odd, count)


def _alternating(even: Expr, odd: Expr, count: int) -> Expr:
    """``even`` at even places of the last axis, ``odd`` at the others."""
    last, half = len(even.shape) - 1, odd.shape[-1]
    beside = [views.index(one, (..., slice(0, half), None)) for one in (even, odd)]
    both = views.reshape(concatenated(beside, last + 1), (*even.shape[:-1], 2 * half))
    if count % 2 == 0:
        return both
    return concatenated([both, views.index(even, (..., slice(half, None)))], last)


def _running_product(arg: Expr, axis: Any, dtype: str, initial: bool = False) -> Expr:
    """Running products along ``axis`` (None: of all elements in C order)."""
    if dtype not in dtypes.COMPLEX:
        return reductions.running("cumprod", cast(arg, dtype), axis, dtype, initial)
    wide = build.cast(arg if arg.shape else views.index(arg, None), _WIDE)
    if axis is None:
        wide, axis = views.reshape(wide, (math.prod(wide.shape),)), 0
    k, ndim = build.check_axis(axis, len(wide.shape)), len(wide.shape)
    there = (*(j for j in range(ndim) if j != k), k)
    turned = views.transpose(wide, there)
    lines = _at_once("cumprod_of_pairs", turned, turned.shape) or _running(turned)
    if initial:
        one = filled(1, _WIDE, (*lines.shape[:-1], 1))
        lines = concatenated([one, lines], ndim - 1)
    back = tuple(there.index(j) for j in range(ndim))
    return build.cast(views.transpose(lines, back), dtype)


_RULES: dict[str, Callable[..., Expr]] = {"prod": _product, "cumprod": _running_product}
reductions.of_pairs.update(_RULES)
