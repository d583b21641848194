"""Views: affine changes of index, recorded in a leaf.

Every view is an `Affine`: index i of the new array reads index ``offset + matrix . i`` of the old
one. A leaf takes it into its own offset and strides. A `Map` becomes the source of a new leaf:
O(1), however large it is. `push` hands a view to a map's arguments instead, for the plan
(`push.py`). Reshape is affine where NumPy would not copy; elsewhere it is a new source, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from types import EllipsisType
from typing import Any, TypeAlias

import numpy as np

from ..dataclass import dataclass
from ..errors import AxisError, AxisTypeError, ShapeError
from .nodes import Expr, Leaf, Map, Shape, Source, const, countable, walk, whole
from .pairs.node import filled, interleaved, is_pair, of_pairs_in, of_parts
from .sources.read import Position

Index: TypeAlias = int | slice | EllipsisType | None


@dataclass(frozen=True)
class Axis:
    """Where an axis of the old array comes from: ``start + step * i[source]`` (None: start)."""

    source: int | None
    start: int
    step: int


@dataclass(frozen=True)
class Affine:
    """A change of index to ``shape``: one `Axis` for each axis of the old array."""

    shape: Shape
    axes: tuple[Axis, ...]


def apply(root: Expr, change: Affine) -> Expr:
    """``root`` seen through ``change``."""
    if change == _identity(root.shape):
        return root
    if is_pair(root):
        return of_parts(lambda part: apply(part, change), root)
    return through(root if isinstance(root, Leaf) else whole(root, root.shape), change)


def through(leaf: Leaf, change: Affine) -> Leaf:
    """``leaf`` seen through ``change``."""
    strides = [0] * len(change.shape)
    offset = leaf.offset
    for stride, axis in zip(leaf.strides, change.axes, strict=True):
        offset += stride * axis.start
        if axis.source is not None:
            strides[axis.source] += stride * axis.step
    return leaf_at(leaf.source, change.shape, offset, tuple(strides))


def leaf_at(source: Source, shape: Shape, offset: int, strides: tuple[int, ...]) -> Leaf:
    """The leaf; one position alone is a number, for which no kernel is made that has it alone."""
    if not shape and type(source) is Position:
        return const(offset, source.dtype)
    return Leaf(source, shape, offset, strides)


@lru_cache(maxsize=256)
def _identity(shape: Shape) -> Affine:
    return Affine(shape, tuple(Axis(k, 0, 1) for k in range(len(shape))))


def rebuild(root: Expr, shape: Shape, leaf: Callable[[Leaf], Expr]) -> Expr:
    """``root`` with every leaf replaced; a node shared by two parents stays shared."""
    done: dict[int, Expr] = {}
    for node in walk(root):
        done[id(node)] = (
            leaf(node)
            if type(node) is Leaf
            else Map(node.op, tuple([done[id(arg)] for arg in node.args]), shape, node.dtype)  # type: ignore[union-attr]
        )
    return done[id(root)]


def index(root: Expr, item: Any) -> Expr:
    """Basic indexing: integers, slices of any step, ``None`` and ``...``."""
    if is_pair(root):
        return of_parts(lambda part: index(part, item), root)
    leaf = root if isinstance(root, Leaf) else whole(root, root.shape)
    items = item if type(item) is tuple else (item,)
    offset, axis, all_of_it = leaf.offset, 0, True
    shape, strides = [], []  # what `apply` gives, without an `Affine`
    for entry in _expand_ellipsis(items, len(leaf.shape)):
        if entry is None:
            all_of_it = False
            shape.append(1)
            strides.append(0)
            continue
        extent, stride = leaf.shape[axis], leaf.strides[axis]
        if type(entry) is slice:
            start, stop, step = _slice_indices(entry, extent)
            count = stop - start if step == 1 and start <= stop else len(range(start, stop, step))
            all_of_it = all_of_it and not start and step == 1 and count == extent
            offset += stride * start
            shape.append(count)
            strides.append(stride * step)
        else:
            all_of_it = False
            offset += stride * _integer_index(entry, extent, axis)
        axis += 1
    return root if all_of_it else leaf_at(leaf.source, tuple(shape), offset, tuple(strides))


def indexed(old: Shape, item: Any) -> Affine:
    """What ``item`` does to the indices of an array of shape ``old``."""
    items: tuple[Any, ...] = item if isinstance(item, tuple) else (item,)
    items = _expand_ellipsis(items, len(old))
    shape: list[int] = []
    axes: list[Axis] = []
    for entry in items:
        if entry is None:
            shape.append(1)
            continue
        axis, extent = len(axes), old[len(axes)]
        if isinstance(entry, slice):
            start, stop, step = _slice_indices(entry, extent)
            axes.append(Axis(len(shape), start, step))
            shape.append(len(range(start, stop, step)))
        else:
            axes.append(Axis(None, _integer_index(entry, extent, axis), 0))
    return Affine(tuple(shape), tuple(axes))


def _expand_ellipsis(items: tuple[Any, ...], ndim: int) -> tuple[Any, ...]:
    rest = [i for i in items if i is not Ellipsis]
    used = sum([i is not None for i in rest])
    if used > ndim:
        raise AxisError(f"too many indices: {used} for an array of {ndim} dimensions")
    if len(items) - len(rest) > 1:
        raise AxisError("an index can have only one ellipsis ('...')")
    fill = (slice(None),) * (ndim - used)
    if len(rest) == len(items):
        return items + fill
    at = next(k for k, i in enumerate(items) if i is Ellipsis)
    return items[:at] + fill + items[at + 1 :]


def _slice_indices(entry: slice, extent: int) -> tuple[int, int, int]:
    try:
        return entry.indices(extent)
    except ValueError as err:
        raise AxisError(f"bad slice {entry}: {err}") from err
    except TypeError as err:
        raise AxisTypeError(f"slice bounds must be integers or None, not {entry}") from err


def _integer_index(entry: Any, extent: int, axis: int) -> int:
    if isinstance(entry, bool) or not isinstance(entry, (int, np.integer)):
        raise AxisError(
            f"index {entry!r} is not supported: use integers, slices, None or '...'; "
            "for a list of positions speedcube.take(x, positions, axis=0), for a mask "
            "speedcube.where(mask, x, 0) or x.compute()[mask.compute()]"
        )
    value = int(entry.__index__())
    if not -extent <= value < extent:
        raise AxisError(f"index {value} is out of bounds for axis {axis} with size {extent}")
    return value % extent


def transpose(root: Expr, axes: tuple[int, ...]) -> Expr:
    """Axis k of the result is axis ``axes[k]`` of ``root``."""
    return apply(root, turned(root.shape, axes))


@lru_cache(maxsize=256)
def turned(old: Shape, axes: tuple[int, ...]) -> Affine:
    """What `transpose` does to the indices of an array of shape ``old``."""
    where = {axis: new for new, axis in enumerate(axes)}
    shape = tuple(old[k] for k in axes)
    return Affine(shape, tuple(Axis(where[k], 0, 1) for k in range(len(axes))))


def diagonal(root: Expr, offset: int, first: int, second: int) -> Expr:
    """The diagonals of ``root`` in the plane of two axes, as its last axis."""
    rows, columns = root.shape[first], root.shape[second]
    start = (max(-offset, 0), max(offset, 0))
    length = max(0, min(rows - start[0], columns - start[1]))
    others = [k for k in range(len(root.shape)) if k not in (first, second)]
    shape = (*(root.shape[k] for k in others), length)
    if not length:
        return filled(0, root.dtype, shape)
    places = {axis: Axis(k, 0, 1) for k, axis in enumerate(others)}
    last = len(others)
    places |= {first: Axis(last, start[0], 1), second: Axis(last, start[1], 1)}
    return apply(root, Affine(shape, tuple(places[k] for k in range(len(root.shape)))))


def windows(root: Expr, sizes: tuple[int, ...], axes: tuple[int, ...]) -> Expr:
    """All windows of ``root``: along ``axes`` where one begins, and its ``sizes`` as axes behind.

    The sizes fit; an axis may have several windows.
    """
    if is_pair(root):
        return of_parts(lambda part: windows(part, sizes, axes), root)
    leaf = root if isinstance(root, Leaf) else whole(root, root.shape)
    begins = list(leaf.shape)
    for size, axis in zip(sizes, axes, strict=True):
        begins[axis] -= size - 1
    strides = (*leaf.strides, *(leaf.strides[axis] for axis in axes))
    return Leaf(leaf.source, countable((*begins, *sizes)), leaf.offset, strides)


def broadcast_to(root: Expr, shape: Shape) -> Expr:
    """``root`` repeated to ``shape`` by NumPy's rules."""
    if root.shape == shape:
        return root
    if is_pair(root):
        return of_parts(lambda part: broadcast_to(part, shape), root)
    leaf = root if type(root) is Leaf else whole(root, root.shape)
    return Leaf(leaf.source, shape, leaf.offset, _repeated(leaf.shape, leaf.strides, shape))


