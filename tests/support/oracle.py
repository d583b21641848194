"""Slow, independent answers: streams by the IR evaluator, reductions by exact fractions.

`draw` gives a random source at any positions. `elements` gives an expression's elements as the
evaluator computes them, bit for bit what a kernel must give. `exact` replaces every reduction
inside an expression by its exact value, so that NumPy's own rounding is never trusted.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from speedcube.engine.results import combined
from speedcube.expr import nodes, scans
from speedcube.expr.interpret import interpret
from speedcube.expr.pairs.node import is_pair, parts
from speedcube.expr.reductions import factors
from speedcube.expr.space import TILE
from speedcube.expr.through import grouping
from speedcube.expr.through.table import OPERATIONS
from speedcube.kernel.ir import Body
from speedcube.kernel.llvm.compile import NativeKernel, compile_object, load_object, source, styles
from speedcube.kernel.llvm.scratch import scratch_bytes
from speedcube.kernel.lower import reference
from speedcube.kernel.lower.reference import draw
from speedcube.kernel.program import LeafCode, Program, Sink


def source_of(array: Any) -> nodes.Random:
    """The random source behind ``array``."""
    source = array._expr.source
    assert isinstance(source, nodes.Random)
    return source


# Exact reductions ------------------------------------------------------------------------------


def rounded(value: Fraction, dtype: str) -> Any:
    """``value`` to the nearest ``dtype``, ties to even, through a float64 rounded to odd."""
    try:
        near = value.numerator / value.denominator
    except OverflowError:
        near = math.inf if value > 0 else -math.inf
    if dtype != "float64" and math.isfinite(near) and Fraction(near) != value:
        other = math.nextafter(near, math.inf if value > Fraction(near) else -math.inf)
        odd = [x for x in (near, other) if np.float64(x).view(np.uint64) & 1]
        near = odd[0]
    with np.errstate(all="ignore"):
        return np.dtype(dtype).type(near)


def exact_sum(row: Sequence[float], dtype: str = "float64", power: int = 1) -> Any:
    """Sum of powers of floats: a `Fraction`, or NaN or an infinity where a term decides it."""
    if any(math.isnan(x) for x in row):
        return math.nan
    infinite = {x**power for x in row if math.isinf(x)}
    if infinite:
        return math.nan if len(infinite) > 1 else infinite.pop()
    return sum((Fraction(x) ** power for x in row), Fraction(0))


def reduce_row(op: str, row: np.ndarray, dtype: str, ddof: float = 0.0) -> Any:
    """One result: ``op`` of the elements of ``row``."""
    if op == "prod":
        return scans.product(row)
    if op in ("nanmin", "nanmax"):
        numbers = row[row == row]
        return _extremum(op[3:], numbers if numbers.size else row)
    if op in ("min", "max", "argmin", "argmax"):
        return _extremum(op, row)
    if op == "sum" and row.dtype.kind != "f":
        total = sum(int(v) for v in row) % 2**64
        return np.array(total, np.uint64).astype(dtype)[()]
    values = [float(v) for v in row] if row.dtype.kind == "f" else [int(v) for v in row]
    if op in ("sum", "mean"):
        total = exact_sum(values) if values else Fraction(0)
        if isinstance(total, float):
            return np.dtype(dtype).type(total)
        if op == "sum":
            return rounded(total, dtype)
        return rounded(total / len(values), dtype) if values else np.dtype(dtype).type(math.nan)
    return _spread(op, values, dtype, ddof)


def _spread(op: str, values: list[Any], dtype: str, ddof: float) -> Any:
    kind = np.dtype(dtype).type
    first = exact_sum(values)
    if not values or isinstance(first, float):
        return kind(math.nan)
    freedom = Fraction(len(values)) - Fraction(ddof)
    spread = exact_sum(values, power=2) - first * first / len(values)
    if freedom <= 0:
        return kind(math.nan if spread == 0 else math.inf)
    if op == "var":
        return rounded(spread / freedom, dtype)
    value, shift = spread / freedom, 1400
    scaled, lost = divmod(value.numerator << (2 * shift), value.denominator)
    root = math.isqrt(scaled)
    sticky = int(bool(lost) or root * root != scaled)  # a last bit says whether any were lost
    return rounded(Fraction(2 * root + sticky, 2 << shift), dtype)


def dot_row(x: np.ndarray, y: np.ndarray, dtype: str) -> Any:
    """The sum of the exact products of two rows, rounded once; integers wrap."""
    if x.dtype.kind != "f":
        return reduce_row("sum", x.astype(dtype) * y.astype(dtype), dtype)
    terms: list[Any] = []
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        terms.append(Fraction(a) * Fraction(b) if math.isfinite(a) and math.isfinite(b) else a * b)
    odd = {t if t == t else math.nan for t in terms if isinstance(t, float)}
    if odd:
        return np.dtype(dtype).type(odd.pop() if len(odd) == 1 else math.nan)
    return rounded(sum(terms, Fraction(0)), dtype)


def _extremum(op: str, row: np.ndarray) -> Any:
    """NaN wins, the first of equals is the place; -0.0 is the lesser value, but no other place."""
    values = [x + 0 for x in row.tolist()] if op.startswith("arg") else row.tolist()
    sign = -1 if op.endswith("max") else 1

    def order(k: int) -> Any:
        v = values[k]
        if v != v:
            return (0, 0, 0, k)
        negative = sign * (-1 if math.copysign(1.0, v) < 0 else 1) if v == 0 else 0
        return (1, sign * v, negative, k)

    place = min(range(len(values)), key=order)
    return np.int64(place) if op.startswith("arg") else row[place]


def reduced(source: nodes.Reduced, give: Callable[[nodes.Expr], np.ndarray]) -> np.ndarray:
    """All results of ``source``, in C order; ``give`` gives the elements of an expression."""
    if source.op == "dot":
        pairs = zip(*(_rows(give(x), source.axes) for x in factors(source.arg)), strict=True)
        results = [dot_row(x, y, source.dtype) for x, y in pairs]
    else:
        rows = _rows(give(source.arg), source.axes)
        results = [reduce_row(source.op, row, source.dtype, source.ddof) for row in rows]
    return np.array(results, source.dtype).reshape(-1)


def _rows(arg: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """One row for each result of a reduction over ``axes``."""
    kept_axes = [k for k in range(arg.ndim) if k not in axes]
    shape = [math.prod(arg.shape[k] for k in which) for which in (kept_axes, axes)]
    return np.transpose(arg, (*kept_axes, *axes)).reshape(shape)


GROUPED_SUMS = frozenset(f"group_{op}" for op in ("sum", "mean", "var", "std"))


def _of_groups(node: nodes.Through, give: Callable[[nodes.Expr], np.ndarray]) -> np.ndarray:
    """Each group's sum, mean or spread as `reduce_row` gives it of the group's elements."""
    op = node.op.removeprefix("group_")
    meaning = grouping.of_each(
        lambda values, options, _: reduce_row(op, values, node.dtype, options.ddof)
    )
    args = [give(arg) for arg in node.args]
    row = replace(OPERATIONS[node.op], meaning=meaning)
    return np.ascontiguousarray(row.made(node, args)).astype(node.dtype)


def exact(root: nodes.Expr, value: Callable[[nodes.Expr], np.ndarray] | None = None) -> nodes.Expr:
    """``root`` with every reduction and scan below it replaced by its exact values in memory."""
    give = value or elements
    done: dict[int, Any] = {}

    def visit(node: Any) -> Any:
        if id(node) not in done:
            done[id(node)] = node, again(node)  # alive, so that no other has its id
        return done[id(node)][1]

    def again(node: Any) -> Any:
        if isinstance(node, nodes.Map):
            return nodes.Map(node.op, tuple(map(visit, node.args)), node.shape, node.dtype)
        if isinstance(node, nodes.Leaf):
            source = visit(node.source)
            return nodes.Leaf(source, node.shape, node.offset, node.strides)
        if isinstance(node, nodes.Piecewise):
            pieces = tuple(replace(piece, expr=visit(piece.expr)) for piece in node.pieces)
            return replace(node, boxes=pieces)
        if isinstance(node, nodes.Reduced):
            return nodes.Stored(reduced(node, give), node.dtype)
        if isinstance(node, nodes.Scanned):
            return nodes.Stored(scans.scanned(node, give(node.arg)).reshape(-1), node.dtype)
        if isinstance(node, nodes.Through) and node.op in GROUPED_SUMS:
            return nodes.Stored(_of_groups(node, give).reshape(-1), node.dtype)
        return node

    return visit(root)


def elements(root: nodes.Expr) -> np.ndarray:
    """The elements of ``root``: its element body run by the IR evaluator, reductions exact."""
    if is_pair(root):
        return np.asarray(combined(*map(elements, parts(root))))
    return reference.elements(exact(root))


def numpy_elements(root: nodes.Expr) -> np.ndarray:
    """The elements of ``root`` by NumPy's functions; only reductions are replaced by exact ones."""
    return interpret(exact(root, numpy_elements), draw)


