"""Lowering: an expression and its iteration space become a `Program` and its parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from ... import dtypes
from ...errors import KernelError
from ...expr.analysis import analyse
from ...expr.bounds import FINITE16, Bounds
from ...expr.graph import memories
from ...expr.nodes import Expr, Leaf, Map, walk
from ...expr.reductions import factors
from ...expr.space import Space, Tiling, is_packed
from ...ops import SAMPLERS
from ..builder import Builder, Value
from ..folds import FOLDS, KEYED
from ..math.float16 import narrowed
from ..program import SEARCH_CHUNK, Bins, LeafCode, Program, Sink, Term
from .alike import Lowered, alike
from .elements import elements, one_nan
from .exact_products import Summand, products
from .leaves import leaf_codes
from .parameters import Parameters
from .rules import cast, one_zero, order_key


def lower(root: Expr, space: Space, tiling: Tiling, reduction: str | None) -> Lowered:
    """The kernel that stores ``root`` (reduction None) or reduces it over the reduced loops."""
    parameters, nodes = Parameters(), walk(root)
    codes = leaf_codes(space, tiling, parameters, memories(nodes))

    def make() -> Program:
        b = Builder()
        roots = _operands(root, reduction)
        values = elements(b, roots, space, parameters)
        sink = sink_for(b, values, roots, space, reduction, parameters)
        if reduction is None and is_packed(space.out_strides, space, tiling):
            sink = replace(sink, packed=True)
        return _program(codes, b, sink, nodes, space, tiling)

    return alike(nodes, reduction, space, tiling, codes, parameters, make)


def lower_several(
    root: Map,
    space: Space,
    tiling: Tiling,
    sinks: tuple[tuple[int, str | None], ...],
    woven: tuple[int, ...] = (),
) -> Lowered:
    """The kernel of several ``sinks``: each takes an argument of ``root``, by a reduction.

    ``woven``: those between whose elements the next one's go.
    """
    if tiling.table or space.out_strides[-1] != 2:
        woven = ()
    parameters, nodes = Parameters(), walk(root)
    codes = leaf_codes(space, tiling, parameters, memories(nodes))

    def make() -> Program:
        b = Builder()
        groups = [_operands(root.args[number], reduction) for number, reduction in sinks]
        values = iter(elements(b, [one for group in groups for one in group], space, parameters))
        parts = []
        for k, (group, (_, reduction)) in enumerate(zip(groups, sinks, strict=True)):
            b.prefix = f"{k}."
            own = list(islice(values, len(group)))
            made = sink_for(b, own, group, space, reduction, parameters)
            parts.append(replace(made, woven=k in woven))
        sink = Sink("several", unit_stride=space.out_strides[-1] == 1, parts=tuple(parts))
        return _program(codes, b, sink, nodes, space, tiling)

    return alike(nodes, (*sinks, woven), space, tiling, codes, parameters, make)


def lower_counting(
    root: Map | Leaf, space: Space, tiling: Tiling, kind: str, brackets: int = 0
) -> Lowered:
    """The kernel of a GPU that counts, keeps or weighs all elements of ``root``.

    ``kind`` is that of its sink. What is weighed, or compared, comes as a "several" of numbers,
    weights, and places where those count.
    """
    parameters, nodes = Parameters(), walk(root)
    codes = leaf_codes(space, tiling, parameters, memories(nodes))

    def make() -> Program:
        b = Builder()
        several = isinstance(root, Map) and root.op == "several"
        roots = root.args if several and isinstance(root, Map) else (root,)
        number, *others = elements(b, roots, space, parameters)
        for name, value in zip("wp", others, strict=False):
            b.output(name, value)
        b.output("x", cast(b, number, "int64") if several or kind.endswith("tally") else number)
        nans = dtypes.is_float(number.type) and not analyse(root).known
        sink = Sink(kind, number.type, brackets=brackets, nans=bool(brackets) and nans)
        return _program(codes, b, sink, nodes, space, tiling)

    return alike(nodes, (kind, brackets), space, tiling, codes, parameters, make)


def _operands(root: Expr, reduction: str | None) -> tuple[Expr, ...]:
    """What is computed of an element for ``reduction`` of ``root``."""
    return factors(root) if reduction == "dot" else (root,)


def _program(
    codes: tuple[LeafCode, ...],
    b: Builder,
    sink: Sink,
    nodes: Sequence[Expr],
    space: Space,
    tiling: Tiling,
) -> Program:
    kept = sum(1 for r in space.reduced[: tiling.first] if not r)
    ragged = any(isinstance(node, Map) and node.op in SAMPLERS for node in nodes)
    return Program(codes, b.body(), sink, kept, tiling.first - kept, tiling.table, ragged)


def _to_store(b: Builder, value: Value, dtype: str) -> Value:
    return narrowed(b, value) if dtype == "float16" else value


def sink_for(
    b: Builder,
    values: Sequence[Value],
    roots: Sequence[Expr],
    space: Space,
    reduction: str | None,
    parameters: Parameters,
) -> Sink:
    """The sink of ``reduction`` (None: that stores), whose outputs are written to ``b``."""
    value = values[0]
    if reduction is None:
        dtype, unit = roots[0].dtype, space.out_strides[-1] == 1
        b.output("x", _to_store(b, one_nan(b, value, roots[0]), dtype))
        return Sink("store", dtypes.stored(dtype), unit_stride=unit)
    if reduction in KEYED:
        kind, highest, skips = KEYED[reduction]
        places = "at" in FOLDS[kind].outputs
        value = one_zero(b, value) if places else value
        b.output("x", order_key(b, value, highest, skips))
        if places:
            b.output("at", b.input(f"leaf{len(space.leaves) - 1}", "int64"))
        return Sink(kind, value.type)
    if reduction == "sum" and not dtypes.is_float(value.type):
        b.output("x", cast(b, value, "int64"))
        return Sink("isum", "int64")
    if not dtypes.is_float(value.type):
        return _exact(
            b, "float64", _of_integers(b, value, analyse(roots[0]), reduction), parameters
        )
    return _exact(b, value.type, _summands(b, values, roots, reduction), parameters)


_Part = tuple[Value, Bounds]


def _of_integers(b: Builder, value: Value, known: Bounds, reduction: str) -> list[Summand]:
    """What is summed for a mean of integers, or for their moments: doubles without rounding."""
    if max(abs(known.low), abs(known.high)) <= 2.0**53:
        x = cast(b, value, "float64"), known
        parts, squares = [x], [(x, x)]
    else:
        high, low = parts = halves(b, value)
        twice = high[0] * b.const(2.0, "float64"), Bounds(-(2.0**64), 2.0**65, 33)
        squares = [(high, high), (twice, low), (low, low)]
    summands = [Summand(part, 0, bounds) for part, bounds in parts]
    if reduction == "moments":
        for (left, of_left), (right, of_right) in squares:
            summands += products(b, left, right, (of_left, of_right), False, 1)
    return summands


def halves(b: Builder, value: Value) -> list[_Part]:
    """The high and the low half of a 64-bit integer."""
    wide = value if value.type == "uint64" else cast(b, value, "int64")
    low = (wide & b.const(0xFFFF_FFFF, wide.type)).cast("float64")
    high = (wide >> 32).cast("float64") * b.const(2.0**32, "float64")
    return [(high, Bounds(-(2.0**63), 2.0**64, 32)), (low, Bounds(0.0, 2.0**32, 0))]


def _summands(
    b: Builder, values: Sequence[Value], roots: Sequence[Expr], reduction: str
) -> list[Summand]:
    """What is summed for a sum or mean of x, its moments (x * x too), or a dot of x and y."""
    single = values[0].type == "float32"
    x, y = (cast(b, v, "float64") for v in (values[0], values[-1]))
    known = analyse(roots[0]), analyse(roots[-1])
    if reduction == "dot":
        return products(b, x, y, known, single, 0)
    # The finite float16 numbers fit a plain bin, which adds up infinities and NaN as they should.
    any_half = roots[0].dtype == "float16" and not known[0].known
    terms = [Summand(x, 0, FINITE16 if any_half else known[0])]
    if reduction == "moments":
        terms += products(b, x, x, known, single, 1)
    elif reduction not in ("sum", "mean"):
        raise KernelError(f"no kernel for reduction {reduction!r}")
    return terms


def _exact(b: Builder, dtype: str, summands: Sequence[Summand], parameters: Parameters) -> Sink:
    """The sink that sums ``summands`` exactly."""
    terms = []
    for k, summand in enumerate(summands):
        b.output(f"t{k}", summand.value)
        bounds = summand.bounds
        bins = Bins("rare") if bounds is None else choose_bins(bounds, parameters)
        terms.append(Term(f"t{k}", summand.group, bins))
    return Sink("exact", dtype, tuple(terms))


def choose_bins(bounds: Bounds, parameters: Parameters) -> Bins:
    """The cheapest bins that lose nothing of terms below `2**E` that are multiples of `2**G`."""
    e = bounds.exponent
    if not bounds.known or not -800 < e < 900:
        return Bins("search", SEARCH_CHUNK)
    width = max(0, e - bounds.grain)
    if 53 - width >= 13:  # 2**chunk terms of `width` bits fit the 53 of a double
        return Bins("plain", min(30, 53 - width))
    chunk = (103 - width) // 2
    mode = "split" if chunk >= 12 else "residual"
    chunk = min(30, chunk) if mode == "split" else 12
    high = e + chunk + 1  # 2**chunk terms below 2**e move a double in [2**high, 2**(high + 1))
    number = parameters.add(math.ldexp(1.5, high), "float64")
    parameters.add(math.ldexp(1.5, high - 52 + chunk), "float64")  # by halves of its last place
    return Bins(mode, chunk, number)
