"""Few numbers that are assigned to an array in memory: computed there and then.

A loop that reads what it has just written would otherwise be made of all its steps again and again.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .... import dtypes
from ....engine.asked.reading import SOON_READ
from ....engine.asked.unwritten import is_frozen
from ....engine.stepwise.number import may_be_number, number_of
from ....expr.graph import children, few_below
from ....expr.nodes import (
    Deferred,
    Leaf,
    Map,
    Node,
    Piecewise,
    Reduced,
    Scanned,
    Stored,
    Through,
    whole,
)
from ....expr.sources.at_hand import seen
from ....ops import GATHERS
from ...array import Array
from ...stored import leaf_of

EARLY: Final = 4  # assignments after which an array that reads itself is computed to memory
NUMBERS: Final = 1 << 16  # of a value that is computed at once
_ELEMENTS: Final = 1 << 20  # of what it is made of
_FEW: Final = 1 << 12
_DATA: Final = 1 << 18  # of what it reads of memory that others may write to
_SORTED: Final = 1 << 16  # of what is sorted, selected or multiplied for it
_NODES: Final = 256
_OF_FEW: Final = 1 << 15  # nodes, where each has few elements: a loop that was not asked so far


def is_little(value: Any, array: Array, in_memory: bool, item: Any) -> bool:
    """Whether ``value`` is lazy, soon made, and ``array`` in memory or read by it.

    Or whether it is one of several values that are assigned at places, as a part of ``item`` says:
    it may read the array at others, and so would each do those before.
    """
    if type(value) is not Array or value is array or value.size > NUMBERS:
        return False
    pieces = getattr(array._expr, "source", None)
    read = isinstance(pieces, Piecewise)
    at_places = array.size <= _ELEMENTS and _names_places(item)
    early = read and array._writes >= EARLY
    if not (in_memory or early or (at_places and array._writes)):
        return False
    nodes = _soon_made(value._expr)
    if nodes is None:
        return False
    if not (in_memory or at_places) and not any(node is pieces for node in nodes):
        return False
    return all(map(is_plain, nodes))


def _soon_made(root: Node) -> list[Node] | None:
    """``root`` and what it needs down to what is kept; None where that takes long.

    What reads much is left lazy: a loop that only notes it is then computed some steps at a time.
    """
    nodes = few_below(root, _NODES, SOON_READ)
    if nodes is None and math.prod(root.shape) <= _FEW:
        nodes = few_below(root, _OF_FEW, SOON_READ, _Little().fits)
    return nodes


class _Little:
    """Nodes of few elements, and ``left`` of what they may read of larger or of a user's arrays."""

    def __init__(self) -> None:
        self.left = _DATA
        self._read: set[tuple[object, ...]] = set()  # what each step reads again counts once

    def fits(self, node: Any) -> bool:
        """Whether ``node``, one more of them, has few elements, and there was enough left."""
        size = math.prod(node.shape)
        if type(node) is not Leaf or type(node.source) is not Stored:
            return size <= _FEW or getattr(node, "op", None) == "several"  # which is no array
        if size > _FEW or not is_frozen(node.source):
            place = id(node.source), node.offset, node.shape, node.strides
            if place not in self._read:
                self._read.add(place)
                self.left -= size if any(node.strides) else 1
        return self.left >= 0


def _names_places(item: Any) -> bool:
    items = item if type(item) is tuple else (item,)
    return any([isinstance(one, (Array, np.ndarray)) and one.dtype != bool for one in items])


def places_at_hand(item: Any) -> Any:
    """The key ``item``, with arrays of integers as NumPy's: who assigns there asks for them."""
    items = item if type(item) is tuple else (item,)
    if not any([type(one) is Array for one in items]):
        return item
    found = [numbers_of(one) if _is_lazy_places(one) else one for one in items]
    return tuple(found) if type(item) is tuple else found[0]


def _is_lazy_places(one: Any) -> bool:
    return type(one) is Array and one._expr.dtype in dtypes.INTEGERS and one.size <= NUMBERS


def is_masked_by_itself(item: Any, value: Any, array: Array) -> bool:
    """Whether ``item`` is a mask of ``array`` and made of its other elements, some steps long.

    To plan many steps that read neighbours takes seconds. Those that read each element alone are
    one kernel.
    """
    if array._writes < EARLY or not isinstance(item, Array) or item.dtype != bool:
        return False
    roots = [getattr(one, "_values", one)._expr for one in (item, value) if isinstance(one, Array)]
    own: Any = array._expr
    source, seen, left = getattr(own, "source", own), {id(own)}, list[Any](roots)
    while left and len(seen) < _NODES:  # what is below the array itself is not walked
        node = left.pop()
        if id(node) in seen:
            continue
        if type(node) is Leaf and node.source is source:
            return True
        seen.add(id(node))
        left += children(node)
    return False


def is_plain(node: Any) -> bool:
    """Whether few elements that are at hand are enough for ``node``, if little of it is asked for.

    Of arrays that it is a part of little is read; of those that it reduces all is.
    """
    if isinstance(node, Leaf):
        return not isinstance(node.source, Deferred)
    if isinstance(node, (Reduced, Scanned)):
        return math.prod(node.arg.shape) <= _ELEMENTS
    if isinstance(node, Through):
        return node.count <= _SORTED
    if isinstance(node, Map) and node.op in GATHERS:  # all of what is read at indices is made
        source = getattr(node.args[1], "source", node.args[1])
        return isinstance(source, Stored) or math.prod(getattr(source, "shape", ())) <= _ELEMENTS
    return isinstance(node, (Map, Piecewise))


def number_at_hand(value: Array) -> Any:
    """The number that ``value`` is, of few operations on numbers in memory; else ``value``.

    It is made of nothing else from now on.
    """
    expr = value._expr
    number = number_of(expr) if may_be_number(expr) else None
    if number is None:
        return value
    value._expr = whole(Stored(_frozen(np.array(number)), expr.dtype, True), ())
    value._plans, value._name = {}, None
    return number


def with_numbers(item: Any) -> Any:
    """The key ``item``, with integers that are at hand as the numbers that they are."""
    if type(item) is tuple:
        if all([type(one) is not Array for one in item]):
            return item
        items = tuple([_index_at_hand(one) if type(one) is Array else one for one in item])
        changed = any([one is not given for one, given in zip(items, item, strict=True)])
        return items if changed else item
    return _index_at_hand(item) if type(item) is Array else item


def _index_at_hand(one: Array) -> Any:
    expr = one._expr
    if expr.shape or expr.dtype not in dtypes.INTEGERS:
        return one
    if type(expr) is Leaf and type(expr.source) is Stored:
        value = seen(expr)
        return one if value is None else value[()]
    return number_at_hand(one)


def numbers_of(value: Array, on: Any = None) -> NDArray[Any]:
    """The numbers of ``value``, which is made of nothing else from now on."""
    numbers = np.asarray(value.compute(on))
    value._rebind(Array(leaf_of(_frozen(numbers), True)[0]))
    return numbers


def _frozen(made: NDArray[Any]) -> NDArray[Any]:
    """``made``, which no user has, to be read only: nobody has to look whether it changed."""
    made.flags.writeable = False
    return made