# Comparing -------------------------------------------------------------------------------------


def bits(value: Any) -> np.ndarray:
    """The bytes of every element as an unsigned integer, one pattern for every NaN."""
    shape, array = np.shape(value), np.ascontiguousarray(value)
    if array.dtype.kind == "f":
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return array.reshape(-1).view(f"u{array.dtype.itemsize}").reshape(shape)


def assert_same_bits(computed: Any, wanted: Any, what: object = "") -> None:
    """Equal dtype, shape and bits, or a message that shows the first element that differs."""
    computed, wanted = np.asarray(computed), np.asarray(wanted)
    assert (computed.dtype, computed.shape) == (wanted.dtype, wanted.shape), what
    differ = np.argwhere(bits(computed) != bits(wanted))
    if len(differ):
        at = tuple(int(k) for k in differ[0])
        raise AssertionError(
            f"{len(differ)} of {computed.size} elements differ, first at {at}: "
            f"{computed[at]!r} instead of {wanted[at]!r}\n{what}"
        )


def ulps(computed: Any, wanted: Any) -> np.ndarray:
    """How many representable numbers lie between the elements (0 for two NaNs)."""
    computed, wanted = np.asarray(computed), np.asarray(wanted)
    word = {2: np.int16, 4: np.int32, 8: np.int64}[computed.dtype.itemsize]
    least = int(np.iinfo(word).min)

    def places(x: np.ndarray) -> list[int]:
        raw = np.ascontiguousarray(x).reshape(-1).view(word).tolist()
        return [least - r if r < 0 else r for r in raw]

    both = (np.isnan(computed) & np.isnan(wanted)).reshape(-1)
    pairs = zip(places(computed), places(wanted), both, strict=True)
    return np.array([0 if nan else abs(a - b) for a, b, nan in pairs], dtype=object)


