"""All elements of an array in their order, made of what is read block after block."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...expr import views
from ...expr.nodes import Expr, Leaf, is_whole
from ...expr.push import push
from ...plan.reads import in_order
from ...plan.stages import Part, Stage
from ...plan.streams import rows_of, tiled, walked
from ..boxes import Stop
from ..cpu import run_store
from ..ordering.elements import AllElements, Store
from ..prepare import prepare
from ..tasks import Inputs

Array: TypeAlias = NDArray[Any]
Item: TypeAlias = tuple[slice, ...]
Walk: TypeAlias = Callable[[Stage, Part, Inputs], Iterator[tuple[Item, Stage, Inputs]]]

How: TypeAlias = tuple[Inputs, None, Stop, Store, int]

_PIECE: Final = 1 << 17  # elements that are given at once


@dataclass(frozen=True, eq=False)
class WalkedElements(AllElements):
    """The elements of ``root``, of whose rows ``walk`` reads blocks."""

    walk: Walk

    @cached_property
    def memory(self) -> Array | None:
        """They lie in no memory."""
        return None

    @property
    def row(self) -> int:
        """How many elements an index of the first axis holds."""
        return math.prod(self.root.shape[1:])

    def spans(self, line: int = 1) -> list[tuple[int, int]]:
        """A share of the elements for each thread, in whole lines and whole chunks."""
        if not self.size or self.row % line:
            return super().spans(line)
        extent, step = self.root.shape[0], rows_of(self.root)
        windows = -(-extent // step)
        one = any(0 in in_order(leaf) for leaf in tiled(self.root))  # is made from its beginning on
        pieces = 1 if one else max(1, min(self.threads, windows))
        ends = [min(extent, windows * k // pieces * step) * self.row for k in range(pieces + 1)]
        return list(pairwise(ends))

    def blocks(self, start: int, stop: int) -> Iterator[Array]:
        """Elements ``[start, stop)``, block after block; each is gone with the next."""
        if start >= stop:
            return
        first, last = start // self.row, -(-stop // self.row)
        at = first * self.row
        for rows in self._rows(first, last):
            low, high = max(start - at, 0), min(stop - at, len(rows))
            at += len(rows)
            for begin in range(low, high, _PIECE):
                yield rows[begin : min(high, begin + _PIECE)]

    def _rows(self, first: int, last: int) -> Iterator[Array]:
        """Rows ``[first, last)``, some at a time, flat."""
        shape = self.root.shape
        item = (slice(first, last), *(slice(0, n) for n in shape[1:]))
        root = push(self.root, views.indexed(shape, item))
        part = Part(root, (), None, 0, 0)
        stage = Stage(root, None, (), (part,), "one")
        room = np.empty(0, self.dtype)
        for here, one, read in self.walk(stage, part, self.inputs):
            rows = here[0].stop - here[0].start
            lies = all(at.stop - at.start == n for at, n in zip(here[1:], shape[1:], strict=True))
            known = _read_so(one.root, read) if lies else None
            if known is not None:
                yield known
                continue
            if room.size < rows * self.row:
                room = np.empty(rows * self.row, self.dtype)
            flat = room[: rows * self.row]
            self._make(one, read, flat.reshape(rows, *shape[1:])[(slice(None), *here[1:])])
            if all(at.stop == n for at, n in zip(here[1:], shape[1:], strict=True)):
                yield flat

    def _make(self, one: Stage, read: Inputs, out: Array) -> None:
        """The elements of the block ``one`` into ``out``."""
        strides = tuple(step // out.itemsize for step in out.strides)
        run_store(prepare(one, one.parts[0], strides), read, out, self.stop)


def walked_elements(root: Expr, how: How, walk: Walk) -> AllElements:
    """The elements of ``root``: read by ``walk``, if it reads what is not in memory."""
    lines = walked(root) if tiled(root) else None
    return AllElements(root, *how) if lines is None else WalkedElements(lines, *how, walk)


def _read_so(root: Any, read: Inputs) -> Array | None:
    """The elements of ``root``, flat, where they were read as they are."""
    if not (isinstance(root, Leaf) and is_whole(root) and id(root.source) in read):
        return None
    return np.asarray(read[id(root.source)]).reshape(-1)[: math.prod(root.shape)]
