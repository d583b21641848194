"""The bounds of an expression's elements: those of its sources, by the rules of its operations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from .. import dtypes
from .bounds import RULES, Bounds, cast, grain_of, integer_bounds, rounded, unknown
from .nodes import (
    Const,
    Expr,
    Leaf,
    Map,
    Position,
    Random,
    Reduced,
    Source,
    StageResult,
    Stored,
    Through,
    walk,
)

# Of stream-v1 variates (math/streams.py): the least and the largest, rounded outwards, and their
# grain. A normal is r * (c - s) where r is 0 or at least 2**-27 (float32: 2**-13) and c - s is 0 or
# at least 2**-53 (2**-24): as rounded it has no bit below 2**-133 (2**-61). An exponential is 0 or
# at least 2**-54 (2**-25), a uniform a multiple of 2**-52 (2**-24).
_UNIT: Final[dict[str, dict[str, tuple[float, float, int]]]] = {
    "normal": {"float64": (-8.6, 8.6, -140), "float32": (-6.7, 6.7, -70)},
    "exponential": {"float64": (0.0, 36.8, -110), "float32": (0.0, 22.2, -60)},
    "uniform": {"float64": (0.0, 1.0, -52), "float32": (0.0, 1.0, -24)},
}


_BLIND: Final = frozenset((Stored, StageResult))  # of whose elements the dtype is known


def _random(source: Random) -> Bounds:
    if source.distribution in ("integers", "integers_wide"):
        first, count = (int(p) for p in source.parameters)
        return integer_bounds(first, first + count - 1, 0, source.dtype)
    if source.distribution not in _UNIT:
        return unknown(source.dtype)
    low, high, grain = _UNIT[source.distribution][source.dtype]
    a, b = (float(p) for p in source.parameters)
    if source.distribution == "uniform":  # a + (b - a) * u
        b -= a
    grain = min(grain_of(a), grain_of(b) + grain)
    ends = sorted((a + b * low, a + b * high))
    return rounded(ends[0], ends[1], grain, source.dtype)


def of_leaf(leaf: Leaf) -> Bounds:
    """The bounds of what ``leaf`` reads."""
    source = leaf.source
    if type(source) in _BLIND:  # as nearly always
        return unknown(source.dtype)
    if isinstance(source, Const):
        value = source.value
        if source.dtype != "float64" or type(value) is not float:
            with np.errstate(over="ignore"):
                value = float(np.array(value, source.dtype))
        return (
            Bounds(value, value, grain_of(value)) if math.isfinite(value) else unknown(source.dtype)
        )
    if isinstance(source, Random):
        return _random(source)
    if isinstance(source, Position):
        reach = [s * (n - 1) for s, n in zip(leaf.strides, leaf.shape, strict=True) if n]
        low = leaf.offset + sum(min(0, r) for r in reach)
        return Bounds(float(low), float(leaf.offset + sum(max(0, r) for r in reach)), 0)
    return _places(source) or unknown(source.dtype)


def _places(source: Source) -> Bounds | None:
    """The bounds of what says which elements come first, or are the least; None of others."""
    if isinstance(source, Through) and source.op == "argsort":
        return Bounds(0.0, float(max(0, source.arg.shape[-1] - 1)), 0)
    if isinstance(source, Reduced) and source.op in ("argmin", "argmax"):
        return Bounds(0.0, float(max(0, source.count - 1)), 0)
    return None


def _map(node: Map, args: list[Bounds]) -> Bounds:
    if node.op == "cast":
        return cast(args[0], node.dtype)
    rule = RULES.get(node.op)
    if rule is None or node.dtype == "bool":
        return unknown(node.dtype)
    bounds = rule(*args, node.dtype)
    if dtypes.is_float(node.dtype):
        return bounds
    # Integer arithmetic wraps, so a range is only known while it stays inside the type.
    limits = unknown(node.dtype)
    return bounds if limits.low <= bounds.low and bounds.high <= limits.high else limits


def analyse(root: Expr) -> Bounds:
    """The bounds of ``root``'s elements."""
    return _bounds(walk(root), of_leaf)[id(root)]


def bounds_of(nodes: Sequence[Expr]) -> dict[int, Bounds]:
    """The bounds of ``nodes``, each of which stands after its arguments, by their ids."""
    return _bounds(nodes, of_leaf)


def _bounds(nodes: Sequence[Expr], of: Callable[[Leaf], Bounds]) -> dict[int, Bounds]:
    """The bounds of ``nodes``, arguments first; those of leaves as ``of`` says."""
    bounds: dict[int, Bounds] = {}
    for node in nodes:
        if isinstance(node, Leaf):
            bounds[id(node)] = of(node)
        else:
            bounds[id(node)] = _map(node, [bounds[id(arg)] for arg in node.args])
    return bounds


def made_of_constants(nodes: Sequence[Expr]) -> frozenset[int]:
    """The constants among ``nodes``, and what these alone go into, by their ids."""
    found: set[int] = set()
    for node in nodes:
        if isinstance(node, Leaf):
            if isinstance(node.source, Const):
                found.add(id(node))
        elif all([id(arg) in found for arg in node.args]):
            found.add(id(node))
    return frozenset(found)


def constants_count(root: Expr) -> bool:
    """Whether more is known of ``root`` for its constants: bounds, or numbers made of them alone.

    Where not, what is made for ``root`` holds for the same operations of other constants.
    """
    nodes = walk(root)
    leaves = [node for node in nodes if isinstance(node, Leaf)]
    constants = {id(leaf) for leaf in leaves if isinstance(leaf.source, Const)}
    if not constants:
        return False
    maps = [node for node in nodes if isinstance(node, Map)]
    if not maps or any(all(id(arg) in constants for arg in node.args) for node in maps):
        return True
    known = _bounds(nodes, of_leaf)
    blind = _bounds(
        nodes, lambda leaf: unknown(leaf.dtype) if id(leaf) in constants else of_leaf(leaf)
    )
    return any(known[id(node)] != blind[id(node)] for node in maps)
