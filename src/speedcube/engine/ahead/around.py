"""What few operations read by another way than element by element is made first.

Arrays that were assigned to, scans, computed arrays that are read through views, and what libraries
make of few numbers. What is left reads arrays alone, so it is one kernel, which is known when it
was met before: the differences of a thousand products take a fifth of what it takes to find one
kernel for all of it, and a product of 10 x 10 with what is added to it half of a walk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...expr.nodes import (
    Expr,
    Leaf,
    Map,
    Piece,
    Piecewise,
    Reduced,
    Scanned,
    Stored,
    Through,
    is_whole,
    whole,
)
from ...expr.pairs.laid import laid
from ...expr.pairs.node import is_pair, pair, parts
from ...expr.routines.row import reals_of
from ...late import watched
from ..pieces.moves import values_of
from ..results import combined
from ..routines import quick
from ..rungs import Rung
from ..small.call import is_here
from .boxes import few_boxes, is_plain
from .worth import is_apart, worth

Array: TypeAlias = NDArray[Any]
Boxes: TypeAlias = tuple[Expr, Sequence[Piece]]
Make: TypeAlias = Callable[[Expr], Any]


def value_over(
    root: Expr, rung_of: Callable[[], Rung], compute: Callable[[Expr, Rung], Any]
) -> Any:
    """The value of ``root`` over what few elements it needs first; None where there are none.

    ``compute`` gives the values of operations on arrays on a rung.
    """
    if watched():  # a plan says how far it is
        return None
    boxes = boxes_of(root)
    others = boxes is not None or _is_pair_of_boxes(root)
    taken = None if others else worth(root)
    if boxes is None and taken is None:
        return None
    rung = rung_of()
    if not is_here(rung.kind):
        return None

    def make(one: Expr) -> Any:
        return compute(one, rung)

    if boxes is not None:
        with suppress(_NotFirstError):
            return _MadeFirst(make, rung.workers).put(*boxes)
        return None
    found = over_arrays(root, taken or frozenset(), make, rung.workers)
    return None if found is None else make(found)


def _is_pair_of_boxes(root: Expr) -> bool:
    """Whether both parts of a complex array were assigned to: together they are planned once."""
    return is_pair(root) and all(
        type(part) is Leaf and type(part.source) is Piecewise for part in parts(root)
    )


def boxes_of(root: Expr) -> Boxes | None:
    """What there was in ``root``, an array of few boxes, and these; None of others."""
    return _boxes_of_pair(*parts(root)) if is_pair(root) else _boxes_of(root)


def _boxes_of(root: Expr) -> Boxes | None:
    if type(root) is not Leaf or type(root.source) is not Piecewise or not is_whole(root):
        return None
    boxes = few_boxes(root.source) if root.shape == root.source.shape else None
    plain = boxes is not None and all(map(is_plain, [boxes[0], *[one.expr for one in boxes[1]]]))
    return boxes if plain else None


def _boxes_of_pair(re: Expr, im: Expr) -> Boxes | None:
    """The boxes of a complex array of pairs, of which both parts were assigned together."""
    one = _boxes_of(re)
    other = None if one is None else _boxes_of(im)
    if one is None or other is None or [p.at for p in one[1]] != [p.at for p in other[1]]:
        return None
    both = zip(one[1], other[1], strict=True)
    if any(a.expr.shape != b.expr.shape for a, b in zip(one[1], other[1], strict=True)):
        return None
    base = pair(one[0], other[0])
    if laid(base) is None:  # two kernels make it: regions of both are as good
        return None
    return base, [Piece(a.at, pair(a.expr, b.expr)) for a, b in both]


class _NotFirstError(Exception):
    """What is left to others: it never leaves this module."""


def over_arrays(root: Expr, taken: frozenset[int], make: Make, threads: int = 1) -> Expr | None:
    """``root`` with arrays in the places of what is to be made before it, each made once.

    ``taken``: what `worth` says; None where values lie in another order than that of C, or a
    library is to be called otherwise.
    """
    own = _MadeFirst(make, threads, taken)
    last: Any = root.source if type(root) is Leaf and is_apart(root.source) else None
    try:
        if last is None:
            return own.visit(root)
        last = replace(last, arg=own.visit(last.arg))
    except _NotFirstError:
        return None
    return Leaf(last, root.shape, root.offset, root.strides)  # type: ignore[union-attr]


class _MadeFirst:
    """What was made of the nodes of one program."""

    def __init__(self, make: Make, threads: int, taken: frozenset[int] = frozenset()) -> None:
        self.make, self.threads, self.taken = make, threads, taken
        self.done: dict[int, Expr] = {}
        self.sources: dict[int, Any] = {}

    def visit(self, node: Expr) -> Expr:
        """``node`` over arrays."""
        made = self.done.get(id(node))
        if made is None:
            made = self.done[id(node)] = self._leaf(node) if type(node) is Leaf else self._map(node)
        return made

    def _leaf(self, leaf: Leaf) -> Leaf:
        source = leaf.source
        made = _MADE.get(type(source))
        if made is None:
            return leaf
        found = self.sources.get(id(source))
        if found is None:
            found = self.sources[id(source)] = made(self, source)
        return Leaf(found, leaf.shape, leaf.offset, leaf.strides)

    def _map(self, node: Any) -> Expr:
        if (array := self.sources.get(id(node))) is not None:
            return whole(array, node.shape)
        args = tuple([self.visit(arg) for arg in node.args])
        return Map(node.op, args, node.shape, node.dtype)

    def of_reduction(self, source: Reduced) -> Reduced | Stored:
        """``source`` over what was made; its values where another reduction takes it."""
        over = replace(source, arg=self.visit(source.arg))
        if id(source) not in self.taken:
            return over
        return _stored(self.make(whole(over, over.shape)), over.dtype)

    def of_view(self, source: Leaf) -> Stored:
        """The elements of a view, of which another shape is seen: that lies in C order."""
        return _stored(self.make(self.visit(source)), source.dtype)

    def of_operation(self, source: Expr) -> Stored:
        """The values of an operation on what was made."""
        values = self.make(self.visit(source))
        if values.ndim > 1 and not values.flags.c_contiguous and any(values.strides):
            raise _NotFirstError  # results lie as what they are made of
        return _stored(values, source.dtype)

    def of_scan(self, source: Scanned) -> Stored:
        """The sums or products of what was made, one after the other."""
        over = replace(source, arg=self.visit(source.arg))
        return _stored(self.make(whole(over, over.shape)), over.dtype)

    def of_routine(self, source: Through) -> Stored:
        """What the library makes of ``source``, which has one result."""
        call = quick.call_of_arrays(source, [self._array(arg) for arg in source.args])
        if call is None:
            raise _NotFirstError
        return _stored(reals_of(np, quick.run(call, self.threads), source.dtype), source.dtype)

    def _array(self, arg: Expr) -> Leaf:
        """``arg`` of a routine as one of memory."""
        node = self.visit(arg)
        if type(node) is Leaf and type(node.source) is Stored:
            return node
        return whole(_stored(self.make(node), node.dtype), node.shape)

    def of_boxes(self, source: Piecewise) -> Stored:
        """What is in an array that was assigned to."""
        boxes = few_boxes(source)
        made = None if boxes is None else self.put(*boxes)
        if made is None:
            raise _NotFirstError
        return _stored(made, source.dtype)

    def put(self, base: Expr, pieces: Sequence[Piece]) -> Array | None:
        """The values of ``base``, with ``pieces`` over them; None where they lie in another order.

        What the pieces read of ``base`` is read before they are put there.
        """
        values = self.make(self.visit(base))
        if type(values) is not np.ndarray or not values.flags.carray:
            return None
        within = _MadeFirst(self.make, self.threads)  # whose arrays are written to
        within.sources = {**self.sources, id(base): _stored(values, base.dtype)}
        put = [_at_hand(one.expr) for one in pieces]
        for k, one in enumerate(pieces):
            if put[k] is None:
                put[k] = self.make(within.visit(one.expr))
        for one, made in zip(pieces, put, strict=True):
            where = zip(one.at, one.expr.shape, strict=True)
            values[tuple([slice(at, at + n) for at, n in where])] = made
        return values


def _at_hand(expr: Expr) -> Any:
    """The values of ``expr``, or its number, where they are not to be computed."""
    if not is_pair(expr):
        return values_of(expr, {})
    re, im = (values_of(part, {}) for part in parts(expr))
    if re is None or im is None or re.shape != im.shape:
        return None
    return combined(re, im)


def _stored(values: Any, dtype: str) -> Stored:
    """``values`` in memory, in C order: results may lie in another one, or be one number."""
    return Stored(np.ascontiguousarray(values, dtype).reshape(-1), dtype)


_MADE: dict[type, Callable[[_MadeFirst, Any], Any]] = {
    Leaf: _MadeFirst.of_view,
    Map: _MadeFirst.of_operation,
    Piecewise: _MadeFirst.of_boxes,
    Reduced: _MadeFirst.of_reduction,
    Scanned: _MadeFirst.of_scan,
    Through: _MadeFirst.of_routine,
}
