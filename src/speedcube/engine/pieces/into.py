"""The elements of a short expression put into memory that is there, by one call of a kernel."""

from __future__ import annotations

from typing import Any, TypeAlias

from numpy.typing import NDArray

from ...dataclass import dataclass
from ...expr.graph import below, is_short
from ...expr.nodes import Const, Expr, Leaf, Stored, c_strides
from ...expr.push import in_place
from ...kernel.llvm.simd import targets
from ..cpu import address_of
from ..small.again import few_structure
from ..small.call import OneCall, Reusable
from ..small.known import met, note, reusable
from ..small.structure import MOST_NODES, NotSmallError, Structure, structure_of

Array: TypeAlias = NDArray[Any]


class PlannedError(Exception):
    """What is left to the planner: it never leaves this folder."""


@dataclass(frozen=True, eq=False)
class Storing:
    """A kernel, and what it is to be given."""

    ready: Reusable
    found: Structure

    def into(self, out: Array, first: int = 0) -> None:
        """Put its elements into ``out``, which lies in C order.

        Where `is_one_line`, those of as many rows as ``out`` has, from row ``first`` on.
        """
        call = self._taken()
        if first or out.size != self.found.size:
            call.move(self.found, first, out.size)
        call.call(address_of(out))
        self.ready.idle.append(call)

    def beside(self, out: Array, steps: tuple[int, ...]) -> None:
        """Put what lies so many ``steps`` along each axis beside its elements into ``out``.

        All that it reads lies in memory, and each axis has two elements or more.
        """
        call = self._taken()
        call.step(self.found, steps)
        call.call(address_of(out))
        self.ready.idle.append(call)

    def _taken(self) -> OneCall:
        """A call with all arguments, which nobody else has."""
        try:
            call = self.ready.idle.pop()
        except IndexError:
            call = OneCall(self.ready)
        call.take(self.found)
        return call

    def is_one_line(self, root: Expr) -> bool:
        """Whether it makes any rows of ``root``, of which it makes some.

        Some rows may lie in one line where all do not.
        """
        if not self.found.line or not is_short(root, MOST_NODES):
            return False
        steps = c_strides(root.shape)
        leaves = [one for one in below(in_place(root, MOST_NODES)) if type(one) is Leaf]
        return all(
            type(one.source) is Const
            or (type(one.source) is Stored and (one.strides == steps or not any(one.strides)))
            for one in leaves
        )


def called(root: Expr) -> Storing | None:
    """What makes the elements of ``root``; None where they are more than a call of a kernel."""
    few = few_structure(root)
    if few is None:
        if not is_short(root, MOST_NODES):
            return None
        root = in_place(root, MOST_NODES)
        few = few_structure(root)
    # Where random numbers begin is part of their kernel: another one for each box.
    if few is None or few.on_device or few.reads or few.random:
        return None
    if (known := met((targets()[0], few.key))) is not None:
        ready, few.line = known
        return Storing(ready, few) if _stores(ready) else None
    try:
        found = structure_of(root)
        new = None if found.source is not None else reusable(found)
    except NotSmallError:
        return None
    if new is None or not _stores(new):
        return None
    note(targets()[0], few, new, found)
    return Storing(new, found)


def _stores(ready: Reusable) -> bool:
    return ready.slots.stage.source is None and ready.slots.order is None
