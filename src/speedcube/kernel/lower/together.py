"""Several results of the same elements, finished by one kernel: which share sums, and lowering all.

On a GPU `kernel/cuda/many/together.py` lowers them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ... import dtypes
from ...dataclass import dataclass
from ...expr.graph import memories
from ...expr.nodes import Map, Random, Reduced, walk
from ...expr.space import TILE, Space, Tiling
from ...ops import SAMPLERS
from ..builder import Builder
from ..folds import KEYED
from ..program import Program, Sink
from .alike import Lowered, alike
from .certificates import SPREADS, has_certificate, is_exact, is_square
from .elements import elements
from .folded import fold_across, fold_layout, fold_sink, fold_word
from .lanes import Layout
from .leaves import leaf_codes
from .many import (
    column_layout,
    is_line,
    is_short,
    layout_of,
    many_sink,
)
from .parameters import Parameters

_SQUARED: Final = ("float32", "float64")
_MOST_LINE: Final = 1 << 24  # elements of one result: Ctrl-C takes effect behind them


def is_fold(source: Reduced) -> bool:
    """Whether ``source`` is a simple fold, which needs no certificate."""
    return source.op in KEYED or (source.op == "sum" and not dtypes.is_float(source.arg.dtype))


@dataclass(frozen=True)
class Shared:
    """Results of one sink: ``sources`` by their numbers, all of argument ``place`` of a root.

    ``squares`` are sums of its squares, rounded as a product is.
    """

    place: int
    numbers: tuple[int, ...]
    squares: tuple[int, ...] = ()


def shared_sinks(places: Sequence[int], sources: Sequence[Reduced]) -> list[Shared]:
    """The sinks of ``sources``, each of the argument at its place: sums of one are shared.

    A spread comes first among those that share sums: it needs most of them.
    """
    sums: dict[int, list[int]] = {}
    groups: list[tuple[int, list[int]]] = []
    for number, (place, source) in enumerate(zip(places, sources, strict=True)):
        if is_fold(source):
            groups.append((place, [number]))
        elif place in sums:
            sums[place].append(number)
        else:
            sums[place] = [number]
            groups.append((place, sums[place]))
    return [
        Shared(place, tuple(sorted(group, key=lambda k: sources[k].op not in SPREADS)))
        for place, group in groups
    ]


def with_squares(root: Map, sources: Sequence[Reduced], sinks: Sequence[Shared]) -> list[Shared]:
    """``sinks``, of which spreads of floats take the sums of squares that there are, too."""
    spreads = {
        id(root.args[one.place]): k
        for k, one in enumerate(sinks)
        if sources[one.numbers[0]].op in SPREADS and root.args[one.place].dtype in _SQUARED
    }
    taken: dict[int, tuple[int, ...]] = {}
    others = []
    for k, one in enumerate(sinks):
        arg = root.args[one.place]
        sums = not any(is_fold(sources[n]) or sources[n].op in SPREADS for n in one.numbers)
        square = sums and is_square(arg)
        owner = spreads.get(id(arg.args[0])) if isinstance(arg, Map) and square else None
        if owner is None:
            others.append(k)
        else:
            taken[owner] = one.numbers
    return [replace(sinks[k], squares=taken.get(k, ())) for k in others]


def finished_layout(space: Space, sources: Sequence[Reduced]) -> Layout | None:
    """How a CPU makes ``sources`` of the same elements in one kernel; None where it does not."""
    sums = [one for one in sources if not is_fold(one)]
    if any(one.arg.dtype == "float16" or one.op.startswith("arg") for one in sources):
        return None
    if any(fold_layout(space, one) is None for one in sources if is_fold(one)):
        return None
    results = math.prod(n for n, r in zip(space.extents, space.reduced, strict=True) if not r)
    if results == 1:
        drawn = any(isinstance(leaf.source, Random) for leaf in space.leaves)
        if drawn or space.size > _MOST_LINE or not all(map(has_certificate, sums)):
            return None
        return Layout(space, Tiling(len(space.extents) - 1, TILE, 1), True)
    if any(layout_of(space, one) is None or is_short(space, one) for one in sums):
        return None
    across = min(fold_across(one) for one in sources) if not sums else 0
    return column_layout(space, sources[0].count, across, sums)


def lower_finished(
    root: Map,
    layout: Layout,
    sources: Sequence[Reduced],
    sinks: Sequence[Shared],
    near: bool = False,
) -> Lowered:
    """The kernel of a CPU for ``sinks``, which takes the arguments of ``root`` over ``layout``.

    ``near``: of sums it gives what is known of them (`kernel.many.Many`).
    """
    space, tiling = layout.space, layout.tiling
    parameters, nodes = Parameters(), walk(root)
    codes = leaf_codes(space, tiling, parameters, memories(nodes))
    roots = [root.args[one.place] for one in sinks]
    line, exact = layout.rows and is_line(space, sources[0]), tuple(map(is_exact, roots))

    def make() -> Program:
        b = Builder()
        parts = []
        for k, value in enumerate(elements(b, roots, space, parameters)):
            b.prefix = f"{k}."
            first, *also = (sources[number] for number in sinks[k].numbers)
            if is_fold(first):
                parts.append(fold_sink(b, value, layout, first, parameters))
            else:
                shape = False, line, exact[k]
                how = near, bool(sinks[k].squares), True, not is_square(roots[k])
                parts.append(many_sink(b, [value], layout, first, also, *shape, parameters, *how))
        unit = layout.rows or space.out_strides[-1] == 1
        sink = Sink("together", unit_stride=unit, parts=tuple(parts))
        kept = sum(1 for r in space.reduced[: tiling.first] if not r)
        ragged = any(isinstance(node, Map) and node.op in SAMPLERS for node in nodes)
        return Program(codes, b.body(), sink, kept, tiling.first - kept, False, ragged)

    how = (
        *("finished", near, layout.rows, line, exact, tuple(sinks)),
        *((one.op, one.dtype, one.count, one.ddof) for one in sources),
        *(fold_word(one) for one in sources if is_fold(one)),
    )
    return alike(nodes, how, space, tiling, codes, parameters, make)
