"""The scratch memory of a CPU kernel: a buffer of one tile for everything that waits in it."""

from __future__ import annotations

from typing import Final

from ...dataclass import dataclass
from ...expr.space import TILE
from ..program import Program, Sink

BUFFER: Final = 2 * TILE + 256  # elements in a buffer: a tile and a segment beyond each end
MANY_WORDS: Final = 7  # of a sum that the kernel finishes itself (`many/sums.py`)


@dataclass(frozen=True)
class Scratch:
    """Where each buffer lies in the scratch memory, in buffers of 8 * BUFFER bytes."""

    values: tuple[int, ...]  # of each leaf (random ones only are used)
    phases: dict[str, int]  # of each name that a phase hands on
    sink: int
    total: int


def scratch_layout(program: Program) -> Scratch:
    """One buffer for each leaf's values, each phase's outputs (shared), the sink's terms, sums."""
    names: dict[str, int] = {}
    at = len(program.leaves)
    for leaf in program.leaves:
        for body in leaf.stream.phases[:-1] if leaf.stream else ():
            for name, _ in body.outputs:
                if name not in names:
                    names[name] = at
                    at += 1
    sink = sink_buffers(program.sink)
    return Scratch(tuple(range(len(program.leaves))), names, at, at + sink)


def sink_buffers(sink: Sink) -> int:
    """Buffers of ``sink``, one after the other those of its parts."""
    if sink.parts:
        return sum(map(sink_buffers, sink.parts))
    if sink.many is not None:
        return MANY_WORDS * sink.many.sums
    return len(sink.terms) if sink.folded is None else 1 + sink.folded.first


def scratch_bytes(program: Program) -> int:
    """Bytes of scratch one call needs: none, where nothing is drawn and nothing waits."""
    layout = scratch_layout(program)
    drawn = any(leaf.stream is not None for leaf in program.leaves)
    return layout.total * BUFFER * 8 if drawn or layout.total > layout.sink else 0
