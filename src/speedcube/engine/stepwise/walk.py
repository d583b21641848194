"""The nodes of a program, each made of what those below it gave."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...expr.gather import searched
from ...expr.graph import children, memories
from ...expr.nodes import (
    Const,
    Expr,
    Leaf,
    Map,
    Node,
    Piecewise,
    Position,
    Random,
    Reduced,
    Scanned,
    Source,
    Stored,
    Through,
    is_whole,
    whole,
)
from ...expr.scans import one_nan
from ...expr.sources.values import positions, stored
from ...ops import SEARCHES
from .choice import is_ordinary
from .defined import defined, is_quickly_defined
from .meaning import folded, is_computed, mapped
from .nodes import few_nodes

Array: TypeAlias = NDArray[Any]
# The values of an expression that reads arrays alone, by a kernel or whatever else makes it.
Made: TypeAlias = Callable[[Expr], Any]


class NotStepwiseError(Exception):
    """What is left to others: it never leaves this folder."""


def made_of(roots: Sequence[Expr], most: int, made: Made) -> list[Array] | None:
    """The values of ``roots``, arrays of their own; None where a node has more than ``most``.

    ``made`` gives what NumPy does not have, or has with other bits.
    """
    nodes = few_nodes(roots, most) if is_ordinary() else None
    if nodes is None:
        return None
    steps = _NodeValues(nodes, roots, memories(nodes), made)
    try:
        with np.errstate(all="ignore"):
            return [own.copy() if k else own for k, own in steps.results(roots)]
    except NotStepwiseError:
        return None


_ELEMENTWISE: Final = frozenset((Leaf, Map))


def _takes_arguments(node: Node) -> bool:
    if type(node) is Reduced:
        return node.op == "dot"
    return type(node) is Through and type(node.arg) is Map and node.arg.op == "several"


class _NodeValues:
    """What the nodes gave, for as long as others need it."""

    def __init__(
        self, nodes: Sequence[Node], roots: Sequence[Expr], held: frozenset[int], made: Made
    ) -> None:
        self.nodes, self.held, self.made = nodes, held, made
        self.done: dict[int, Array] = {}
        # Of each node those that it needs, and how many nodes still need it.
        self.needs = [children(node) for node in nodes]
        self.left: dict[int, int] = {}
        # The arguments of products that are summed as they are, and of several arrays.
        self.taken: dict[int, list[Array]] = {}
        left = self.left
        for needed in chain(*self.needs, roots):
            place = id(needed)
            left[place] = left.get(place, 0) + 1
        for node in nodes:
            if type(node) not in _ELEMENTWISE and _takes_arguments(node):
                self.taken[id(node.arg)] = []  # type: ignore[union-attr]

    def results(self, roots: Sequence[Expr]) -> list[tuple[bool, Array]]:
        """Each result, and whether its memory is another's, too."""
        done, left = self.done, self.left
        for node, needs in zip(self.nodes, self.needs, strict=True):
            done[id(node)] = _MADE[type(node)](self, node)
            for needed in needs:
                place = id(needed)
                if left[place] == 1:
                    del done[place]  # it may be long
                else:
                    left[place] -= 1
        given: set[int] = set()
        results = []
        for root in roots:
            array = done[id(root)]
            array = _as_stored(root, array)
            shared = id(root) in given or type(root) is Leaf or not array.flags.writeable
            if array.shape != root.shape:  # one number everywhere
                array, shared = np.broadcast_to(array, root.shape), True
            results.append((shared, array))
            given.add(id(root))
        return results

    def of_scan(self, node: Scanned) -> Array:
        return self.computed(replace(node, arg=self.over_arrays(node.arg)), node.shape)

    def of_through(self, node: Through) -> Array:
        if is_quickly_defined(node):
            return defined(node, self.arguments(node.arg))
        arg = self.over_arrays(node.arg)
        own = Through(node.op, arg, node.shape, node.dtype, node.options, node.axis)
        return self.computed(own, node.shape)

    def of_map(self, node: Map) -> Array:
        if node.op == "gather":
            return self.gathered(node)
        if node.op in SEARCHES:
            return self.searched(node)
        args = [self.done[id(arg)] for arg in node.args]
        if id(node) in self.taken:
            self.taken[id(node)] = args
            if node.op == "several":
                return args[0]
        result = mapped(node, args)
        if result is None:
            of = zip(args, node.args, strict=True)
            leaves = tuple([_stored(array, node.shape, arg.dtype) for array, arg in of])
            return np.asarray(self.made(Map(node.op, leaves, node.shape, node.dtype)))
        if result.shape != node.shape:  # of numbers alone
            return np.broadcast_to(result, node.shape)
        return np.asarray(result)

    def of_leaf(self, leaf: Leaf) -> Array:
        source = leaf.source
        if type(source) is Const:
            return np.array(source.value, source.dtype)
        if type(source) is Stored:
            if source.buffer.flags.c_contiguous:
                flat = source.buffer.reshape(-1)
                return flat if id(leaf) in self.held else _view(flat, leaf)
            if id(leaf) in self.held:
                raise NotStepwiseError
            return stored(leaf, source)
        if type(source) is Position:
            return positions(leaf)
        if type(source) is Random:
            if id(leaf) in self.held:
                raise NotStepwiseError
            return np.asarray(self.made(leaf))
        array = self.done[id(source)]
        if array.shape == leaf.shape and is_whole(leaf):
            return array
        flat = _flat(array, source.shape)  # type: ignore[union-attr]
        return flat if id(leaf) in self.held else _view(flat, leaf)

    def of_pieces(self, node: Piecewise) -> Array:
        array = np.empty(node.shape, node.dtype)
        for piece in node.pieces:
            box = tuple([slice(a, a + n) for a, n in zip(piece.at, piece.expr.shape, strict=True)])
            array[box] = _as_stored(piece.expr, self.done[id(piece.expr)])
        return array

    def of_reduction(self, node: Reduced) -> Array:
        array = self.done[id(node.arg)]
        if array.shape != node.arg.shape:
            array = np.broadcast_to(array, node.arg.shape)
        result: Array | None = folded(node, array) if node.op != "dot" else None
        if result is not None:
            return result
        arg = self.over_arrays(node.arg)
        own = Reduced(node.op, arg, node.axes, node.keepdims, node.dtype, node.ddof)
        return self.computed(own, node.shape)

    def over_arrays(self, arg: Expr) -> Expr:
        """``arg`` as an array; of a product or several arrays each of them."""
        if id(arg) not in self.taken:
            return _as_leaf(arg, self.done[id(arg)])
        assert type(arg) is Map
        of = zip(arg.args, self.taken[id(arg)], strict=True)
        leaves = tuple([_as_leaf(expr, array) for expr, array in of])
        return Map(arg.op, leaves, arg.shape, arg.dtype)

    def arguments(self, arg: Expr) -> list[Array]:
        """``arg`` as an array; of several arrays each of them."""
        return self.taken[id(arg)] if id(arg) in self.taken else [self.done[id(arg)]]

    def gathered(self, node: Map) -> Array:
        index, flat, first, last = (self.done[id(arg)] for arg in node.args)
        if not index.size:
            return np.empty(node.shape, node.dtype)
        if not flat.size:  # an index of nothing, whose element is not used
            raise NotStepwiseError
        made = flat.reshape(-1).take(np.minimum(np.maximum(index, first), last))
        return made if made.shape == node.shape else np.broadcast_to(made, node.shape)

    def searched(self, node: Map) -> Array:
        wanted, flat, *about = (self.done[id(arg)] for arg in node.args)
        first, stride, count = (int(number) for number in about[:3])
        run = slice(first, first + count)
        return searched(
            node.op, flat[run if stride == 1 else first + stride * np.arange(count)], wanted
        )

    def computed(self, source: Source, shape: tuple[int, ...]) -> Array:
        return np.asarray(self.made(whole(source, shape))).reshape(shape)


