"""One number, of few operations on numbers in memory: made there and then by NumPy's functions.

A loop that asks for elements, or makes each of the one before, asks for many of these. Only what
lies behind the one index is read.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from math import prod
from typing import Any, Final

import numpy as np

from ...expr.graph import few_below, is_short
from ...expr.nodes import Const, Expr, Leaf, Map, Piecewise, Reduced, Shape, Stored, whole
from ...expr.scans import one_nan
from ...ops import ELEMENTARY, GATHERS
from ..asked.unwritten import is_frozen
from .choice import Limits, is_ordinary
from .meaning import FUNCTIONS, is_computed, mapped

MOST: Final = 48  # operations: where two read one, that is made twice
_SHORT: Final = 24  # nodes below a reduction
_LOOK: Final = GATHERS | {"bitcast", "signbit", "complex"}  # not made of one element


class _NoNumberError(Exception):
    """What is left to others: it never leaves this module."""


def number_of(root: Expr, made: Callable[[Expr], Any] | None = None) -> Any:
    """The element of ``root``, which `may_be_number`; None where it is left to others.

    ``made`` gives the values of reductions of few elements that it reads, and of a function of
    numbers that NumPy has with other bits, or None.
    """
    if Limits.several <= 0 or not is_ordinary():
        return None
    try:
        with np.errstate(all="ignore"):
            value = _At(made).element(root, ())
    except _NoNumberError:
        return None
    if value != value and is_computed(root):
        return one_nan(np.asarray(value))[()]
    return value[()]  # of some functions an array without axes


def remembered(root: Map, made: Callable[[Expr], Any]) -> Any:
    """The same, made once where nobody can write to what ``root`` is made of."""
    known = _remembered.get(id(root))
    if known is not None and known[0]() is root:
        return known[1]
    value = number_of(root, made)
    nodes = None if value is None else few_below(root, MOST)
    if nodes is not None and all(map(_is_fixed, nodes)):
        name = id(root)
        _remembered[name] = weakref.ref(root, lambda _: _remembered.pop(name, None)), value
    return value


_remembered: Final[dict[int, tuple[weakref.ref[Map], Any]]] = {}


def _is_fixed(node: Any) -> bool:
    if type(node) is not Leaf:
        return True
    source = node.source
    if type(source) is not Stored:
        return type(source) in (Const, Map, Leaf, Reduced)
    return is_frozen(source)


def may_be_number(root: Expr) -> bool:
    """Whether ``root``, which has no axes, is made of others, so far as can be said at once."""
    if type(root) is Map:
        if root.op in ELEMENTARY:  # of what is in memory it is a kernel's call
            return any([type(getattr(arg, "source", arg)) is not Stored for arg in root.args])
        return root.op in FUNCTIONS or root.op == "cast"
    return type(root) is Leaf and type(root.source) in (Map, Leaf, Piecewise)


class _At:
    """A walk to one element of each node; ``left``: how many operations may follow."""

    __slots__ = ("left", "made")

    def __init__(self, made: Callable[[Expr], Any] | None) -> None:
        self.left, self.made = MOST, made

    def element(self, node: Expr, index: Shape) -> Any:
        """That of ``node`` at ``index``."""
        self.left -= 1
        if self.left < 0:
            raise _NoNumberError
        if type(node) is Leaf:
            return self._read(node, index)
        assert type(node) is Map
        if node.op in _LOOK:
            raise _NoNumberError
        args = [self.element(arg, index) for arg in node.args]
        value = mapped(node, args)
        return self._function(node, args) if value is None else value

    def _function(self, node: Map, args: list[Any]) -> Any:
        """That of a function of bits of its own, made as a kernel makes it."""
        if node.op not in ELEMENTARY or self.made is None:
            raise _NoNumberError
        of = zip(args, node.args, strict=True)
        leaves = [
            whole(Stored(np.asarray(x, arg.dtype).reshape(1), arg.dtype), ()) for x, arg in of
        ]
        value = self.made(Map(node.op, tuple(leaves), (), node.dtype))
        if value is None:
            raise _NoNumberError
        return np.asarray(value)[()]

    def _read(self, leaf: Leaf, index: Shape) -> Any:
        source, place = leaf.source, leaf.offset
        for step, at in zip(leaf.strides, index, strict=True):
            place += step * at
        if type(source) is Stored:
            memory = source.buffer
            if type(memory) is not np.ndarray or not memory.flags.c_contiguous:
                raise _NoNumberError
            return (memory if memory.ndim == 1 else memory.reshape(-1))[place]
        if type(source) is Const:
            return np.array(source.value, source.dtype)[()]
        if type(source) is Map or type(source) is Leaf:
            return self.element(source, _unravelled(place, source.shape))
        if type(source) is Piecewise:
            return self._of_pieces(source, _unravelled(place, source.shape))
        if type(source) is Reduced and self.made and _is_little(source):
            values = self.made(whole(source, source.shape))
            if values is not None:
                return np.asarray(values).reshape(-1)[place]
        raise _NoNumberError

    def _of_pieces(self, source: Piecewise, index: Shape) -> Any:
        for piece in source.pieces:
            within = tuple([at - first for at, first in zip(index, piece.at, strict=True)])
            if all([0 <= at < n for at, n in zip(within, piece.expr.shape, strict=True)]):
                return self.element(piece.expr, within)
        raise _NoNumberError


def _is_little(source: Reduced) -> bool:
    """Whether ``source`` reduces few elements that few operations make.

    What many do is looked at as a whole: a loop that asks in each step keeps what it comes from.
    """
    return prod(source.arg.shape) <= Limits.several and is_short(source.arg, _SHORT)


def _unravelled(place: int, shape: Shape) -> Shape:
    """The index of element ``place`` in C order."""
    if len(shape) == 1:
        return (place,)
    index = []
    for n in reversed(shape):
        place, at = divmod(place, n)
        index.append(at)
    return tuple(reversed(index))
