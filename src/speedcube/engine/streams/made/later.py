"""Results of few elements that a scan's elements are made of: computed when one is first read."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ....expr.graph import below
from ....expr.nodes import STAGED, Expr, Leaf, Reduced, Staged, Stored, Through, Tiled
from ....expr.sources.tiled import Box
from ...known.spans import reading

MOST: Final = 16 << 20  # bytes of a result that is made before the scan, and stays
# Of a reduction its values, and the bytes that making them takes.
Make: TypeAlias = Callable[[Staged], NDArray[Any]]
Weigh: TypeAlias = Callable[[Staged], int]


class Later:
    """The values of ``source``, as an array that is read a box at a time."""

    noun = "results"
    label = "a reduction"
    decodes = False

    def __init__(self, source: Staged, make: Make, weigh: Weigh) -> None:
        self.source, self._make, self._weigh = source, make, weigh
        self.shape = source.shape
        self.chunks = tuple(max(1, n) for n in source.shape)
        self._values: NDArray[Any] | None = None
        self._lock = threading.Lock()

    @cached_property
    def working_bytes(self) -> int:
        """Bytes that making them takes, and theirs."""
        return self._weigh(self.source)

    def read(self, box: Box, out: NDArray[Any]) -> None:
        """Put the elements of ``box`` into ``out``."""
        with self._lock:
            if self._values is None:
                self._values = np.asarray(self._make(self.source)).reshape(self.shape)
        out[...] = self._values[box]


def read_later(root: Expr, make: Make, weigh: Weigh) -> Expr:
    """``root`` in which small results of reductions are computed when they are first read."""
    nodes = below(root)
    found: dict[int, tuple[Stored | Tiled, int]] = {}
    inner = {id(x) for node in nodes if isinstance(node, STAGED) for x in below(node.arg)}
    for node in nodes:
        source = node.source if isinstance(node, Leaf) and id(node) not in inner else None
        if isinstance(source, (Reduced, Through)) and id(source) not in found:
            size = math.prod(source.shape) * np.dtype(source.dtype).itemsize
            if size <= MOST:
                found[id(source)] = Tiled(Later(source, make, weigh), source.dtype), 0
    return reading([root], nodes, found)[0]
