"""Expressions that are alike share a program: the steps of a loop are lowered once.

Alike are the same operations of leaves that are fetched in the same way, whose bounds are the same.
Extents, offsets, strides, the keys of random sources, constants and what is made of constants alone
are arguments.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...expr.analysis import bounds_of, made_of_constants, of_leaf
from ...expr.nodes import Const, Expr, Leaf, Map, Random, walk
from ...expr.space import Space, Tiling, is_packed
from ..evaluate import is_faithful
from ..program import LeafCode, Program
from .elements import numbers_of
from .parameters import Parameters, Uniform, now, word_of

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
    """A program, the parameters after those of its leaves, and what gives some of these.

    Each is a parameter and the number of a node: a constant, or what is ``folded`` of such.
    """

    program: Program
    words: tuple[int, ...]
    constants: tuple[tuple[int, int], ...]
    folded: tuple[tuple[int, int], ...]


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
    entries = _entries(nodes, {id(leaf): k for k, leaf in enumerate(space.leaves)}, how)
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
        parameters.words[place : place + 1] = uniform.words()
    numbers = numbers_of([nodes[number] for _, number in known.folded])
    for place, number in known.folded:
        parameters.words[place] = word_of(numbers[id(nodes[number])])
    return Lowered(known.program, parameters.array(), tuple(parameters.uniforms))


def _remembered(
    key: Key, nodes: Sequence[Expr], make: Callable[[], Program], parameters: Parameters
) -> Lowered:
    words = len(parameters.words)
    program = make()
    places = {id(n): k for k, n in enumerate(nodes)}
    # By the node: several have one source here, and each its own where the program is found again.
    # What lowering made itself, as a cast of a factor, is made of constants that the key has.
    fixed = [(place, places[id(n)]) for place, n in parameters.fixed if id(n) in places]
    constants = tuple([one for one in fixed if isinstance(nodes[one[1]], Leaf)])
    folded = tuple([one for one in fixed if isinstance(nodes[one[1]], Map)])
    found = _Pattern(program, tuple(parameters.words[words:]), constants, folded)
    with _lock:
        _patterns[key] = found
        while len(_patterns) > MOST:
            _patterns.popitem(last=False)
    return Lowered(program, parameters.array(), tuple(parameters.uniforms))


def _entries(nodes: Sequence[Expr], leaves: dict[int, int], how: Key) -> Key:
    """What counts of ``nodes``; None where more does.

    A gather that draws has a key that is no leaf's. A constant counts by what is known for it of
    the bounds of others, and by itself where it is looked at (`_looked_at`).
    """
    fixed = made_of_constants(nodes)
    if fixed and not is_faithful() and any(isinstance(n, Map) and id(n) in fixed for n in nodes):
        return None  # what is made of constants is folded elsewhere
    bounds, looked_at = bounds_of(nodes) if fixed else {}, _looked_at(nodes[-1], how, fixed)
    places: dict[int, int] = {}
    entries: list[Key] = []
    for place, node in enumerate(nodes):
        places[id(node)] = place
        if isinstance(node, Map):
            if node.op == "gather" and isinstance(node.args[1].source, Random):  # type: ignore[union-attr]
                return None
            told: Key = None
            if fixed and id(node) not in fixed:
                told = bounds[id(node)].known if how is None else bounds[id(node)]
            entries.append((node.op, node.dtype, told, *[places[id(arg)] for arg in node.args]))
        elif isinstance(node.source, Const):
            entries.append((node.dtype, repr(node.source.value) if id(node) in looked_at else ""))
        else:
            read = bounds[id(node)] if fixed else of_leaf(node)
            entries.append((leaves[id(node)], node.dtype, read))
    return tuple(entries)


def _looked_at(root: Expr, how: Key, fixed: frozenset[int]) -> frozenset[int]:
    """The constants below ``root`` whose own bounds decide how it is stored or reduced.

    What is stored is it, what is reduced it or its arguments: those of several, factors.
    """
    near = [root]
    if how is not None:
        near += _args(root)
        near += [arg for one in near for arg in _args(one)]
    return frozenset(id(node) for one in near if id(one) in fixed for node in walk(one))


def _args(node: Expr) -> tuple[Expr, ...]:
    return node.args if isinstance(node, Map) else ()
