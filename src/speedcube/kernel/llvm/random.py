"""Filling a tile's L1 buffer with the values of one random leaf, one pipeline stage at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ..builder import Rounds
from ..math.positions import SEGMENT
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
    if leaf.mode == "run":
        _whole_runs(elements, k, leaf, leaf.stream, tile)
    else:
        _single_blocks(elements, k, leaf, leaf.stream, tile)


def _whole_runs(elements: Elements, k: int, leaf: LeafCode, stream: Stream, tile: Tile) -> None:
    """Every run the tile touches, whole: each block's values go W / stride elements apart."""
    t, p, lg = elements.text, tile.positions[k], leaf.lg
    width = stream.segment_blocks
    blocks = width >> lg  # of which the stride needs these
    inside = t.i64("and", p, SEGMENT - 1)
    tile.shifts[k] = t.i64("lshr", inside, lg)
    first = t.i64("and", inside, (1 << lg) - 1)
    span = t.i64("shl", t.i64("sub", tile.count, 1), lg)
    run0 = t.i64("ashr", p, 10)
    last = t.i64("ashr", t.i64("add", p, span), 10)
    runs = t.i64("add", t.i64("sub", last, run0), 1)
    scalar = SCALAR[leaf.dtype]
    with t.loop(0, runs) as run:
        base = t.i64("mul", t.i64("add", run0, run), width)
        base = t.i64("add", base, first)
        values = t.at(elements.buffer(k), t.i64("mul", run, SEGMENT >> lg), scalar)

        def block(i: str) -> str:
            return t.iota(t.i64("add", base, t.i64("shl", i, lg)), t.multiples(1 << lg))

        def store(i: str, outputs: dict[str, str]) -> None:
            for q in range(stream.per_block):
                index = t.i64("add", i, q * blocks)
                address = t.at(values, index, scalar)
                t.store(t.vector(scalar), outputs[f"v{q}"], address, 8)

        for s in range(len(stream.stages)):
            with t.loop(0, str(blocks), t.lanes) as i:
                outputs = _stage(elements, stream, s, i, block)
                if s == len(stream.stages) - 1:
                    store(i, outputs)


def _stage(elements: Elements, stream: Stream, s: int, i: str, block: Block) -> dict[str, str]:
    """Stage ``s`` for the blocks i, i + 1, ...: inputs from buffers, outputs to buffers."""
    t, body = elements.text, (stream.stages if elements.rolled else stream.bodies)[s]
    inputs = {}
    for name, dtype in body.inputs:
        if name == "block":
            inputs[name] = block(i)
        else:
            address = t.at(elements.buffer(elements.layout.stage[name]), i, SCALAR[dtype])
            inputs[name] = t.load(t.vector(SCALAR[dtype]), address, 8)
    if isinstance(body, Rounds):
        outputs = _rounds(t, body, inputs)
    else:
        outputs = emit(t, body, inputs, "%params")
    if s < len(stream.stages) - 1:
        for name, value in outputs.items():
            scalar = SCALAR[body.output_type(name)]
            address = t.at(elements.buffer(elements.layout.stage[name]), i, scalar)
            t.store(t.vector(scalar), value, address, 8)
    return outputs


def _rounds(t: Text, stage: Rounds, inputs: dict[str, str]) -> dict[str, str]:
    """A loop for the rounds: a tenth of the text compiles in a tenth of the time."""
    start = emit(t, stage.first, inputs, "%params")
    kinds = {name: t.vector(SCALAR[dtype]) for name, dtype in stage.each.inputs}
    state = {name: t.variable(kinds[name], start[name], name) for name in kinds}

    def carried() -> dict[str, str]:
        return {name: t.load(kinds[name], place) for name, place in state.items()}

    with t.loop(0, str(stage.times)) as r:
        params = t.at("%params", t.i64("mul", r, stage.step))
        for name, value in emit(t, stage.each, carried(), params).items():
            t.store(kinds[name], value, state[name])
    return emit(t, stage.last, carried(), "%params")


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

    for s in range(len(stream.stages)):
        with t.loop(0, count, t.lanes) as i:
            outputs = _stage(elements, stream, s, i, block)
            if s == len(stream.stages) - 1:
                address = t.at(elements.buffer(k), i, scalar)
                t.store(t.vector(scalar), chosen(i, outputs), address, 8)
