"""Dot products of complex arrays: each part is one exact sum, rounded once.

The two products in a part are two stretches of one real dot product, so that no digit is lost
between them. Of numbers that lie in memory as pairs the two stand side by side: the real part of
``vdot`` is the dot product of all pairs as they lie.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from .. import build, reductions
from ..nodes import Expr, Leaf, Map, Stored, Tiled, leaves
from ..piecewise.joined import concatenated
from ..routines.row import called
from ..routines.table import ROUTINES
from .node import pair, parts

_FEW: Final = 1 << 13  # products up to which parts that are computed are not put together first
_MOST: Final = 1 << 23  # numbers of which pairs are made: of more each core has its share


class PairsInMemory(NamedTuple):
    """Pairs in memory, along a last axis, and the sign of the second of each."""

    pairs: Leaf
    sign: int


def dot(x: Expr, y: Expr, axis: int) -> Expr:
    """The sums along ``axis`` of the products of two complex arrays, each part rounded once."""
    first, second = (_woven(one) or _made_woven(one) for one in (x, y))
    if first is not None and second is not None:
        return _of_woven(first, second, axis)
    (a, b), (c, d) = parts(x), parts(y)
    minus = build.elementwise("negative", [b])

    def part(left: tuple[Expr, Expr], right: tuple[Expr, Expr]) -> Expr:
        both = [concatenated(two, axis) for two in (left, right)]
        return reductions.dot(build.elementwise("multiply", both), axis)

    return pair(part((a, minus), (c, d)), part((a, b), (d, c)))


def _woven(root: Expr) -> PairsInMemory | None:
    """``root``, or what it is the conjugate of, as it lies in memory; None of others."""
    re, im = parts(root)
    sign = 1
    while type(im) is Map and im.op == "negative":
        im, sign = im.args[0], -sign
    if type(re) is not Leaf or type(im) is not Leaf or re.source is not im.source:
        return None
    if type(re.source) is not Stored or im.offset != re.offset + 1 or im.strides != re.strides:
        return None
    return PairsInMemory(Leaf(re.source, (*re.shape, 2), re.offset, (*re.strides, 1)), sign)


def _made_woven(root: Expr) -> PairsInMemory | None:
    """Pairs of what is computed; None of few, of many, and of what is read a box at a time."""
    if not _FEW < 2 * math.prod(root.shape) <= _MOST:
        return None
    if any(isinstance(leaf.source, Tiled) for leaf in leaves(root)):
        return None
    re, im = parts(root)
    shape = (*root.shape, 2)
    return PairsInMemory(
        called(ROUTINES["as_pairs"], [re, im], [shape], re.dtype, (), (True,))[0], 1
    )


def _of_woven(x: PairsInMemory, y: PairsInMemory, axis: int) -> Expr:
    """The real part is ``ac - bd``, the imaginary one ``ad + bc``; signs go to ``y``."""
    last = len(x.pairs.shape) - 1
    axes = (axis % last, last)

    def part(right: Expr) -> Expr:
        product = build.elementwise("multiply", [x.pairs, right])
        return reductions.dot(product, axes)

    straight = y.pairs if x.sign == -y.sign else _signed(y.pairs, 1, -1)
    return pair(part(straight), part(_turned(y.pairs, y.sign, x.sign)))


def _turned(pairs: Leaf, first: int, second: int) -> Expr:
    """``pairs`` with the elements of each changed round, and with these signs."""
    other = Leaf(pairs.source, pairs.shape, pairs.offset + 1, (*pairs.strides[:-1], -1))
    return _signed(other, first, second)


def _signed(pairs: Expr, first: int, second: int) -> Expr:
    """``pairs`` with these signs of the elements of each."""
    if first == second == 1:
        return pairs
    signs = Stored(np.asarray([first, second], pairs.dtype), pairs.dtype)
    strides = (*(0 for _ in pairs.shape[1:]), 1)
    return build.elementwise("multiply", [pairs, Leaf(signs, pairs.shape, 0, strides)])