_MADE: Final[dict[type, Callable[[_NodeValues, Any], Array]]] = {
    Leaf: _NodeValues.of_leaf,
    Map: _NodeValues.of_map,
    Piecewise: _NodeValues.of_pieces,
    Reduced: _NodeValues.of_reduction,
    Scanned: _NodeValues.of_scan,
    Through: _NodeValues.of_through,
}


def _as_stored(expr: Expr, array: Array) -> Array:
    """``array``, with NumPy's NaN where they were computed."""
    nan = array.dtype.kind == "f" and is_computed(expr) and np.isnan(array).any()
    return one_nan(array) if nan else array


def _flat(array: Array, shape: tuple[int, ...]) -> Array:
    if array.shape != shape:
        array = np.broadcast_to(array, shape)
    return np.ascontiguousarray(array).reshape(-1)


def _as_leaf(expr: Expr, array: Array) -> Leaf:
    """What ``expr`` is, ``array``, as a leaf: itself where it is all of an array in memory."""
    is_array = type(expr) is Leaf and type(expr.source) is Stored and is_whole(expr)
    if is_array and array.size == expr.source.buffer.size:  # type: ignore[union-attr]
        return expr  # type: ignore[return-value]
    return _stored(array, expr.shape, expr.dtype)


def _stored(array: Array, shape: tuple[int, ...], dtype: str) -> Leaf:
    """An array as a leaf."""
    return whole(Stored(_flat(array, shape), dtype), shape)


def _view(flat: Array, leaf: Leaf) -> Array:
    """What ``leaf`` reads of memory, where it lies."""
    if 0 in leaf.shape:
        return np.empty(leaf.shape, flat.dtype)
    size = flat.itemsize
    steps = [s * size for s in leaf.strides]
    return np.ndarray(leaf.shape, flat.dtype, flat, leaf.offset * size, steps)
