"""Of few elements all is made first that is no part of one kernel, which is left.

Arrays that were assigned to, scans, computed arrays that are read through views, and what libraries
make. The kernel reads arrays alone, so it is known when it was met before: the differences of a
thousand products take a fifth of what it takes to find one kernel for all of it, and a product of
10 x 10 with what is added to it half of a walk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...expr.nodes import (
    Expr,
    Leaf,
    Map,
    Piecewise,
    Reduced,
    Scanned,
    Stored,
    c_strides,
    whole,
)
from ...expr.pairs.node import is_pair, parts
from ..pieces.moves import values_of
from ..results import combined
from .boxes import Boxes, few_boxes
from .calls import NotFirstError
from .look import Ahead, is_apart
from .made import MadeFirst, Make, stored

Array: TypeAlias = NDArray[Any]

BOXES_ALONE: Final = Ahead(True, frozenset(), 0.0, {}, {})


class Everything(MadeFirst):
    """Nodes over arrays that are kept until the end: they have few elements."""

    def __init__(self, roots: Sequence[Expr], ahead: Ahead, make: Make, threads: int) -> None:
        super().__init__(roots, ahead, make, threads)
        self.values: dict[int, Any] = {}  # of sources

    def root(self, root: Expr) -> Expr:
        """``root`` over arrays: also what makes one of an array as a whole."""
        last: Any = root.source if type(root) is Leaf and is_apart(root.source) else None
        if last is None:
            return self.visit(root)
        last = replace(last, arg=self.visit(last.arg))
        return Leaf(last, root.shape, root.offset, root.strides)  # type: ignore[union-attr]

    def visit(self, node: Expr) -> Expr:
        """``node`` over arrays."""
        made: Expr | None = self.done.get(id(node))
        if made is None:
            made = self._leaf(node) if type(node) is Leaf else self._map(node)
            self.done[id(node)] = made
        return made

    def once(self, node: Any, make: Callable[[Any], Any]) -> Any:
        """What ``make`` gives of ``node``."""
        made = self.done.get(id(node))
        if made is None:
            made = self.done[id(node)] = make(node)
        return made

    def is_read(self, node: Expr) -> bool:
        """Whoever reads ``node`` may read the array."""
        return True

    def over(self, source: Any) -> Any:
        """``source``, or the values that it has."""
        make = _MADE.get(type(source))
        if make is None:
            return source
        found = self.values.get(id(source))
        if found is None:
            found = self.values[id(source)] = make(self, source)
        return found

    def of_reduction(self, source: Reduced) -> Reduced | Stored:
        """``source`` over what was made; its values where another reduction takes it."""
        over = replace(source, arg=self.visit(source.arg))
        if id(source) not in self.ahead.taken:
            return over
        return stored(self.make(whole(over, over.shape)), over.dtype)

    def of_view(self, source: Leaf) -> Stored:
        """The elements of a view, of which another shape is seen: that lies in C order."""
        return stored(self.make(self.visit(source)), source.dtype)

    def of_operation(self, source: Expr) -> Stored:
        """The values of an operation on what was made."""
        values = self.make(self.visit(source))
        if values.ndim > 1 and not values.flags.c_contiguous and any(values.strides):
            raise NotFirstError  # results lie as what they are made of
        return stored(values, source.dtype)

    def of_scan(self, source: Scanned) -> Stored:
        """The sums or products of what was made, one after the other."""
        over = replace(source, arg=self.visit(source.arg))
        return stored(self.make(whole(over, over.shape)), over.dtype)

    def of_boxes(self, source: Piecewise) -> Stored:
        """What is in an array that was assigned to."""
        boxes = few_boxes(source)
        made = None if boxes is None else self.put(boxes)
        if made is None:
            raise NotFirstError
        return stored(made, source.dtype)

    def put(self, boxes: Boxes) -> Array | None:
        """The values of what there was, with pieces over them; None where they lie turned.

        What the pieces read of it is read before they are put there.
        """
        base, pieces = boxes
        values = self.make(self.visit(base))
        if type(values) is not np.ndarray or not values.flags.carray:
            return None
        put = [_at_hand(one.expr) for one in pieces]
        if any(made is None for made in put):
            within = self._within(base, values)
            for k, one in enumerate(pieces):
                if put[k] is None:
                    put[k] = self.make(within.visit(one.expr))
        for one, made in zip(pieces, put, strict=True):
            where = zip(one.at, one.expr.shape, strict=True)
            values[tuple([slice(at, at + n) for at, n in where])] = made
        return values

    def _within(self, base: Expr, values: Array) -> Everything:
        """What makes pieces that read ``base``, of which ``values`` are written to afterwards."""
        within = Everything((), self.ahead, self.make, self.threads)
        within.values, within.done = {**self.values}, {**self.done, **_as_it_was(base, values)}
        if not is_pair(base):
            within.values[id(base)] = stored(values, base.dtype)
        return within


def _as_it_was(base: Expr, values: Array) -> dict[int, Leaf]:
    """``base``, or both its parts, as ``values`` have them, by their ids."""
    if not is_pair(base):
        return {id(base): whole(stored(values, base.dtype), base.shape)}
    both = parts(base)
    reals = Stored(values.reshape(-1).view(both[0].dtype), both[0].dtype)
    strides = tuple([2 * step for step in c_strides(base.shape)])
    return {id(part): Leaf(reals, base.shape, k, strides) for k, part in enumerate(both)}


def _at_hand(expr: Expr) -> Any:
    """The values of ``expr``, or its number, where they are not to be computed."""
    if not is_pair(expr):
        return values_of(expr, {})
    re, im = (values_of(part, {}) for part in parts(expr))
    if re is None or im is None or re.shape != im.shape:
        return None
    return combined(re, im)


_MADE: Final[dict[type, Callable[[Everything, Any], Any]]] = {
    Leaf: Everything.of_view,
    Map: Everything.of_operation,
    Piecewise: Everything.of_boxes,
    Reduced: Everything.of_reduction,
    Scanned: Everything.of_scan,
}
