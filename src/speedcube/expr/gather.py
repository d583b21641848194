"""Reading at computed positions, and what samplers make of them: nothing is materialised for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, reduce
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..dataclass import dataclass
from ..ops import SAMPLERS
from . import views
from .build import elementwise
from .graph import is_short
from .nodes import (
    STAGED,
    Const,
    Expr,
    Leaf,
    Map,
    Position,
    Shape,
    Source,
    Stored,
    Tiled,
    c_strides,
    const,
    countable,
    is_whole,
    memory,
    whole,
)
from .pairs.node import is_pair, of_parts
from .push import in_place, places
from .sources.taken import taken
from .views import Affine, Axis

# Nodes of what is read at indices, each of whose leaves is; more are made first where that is about
# as many elements, or few, and many more always: pushed into all steps of a loop, an index doubles
# them in each. Of very many elements few are made, whatever that takes.
_PUSHED: Final = 64
_MOST_PUSHED: Final = 512
_FEW: Final = 1 << 16
_MADE: Final = 1 << 24


def sampled(op: str, args: Sequence[Expr], shape: Shape) -> Expr:
    """The sampler ``op``, a name of `ops.SAMPLERS`, of arguments broadcast to ``shape``."""
    return Map(op, tuple(views.broadcast_to(arg, shape) for arg in args), shape, SAMPLERS[op])


def gathered(source: Source, first: int, last: int, index: Expr) -> Expr:
    """What ``source`` has at each position ``index``, held between ``first`` and ``last``."""
    shape, still = index.shape, (0,) * len(index.shape)
    ends = [Leaf(Const(number, "int64"), shape, 0, still) for number in (first, last)]
    return Map("gather", (index, Leaf(source, shape, 0, still), *ends), shape, source.dtype)


def search(op: str, line: Expr, wanted: Expr) -> Expr:
    """How many elements of ``line``, which is sorted, come before each of ``wanted``, int64.

    ``op`` of `ops.SEARCHES`; NaN is behind every number. A line that is computed is made once.
    """
    if isinstance(line, Map):
        line = whole(line, line.shape)
    assert isinstance(line, Leaf)
    if not isinstance(line.source, (Stored, Map, Leaf, *STAGED)):
        line = whole(line, line.shape)
    (count,), (stride,), shape = line.shape, line.strides, wanted.shape
    about = (line.offset, stride, count, max(count.bit_length() - 1, 0))
    ends = [const(number, "int64", shape) for number in about]
    return Map(op, (wanted, memory(line.source, shape), *ends), shape, "int64")


def searched(op: str, line: NDArray[Any], wanted: NDArray[Any]) -> NDArray[np.int64]:
    """What `search` means: the steps of a kernel, which also say what a line out of order gives."""
    place = np.zeros(wanted.shape, np.int64)
    if not line.size:
        return place
    is_left = op == "search_left"
    if is_in_order(line):
        return np.asarray(np.searchsorted(line, wanted, "left" if is_left else "right"), np.int64)
    step = 1 << (line.size.bit_length() - 1)
    while step:
        behind = place + step
        element = line[np.minimum(behind, line.size) - 1]
        passed = _before(element, wanted) if is_left else ~_before(wanted, element)
        place = np.where(passed & (behind <= line.size), behind, place)
        step >>= 1
    return place


def is_in_order(line: NDArray[Any]) -> bool:
    """Whether ``line`` is sorted, and so what is found does not depend on the way; NaN says no."""
    return bool((line[:-1] <= line[1:]).all())


def _before(x: NDArray[Any], y: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray((x < y) | ((x == x) & (y != y)))


def is_moved(node: Expr) -> bool:
    """Whether ``node`` has elements with the bits that they have in memory, at other places.

    Kernels have float16 as float32, so its NaN are not.
    """
    return isinstance(node, Map) and node.op == "gather" and node.dtype != "float16"


def take(root: Expr, index: Expr, axis: int) -> Expr:
    """``root`` with ``axis`` read at each of ``index``, whose axes take its place."""
    if type(root) is Leaf and type(root.source) is Stored and type(index) in (Leaf, Map):
        (count,) = root.shape if len(root.shape) == 1 else (0,)
        all_of_it = count and root.strides == (1,) and not root.offset
        if all_of_it and index.dtype == "int64":  # as nearly always
            return gathered(root.source, 0, count - 1, index)
    return take_several(root, [index], [axis], axis)


def _lines_of(root: Leaf, index: Expr, axis: int) -> Expr:
    """What `take_several` gives of one ``axis`` of an array in memory: two operations at most."""
    own = root.shape, root.offset, root.strides
    shape, before, still, behind, first, last = _along(*own, axis, index.shape)
    at = index
    if shape != index.shape:
        leaf = index if type(index) is Leaf else whole(index, index.shape)
        at = Leaf(leaf.source, shape, leaf.offset, (*before, *leaf.strides, *behind))
    step = root.strides[axis]
    if step != 1:
        at = elementwise("multiply", [at, step])
    if root.offset or any(still):
        at = elementwise("add", [Leaf(Position(), shape, root.offset, still), at])
    return gathered(root.source, first, last, at)


class _TakenAlong(NamedTuple):
    """The ``shape`` of lines at indices, and the steps of axes ``before`` and ``behind`` these.

    By ``still`` steps positions change along the axes that stay; all lie from ``first`` to
    ``last``.
    """

    shape: Shape
    before: tuple[int, ...]
    still: tuple[int, ...]
    behind: tuple[int, ...]
    first: int
    last: int


@lru_cache(maxsize=1024)
def _along(
    own: Shape, offset: int, strides: tuple[int, ...], axis: int, inner: Shape
) -> _TakenAlong:
    """What indices of shape ``inner`` take along ``axis`` of an array that lies so."""
    shape = countable((*own[:axis], *inner, *own[axis + 1 :]))
    behind = (0,) * (len(own) - axis - 1)
    still = (*strides[:axis], *(0,) * len(inner), *strides[axis + 1 :])
    ends = _ends(own, offset, strides)
    return _TakenAlong(shape, (0,) * axis, still, behind, *ends)


def take_several(root: Expr, indices: Sequence[Expr], axes: Sequence[int], place: int) -> Expr:
    """``root`` read along each of ``axes`` at its one of ``indices``, which have one shape.

    The other axes stay in their order; those of the indices come before number ``place`` of them.
    """
    stored = type(root) is Leaf and type(root.source) is Stored and len(indices) == 1
    if stored and place == axes[0] and indices[0].dtype == "int64" and root.strides[place]:  # type: ignore[union-attr]
        return _lines_of(root, indices[0], place)  # type: ignore[arg-type]
    kept = [k for k in range(len(root.shape)) if k not in axes]
    inner = indices[0].shape
    before, behind = kept[:place], kept[place:]
    shape = countable((*(root.shape[k] for k in before), *inner, *(root.shape[k] for k in behind)))
    along = tuple(Axis(place + k, 0, 1) for k in range(len(inner)))
    spread = [views.apply(index, Affine(shape, along)) for index in indices]

    def rest(strides: tuple[int, ...]) -> tuple[int, ...]:
        new = (0,) * len(inner)
        return (*(strides[k] for k in before), *new, *(strides[k] for k in behind))

    known = _Chosen(axes[0], place, inner, indices[0]) if len(indices) == 1 else None
    return _read(root, shape, [*zip(axes, spread, strict=True)], rest, known)


@dataclass(frozen=True, eq=False)
class _Chosen:
    """The ``index`` of an ``axis``: its ``inner`` axes come before number ``place`` of the rest."""

    axis: int
    place: int
    inner: Shape
    index: Expr

    def leaf(self, node: Leaf, shape: Shape) -> Leaf | None:
        """What they take of ``node``, if that reads a file of which boxes can be taken."""
        source = node.source
        where = places(node, source.shape) if isinstance(source, Tiled) else None
        if where is None or not isinstance(source, Tiled) or 0 in shape:
            return None
        values = _at_hand(self.index)
        if values is None:
            return None
        starts, rows = where
        met = [k for k, row in enumerate(rows) if row[self.axis]]
        if len(met) != 1 or any(n for k, n in enumerate(rows[met[0]]) if k != self.axis):
            return None
        (along,) = met
        chosen = starts[along] + rows[along][self.axis] * values
        made = taken(source, along, chosen, whole(source, source.shape))
        if made is None:
            return None
        steps = c_strides(made.shape)
        offset = sum(
            n * step for k, (n, step) in enumerate(zip(starts, steps, strict=True)) if k != along
        )
        strides = [
            sum(row[k] * step for row, step in zip(rows, steps, strict=True))
            for k in range(len(node.shape))
            if k != self.axis
        ]
        strides[self.place : self.place] = [n * steps[along] for n in c_strides(self.inner)]
        return Leaf(made, shape, offset, tuple(strides))


def _at_hand(index: Expr) -> NDArray[np.int64] | None:
    """The values of ``index``, in a row, where it lies in memory as it is."""
    node = index.args[0] if isinstance(index, Map) and index.op == "cast" else index
    if not isinstance(node, Leaf) or not isinstance(node.source, Stored) or not is_whole(node):
        return None
    buffer = node.source.buffer
    return buffer.reshape(-1).astype(np.int64) if type(buffer) is np.ndarray else None


def take_along(root: Expr, index: Expr, axis: int) -> Expr:
    """``root`` read at ``index`` along ``axis``, and at the element's own place along the others.

    ``index`` has the shape of ``root`` but for the extent of ``axis``.
    """

    def rest(strides: tuple[int, ...]) -> tuple[int, ...]:
        return (*strides[:axis], 0, *strides[axis + 1 :])

    return _read(root, index.shape, [(axis, index)], rest)


def _read(
    root: Expr,
    shape: Shape,
    indices: Sequence[tuple[int, Expr]],
    rest: Callable[[tuple[int, ...]], tuple[int, ...]],
    known: _Chosen | None = None,
) -> Expr:
    """``root`` at ``indices`` along their axes; ``rest`` are the strides along those that stay.

    ``known``: the same of one axis alone.
    """
    if is_pair(root):
        return of_parts(lambda part: _read(part, shape, indices, rest, known), root)

    def leaf(node: Leaf) -> Expr:
        still = rest(node.strides)
        moving = [(node.strides[axis], index) for axis, index in indices if node.strides[axis]]
        if isinstance(node.source, Const) or not moving:
            return Leaf(node.source, shape, node.offset, still)
        if known is not None and (found := known.leaf(node, shape)) is not None:
            return found
        steps = [i if n == 1 else elementwise("multiply", [i, n]) for n, i in moving]
        if node.offset or any(still) or steps[0].dtype != "int64":
            steps.insert(0, Leaf(Position(), shape, node.offset, still))
        at = reduce(lambda sum, step: elementwise("add", [sum, step]), steps)
        if isinstance(node.source, Position):
            return at
        return gathered(node.source, *_extent(node), at)

    if _is_made_first(root, math.prod(shape)):
        return leaf(root if isinstance(root, Leaf) else whole(root, root.shape))
    return views.rebuild(in_place(root), shape, leaf)


def _is_made_first(root: Expr, few: int) -> bool:
    """Whether all of ``root`` is made before ``few`` elements of it are read."""
    size = math.prod(root.shape)
    if size > _MADE or is_short(root, _PUSHED):
        return False
    return size <= max(_FEW, 8 * few) or not is_short(root, _MOST_PUSHED)


def _extent(leaf: Leaf) -> tuple[int, int]:
    """The first and the last position that ``leaf`` reads."""
    return _ends(leaf.shape, leaf.offset, leaf.strides)


def _ends(shape: Shape, offset: int, strides: tuple[int, ...]) -> tuple[int, int]:
    spans = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    first, last = (offset + sum(end(0, span) for span in spans) for end in (min, max))
    return first, last
