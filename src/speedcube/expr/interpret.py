"""The expression executed with NumPy, node by node: slow, obvious, the right answer.

Random sources are asked of ``random_values(source, positions)``, so that this module knows
nothing of kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import dtypes
from ..ops import OPS, SAMPLERS, SEARCHES
from . import samplers, scans
from .gather import is_moved, searched
from .graph import below, memories
from .nodes import (
    Const,
    Deferred,
    Expr,
    Leaf,
    Map,
    Piecewise,
    Position,
    Random,
    Reduced,
    Source,
    Stored,
    Through,
    Tiled,
)
from .reductions import factors
from .routines.row import call_of, made, seen
from .routines.table import ROUTINES
from .sources.values import positions as positions
from .sources.values import stored
from .through.table import OPERATIONS

Array: TypeAlias = NDArray[Any]
Draw: TypeAlias = Callable[[Random, NDArray[np.int64]], Array]


def interpret(root: Expr, draw: Draw) -> Array:
    """The elements of ``root``, and on the way those of every expression that is read below it."""
    done: dict[int, Array] = {}
    nodes = below(root)
    gathers = memories(nodes)
    for node in nodes:
        if isinstance(node, Leaf):
            if id(node) not in gathers:
                done[id(node)] = _leaf(node, done, draw)
        elif isinstance(node, Map) and node.op == "several":
            pass  # what reads it takes its arguments
        elif isinstance(node, Map):
            done[id(node)] = _map(node, done, draw)
        elif isinstance(node, Reduced):
            done[id(node)] = _reduction(node, done, draw)
        elif isinstance(node, Piecewise):
            done[id(node)] = _piecewise(node, done)
        elif isinstance(node, Through):
            done[id(node)] = _through(node, [done[id(arg)] for arg in node.args])
        else:
            done[id(node)] = scans.scanned(node, done[id(node.arg)])
    return done[id(root)]


def _through(node: Through, args: list[Array]) -> Array:
    if node.op not in ROUTINES:
        return OPERATIONS[node.op].made(node, args)
    strided = np.lib.stride_tricks.as_strided
    views = call_of(node).views
    parts = [seen(np.ascontiguousarray(a), v, strided) for a, v in zip(args, views, strict=True)]
    return np.asarray(made(np, ROUTINES[node.op], node, parts))


def _piecewise(node: Piecewise, done: dict[int, Array]) -> Array:
    whole = np.empty(node.shape, node.dtype)
    for piece in node.pieces:
        box = zip(piece.at, piece.expr.shape, strict=True)
        whole[tuple(slice(at, at + n) for at, n in box)] = done[id(piece.expr)]
    return whole


def _reduction(source: Reduced, done: dict[int, Array], draw: Draw) -> Array:
    if source.op != "dot":
        return _reduced(source, done[id(source.arg)])
    x, y = (done[id(f)] if id(f) in done else interpret(f, draw) for f in factors(source.arg))
    return _dot(source, x, y)


def _map(node: Map, done: dict[int, Array], draw: Draw) -> Array:
    if node.op == "gather":
        base = node.args[1]
        assert isinstance(base, Leaf)
        index, first, last = (done[id(node.args[k])] for k in (0, 2, 3))
        return _gathered(base.source, index, first, last, done, draw)
    if node.op in SEARCHES:
        return searched(node.op, _line(node, done, draw), done[id(node.args[0])])
    args = [done[id(arg)] for arg in node.args]
    if node.op in SAMPLERS:
        return samplers.MEANING[node.op](*args)
    with np.errstate(all="ignore"):
        if node.op == "cast":
            return np.asarray(args[0].astype(node.dtype))
        if node.op == "bitcast":
            made = isinstance(node.args[0], Map) and not is_moved(node.args[0])
            bits = scans.one_nan(args[0]) if made else args[0]
            return np.ascontiguousarray(bits).view(node.dtype).reshape(node.shape)
        held = [arg.astype(dtypes.carrier(arg.dtype.name), copy=False) for arg in args]
        return np.asarray(OPS[node.op].numpy(*held)).astype(node.dtype, copy=False)


def _gathered(
    source: Source, index: Array, first: Array, last: Array, done: dict[int, Array], draw: Draw
) -> Array:
    """What ``source`` has at ``index``; ``first`` and ``last`` are the same everywhere."""
    index = np.clip(index, first, last)
    if not isinstance(source, Stored) or not index.size:
        return (
            _read(source, index, done, draw) if index.size else np.empty(index.shape, source.dtype)
        )
    low, high = int(first.flat[0]), int(last.flat[0])
    window = Leaf(source, (high - low + 1,), low, (1,))
    return np.asarray(stored(window, source)[index - low])


def _line(node: Map, done: dict[int, Array], draw: Draw) -> Array:
    """The line that ``node`` searches."""
    source = node.args[1].source  # type: ignore[union-attr]
    if not math.prod(node.shape):
        return np.empty(0, source.dtype)
    first, stride, count = (int(done[id(arg)].flat[0]) for arg in node.args[2:5])
    return _leaf(Leaf(source, (count,), first, (stride,)), done, draw)


def _leaf(leaf: Leaf, done: dict[int, Array], draw: Draw) -> Array:
    source = leaf.source
    if isinstance(source, Const):
        return np.full(leaf.shape, source.value, source.dtype)
    if isinstance(source, Stored):
        return stored(leaf, source)
    return _read(source, positions(leaf), done, draw)


def _read(source: Source, at: Array, done: dict[int, Array], draw: Draw) -> Array:
    """What ``source`` has at the positions ``at``."""
    if isinstance(source, Position):
        return at
    if isinstance(source, Random):
        return draw(source, at)
    if isinstance(source, Deferred):
        return np.asarray(source.collection.compute()).reshape(-1)[at]
    if isinstance(source, Tiled):
        return source.everything().reshape(-1)[at]
    return done[id(source)].reshape(-1)[at]


def _reduced(source: Reduced, arg: Array) -> Array:
    if source.op == "prod":
        lines = arg.reshape(*source.shape, source.count)
        return (
            np.apply_along_axis(scans.product, -1, lines) if lines.size else np.ones(source.shape)
        )
    options: dict[str, Any] = {"keepdims": source.keepdims}
    if source.op in ("var", "std"):
        options["ddof"] = source.ddof
    axes: Any = source.axes
    if source.op.startswith("arg"):
        axes = source.axes[0] if len(source.axes) == 1 else None
    with np.errstate(all="ignore"):
        results = getattr(np, source.op)(arg, axis=axes, **options)
    return np.asarray(results).astype(source.dtype)


def _dot(source: Reduced, x: Array, y: Array) -> Array:
    """The exact sums of the exact products, which NumPy has not."""
    kept = [k for k in range(x.ndim) if k not in source.axes]
    shape = (*(x.shape[k] for k in kept), source.count)
    rows = (np.transpose(a, (*kept, *source.axes)).reshape(shape) for a in (x, y))
    pairs = zip(*(row.reshape(-1, source.count) for row in rows), strict=True)
    sums = [_dot_of_rows(a, b, source.dtype) for a, b in pairs]
    return np.array(sums, source.dtype).reshape(source.shape)


def _dot_of_rows(x: Array, y: Array, dtype: str) -> Any:
    finite = np.isfinite(x) & np.isfinite(y)
    with np.errstate(all="ignore"):
        if not finite.all():
            return (x[~finite] * y[~finite]).sum()
    exact = sum(map(lambda a, b: Fraction(a) * Fraction(b), x.tolist(), y.tolist()), Fraction(0))
    return _nearest(exact, dtype)


def _nearest(value: Fraction, dtype: str) -> Any:
    """``value`` rounded once: below float64 through a float64 rounded to odd where inexact."""
    try:
        near = value.numerator / value.denominator
    except OverflowError:
        near = math.inf if value > 0 else -math.inf
    if dtype != "float64" and math.isfinite(near) and Fraction(near) != value:
        below = math.nextafter(near, math.inf if value > Fraction(near) else -math.inf)
        near = near if np.float64(near).view(np.uint64) & 1 else below
    with np.errstate(all="ignore"):
        return np.dtype(dtype).type(near)
