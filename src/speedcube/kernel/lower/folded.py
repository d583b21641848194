"""Lowering folds that cannot round and have many results: extremes, their places, integer sums.

A result is one word of its own size while it is folded, and its place. Floats are folded as
integers that order like them, as in records (`rules.order_key`): -0 below +0, NaN before all.
Where places are asked for, zeros are equal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from ... import dtypes
from ...expr.analysis import analyse
from ...expr.graph import memories
from ...expr.nodes import Const, Expr, Leaf, Map, Random, Reduced, walk
from ...expr.space import TILE, Space, Tiling
from ...ops import SAMPLERS
from ..builder import Builder, Value
from ..folds import KEYED
from ..ir import Body
from ..math.float16 import narrowed
from ..program import Folded, Program, Sink
from .alike import Lowered, alike
from .elements import elements
from .lanes import Layout, lanes_over
from .leaves import leaf_codes
from .many import LEAST_RESULTS, LONG_LINE
from .parameters import Parameters
from .rules import cast, one_zero

OPS: Final = {
    "sum": "sum",
    "mean": "sum",
    "min": "least",
    "max": "most",
    "nanmin": "least",
    "nanmax": "most",
    "argmin": "least",
    "argmax": "most",
}
MOST_PLACES: Final = 1 << 31  # places are words of 32 bits
ACROSS: Final = 8192  # bytes of results side by side that are folded at once
MOST_ACROSS: Final = 4096
MOST_IN_A_LINE: Final = 1 << 26  # elements of one result: Ctrl-C takes effect behind them
ALONG: Final = 1 << 40  # elements of a row in one tile: all
_ROW_END: Final = 16.0  # what the end of a row costs, in vectors' steps
LEAST_COMPARED: Final = 512  # elements of a row from which floats are compared as they are
_KEYS: Final = {"float16": "int16", "float32": "int32", "float64": "int64"}
# The bits above which a magnitude is a NaN's, and those of the NaN that is given.
_INFINITY: Final = {"int16": 0x7C00, "int32": 0x7F800000, "int64": 0x7FF << 52}
_NAN: Final = {"int16": 0x7E00, "int32": 0x7FC00000, "int64": 0x7FF8 << 48}


def fold_layout(space: Space, source: Reduced) -> Layout | None:
    """How ``source`` over ``space`` is folded without records; None where it is not."""
    results = math.prod(n for n, r in zip(space.extents, space.reduced, strict=True) if not r)
    if source.op not in OPS or space.size == 0:
        return None
    if OPS[source.op] == "sum" and dtypes.is_float(source.arg.dtype):
        return None
    if source.op == "mean" and (source.dtype != "float64" or _most(source) > 2.0**53):
        return None  # elsewhere sums are doubles, and their quotient is rounded once
    if source.op.startswith("arg") and source.count > MOST_PLACES:
        return None
    drawn = any(isinstance(leaf.source, Random) for leaf in space.leaves)
    if results < LEAST_RESULTS:
        return None if drawn else _line(space, source)
    if source.op.startswith("arg"):
        assert space.reduced.count(True) == 1  # so places rise along it
    if drawn:
        return lanes_over(space, source.count, TILE, TILE, _ROW_END)
    return lanes_over(space, source.count, ALONG, fold_across(source), _ROW_END)


def fold_across(source: Reduced) -> int:
    """Results side by side that are folded at once."""
    return min(MOST_ACROSS, ACROSS // dtypes.itemsize(fold_word(source)))


def _line(space: Space, source: Reduced) -> Layout | None:
    """The same of one result, of elements that are stored: that of rows."""
    if not LONG_LINE <= source.count <= MOST_IN_A_LINE:
        return None
    if source.op.startswith("arg") and space.extents != (source.count,):
        return None
    return Layout(space, Tiling(len(space.extents) - 1, ALONG, 1), True)


def _most(source: Reduced) -> float:
    """The largest magnitude that a sum of integers can have."""
    known = analyse(source.arg)
    return max(-known.low, known.high) * source.count


def fold_word(source: Reduced) -> str:
    """The dtype of the words that are folded."""
    arg = source.arg
    if OPS[source.op] == "sum":
        return "int32" if _most(source) < 2.0**31 else "int64"
    if dtypes.is_float(arg.dtype):
        return _KEYS[arg.dtype if _is_memory(arg) else dtypes.carrier(arg.dtype)]
    return "uint8" if arg.dtype == "bool" else arg.dtype


def _is_memory(arg: Expr) -> bool:
    """Whether ``arg`` is read as it lies: neither computed nor one number."""
    return isinstance(arg, Leaf) and not isinstance(arg.source, Const)


def lower_folded(root: Expr, layout: Layout, source: Reduced) -> Lowered:
    """The kernel of ``source`` over ``layout``."""
    space, tiling = layout.space, layout.tiling
    parameters, nodes = Parameters(), walk(root)
    codes = leaf_codes(space, tiling, parameters, memories(nodes))
    word = fold_word(source)

    def make() -> Program:
        b = Builder()
        as_it_is = _is_memory(root) and root.dtype == "float16"
        value = None if as_it_is else elements(b, (root,), space, parameters)[0]
        if _counts(nodes, layout, source):
            assert value is not None
            b.output("x", value)
            folded = Folded("count", word, False, True, _finish(source, word, "sum", parameters))
            sink = Sink("folded", dtypes.stored(source.dtype), folded=folded)
        else:
            sink = fold_sink(b, value, layout, source, parameters)
        kept = sum(1 for r in space.reduced[: tiling.first] if not r)
        ragged = any(isinstance(node, Map) and node.op in SAMPLERS for node in nodes)
        return Program(codes, b.body(), sink, kept, tiling.first - kept, False, ragged)

    count = source.count if source.op == "mean" else 0
    long = source.count >= LEAST_COMPARED
    how = "folded", source.op, count, source.dtype, source.arg.dtype, word, layout.rows, long
    return alike(nodes, how, space, tiling, codes, parameters, make)


def _counts(nodes: Sequence[Expr], layout: Layout, source: Reduced) -> bool:
    """Whether what is true is counted along rows, of what is made of bools alone."""
    bools = all(node.dtype == "bool" for node in nodes)
    return bools and OPS[source.op] == "sum" and layout.rows and fold_word(source) == "int32"


def fold_sink(
    b: Builder, value: Value | None, layout: Layout, source: Reduced, parameters: Parameters
) -> Sink:
    """The sink of ``source``, of the ``value`` of an element; of none, of a leaf of float16."""
    word, op = fold_word(source), OPS[source.op]
    first = source.op.startswith("arg")
    floats = ""
    if value is not None and layout.rows and not first and source.count >= LEAST_COMPARED:
        floats = value.type if dtypes.is_float(value.type) else ""
    of_floats = value if floats else None
    b.output("x", of_floats or _folded(b, value, source, layout.space, word, op))
    finish, skips = _finish(source, word, op, parameters), _skips(source)
    folded = Folded(op, word, first, layout.rows, finish, floats, skips)
    unit = layout.rows or layout.space.out_strides[-1] == 1
    return Sink("folded", dtypes.stored(source.dtype), unit_stride=unit, folded=folded)


def _skips(source: Reduced) -> bool:
    return source.op in KEYED and KEYED[source.op].skips


def _nan(word: str, op: str, skips: bool) -> int:
    """The word of NaN: before all others, or behind them, where the fold begins."""
    info = np.iinfo(word)
    return int(info.min if (op == "least") is not skips else info.max)


def _folded(
    b: Builder, value: Value | None, source: Reduced, space: Space, word: str, op: str
) -> Value:
    """The word of an element."""
    nan = _nan(word, op, _skips(source)) if word in _INFINITY else 0
    if value is None:
        # A part's leaf is not the whole's, but of the same source; the other one is of places.
        assert isinstance(source.arg, Leaf)
        read = source.arg.source
        place = next(k for k, leaf in enumerate(space.leaves) if leaf.source is read)
        bits = b.input(f"leaf{place}", "uint16").bitcast(word)
        size = bits & b.const(np.iinfo(word).max, word)
        if source.op.startswith("arg"):
            none = b.const(0, word)
            bits = b.select(size.compare("eq", none), none, bits)
        return _key(b, bits, size.compare("gt", b.const(_INFINITY[word], word)), nan)
    if not dtypes.is_float(value.type):
        return cast(b, value, word)
    value = one_zero(b, value) if source.op.startswith("arg") else value
    return _key(b, value.bitcast(word), value.compare("ne", value), nan)


def _key(b: Builder, bits: Value, is_nan: Value, nan: int) -> Value:
    """An integer that orders like the float of ``bits``, -0 below +0, of NaN ``nan``."""
    return b.select(is_nan, b.const(nan, bits.type), _turned(b, bits))


def _turned(b: Builder, bits: Value) -> Value:
    """From a float's bits to a number that orders like it, and back."""
    info = np.iinfo(bits.type)
    return bits ^ ((bits >> (info.bits - 1)) & b.const(int(info.max), bits.type))


def _finish(source: Reduced, word: str, op: str, parameters: Parameters) -> Body:
    """From the word that is left, or its place, to the result."""
    b = Builder()
    if source.op.startswith("arg"):
        b.output("x", cast(b, b.input("x", "int32"), source.dtype))
        return b.body()
    x, dtype = b.input("x", word), source.arg.dtype
    if source.op == "mean":
        count = b.param(parameters.add(float(source.count), "float64"), "float64")
        b.output("x", b.emit("div", "float64", cast(b, x, "float64"), count))
        return b.body()
    if source.op == "sum" or not dtypes.is_float(dtype):
        b.output("x", cast(b, x, source.dtype))
        return b.body()
    nan = b.const(_nan(word, op, _skips(source)), word)
    bits = b.select(x.compare("eq", nan), b.const(_NAN[word], word), _turned(b, x))
    if word == "int16":
        b.output("x", bits.bitcast("uint16"))
    else:
        value = bits.bitcast(dtypes.carrier(dtype))
        b.output("x", narrowed(b, value) if dtype == "float16" else value)
    return b.body()