@lru_cache(maxsize=1024)
def _repeated(own: Shape, strides: tuple[int, ...], shape: Shape) -> tuple[int, ...]:
    """The strides of what has the shape ``own``, repeated to ``shape``."""
    lead = len(shape) - len(own)
    if lead < 0 or any(n not in (1, shape[lead + k]) for k, n in enumerate(own)):
        raise ShapeError(f"cannot broadcast shape {own} to {shape}")
    steps = [
        0 if n == 1 and shape[lead + k] != 1 else stride
        for k, (n, stride) in enumerate(zip(own, strides, strict=True))
    ]
    return (*(0,) * lead, *steps)


@lru_cache(maxsize=1024)
def broadcast_shapes(*shapes: Shape) -> Shape:
    """The common shape of ``shapes`` by NumPy's rules."""
    ndim = max(map(len, shapes), default=0)
    out: list[int] = []
    for k in range(-ndim, 0):
        sizes = {s[k] for s in shapes if len(s) >= -k} - {1}
        if len(sizes) > 1:
            raise ShapeError(
                f"shapes {' and '.join(map(str, shapes))} do not broadcast: "
                f"axis {k} has sizes {sorted(sizes)}"
            )
        out.append(sizes.pop() if sizes else 1)
    return countable(tuple(out))


