"""Tiles that are pieces of a file, in memory where each lies a line further on than it must.

A cache keeps few lines whose addresses differ by a power of two, as those of one column do in
pieces of so many bytes. So sums of sixteen pieces would wait for the next cache.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from typing import Final

from ... import dtypes
from ...dataclass import dataclass
from ...expr.nodes import Expr, Leaf, StageResult, c_strides, leaves
from ...expr.views import rebuild
from ...plan.reads import BoxRead, StreamBlock

_LINE: Final = 64  # bytes of a cache's line


@dataclass(eq=False)
class Apart:
    """Blocks over such memory; those over the memory of one block have one root.

    ``pieces`` says how many a block is in its file.
    """

    pieces: Callable[[StreamBlock], int]
    _known: dict[int, tuple[Expr, StreamBlock]] = field(default_factory=dict)

    def of(self, block: StreamBlock) -> StreamBlock:
        """``block``, its pieces apart; itself, where it is read in another way than it lies."""
        known = self._known.get(id(block.root))
        if known is None or known[0] is not block.root:
            self._known.clear()  # a border's blocks are few
            known = self._known[id(block.root)] = block.root, _apart(block, self.pieces(block))
        like = known[1]
        if like.root is block.root:
            return block
        reads = (BoxRead(block.reads[0].source, block.reads[0].box, like.reads[0].memory),)
        return replace(block, root=like.root, reads=reads)


def _apart(block: StreamBlock, pieces: int) -> StreamBlock:
    read = block.reads[0]
    memory, shape, strides = read.memory, read.memory.shape, c_strides(read.memory.shape)
    mine = [leaf for leaf in leaves(block.root) if leaf.source is memory]
    itemsize = dtypes.itemsize(memory.dtype)
    if pieces == 1 or _LINE % itemsize or not all(_lies(leaf, memory) for leaf in mine):
        return block
    down = shape.index(pieces)
    lines = -(-strides[down] * itemsize // _LINE) | 1  # an odd number of them
    apart = lines * _LINE // itemsize
    wider = StageResult((pieces, apart), memory.dtype)
    steps = (*strides[:down], apart, *strides[down + 1 :])
    new = {id(leaf): Leaf(wider, shape, 0, steps) for leaf in mine}
    root = rebuild(block.root, block.root.shape, lambda leaf: new.get(id(leaf), leaf))
    return replace(block, root=root, reads=(BoxRead(read.source, read.box, wider),))


def _lies(leaf: Leaf, memory: StageResult) -> bool:
    """Whether ``leaf`` is all elements of ``memory``, as they lie."""
    if leaf.shape != memory.shape or leaf.offset:
        return False
    pairs = zip(leaf.shape, leaf.strides, c_strides(memory.shape), strict=True)
    return all(mine == its or n == 1 for n, mine, its in pairs)
