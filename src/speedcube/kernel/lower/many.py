"""Which exact sums with many results a kernel finishes itself, and lowering those.

A result needs a few words in the cache and a certificate, not a record of limbs, which costs as
much as thousands of elements. Sums of few results and long lines stay with records, and so does
what has no certificate: weighted degrees of freedom, integers that are no doubles.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ... import dtypes
from ...expr.analysis import analyse
from ...expr.graph import memories
from ...expr.nodes import Expr, Map, Random, Reduced, walk
from ...expr.reductions import factors
from ...expr.space import TILE, Space, Tiling
from ...ops import SAMPLERS
from ..builder import Builder, Value
from ..many import AT_ONCE, Many
from ..program import Program, Sink
from .alike import Lowered, alike
from .certificates import (
    COUNTED,
    MOST_TERMS,
    SPREADS,
    has_certificate,
    is_exact,
    is_square,
    plain_sums,
)
from .counts import NUMBERS, WORDS, numbers_of
from .elements import elements
from .lanes import Layout, lanes_over
from .leaves import leaf_codes
from .parameters import Parameters
from .rules import cast
from .terms import give, give_halves, wide

# Results whose sums are kept at once. Processors ask for what follows in a row: of 8 KiB they find
# more than of 2, which is worth more than that the sums lie in the first cache. Sums along the
# first axis of 32 MB: 1,170 -> 990 us, of 100 rows 4.0 -> 3.4 ms. Those of float16 are short.
COLUMNS: Final = TILE
HALF_COLUMNS: Final = 512
LEAST_RESULTS: Final = 2
_ROW_END: Final = 64.0  # what the end of a row costs, in vectors' steps
LONG_LINE: Final = 1 << 15  # elements from which one result is worth a kernel of its own
# The same where one result has several loops. Sums of so many are certain but where magnitudes
# differ by far; records take five times as long, ten with squares.
MOST_IN_LOOPS: Final = 1 << 23
MOST_IN_SHORT_LOOPS: Final = 1 << 18  # of float32 in rows of few, whose records are as quick
MOST_IN_LONG_LOOPS: Final = 1 << 20  # of products
_FEW: Final = 16
TALL, FEW = 1 << 17, 16  # a sum of more float64, of so few at once, is as quick by records
SHORT: Final = 16  # elements of a result up to which their sums are kept in registers
SHORT_DOT: Final = 64  # the same of products: sums of few are often ties, if these are of float32
SHORT_ACROSS: Final = 1 << 15
SHALLOW: Final = 1 << 13  # terms up to which what fine rests lose leaves few results uncertain


def layout_of(
    space: Space, source: Reduced, also: Sequence[Reduced] = (), near: bool = False
) -> Layout | None:
    """How ``source`` over ``space`` is computed without records; None where it is not.

    ``also`` are made of the same sums. ``near``: it gives what is known of them.
    """
    if not all(map(has_certificate, (source, *also))):
        return None
    return _laid_out(space, source, also, near)


def dot_layout(space: Space, source: Reduced) -> Layout | None:
    """The same of what is exact as two doubles: products of a dot, wide integers of a mean."""
    wide = source.op == "mean" and source.dtype == "float64" and not is_exact(source.arg)
    pairs = source.op == "dot" or wide
    return _laid_out(space, source) if pairs and 0 < source.count <= MOST_TERMS else None


def _laid_out(
    space: Space, source: Reduced, also: Sequence[Reduced] = (), near: bool = False
) -> Layout | None:
    results = math.prod(n for n, r in zip(space.extents, space.reduced, strict=True) if not r)
    if space.size == 0:
        return None
    if results < LEAST_RESULTS:
        return None if also else _line(space, source)
    if _fine(source) and source.op != "dot" and source.count > TALL and results < FEW:
        return None
    # What is known of sums lies in scratch memory, which has no room for so many side by side.
    short = not near and all(is_short(space, one) for one in (source, *also))
    return column_layout(space, source.count, SHORT_ACROSS if short else 0, [source])


def column_layout(
    space: Space, count: int, across: int, sources: Sequence[Reduced]
) -> Layout | None:
    """Lanes along ``count`` elements, or ``across`` results; 0: as many as ``sources`` ask for."""
    drawn = any(isinstance(leaf.source, Random) for leaf in space.leaves)
    half = all(one.arg.dtype == "float16" for one in sources)
    columns = HALF_COLUMNS if half and not drawn else COLUMNS
    return lanes_over(space, count, TILE, across or columns, _ROW_END)


def _line(space: Space, source: Reduced) -> Layout | None:
    """The same of one result: of squares and products, which are several terms of a record.

    And of float64, whose units a record finds tile by tile where magnitudes differ much.
    """
    drawn = any(isinstance(leaf.source, Random) for leaf in space.leaves)
    found = source.arg.dtype == "float64" and not analyse(source.arg).known
    if source.op not in ("var", "std", "dot") and not (source.op in ("sum", "mean") and found):
        return None
    if drawn or source.count < LONG_LINE:
        return None
    short = source.arg.dtype == "float32" and space.extents[-1] < _FEW
    most = MOST_IN_SHORT_LOOPS if short else MOST_IN_LOOPS
    if source.count > most and not is_line(space, source):
        return None
    return Layout(space, Tiling(len(space.extents) - 1, TILE, 1), True)


def line_layout(space: Space, source: Reduced) -> Layout | None:
    """The same of one result over one loop, however short: what is known of it is no more.

    Of exact sums whose units are not known before, which records find tile by tile, and of squares
    and products, which are several terms of a record.
    """
    if not is_line(space, source) or any(isinstance(one.source, Random) for one in space.leaves):
        return None
    if source.op != "dot":
        several = source.op in ("var", "std")
        unknown = dtypes.is_float(source.arg.dtype) and not analyse(source.arg).known
        if not has_certificate(source) or not (several or unknown):
            return None
    elif source.count > MOST_TERMS:
        return None
    return Layout(space, Tiling(0, TILE, 1), True, any_length=True)


def is_line(space: Space, source: Reduced) -> bool:
    """Whether lanes that walk along all elements get as many each, but for one."""
    return space.extents == (source.count,)


def is_short(space: Space, source: Reduced) -> bool:
    """Whether sums of results side by side are kept in registers (float32's have another way)."""
    if any(isinstance(leaf.source, Random) for leaf in space.leaves):
        return False
    if source.op in ("var", "std"):
        return source.count == 2
    most = SHORT_DOT if source.op == "dot" else SHORT
    known = source.op == "dot" or is_exact(source.arg)
    return known and source.count <= most and source.arg.dtype not in ("float16", "float32")


def is_added(space: Space, source: Reduced) -> bool:
    """Whether they are, however long, added onto others."""
    drawn = any(isinstance(leaf.source, Random) for leaf in space.leaves)
    return source.op in ("sum", "mean") and is_exact(source.arg) and not drawn


def _fine(source: Reduced) -> bool:
    return source.op in ("sum", "mean", "dot") and source.arg.dtype == "float64"


def lower_many(
    root: Expr,
    layout: Layout,
    source: Reduced,
    also: Sequence[Reduced] = (),
    near: bool = False,
    onto: bool = False,
    integers: bool = True,
) -> Lowered:
    """The kernel of ``source`` over ``layout``; the results of float16 are float64 yet.

    Those of ``also`` are made of the same sums: it is a spread, if there is one. ``near``: of
    their sums what is known, ``onto``: added to what was before (`kernel.many.Many`).
    ``integers``: as a CPU adds them up.
    """
    space, tiling = layout.space, layout.tiling
    parameters, nodes = Parameters(), walk(root)
    codes = leaf_codes(space, tiling, parameters, memories(nodes))
    fits = is_added if onto else is_short
    short = near == onto and not layout.rows and all(fits(space, one) for one in (source, *also))
    line, exact = layout.rows and is_line(space, source), is_exact(root)
    plain = plain_sums(root, AT_ONCE) if onto else ""

    def make() -> Program:
        b = Builder()
        roots = factors(root) if source.op == "dot" else (root,)
        values = elements(b, roots, space, parameters)
        shape = short, line, exact
        sums = integers, integers and not is_square(root)
        sink = many_sink(b, values, layout, source, also, *shape, parameters, near, False, *sums)
        if onto and sink.many is not None:
            sink = replace(sink, many=replace(sink.many, onto=True, plain=plain))
        kept = sum(1 for r in space.reduced[: tiling.first] if not r)
        ragged = any(isinstance(node, Map) and node.op in SAMPLERS for node in nodes)
        return Program(codes, b.body(), sink, kept, tiling.first - kept, False, ragged)

    several = tuple((one.op, one.ddof) for one in also)
    own = source.op, source.dtype, source.count, source.ddof
    how = (
        *own,
        layout.rows,
        short,
        line,
        exact,
        layout.any_length,
        several,
        near,
        onto,
        plain,
        integers,
    )
    return alike(nodes, how, space, tiling, codes, parameters, make)


def many_sink(
    b: Builder,
    values: Sequence[Value],
    layout: Layout,
    source: Reduced,
    also: Sequence[Reduced],
    short: bool,
    line: bool,
    exact: bool,
    parameters: Parameters,
    near: bool = False,
    apart: bool = False,
    integers: bool = False,
    singles: bool = False,
) -> Sink:
    """The sink of ``source`` and of ``also``, of one or two ``values`` an element.

    ``exact``: all that they may be are doubles. ``near``: it gives what is known of the sums,
    ``apart``: what squares round away for itself. ``integers``: so are they added up, if they can,
    ``singles``: float32 a tile first, in long rows.
    """
    whole = values[0].type == "float32" and len(values) == 1
    counted, singles = "", singles and layout.rows and whole and is_long(layout, source)
    if integers and layout.rows and source.op in SPREADS and values[0].type in COUNTED:
        counted, whole = values[0].type, True
        b.output("x", cast(b, values[0], "int64"))
    elif singles:
        b.output("x", values[0])
    elif exact:
        give(b, values)
    elif source.op == "mean":
        whole = True
        give_halves(b, values[0])
    else:
        give(b, [wide(b, values[0])])
    result = source.dtype if source.dtype == "float32" and not near else "float64"
    odd = source.dtype in ("float32", "float16")
    deep = layout.any_length or source.count > SHALLOW
    numbers = _numbers(source, parameters)
    for one in also:
        parameters.add(float(one.count) * float(one.count - one.ddof), "float64")
    more = tuple(one.op for one in also)
    many = Many(source.op, layout.rows, odd, whole, deep, numbers, short, line, more, near, apart)
    many = replace(many, integers=counted, singles=singles)
    unit = layout.rows or layout.space.out_strides[-1] == 1
    return Sink("many", result, unit_stride=unit, many=many)


def is_long(layout: Layout, source: Reduced) -> bool:
    """Whether a row is so long that a tile may have sums of its own (`llvm/many/singles.py`)."""
    return source.count > SHALLOW and not layout.any_length


def _numbers(source: Reduced, parameters: Parameters) -> int:
    """The first of the parameters that `kernel.many.Many` names."""
    first = len(parameters.words)
    parameters.words += WORDS.unpack(NUMBERS.pack(*numbers_of(source.count, source.ddof)))
    return first