def reshape(root: Expr, shape: Shape) -> Expr:
    """``root``, its elements in C order, in ``shape``: a view, or a new source of its elements."""
    if shape == root.shape:
        return root
    if is_pair(root):
        if (laid := interleaved(root)) is not None:
            return of_pairs_in(reshape(laid, (*shape, 2)))
        return of_parts(lambda part: reshape(part, shape), root)
    strides = reshaped(root, shape) if isinstance(root, Leaf) else None
    if strides is None:
        return whole(root, shape)
    assert isinstance(root, Leaf)
    return Leaf(root.source, shape, root.offset, strides)


def reshaped(leaf: Leaf, shape: Shape) -> tuple[int, ...] | None:
    """Strides of ``leaf`` in ``shape``, None where there are none.

    Axes are grouped by product; a group must be even.
    """
    if math.prod(shape) == 0:
        return (0,) * len(shape)
    old = [(n, s) for n, s in zip(leaf.shape, leaf.strides, strict=True) if n != 1]
    strides = [0] * len(shape)
    new = [k for k, n in enumerate(shape) if n != 1]
    i = j = 0
    while i < len(old):
        i0, j0 = i, j
        have, want = old[i][0], shape[new[j]]
        while have != want:
            if have < want:
                i += 1
                have *= old[i][0]
            else:
                j += 1
                want *= shape[new[j]]
        for a, b in zip(old[i0:i], old[i0 + 1 : i + 1], strict=True):
            if a[1] != b[1] * b[0]:
                return None
        stride = old[i][1]
        for k in reversed(new[j0 : j + 1]):
            strides[k] = stride
            stride *= shape[k]
        i, j = i + 1, j + 1
    return tuple(strides)
