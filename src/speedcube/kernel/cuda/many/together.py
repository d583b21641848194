"""Lowering several results of the same elements that a GPU's kernel finishes: a sink for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ....expr.graph import memories
from ....expr.nodes import Map, Reduced, walk
from ....ops import SAMPLERS
from ...builder import Builder
from ...lower.alike import Lowered, alike
from ...lower.certificates import SPREADS, is_exact
from ...lower.elements import elements
from ...lower.lanes import Layout
from ...lower.leaves import leaf_codes
from ...lower.lower import sink_for
from ...lower.many import many_sink
from ...lower.parameters import Parameters
from ...lower.together import Shared, is_fold
from ...program import Program, Sink
from .near import words
from .teams import finished_fold

MOST_WORDS: Final = 20  # of a thread: they wait in shared memory, and as many lie in registers


def words_of(sources: Sequence[Reduced], sinks: Sequence[Shared]) -> int:
    """Words that a thread has of all ``sinks``."""
    firsts = (sources[one.numbers[0]] for one in sinks)
    return sum(1 if is_fold(one) else words(1 + (one.op in SPREADS)) for one in firsts)


def lower_together(
    root: Map, layout: Layout, sources: Sequence[Reduced], sinks: Sequence[Shared]
) -> Lowered:
    """The kernel of ``sinks``, which takes the arguments of ``root`` over ``layout``."""
    space, tiling = layout.space, layout.tiling
    parameters, nodes = Parameters(), walk(root)
    codes = leaf_codes(space, tiling, parameters, memories(nodes))

    def make() -> Program:
        b = Builder()
        roots = [root.args[one.place] for one in sinks]
        values = elements(b, roots, space, parameters)
        parts = []
        for k, (one, arg, value) in enumerate(zip(sinks, roots, values, strict=True)):
            b.prefix = f"{k}."
            first, *also = (sources[number] for number in one.numbers)
            if is_fold(first):
                made = sink_for(b, [value], [arg], space, first.op, parameters)
                parts.append(finished_fold(made, layout, first))
            else:
                exact = is_exact(arg)
                parts.append(
                    many_sink(b, [value], layout, first, also, False, False, exact, parameters)
                )
        unit = layout.rows or space.out_strides[-1] == 1
        sink = Sink("several", unit_stride=unit, many=parts[0].many, parts=tuple(parts))
        kept = sum(1 for r in space.reduced[: tiling.first] if not r)
        ragged = any(isinstance(node, Map) and node.op in SAMPLERS for node in nodes)
        return Program(codes, b.body(), sink, kept, tiling.first - kept, False, ragged)

    how = (
        "together",
        layout.rows,
        tuple(sinks),
        tuple((one.op, one.dtype, one.count, one.ddof) for one in sources),
    )
    return alike(nodes, how, space, tiling, codes, parameters, make)
