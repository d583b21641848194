"""The node of what is made of all elements of an array at once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...dataclass import cached_property, dataclass

if TYPE_CHECKING:
    from ..nodes import Expr


@dataclass(frozen=True, eq=False)
class Through:
    """What ``op`` (a row of `table.OPERATIONS`) makes of ``arg``; its elements are in C order.

    Lines lie along the last axis of ``arg``, or one of all elements along all its axes; and along
    ``axis`` of what is made. Several arrays are the arguments of a "several", which has the shape
    of one. ``options``: which places, how many counts.
    """

    op: str
    arg: Expr
    shape: tuple[int, ...]
    dtype: str
    options: tuple[Any, ...] = ()
    axis: int = -1

    @cached_property
    def args(self) -> tuple[Expr, ...]:
        """The arrays that it is made of."""
        several = getattr(self.arg, "op", None) == "several"
        return self.arg.args if several else (self.arg,)  # type: ignore[union-attr]

    @cached_property
    def lines_last(self) -> tuple[int, ...]:
        """The shape of what is made with lines along its last axis."""
        if self.axis == -1:
            return self.shape
        axis = self.axis % len(self.shape)
        return (*self.shape[:axis], *self.shape[axis + 1 :], self.shape[axis])

    @cached_property
    def line(self) -> int:
        """How many elements a line has."""
        along_last = len(self.arg.shape) == len(self.shape)
        return self.arg.shape[-1] if along_last else self.count

    @cached_property
    def axes(self) -> tuple[int, ...]:
        """The axes of ``arg``, all of which are read."""
        return tuple(range(len(self.arg.shape)))

    @cached_property
    def count(self) -> int:
        """How many elements are read."""
        return math.prod(self.arg.shape)
