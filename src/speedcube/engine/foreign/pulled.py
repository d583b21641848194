"""Dask arrays that are read a box at a time: blocks are made as they are needed, each once a pass.

That is so where no block needs what another makes. Others, a rechunk or an array less its mean,
Dask computes as a whole (`values`), since what their blocks share would have to stay.
"""

from __future__ import annotations

import math
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, pairwise, product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...expr.graph import below_up_to
from ...expr.nodes import Deferred, Expr, Leaf, Stored, Tiled
from ...expr.sources.tiled import Box
from ...late import cloudpickle, dask
from ..known.spans import reading
from .values import checked, is_dask_array

LEAST: Final = 64 << 20  # bytes of a Dask array: what is smaller lies in memory
_MOST_SENT: Final = 16 << 20  # bytes of a graph that travels with each part to a cluster's workers
_MOST_NODES: Final = 1 << 12  # of a program
_MOST_SHARED: Final = 8  # opened files and the like, which all blocks read
_COPIES: Final = 3  # of a block, while it is made: what it is made of, it, and what is put in place


class DaskBlocks:
    """The blocks of a Dask array whose ``tasks`` give ``grid``; ``shared`` are read by many."""

    noun = "blocks"

    def __init__(
        self, source: Deferred, tasks: Mapping[Any, Any], name: str, shared: frozenset[Any]
    ) -> None:
        self.shape, self.dtype = source.shape, source.dtype
        self.grid: tuple[tuple[int, ...], ...] = source.collection.chunks
        self._tasks, self._name, self._shared = tasks, name, shared
        self.label = f"dask {name}"  # Dask's name differs where what is computed does
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.RLock()
        self._values: dict[Any, Any] = {}
        self._kept: OrderedDict[tuple[int, ...], NDArray[Any]] = OrderedDict()

    def __getstate__(self) -> dict[str, Any]:
        own = ("_lock", "_values", "_kept")  # a lock and blocks do not travel
        return {key: value for key, value in self.__dict__.items() if key not in own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    @property
    def graph(self) -> Mapping[Any, Any]:
        """The tasks that make blocks."""
        return self._tasks

    @cached_property
    def chunks(self) -> tuple[int, ...]:
        """The longest block along each axis."""
        return tuple(max(1, *each) if each else 1 for each in self.grid)

    @cached_property
    def starts(self) -> list[list[int]]:
        """Of each axis, where its blocks begin, and where the last one ends."""
        return [[0, *accumulate(each)] for each in self.grid]

    @cached_property
    def _in_a_row(self) -> int:
        """Blocks that may lie across the border of boxes, if their lengths differ."""
        return math.prod(map(len, self.grid[1:])) if not is_even(self.grid[0]) else 0

    @property
    def working_bytes(self) -> int:
        """Bytes of a thread that makes a block."""
        block = math.prod(self.chunks) * np.dtype(self.dtype).itemsize
        return (_COPIES + self._in_a_row) * block

    def touched(self, box: Box) -> tuple[int, int]:
        """Bytes and number of the blocks that ``box`` has elements of."""
        each = [[k for k, _, _ in _along(*pair)] for pair in zip(box, self.starts, strict=True)]
        lengths = [sum(own[k] for k in some) for own, some in zip(self.grid, each, strict=True)]
        return math.prod(lengths) * np.dtype(self.dtype).itemsize, math.prod(map(len, each))

    def read(self, box: Box, out: NDArray[Any]) -> None:
        """Put the elements of ``box`` into ``out``."""
        each = [list(_along(*pair)) for pair in zip(box, self.starts, strict=True)]
        for some in product(*each):
            here: tuple[Any, ...] = tuple(place for _, place, _ in some)
            inside: tuple[Any, ...] = tuple(which for _, _, which in some)
            block = self._block(tuple(number for number, _, _ in some), box)
            out[(*here, ...)] = block[(*inside, ...)]

    def _block(self, number: tuple[int, ...], box: Box) -> NDArray[Any]:
        with self._lock:
            block = self._kept.pop(number, None)
        if block is None:
            shape = tuple(each[k] for each, k in zip(self.grid, number, strict=True))
            made = np.asarray(self._made((self._name, *number)))
            block = checked("dask", made, shape, np.dtype(self.dtype), "a block")
        if self._in_a_row and self.starts[0][number[0] + 1] > box[0].stop:
            with self._lock:
                self._kept[number] = block
                while len(self._kept) > self._in_a_row:
                    self._kept.popitem(last=False)
        return block

    def _made(self, key: Any) -> Any:
        """What the task ``key`` gives; what it needs goes as soon as nothing else needs it."""
        order = list(_ordered(self._tasks, key, self._shared))
        uses = Counter(need for one in order for need in self._tasks[one].dependencies)
        values: dict[Any, Any] = {}
        for one in order:
            needs = self._tasks[one].dependencies
            given = {n: self._of_all(n) if n in self._shared else values[n] for n in needs}
            values[one] = self._tasks[one](given)
            for need in needs:
                uses[need] -= 1
                if not uses[need]:
                    values.pop(need, None)
        return values[key]

    def _of_all(self, key: Any) -> Any:
        """What many blocks read: made once."""
        with self._lock:
            if key not in self._values:
                self._values[key] = self._tasks[key]({})
            return self._values[key]


def pulling(roots: Sequence[Expr], apart: bool = False) -> Sequence[Expr]:
    """``roots`` that pull the blocks of large Dask arrays; themselves where none can be pulled.

    ``apart``: workers have no memory in common, so the graph travels to them.
    """
    nodes = below_up_to(roots, _MOST_NODES)
    if nodes is None:
        return roots
    sources = {id(node.source): node.source for node in nodes if isinstance(node, Leaf)}
    found: dict[int, tuple[Stored | Tiled, int]] = {}
    for number, source in sources.items():
        tiles = _pulled(source) if is_dask_array(source) else None
        if tiles is not None and (not apart or _is_sent(tiles)):
            found[number] = Tiled(tiles, source.dtype), 0
    return reading(roots, nodes, found)


def is_pulled(source: object) -> bool:
    """Whether ``source`` are blocks of a Dask array."""
    return isinstance(source, Tiled) and isinstance(source.tiles, DaskBlocks)


def is_even(lengths: Sequence[int]) -> bool:
    """Whether all ``lengths`` but the last are one, and that is no longer."""
    return set(lengths[:-1]) <= {lengths[0]} and lengths[-1] <= lengths[0]


def _is_sent(tiles: DaskBlocks) -> bool:
    try:
        return len(cloudpickle.dumps(tiles)) <= _MOST_SENT
    except Exception:  # of whatever a task holds
        return False


def _pulled(source: Deferred) -> DaskBlocks | None:
    """The blocks of a Dask array; None for a small one, and where blocks need each other's."""
    from dask._task_spec import convert_legacy_graph

    collection: Any = source.collection
    size = math.prod(source.shape) * np.dtype(source.dtype).itemsize
    if size < LEAST or not all(map(is_even, collection.chunks[1:])):
        return None
    keys = list(dask.base.flatten(collection.__dask_keys__()))
    graph = collection.__dask_optimize__(collection.__dask_graph__(), keys)
    tasks = convert_legacy_graph(dict(graph))
    needed = {need for one in tasks.values() for need in one.dependencies}
    if not tasks.keys() >= {*keys, *needed}:
        return None  # it lies on a cluster
    shared = _shared(tasks, keys)
    if shared is None:
        return None
    return DaskBlocks(source, tasks, collection.name, shared)


def _shared(tasks: Mapping[Any, Any], keys: Sequence[Any]) -> frozenset[Any] | None:
    """The tasks that several of ``keys`` need; None where those need others, or are many."""
    seen: set[Any] = set()
    shared: set[Any] = set()
    for key in keys:
        for one in _ordered(tasks, key, frozenset()) if key not in seen else (key,):
            if one in seen:
                if tasks[one].dependencies or len(shared) > _MOST_SHARED:
                    return None
                shared.add(one)
            seen.add(one)
    return frozenset(shared)


def _ordered(tasks: Mapping[Any, Any], key: Any, without: frozenset[Any]) -> Iterator[Any]:
    """What ``key`` needs, each after what it needs itself, and ``key``."""
    done: set[Any] = set()
    stack = [(key, False)]
    while stack:
        one, ready = stack.pop()
        if one in done:
            continue
        if ready or not tasks[one].dependencies:
            done.add(one)
            yield one
            continue
        stack.append((one, True))
        stack += [(need, False) for need in tasks[one].dependencies if need not in without]


def _along(one: slice, starts: Sequence[int]) -> Iterator[tuple[int, slice, slice]]:
    """The blocks of an axis that ``one`` meets: which, where elements go, which of them."""
    begin, count = 0, len(range(one.start, one.stop, one.step))
    for number, (first, end) in enumerate(pairwise(starts)):
        at = one.start + begin * one.step
        if begin == count:
            return
        if at >= end:
            continue
        here = min(count, begin + -(-(end - at) // one.step))
        last = at + (here - begin - 1) * one.step
        yield number, slice(begin, here), slice(at - first, last - first + 1, one.step)
        begin = here
