"""One block of what is written: its sources are read, and its values computed, on this thread."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import field
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...expr import views
from ...expr.nodes import Const, Expr, Leaf, Position, Random, Stored, Tiled, leaves
from ...expr.pairs.node import is_pair, pair
from ...expr.push import push
from ...expr.views import rebuild
from ...plan.reads import readings
from ...plan.streams import can_stream, tiled
from ...plan.writing import Item, reals
from ..boxes import Stop
from ..compute import compute_all
from ..streams.reading import Buffers

_Array: TypeAlias = NDArray[Any]
_PLAIN: Final = (Const, Position, Random, Stored, Tiled)


@dataclass(eq=False)
class BlockMaker:
    """Makes blocks of ``roots``, which have one shape, on the rung ``on``: one a thread.

    ``turn`` is held while a device computes that others share.
    """

    roots: Sequence[Expr]
    on: Any
    turn: AbstractContextManager[Any]
    buffers: Buffers = field(default_factory=Buffers)

    def values(self, item: Item, stop: Stop) -> list[_Array]:
        """The elements ``item`` of each of the arrays; none once ``stop`` is set."""
        if not self._reads_directly:
            here, memory = [views.index(root, item) for root in self.roots], list[_Array]()
        else:
            here, memory = self._read(item, stop)
        if stop.is_set():
            return []
        with self.turn:
            values = compute_all(here, self.on)
        for array in memory:
            self.buffers.give(array)
        return [np.asarray(value) for value in values]

    @cached_property
    def _reads_directly(self) -> bool:
        """Whether sources are read here, into memory that is used again; else by a plan."""
        found = reals(self.roots)
        if getattr(self.on, "kind", "") == "client":
            return False  # the workers read
        flat = all(isinstance(leaf.source, _PLAIN) for one in found for leaf in leaves(one))
        return flat and all(map(can_stream, found))

    def _read(self, item: Item, stop: Stop) -> tuple[list[Expr], list[_Array]]:
        """The arrays at ``item`` over memory with what they read, and that memory."""
        change = views.indexed(self.roots[0].shape, item)
        here = [push(one, change) for one in reals(self.roots)]
        every = {id(leaf): leaf for one in here for leaf in tiled(one)}.values()
        moved: dict[int, Leaf] = {}
        memory = []
        for one, found, new in readings(every):
            array = self.buffers.take(one.memory.shape, one.source.dtype)
            memory.append(array)
            if stop.is_set():
                break
            one.source.tiles.read(one.box, array)
            stored = Stored(array.reshape(-1), one.source.dtype)
            for old, leaf in zip(found, new, strict=True):
                moved[id(old)] = Leaf(stored, leaf.shape, leaf.offset, leaf.strides)
        made = iter(
            [rebuild(one, one.shape, lambda leaf: moved.get(id(leaf), leaf)) for one in here]
        )
        pairs = [is_pair(root) for root in self.roots]
        return [pair(next(made), next(made)) if two else next(made) for two in pairs], memory
