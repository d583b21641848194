"""The right bits without a compiler: sources and elements by the IR's evaluator, slowly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import dtypes
from ...expr import space
from ...expr.interpret import interpret, positions
from ...expr.nodes import (
    STAGED,
    Deferred,
    Expr,
    Leaf,
    Map,
    Piecewise,
    Random,
    Source,
    Stored,
    Tiled,
    whole,
)
from ...expr.push import in_place
from ...expr.sources.span import spanned
from ...philox import round_keys
from ..evaluate import evaluate
from ..math.streams import stream
from .lower import lower

Array = NDArray[Any]


def _word(value: float, dtype: str) -> int:
    """A distribution's parameter as its 8 bytes."""
    if dtypes.is_float(dtype):
        return int.from_bytes(np.array(value, dtype).tobytes().ljust(8, b"\0"), "little")
    return int(value) % 2**64


def draw(source: Random, positions: Any) -> Array:
    """The values of ``source`` at ``positions``, by stream v1's page and the IR evaluator."""
    a, b = source.parameters
    plain = dtypes.is_float(source.dtype) and (a, b) == (0.0, 1.0)
    if source.distribution == "uniform":
        b = b - a
    words = [*round_keys(source.key), *(_word(v, source.dtype) for v in (a, b))]
    params = np.array(words, np.uint64)
    drawn = stream(source.distribution, source.dtype, 0, plain)
    values: dict[str, Any] = {"position": np.asarray(positions, np.int64)}
    for body in drawn.from_position:
        values |= evaluate(body, values, params)
    at_each = np.broadcast_to(values["x"], values["position"].shape)
    return at_each.astype(source.dtype, copy=False)


def _memory(source: Source) -> Array:
    """What lies at each position, those below 0 at the end; nothing where no memory is read."""
    if isinstance(source, Stored):
        return _around(np.asarray(source.buffer)).view(dtypes.stored(source.dtype))
    if isinstance(source, (Leaf, Map, Piecewise)):
        return _elements(source).view(dtypes.stored(source.dtype)).reshape(-1)
    if isinstance(source, (*STAGED, Deferred, Tiled)):
        values = interpret(whole(source, source.shape), draw)
        return values.view(dtypes.stored(source.dtype)).reshape(-1)
    return np.empty(0)


def _around(array: Array) -> Array:
    """The memory that ``array`` spans, as element ``k`` of it is counted from its first."""
    steps = zip(array.shape, array.strides, strict=True)
    first = sum(min(0, (n - 1) * s) for n, s in steps) // array.itemsize
    return np.roll(spanned(array)[0].view(array.dtype), first)


def _read(leaf: Leaf) -> Array:
    """The elements of ``leaf``; those of an expression by its kernel, too."""
    if isinstance(leaf.source, (Leaf, Map, Piecewise)):
        return np.asarray(_elements(leaf.source).reshape(-1)[positions(leaf)])
    return interpret(leaf, draw)


def _elements(source: Expr | Piecewise) -> Array:
    """All elements of ``source``, those of pieces put together."""
    if not isinstance(source, Piecewise):
        return elements(source)
    whole = np.empty(source.shape, source.dtype)
    for piece in source.pieces:
        box = zip(piece.at, piece.expr.shape, strict=True)
        whole[tuple(slice(at, at + n) for at, n in box)] = elements(piece.expr)
    return whole


def elements(root: Expr) -> Array:
    """The elements of ``root``; reductions that it reads are NumPy's, with NumPy's rounding."""
    if math.prod(root.shape) == 0:
        return np.empty(root.shape, root.dtype)
    root = in_place(root)  # of a permutation of very many things a part
    walked = space.build(root, ())
    lowered = lower(root, walked, space.tile(walked), None)
    inputs: dict[str, Array] = {}
    for k, (leaf, code) in enumerate(zip(walked.leaves, lowered.program.leaves, strict=True)):
        if code.kind == "memory":
            inputs[f"memory{k}"] = _memory(leaf.source)
        else:
            inputs[f"leaf{k}"] = _read(leaf).view(dtypes.stored(leaf.dtype))
    values = evaluate(lowered.program.element, inputs, lowered.params)["x"]
    whole = np.broadcast_to(values, root.shape).astype(dtypes.stored(root.dtype), copy=False)
    return whole.view(root.dtype)
