"""``x[key]``, ``x[key] = value`` and ``x += value``."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import EllipsisType
from typing import Any, Final

import numpy as np

from ...errors import DTypeError, ShapeError
from ...expr import views
from ...expr.nodes import Const, Expr, Leaf, Map, Position, Stored, whole
from ...expr.sources.at_hand import at_number, seen
from ...expr.through.windows import selected
from ...interop import chunks as grids
from ..methods.lazy import A
from ..methods.operators import is_operand

# After so many assignments an array is computed to memory, if it fits there: what is read again and
# again would otherwise be made of all of them each time. From then on they are made in place.
DEPTH: Final = 40
EARLY: Final = 10  # as many count an element that is asked for between them

# Operations in place, after which few elements are computed to memory: a loop that asks for
# something of them each time would otherwise make all of its steps again.
STEPS: Final = 4

COPIED: Final = 1 << 14  # elements that are copied when they are read from such memory: 5-10 us
LITTLE: Final = 1 << 17  # bytes that are copied between two assignments in any case

# Single elements that are read of few that nobody can change, after which all of them are computed:
# one takes 50 us or more, all of them not much longer.
READ: Final = 8
LINE: Final = 16  # of an array: a row, a column or less; a time loop reads more of its state

_AT_HAND: Final = frozenset((Const, Position, Stored))
_BASIC: Final = (int, slice, type(None), EllipsisType)

# What `indexing` does: "read" an array at indices and masks, and "assign" to any key.
_OTHERS: Final[dict[str, Callable[..., Any]]] = {}


def register(
    read: Callable[..., Any],
    assign: Callable[..., None],
    settle: Callable[..., bool],
    keep: Callable[..., bool],
) -> None:
    """Let ``read`` have the keys that are not basic, and ``assign`` all that are assigned to.

    ``settle`` computes few elements to memory, ``keep`` only where nobody can change them.
    """
    _OTHERS.update(read=read, assign=assign, settle=settle, keep=keep)


def register_at(at: Callable[..., Any]) -> None:
    """Let ``at`` make what ``x.at`` is."""
    _OTHERS.update(at=at)


def at(self: Any) -> Any:
    """``x.at[key].add(values)``: a new array with other elements at some places (`AtPlaces`)."""
    return _OTHERS["at"](self)


def getitem(self: A, item: Any) -> A:
    """The elements at ``item``: integers, slices, None, '...', index arrays and masks."""
    if type(item) is int and type(self._expr) is Leaf and type(self._expr.source) is Stored:
        line = at_number(self._expr, item) if self._expr.shape else None
        if line is not None:  # as loops over what lies in memory have it
            one = _of_now(self, line) if self._writes > DEPTH else line
            return self._view(one, grids.sliced(self._grid, item, line.shape))
    items = item if type(item) is tuple else (item,)
    if not all([type(one) in _BASIC or isinstance(one, np.integer) for one in items]):
        other: A = _OTHERS["read"](self, item)
        return other
    expr = selected(views.index(self._expr, item))
    if 0 < self._writes < DEPTH and _asks_again(self, expr):  # a loop asks for what it wrote
        self._writes = min(self._writes + EARLY, DEPTH)
    elif self._writes > DEPTH:
        expr = _of_now(self, expr)
    elif not expr.shape and not self._writes and _is_made(self._expr) and _read_often(self):
        return getitem(self, item)
    return self._view(expr, grids.sliced(self._grid, item, expr.shape))


def _is_made(expr: Expr) -> bool:
    """Whether an element of ``expr`` has to be computed."""
    return type(expr) is Map or type(expr.source) not in _AT_HAND  # type: ignore[union-attr]


def _asks_again(array: A, expr: Expr) -> bool:
    """Whether ``expr`` is an element of ``array``, or a line, and so many were read of late."""
    if not expr.shape:
        return True
    if math.prod(expr.shape) * LINE > math.prod(array._expr.shape):
        return False
    array._copied += 1
    return array._copied % READ == 0


def _read_often(array: A) -> bool:
    """Whether so many single elements of ``array`` were read that it is in memory now."""
    array._copied += 1
    return array._copied == READ and bool(_OTHERS["keep"](array))


def _of_now(array: A, expr: Expr) -> Expr:
    """Few elements of memory that is written in place, copied: nobody else looks at it then.

    What a loop made of the step before would otherwise make it write to a copy of all of it. What
    overlaps, as windows of a line, takes no more memory than that copy would.
    """
    if type(expr) is not Leaf or math.prod(expr.shape) > COPIED:
        return expr
    values = _seen_anywhere(expr)
    if values is None:
        return expr
    array._copied += values.nbytes
    if array._copied > max(expr.source.buffer.nbytes, LITTLE):  # type: ignore[union-attr]
        return expr
    copy = values.copy(order="C")
    if type(copy) is np.ndarray:
        copy.flags.writeable = False
    return whole(Stored(copy, expr.dtype, True), expr.shape)


def _seen_anywhere(leaf: Leaf) -> Any:
    """The values of ``leaf`` where they lie, on a GPU, too; None where they are not at hand."""
    source = leaf.source
    if type(source) is not Stored:
        return None
    if not source.on_device:
        return seen(leaf)
    buffer, size = source.buffer, source.buffer.itemsize
    if not buffer.flags.c_contiguous or 0 in leaf.shape or min(leaf.strides, default=0) < 0:
        return None
    steps = tuple([step * size for step in leaf.strides])
    return type(buffer)(leaf.shape, buffer.dtype, buffer.data + leaf.offset * size, steps)


def setitem(self: A, item: Any, value: Any) -> None:
    """``value`` at ``item`` from now on, for all names of this array.

    It is broadcast and cast as by NumPy. Arrays made of this one before keep what they had, views
    of it, and the memory that `asarray` was given, too.
    """
    _OTHERS["assign"](self, item, value)


def in_place(op: str) -> Callable[[Any, Any], Any]:
    """The method of ``x op= value``: the same array, for all of its names, with other elements.

    Of an array without axes it is another one, of any dtype, as of NumPy's scalars.
    """

    def method(self: Any, other: Any) -> Any:
        if not is_operand(other):
            return NotImplemented
        result = self @ other if op == "matmul" else self._elementwise(op, self, other)
        if not self.ndim:
            return result
        if not np.can_cast(result.dtype, self.dtype, "same_kind"):
            raise DTypeError(
                f"{op} in place keeps the dtype {self.dtype}, and the result has {result.dtype}: "
                f"x = x.astype('{result.dtype}') first, or give the result a name of its own"
            )
        chosen = getattr(type(self), "_is_chosen_with", None)  # what a mask selects is not counted
        if not (chosen and chosen(self, result)) and result.shape != self.shape:
            raise ShapeError(
                f"{op} in place keeps the shape {self.shape}, and the result has {result.shape}"
            )
        steps = 1 if self._writes > DEPTH else self._writes + 1
        self._rebind(result.astype(self.dtype))
        if steps >= STEPS and _OTHERS["settle"](self):
            return self
        self._writes = min(steps, STEPS)
        return self

    return method
