"""How the elements of groups lie: as rows, each of one group, or along lines."""

from __future__ import annotations

import math
from typing import Any, Final

from ...dataclass import dataclass
from ...errors import AxisError, ShapeError
from ...expr import build
from ...expr.nodes import Leaf, walk
from ..array import Array, elementwise
from ..namespace.ranges import arange
from ..shapes import broadcast_to
from .labels import Coded

_NARROW: Final = 16  # columns below which rows are too short to be added up side by side
# Elements of lines that are made sooner side by side: one by itself takes 20 us, of a few too.
_SHORT: Final = 1 << 11


@dataclass(frozen=True)
class GroupLayout:
    """``x`` with two axes, rows or lines, and the code of each row or element of a line.

    ``others``: the axes that no key has; ``kept``: those of the keys that are not folded, each
    place of which has ``groups`` groups; ``labels``: how many labels each key has.
    """

    x: Array
    codes: Array
    rows: bool
    groups: int
    others: tuple[int, ...]
    kept: tuple[int, ...]
    labels: tuple[int, ...]
    length: int

    @property
    def numbers(self) -> int:
        """How many groups are folded, at all places that are kept."""
        return self.groups * math.prod(self.kept)

    @property
    def axis(self) -> int:
        """Along which of the two axes groups lie."""
        return 0 if self.rows else 1

    def spread(self, result: Array) -> Array:
        """A result with two axes in the shape that it has for users: groups last."""
        own = (*self.kept, *self.labels)
        if not self.rows:
            return result.reshape((*self.others, *own))
        back = result.reshape((*own, *self.others))
        order = (*range(len(own), back.ndim), *range(len(own)))
        return back.transpose(order)


def layout(x: Array, keys: Coded, axis: Any) -> GroupLayout:
    """``x`` beside ``keys``, folded along ``axis``: all of the keys' axes by default."""
    where = _where(x, keys.codes.shape, axis)
    folded = where if axis is None else build.normalise_axes(axis, x.ndim)
    codes = broadcast_to(keys.codes, tuple(x.shape[k] for k in where))
    kept = tuple(k for k in where if k not in folded)
    own = (*kept, *(k for k in where if k in folded))
    codes = codes.transpose(tuple(where.index(k) for k in own)) if codes.ndim else codes
    sizes = tuple(x.shape[k] for k in kept)
    length = math.prod(x.shape[k] for k in where if k in folded)
    flat = codes.reshape(-1)
    if kept:
        flat = _apart(flat, keys.groups, length)
    others = tuple(k for k in range(x.ndim) if k not in where)
    width = math.prod(x.shape[k] for k in others)
    rows = width >= _NARROW and (_down(x, where, others) or len_of(x, own) <= _SHORT)
    order = (*own, *others) if rows else (*others, *own)
    shape = (len_of(x, own), width) if rows else (width, len_of(x, own))
    turned = (x.transpose(order) if x.ndim else x).reshape(shape)
    return GroupLayout(
        turned,
        flat,
        rows,
        keys.groups,
        tuple(x.shape[k] for k in others),
        sizes,
        keys.shape,
        length,
    )


def len_of(x: Array, axes: tuple[int, ...]) -> int:
    """How many places the ``axes`` of ``x`` have."""
    return math.prod(x.shape[k] for k in axes)


def _where(x: Array, shape: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    """The axes of ``x`` that the keys lie along: its last ones, or those of ``axis``."""

    def fits(axes: tuple[int, ...]) -> bool:
        own = tuple(x.shape[k] for k in axes)
        return len(own) == len(shape) and all(a in (1, b) for a, b in zip(shape, own, strict=True))

    last = tuple(range(x.ndim - len(shape), x.ndim))
    folded = last if axis is None else build.normalise_axes(axis, x.ndim)
    if len(shape) <= x.ndim and fits(last) and set(folded) <= set(last):
        return last
    if axis is not None and fits(tuple(folded)):
        return tuple(folded)
    if axis is not None and len(shape) <= x.ndim and fits(last):
        raise AxisError(f"axis {axis} is not an axis of the keys, which lie along the axes {last}")
    raise ShapeError(
        f"Length mismatch: keys of shape {shape} do not lie beside elements of shape {x.shape}; "
        "they have its last axes, or those that axis= names"
    )


def _apart(codes: Array, groups: int, length: int) -> Array:
    """Codes with groups of their own for each run of ``length`` places."""
    inside = elementwise("logical_and", codes >= 0, codes < groups)
    runs = codes.reshape((-1, length))
    first = arange(runs.shape[0], dtype="int64").reshape((-1, 1)) * groups
    number = elementwise("add", runs, first).reshape(-1)
    return elementwise("where", inside, number, -1)


def _down(x: Array, where: tuple[int, ...], others: tuple[int, ...]) -> bool:
    """Whether neighbours in memory are elements of other lines, not of the same one."""

    def steps(leaf: Leaf, axes: tuple[int, ...]) -> int:
        moves = (abs(leaf.strides[k]) for k in axes if leaf.strides[k] and leaf.shape[k] > 1)
        return min(moves, default=0)

    for leaf in walk(x._expr):
        if isinstance(leaf, Leaf) and leaf.shape == x.shape and any(leaf.strides):
            own, across = steps(leaf, where), steps(leaf, others)
            return bool(across) and (not own or across < own)
    return max(others, default=-1) > max(where, default=-1)