# One body as a kernel --------------------------------------------------------------------------

_KEEP: list[NativeKernel] = []


def run_body(
    body: Body,
    inputs: dict[str, np.ndarray],
    target: str,
    params: np.ndarray | None = None,
    quick: bool = False,
) -> np.ndarray:
    """Output ``x`` of ``body`` as machine code for ``target``, ``quick`` to compile or full.

    Inputs are leaf0, leaf1 ..., or memory<k>, which a gather reads, in the place of a leaf.
    """
    count = len(next(iter(inputs.values())))
    arrays = [np.ascontiguousarray(array) for array in inputs.values()]
    leaves = tuple(
        LeafCode("memory", array.dtype.name, "splat")
        if name.startswith("memory")
        else LeafCode("stored", array.dtype.name, "unit")
        for name, array in inputs.items()
    )
    program = Program(leaves, body, Sink("store", body.output_type("x")), 0, 0, False)
    style = styles(program, target)[0 if quick else 1]
    kernel = load_object(compile_object(source(program, target, style), target))
    _KEEP.append(kernel)
    out = np.empty(count, body.output_type("x"))
    geometry = [0, 1, 0, 1, 0, count, TILE, 1, *itertools.chain(*([0, 1] for _ in arrays)), 0, 1]
    words = np.array(geometry, np.int64)
    parameters = np.zeros(1, np.uint64) if params is None else params
    buffers = np.array([a.ctypes.data for a in arrays], np.uint64)
    scratch = np.empty(scratch_bytes(program) + 64, np.uint8)
    aligned = (scratch.ctypes.data + 63) & ~63
    kernel.function(
        words.ctypes.data, buffers.ctypes.data, parameters.ctypes.data, aligned, out.ctypes.data
    )
    return out
