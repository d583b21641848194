"""Filling a tile's L1 buffer with the values of a random leaf, phase after phase."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ..builder import Rounds
from ..math.positions import SEGMENT, SEGMENT_SHIFT
from ..math.streams import Stream
from ..program import LeafCode
from .elements import Elements, Tile
from .emit import emit
from .text import SCALAR, Text

Block: TypeAlias = Callable[[str], str]  # from the number of an element to its block, as vectors


def generate(elements: Elements, k: int, tile: Tile) -> None:
    """The values of random leaf ``k`` for the tile's elements, in its buffer."""
    leaf = elements.program.leaves[k]
    assert leaf.stream is not None
    if leaf.mode == "segment":
        _whole_segments(elements, k, leaf, leaf.stream, tile)
    else:
        _single_blocks(elements, k, leaf, leaf.stream, tile)


def _whole_segments(elements: Elements, k: int, leaf: LeafCode, stream: Stream, tile: Tile) -> None:
    """Every segment the tile touches, whole: each block's values go W / stride elements apart."""
    t, p, lg = elements.text, tile.positions[k], leaf.lg
    width = stream.segment_blocks
    blocks = width >> lg  # of which the stride needs these
    inside = t.i64("and", p, SEGMENT - 1)
    tile.shifts[k] = t.i64("lshr", inside, lg)
    first = t.i64("and", inside, (1 << lg) - 1)
    span = t.i64("shl", t.i64("sub", tile.count, 1), lg)
    segment0 = t.i64("ashr", p, SEGMENT_SHIFT)
    last = t.i64("ashr", t.i64("add", p, span), SEGMENT_SHIFT)
    segments = t.i64("add", t.i64("sub", last, segment0), 1)
    scalar = SCALAR[leaf.dtype]
    with t.loop(0, segments) as segment:
        begin, end = _needed(t, segment, segments, tile, k, lg, blocks)
        base = t.i64("mul", t.i64("add", segment0, segment), width)
        base = t.i64("add", base, first)
        values = t.at(elements.buffer(k), t.i64("mul", segment, SEGMENT >> lg), scalar)

        def block(i: str) -> str:
            return t.iota(t.i64("add", base, t.i64("shl", i, lg)), t.multiples(1 << lg))

        def store(i: str, outputs: dict[str, str]) -> None:
            for q in range(stream.per_block):
                index = t.i64("add", i, q * blocks)
                address = t.at(values, index, scalar)
                t.store(t.vector(scalar), outputs[f"v{q}"], address, 8)

        for s in range(len(stream.phases)):
            with t.loop(begin, end, t.lanes) as i:
                outputs = _phase(elements, stream, s, i, block)
                if s == len(stream.phases) - 1:
                    store(i, outputs)


def _needed(
    t: Text, segment: str, segments: str, tile: Tile, k: int, lg: int, blocks: int
) -> tuple[str, str]:
    """From which block of a segment on, and up to which, the tile takes values.

    All of them where it takes at least as many elements; what it takes may begin behind what the
    last block gives first, and go on before.
    """
    first = t.op(f"icmp eq i64 {segment}, 0")
    low = t.op(f"select i1 {first}, i64 {tile.shifts[k]}, i64 0", "i")
    last = t.op(f"icmp eq i64 {segment}, {t.i64('sub', segments, 1)}")
    behind = t.i64("add", tile.shifts[k], tile.count)
    behind = t.i64("sub", behind, t.i64("mul", segment, SEGMENT >> lg))
    high = t.op(f"select i1 {last}, i64 {behind}, i64 {SEGMENT >> lg}", "i")
    few = t.op(f"icmp slt i64 {t.i64('sub', high, low)}, {blocks}")
    begin = t.i64("and", low, blocks - 1)
    end = t.i64("add", t.i64("and", t.i64("sub", high, 1), blocks - 1), 1)
    ordered = t.op(f"icmp slt i64 {begin}, {end}")
    some = t.op(f"and i1 {few}, {ordered}")
    begin = t.op(f"select i1 {some}, i64 {t.i64('and', begin, -t.lanes)}, i64 0", "i")
    return begin, t.op(f"select i1 {some}, i64 {end}, i64 {blocks}", "i")


def _phase(elements: Elements, stream: Stream, s: int, i: str, block: Block) -> dict[str, str]:
    """Phase ``s`` for the blocks i, i + 1, ...: inputs from buffers, outputs to buffers."""
    t, body = elements.text, (stream.phases if elements.style.rolled else stream.bodies)[s]
    inputs = {}
    for name, dtype in body.inputs:
        if name == "block":
            inputs[name] = block(i)
        else:
            address = t.at(elements.buffer(elements.layout.phases[name]), i, SCALAR[dtype])
            inputs[name] = t.load(t.vector(SCALAR[dtype]), address, 8)
    if isinstance(body, Rounds):
        outputs = _rounds(t, body, inputs)
    else:
        outputs = emit(t, body, inputs, "%params")
    if s < len(stream.phases) - 1:
        for name, value in outputs.items():
            scalar = SCALAR[body.output_type(name)]
            address = t.at(elements.buffer(elements.layout.phases[name]), i, scalar)
            t.store(t.vector(scalar), value, address, 8)
    return outputs


def _rounds(t: Text, phase: Rounds, inputs: dict[str, str]) -> dict[str, str]:
    """A loop for the rounds: a tenth of the text compiles in a tenth of the time."""
    start = emit(t, phase.first, inputs, "%params")
    kinds = {name: t.vector(SCALAR[dtype]) for name, dtype in phase.each.inputs}
    state = {name: t.variable(kinds[name], start[name], name) for name in kinds}

    def carried() -> dict[str, str]:
        return {name: t.load(kinds[name], place) for name, place in state.items()}

    with t.loop(0, str(phase.times)) as r:
        params = t.at("%params", t.i64("mul", r, phase.step))
        for name, value in emit(t, phase.each, carried(), params).items():
            t.store(kinds[name], value, state[name])
    return emit(t, phase.last, carried(), "%params")


def _single_blocks(elements: Elements, k: int, leaf: LeafCode, stream: Stream, tile: Tile) -> None:
    """A block for each element: any stride, any table; one of the block's values is chosen."""
    t, scalar = elements.text, SCALAR[leaf.dtype]
    mode = "table" if leaf.mode == "single" and elements.program.table else leaf.mode
    count = "1" if leaf.mode == "splat" else tile.count

    def position(i: str) -> str:
        return elements.positions(k, "strided" if mode == "single" else mode, tile.positions[k], i)

    def block(i: str) -> str:
        return emit(t, stream.block_of, {"position": position(i)}, "")["block"]

    def chosen(i: str, outputs: dict[str, str]) -> str:
        return emit(t, stream.value_at, outputs | {"position": position(i)}, "")["x"]

    for s in range(len(stream.phases)):
        with t.loop(0, count, t.lanes) as i:
            outputs = _phase(elements, stream, s, i, block)
            if s == len(stream.phases) - 1:
                address = t.at(elements.buffer(k), i, scalar)
                t.store(t.vector(scalar), chosen(i, outputs), address, 8)
