"""A tile of whole segments of the stream on a GPU: a thread takes blocks and all their elements."""

from __future__ import annotations

from ..math.positions import SEGMENT, SEGMENT_SHIFT
from ..math.streams import Stream
from ..program import LeafCode
from .hooks import CudaSink
from .prelude import THREADS, TILE
from .text import CudaText


def segment_tile(text: CudaText, sink: CudaSink, leaf: LeafCode, stream: Stream) -> None:
    """``TILE`` stream blocks from segment ``t * segments`` of the row."""
    k = text.program.leaves.index(leaf)
    width, lg = stream.segment_blocks, leaf.lg
    blocks, elements = width >> lg, SEGMENT >> lg
    segments = TILE // blocks
    base = f"base{k}"
    text.put(
        f"i64 segment0 = ({base} >> {SEGMENT_SHIFT}) + t * {segments}, "
        f"first = {base} & {(1 << lg) - 1};"
    )
    text.put(
        f"i64 j0 = ((segment0 << {SEGMENT_SHIFT}) + first - {base}) >> {lg}, room = (i64)g4 - j0;"
    )
    text.put("int low = j0 < 0 ? (int)-j0 : 0;")
    full = segments * elements
    text.put(f"int high = room > {full} ? {full} : (int)room;")
    text.put(f"u64 block0 = (u64)(segment0 * {width} + first);")
    text.open(f"if (low == 0 && high == {full})")
    _blocks(text, sink, leaf, stream, guarded=False)
    text.depth -= 1
    text.open("} else if (high > low)")
    _blocks(text, sink, leaf, stream, guarded=True)
    text.close()


def _blocks(text: CudaText, sink: CudaSink, leaf: LeafCode, stream: Stream, guarded: bool) -> None:
    """The tile's stream blocks, THREADS at a time; guarded: some elements are outside."""
    width, lg = stream.segment_blocks, leaf.lg
    blocks, elements = width >> lg, SEGMENT >> lg
    segments = TILE // blocks
    if blocks > THREADS:
        text.open(f"for (int segment = 0; segment < {segments}; segment++)")
        text.put("#pragma unroll 1")
        text.open(f"for (int k = threadIdx.x; k < {blocks}; k += THREADS)")
    else:
        text.put(f"int k = threadIdx.x % {blocks};")
        text.put("#pragma unroll 1")
        step = f"(THREADS > {blocks} ? THREADS / {blocks} : 1)"
        text.open(
            f"for (int segment = threadIdx.x / {blocks}; segment < {segments}; segment += {step})"
        )
    text.put(f"int e = segment * {elements} + k;")
    text.put(f"u64 block = block0 + (u64)(unsigned)(segment * {width} + (k << {lg}));")
    values = _twins(text, leaf)
    sink.batch(stream.per_block)
    for q in range(stream.per_block):
        text.put(f"int e{q} = e + {q * blocks};")
        if guarded:
            text.open(f"if (e{q} >= low && e{q} < high)")
        else:
            text.open("")
        fetched = {name: outputs[f"v{q}"] for name, outputs in values.items()}
        j, e = f"(j0 + e{q})", f"e{q}"
        sink.consume(text.element(j, e, fetched), j, e, str(q))
        text.close()
    sink.after_batch(stream.per_block)
    text.close()
    if blocks > THREADS:
        text.close()


def _twins(text: CudaText, leaf: LeafCode) -> dict[str, dict[str, str]]:
    """All values of the current block, for each leaf that shares the primary's positions."""
    values = {}
    for k, other in enumerate(text.program.leaves):
        if other.mode == "segment" and other.twin == leaf.twin and other.stream is not None:
            values[f"leaf{k}"] = text.pipeline(other.stream.bodies, {"block": "block"})
    return values
