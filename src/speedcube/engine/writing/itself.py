"""Writes onto what is read: refused, unless no block reads what another one has written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...errors import ParameterError
from ...expr import views
from ...expr.graph import below, memories
from ...expr.nodes import Deferred, Expr, Leaf, Piecewise, Stored, Tiled, leaves, walk
from ...expr.piecewise.regions import pieced, split, window
from ...expr.push import push
from ...expr.sources.tiled import Box
from ...plan.reads import reading, reads_boxes
from ...plan.writing import Item, WriteGrid, reals
from ..foreign.seen import mapped, seen_in
from .settling import left_to_blocks
from .target import Over, WriteTarget

# Of a search for elements in common, before they are believed to be there.
_WORK: Final[Any] = 1 << 16
_WAYS: Final = {
    True: "write to another path, and rename that when it is whole",
    False: "write to other memory",
}


def check_reads(
    given: Sequence[Expr],
    roots: Sequence[Expr],
    targets: Sequence[WriteTarget],
    before: Sequence[WriteTarget],
    grid: WriteGrid,
) -> None:
    """`ParameterError` where ``roots``, of ``given`` ones, read what is written before it is read.

    Into ``targets`` they are written block after block, those ``before`` are written already.
    """
    sources = [node.source for node in below(*reals(given)) if isinstance(node, Leaf)]
    for target in targets:
        over = target.over() if any(map(_can_be_written, sources)) else None
        if over is None or not any(_meets(one, over) for one in sources):
            continue
        if over.clears:
            raise ParameterError(
                f"{target.label} is what the array to write is made of, and mode='w' takes it away "
                f"before it is read: {_WAYS[True]}"
            )
        if over.resumes:
            raise ParameterError(
                f"{target.label} is what the array to write is made of, and resume=True cannot "
                f"tell what of it is written already: {_WAYS[True]}"
            )
        if grid.count > 1:
            _Blocks(over, target.first, grid.shape).check(roots, target.label, grid.items())
    for target in before:
        over = target.over()
        if over is not None and any(_meets(one, over) for one in sources):
            whole = tuple(slice(0, n) for n in grid.shape)
            _Blocks(over, None, grid.shape).check(roots, target.label, [whole])


def is_in_place(given: Sequence[Expr], targets: Sequence[WriteTarget]) -> bool:
    """Whether some of what ``given`` reads is what is written to."""
    sources = [node.source for node in below(*reals(given)) if isinstance(node, Leaf)]
    if not any(map(_can_be_written, sources)):
        return False
    places = [over for target in targets if (over := target.over()) is not None]
    return any(_meets(source, over) for over in places for source in sources)


def _can_be_written(source: object) -> bool:
    return isinstance(source, (Tiled, Stored, Deferred))


def _meets(source: object, over: Over) -> bool:
    """Whether ``source`` reads of what is written over."""
    if isinstance(source, Stored):
        shares = over.memory is not None and _shares(source.buffer, over.memory)
        return shares or _is_mapped(source.buffer, over.place)
    if isinstance(source, Tiled):
        return _reads(source.tiles, over)
    if isinstance(source, Deferred):
        return any(_meets(one, over) for one in seen_in(source.collection.__dask_graph__()))
    return isinstance(source, str) and _is_in(source, over.place)


def _is_mapped(buffer: Any, place: str) -> bool:
    """Whether ``buffer`` is the file at ``place``, though others may have it in other memory."""
    found = mapped(buffer) if isinstance(buffer, np.ndarray) else None
    return found is not None and _is_in(found[0], place)


def _reads(tiles: Any, over: Over) -> bool:
    """Whether ``tiles``, or what they are made of, read of what is written over."""
    if (place := getattr(tiles, "place", None)) is not None:
        return _is_in(place, over.place)
    if (graph := getattr(tiles, "graph", None)) is not None:
        return any(_meets(one, over) for one in seen_in(graph))
    made = getattr(tiles, "made_of", ()) or getattr(tiles, "root", ())
    if made:
        return _is_met(made if isinstance(made, tuple) else (made,), over)
    if (inner := getattr(tiles, "tiles", None)) is not None:  # of complex numbers' parts
        return _reads(inner, over)
    lies_in = getattr(tiles, "lies_in", ())
    return any(_is_in(os.path.realpath(place), over.place) for place in lies_in)


def _is_met(roots: Sequence[Expr], over: Over) -> bool:
    """Whether ``roots`` read of what is written over."""
    nodes = (node for node in below(*reals(roots)) if isinstance(node, Leaf))
    return any(_meets(node.source, over) for node in nodes)


def _is_in(place: str, outer: str) -> bool:
    return bool(outer) and (place == outer or place.startswith(outer.rstrip("/") + "/"))


@dataclass(eq=False)
class _Blocks:
    """Blocks of arrays of ``shape``, written over ``over`` from ``first`` on; None: before all."""

    over: Over
    first: tuple[int, ...] | None
    shape: tuple[int, ...]
    met: dict[int, tuple[Any, bool]] = field(default_factory=dict)  # keeps the ids alive

    def check(self, roots: Sequence[Expr], label: str, items: Iterable[Item]) -> None:
        """`ParameterError` where one of ``items`` reads what another one writes."""
        left = reals(left_to_blocks(roots))
        for item in items:
            for root in left:
                here = push(root, views.indexed(root.shape, item))
                if not self._is_alone(here, item):
                    way = _WAYS[bool(self.over.place)]
                    raise ParameterError(
                        f"{label} is what the array to write is made of, and some of it would be "
                        f"read after it was written over: {way}; what reads of each element that "
                        "one alone may be written in its place, in the same chunks"
                    )

    def _is_alone(self, root: Expr, item: Item) -> bool:
        """Whether the block ``item``, which is ``root``, reads nothing that others write."""
        if not all(map(_is_window, pieced(root))):
            return not _is_met([root], self.over)
        return all(self._reads_own(leaf, item, gathered) for leaf, gathered in _read_by(root))

    def _reads_own(self, leaf: Leaf, item: Item, gathered: bool) -> bool:
        source = leaf.source
        if id(source) not in self.met:
            self.met[id(source)] = source, _is_met([leaf], self.over)
        if not self.met[id(source)][1]:
            return True
        if gathered or self.first is None:
            return False
        if isinstance(source, Stored):
            return self._is_own_memory(leaf, source.buffer, item)
        if not isinstance(source, Tiled) or not reads_boxes(leaf):
            return False
        box = reading([leaf])[0].box
        tiles: Any = source.tiles
        if (inner := getattr(tiles, "tiles", None)) is not None:  # of complex numbers' parts
            tiles, box = inner, box[:-1]
        start = getattr(tiles, "offset", -1)
        if isinstance(pieces := getattr(tiles, "source", None), Piecewise):
            return self._is_alone(_of_pieces(leaf, pieces, tiles.made_of), item)
        if hasattr(tiles, "made_of") or start != self.over.start:
            return False
        return self._is_own(box, item)

    def _is_own(self, box: Box, item: Item) -> bool:
        """Whether ``box`` of what is written over has nothing of blocks but for ``item``."""
        assert self.first is not None
        if len(box) != len(self.first):
            return False
        each = list(zip(box, item, self.first, self.shape, strict=True))
        if any(one.stop <= f or one.start >= f + n for one, _, f, n in each):
            return True
        return all(
            max(one.start, f) >= own.start + f and min(one.stop, f + n) <= own.stop + f
            for one, own, f, n in each
        )

    def _is_own_memory(self, leaf: Leaf, buffer: NDArray[Any], item: Item) -> bool:
        """The same of what ``leaf`` reads of ``buffer``."""
        there = self.over.memory
        if there is None or not np.may_share_memory(buffer, there):
            return False  # the same file, seen through other memory
        read, own = _window(leaf, buffer), there[item]
        if not _shares(read, there):
            return True
        behind = read.ctypes.data - own.ctypes.data  # that of a complex number's second part is
        steps = zip(read.strides, own.strides, own.shape, strict=True)
        return 0 <= behind < own.itemsize and all(a == b or n == 1 for a, b, n in steps)


def _is_window(leaf: Leaf) -> bool:
    """Whether boxes of ``leaf`` read boxes of its array of pieces."""
    return isinstance(leaf.source, Piecewise) and window(leaf, leaf.source.shape) is not None


def _of_pieces(leaf: Leaf, pieces: Piecewise, roots: Sequence[Expr]) -> Leaf:
    """``leaf``, which reads ``pieces`` that are ``roots`` a box at a time, as who reads them."""
    pairs = zip(pieces.pieces, roots, strict=True)
    boxes = tuple(replace(piece, expr=root) for piece, root in pairs)
    return Leaf(replace(pieces, boxes=boxes), leaf.shape, leaf.offset, leaf.strides)


def _read_by(root: Expr) -> Iterator[tuple[Leaf, bool]]:
    """The leaves of ``root``, also of the pieces that it reads, and whether a gather reads them."""
    for box in split(root):
        gathered = memories(walk(box.root))
        for leaf in leaves(box.root):
            yield leaf, id(leaf) in gathered


def _window(leaf: Leaf, buffer: NDArray[Any]) -> NDArray[Any]:
    """What ``leaf`` reads of ``buffer``, in place."""
    size = buffer.itemsize
    interface = {
        "version": 3,
        "typestr": buffer.dtype.str,
        "shape": leaf.shape,
        "strides": tuple(step * size for step in leaf.strides),
        "data": (buffer.ctypes.data + leaf.offset * size, True),
    }
    return np.asarray(type("Window", (), {"__array_interface__": interface, "base": buffer})())


def _shares(one: Any, other: NDArray[Any]) -> bool:
    """Whether an element of ``one`` lies where one of ``other`` does."""
    if not isinstance(one, np.ndarray):
        return False
    try:
        return np.shares_memory(one, other, max_work=_WORK)
    except np.exceptions.TooHardError:
        return True
