"""Expressions that are alike share a program: the steps of a loop are lowered once.

Alike are the same operations of leaves that are fetched in the same way, whose bounds are the same,
with the same constants. Extents, offsets, strides and the keys of random sources are arguments.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...expr.analysis import of_leaf
from ...expr.nodes import Const, Expr, Leaf, Map, Random
from ...expr.space import Space, Tiling, is_packed
from ..program import LeafCode, Program
from .parameters import Parameters, Uniform, now

MOST: Final = 512  # programs that are remembered; the one not asked for longest is forgotten
Key: TypeAlias = Hashable


@dataclass(frozen=True)
class Lowered:
    """A program and the parameter words it was lowered with, some of which sources give."""

    program: Program
    params: NDArray[np.uint64]
    uniforms: tuple[Uniform, ...] = ()


@dataclass(frozen=True)
class _Pattern:
    """A program, the parameters after those of its leaves, and which constants give some."""

    program: Program
    words: tuple[int, ...]
    constants: tuple[tuple[int, int], ...]  # the parameter, and the number of the node


_patterns: OrderedDict[Key, _Pattern] = OrderedDict()
_lock = threading.Lock()


def alike(
    nodes: Sequence[Expr],
    how: Key,
    space: Space,
    tiling: Tiling,
    codes: tuple[LeafCode, ...],
    parameters: Parameters,
    make: Callable[[], Program],
) -> Lowered:
    """What ``make`` gives, with ``parameters``, unless it is known of an expression like ``nodes``.

    The ``codes`` of the leaves have their parameters already. ``how`` is what else decides.
    """
    unit = space.out_strides[-1] == 1, is_packed(space.out_strides, space, tiling)
    shape = tiling.first, tiling.table, space.reduced, unit
    entries = _entries(nodes, {id(leaf): k for k, leaf in enumerate(space.leaves)})
    if entries is None:
        return Lowered(make(), parameters.array(), tuple(parameters.uniforms))
    key = how, shape, codes, entries
    with _lock:
        known = _patterns.get(key)
        if known is not None:
            _patterns.move_to_end(key)
    if known is None:
        return _remembered(key, nodes, make, parameters)
    parameters.words += known.words
    for place, number in known.constants:
        source: Any = nodes[number].source  # type: ignore[union-attr]
        uniform = Uniform(source, place, now(source))
        parameters.uniforms.append(uniform)
        parameters.words[place : place + 1] = uniform.words()  # of NaNs, the key has one
    return Lowered(known.program, parameters.array(), tuple(parameters.uniforms))


def _remembered(
    key: Key, nodes: Sequence[Expr], make: Callable[[], Program], parameters: Parameters
) -> Lowered:
    words, uniforms = len(parameters.words), len(parameters.uniforms)
    program = make()
    numbers = {id(n.source): k for k, n in enumerate(nodes) if isinstance(n, Leaf)}
    constants = ((u.place, numbers[id(u.source)]) for u in parameters.uniforms[uniforms:])
    found = _Pattern(program, tuple(parameters.words[words:]), tuple(constants))
    with _lock:
        _patterns[key] = found
        while len(_patterns) > MOST:
            _patterns.popitem(last=False)
    return Lowered(program, parameters.array(), tuple(parameters.uniforms))


def _entries(nodes: Sequence[Expr], leaves: dict[int, int]) -> Key:
    """What counts of ``nodes``; None where more does.

    A gather that draws has a key that is no leaf's. How numbers are folded is the thread's affair.
    """
    places: dict[int, int] = {}
    entries: list[Key] = []
    for place, node in enumerate(nodes):
        places[id(node)] = place
        if isinstance(node, Map):
            if node.op == "gather" and isinstance(node.args[1].source, Random):  # type: ignore[union-attr]
                return None
            if all(isinstance(a, Leaf) and isinstance(a.source, Const) for a in node.args):
                return None
            entries.append((node.op, node.dtype, *[places[id(arg)] for arg in node.args]))
        elif isinstance(node.source, Const):
            value = node.source.value
            entries.append((node.dtype, type(value), repr(value)))
        else:
            entries.append((leaves[id(node)], node.dtype, of_leaf(node)))
    return tuple(entries)
