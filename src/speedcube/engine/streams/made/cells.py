"""Boxes of expressions that read sources a box at a time: any of them, whenever it is asked for."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ....expr.graph import below_up_to, memories
from ....expr.nodes import Const, Expr, Leaf, Map, Position, Random, Stored, Tiled, is_whole, walk
from ....expr.push import in_place
from ....plan.reads import StreamBlock, bytes_of
from ....plan.stages import Part, Stage
from ....plan.streams import BLOCK, BlockFinder, can_stream, tiled
from ...boxes import Stop
from ...cpu import run_store
from ...prepare import prepare
from ..reading import Buffers

Array: TypeAlias = NDArray[Any]
Item: TypeAlias = tuple[slice, ...]

_PLAIN: Final = (Const, Position, Random, Stored, Tiled)
_HERE: Final = frozenset((Const, Stored))
_MOST_NODES: Final = 1 << 12  # of a program
_KERNELS: Final = 8  # of blocks that differ in more than where they lie: borders, mostly


class Cells:
    """The elements of ``roots``, which have one shape, in boxes of it that move along ``axes``."""

    as_they_are = True  # what is made are elements, not what is made of them

    def __init__(self, roots: Sequence[Expr], axes: Sequence[int]) -> None:
        self.roots = tuple(roots)
        first = self.roots[0]
        every = Map("several", self.roots, first.shape, first.dtype)
        self._root = first if len(self.roots) == 1 else every
        self._finder = BlockFinder(self._root, axes)
        self._buffers = Buffers()
        self._lock = threading.Lock()
        self._stages: dict[object, tuple[StreamBlock, list[Stage]]] = {}

    def make(self, item: Item, out: Sequence[Array]) -> None:
        """The elements ``item`` of each root into its one of ``out``, which is C-contiguous."""
        block = self._finder.at(item)
        if self.as_they_are and _is_read_as_it_lies(block):
            block.reads[0].source.tiles.read(block.reads[0].box, out[0])
            return
        like, stages = self._known(block)
        arrays = [self._buffers.take(one.memory.shape, one.source.dtype) for one in block.reads]
        inputs = {}
        for mine, read, array in zip(like.reads, block.reads, arrays, strict=True):
            read.source.tiles.read(read.box, array)
            inputs[id(mine.memory)] = array
        for stage, share in zip(stages, out, strict=True):
            self._run(stage, inputs, share)
        for array in arrays:
            self._buffers.give(array)

    def _run(self, stage: Stage, inputs: dict[int, Array], share: Array) -> None:
        """What ``stage`` makes of a box, into ``share``."""
        if (known := _as_read(stage.root, inputs)) is not None:
            share.reshape(-1)[...] = known
        else:
            run_store(prepare(stage, stage.parts[0], None), inputs, share, Stop())

    def _stage(self, root: Expr, number: int) -> Stage:
        """The stage of a box whose elements are those of ``root``, of the root of this number."""
        return Stage(root, None, (), (Part(root, (), None, 0, 0),), "one")

    def bytes_of(self, extents: tuple[int, ...]) -> int:
        """Bytes that a box of ``extents`` reads of sources."""
        return sum(bytes_of(leaf, extents) for leaf in tiled(self._root))

    def _known(self, block: StreamBlock) -> tuple[StreamBlock, list[Stage]]:
        """What has the kernels of ``block``: those that differ in nothing but data share them."""
        number = {id(read.memory): k for k, read in enumerate(block.reads)}
        key = tuple(
            (x.shape, x.offset, x.strides, number.get(id(x.source), id(x.source)))
            for x in walk(block.root)
            if isinstance(x, Leaf)
        )
        with self._lock:  # several threads ask for boxes
            if key not in self._stages:
                if len(self._stages) >= _KERNELS:
                    self._stages.clear()
                roots = (block.root,) if len(self.roots) == 1 else _args(block.root)
                stages = [self._stage(root, k) for k, root in enumerate(roots)]
                self._stages[key] = block, stages
            return self._stages[key]


def _args(root: Expr) -> tuple[Expr, ...]:
    assert isinstance(root, Map)
    return root.args


def plain(root: Expr) -> Expr | None:
    """``root`` without views of maps, if any box of it can be made alone; else None."""
    root = in_place(root)
    nodes = list(walk(root))
    found = [node for node in nodes if isinstance(node, Leaf)]
    if memories(nodes) or not all(isinstance(leaf.source, _PLAIN) for leaf in found):
        return None
    if any(isinstance(leaf.source, Stored) and leaf.source.on_device for leaf in found):
        return None
    return root if can_stream(root) else None


def reads_files(roots: Sequence[Expr]) -> bool:
    """Whether anything below ``roots`` is read a box at a time, as much as a block of it."""
    if all(map(_is_in_memory, roots)):  # as nearly always
        return False
    nodes = below_up_to(roots, _MOST_NODES)
    found = [] if nodes is None else [x.source for x in nodes if isinstance(x, Leaf)]
    return any(isinstance(one, Tiled) and _size(one) > BLOCK for one in found)


def _is_in_memory(root: Expr) -> bool:
    """Whether ``root`` is an operation at most, of what lies in memory as it is."""
    read = (root,) if type(root) is Leaf else root.args  # type: ignore[union-attr]
    return all([type(one) is Leaf and type(one.source) in _HERE for one in read])


def _size(source: Tiled) -> int:
    return math.prod(source.shape) * np.dtype(source.dtype).itemsize


def read_bytes(root: Expr) -> int:
    """Bytes that all of ``root`` reads of sources that are read a box at a time."""
    return sum(bytes_of(leaf, root.shape) for leaf in tiled(root))


def _is_read_as_it_lies(block: StreamBlock) -> bool:
    """Whether the elements of ``block`` are the one box that it reads."""
    root = block.root
    if len(block.reads) != 1 or not isinstance(root, Leaf):
        return False
    memory = block.reads[0].memory
    return root.source is memory and is_whole(root) and root.shape == memory.shape


def _as_read(root: Expr, inputs: dict[int, Array]) -> Array | None:
    """The elements of ``root``, flat, where they were read as they are."""
    if not (isinstance(root, Leaf) and is_whole(root) and id(root.source) in inputs):
        return None
    return np.asarray(inputs[id(root.source)]).reshape(-1)[: math.prod(root.shape)]
