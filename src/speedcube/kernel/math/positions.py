"""Where the number of a position lies in the stream: in which block, and which of its values.

A segment is `SEGMENT` neighbouring positions, the first a multiple of that. Its blocks are
`W = SEGMENT / per_block`; position `p` takes value `(p mod SEGMENT) div W` of block
`(p div SEGMENT) * W + p mod W`. So the values of one block lie `W` apart, and every stride
`1, 2, 4 ... W` uses blocks whole. docs/stream-v1.md is the normative page.

The bodies here are all that kernels know of a single position. (`commands/rng/layouts.py` has the
page's own words once more, as a check from outside.) What computes whole segments
(`llvm/random.py`, `cuda/segments.py`) has the same in its loops. Both numbers are powers of two,
and positions count as unsigned: shifts and masks suffice.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from ..builder import Builder
from ..ir import Body

SEGMENT: Final = 1024
SEGMENT_SHIFT: Final = SEGMENT.bit_length() - 1  # from a position to its segment


def blocks_of_segment(per_block: int) -> int:
    """W: the blocks of a segment, whose positions they share evenly."""
    return SEGMENT // per_block


@lru_cache
def block_of(per_block: int) -> Body:
    """`position -> block`: the number of the block that has the position's value."""
    b = Builder()
    position = b.input("position", "int64").bitcast("uint64")
    width = blocks_of_segment(per_block)
    block = position
    if per_block > 1:
        inside = position & b.const(width - 1, "uint64")
        block = ((position >> SEGMENT_SHIFT) << (width.bit_length() - 1)) + inside
    b.output("block", block)
    return b.body()


@lru_cache
def value_at(per_block: int, dtype: str) -> Body:
    """`position, v0, v1 ... -> x`: the position's own among the values of its block."""
    b = Builder()
    value = b.input("v0", dtype)
    if per_block > 1:
        position = b.input("position", "int64").bitcast("uint64")
        width = blocks_of_segment(per_block)
        which = (position >> (width.bit_length() - 1)) & b.const(per_block - 1, "uint64")
        for k in range(1, per_block):
            here = which.compare("eq", b.const(k, "uint64"))
            value = b.select(here, b.input(f"v{k}", dtype), value)
    b.output("x", value)
    return b.body()
