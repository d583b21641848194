"""The elements of an array, whole in memory or block after block, for who takes all of them.

They can be made again: what is read twice is computed twice, and kept by nobody.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ... import dtypes
from ...dataclass import cached_property, dataclass
from ...expr.nodes import Expr, Leaf, StageResult, c_strides, is_whole
from ...expr.piecewise.regions import pieced
from ...late import futures
from ...plan.stages import Part, Stage, cut_stage
from .. import cpu
from ..boxes import Stop
from ..prepare import prepare
from ..results import Destination
from ..scans.matrices import straight
from ..staging.late import gpu

Array: TypeAlias = NDArray[Any]
Inputs: TypeAlias = Mapping[int, Array]
Item = TypeVar("Item")
Result = TypeVar("Result")
Store: TypeAlias = Callable[[Stage, Part, Destination, Inputs], None]

BLOCK: Final = 1 << 16  # elements of a block: worth a call, and few enough to stay cached
_MADE: Final = (
    1 << 18
)  # and of one that a kernel makes: a call of it and of who takes it cost 25 us
_STRAIGHT: Final = 1 << 17  # and of one that is read where it lies
_PAIRS: Final = 1 << 18  # and of two arrays that lie in memory: one call of a kernel, or of NumPy's
_SHARE: Final = 1 << 16  # elements below which a second thread costs more than it brings


# The stages that make arguments of a part, by their ids: a plan that is used again lowers none.
_cut: weakref.WeakKeyDictionary[Part, dict[tuple[int, int], Stage]] = weakref.WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class AllElements:
    """The elements of ``root`` in C order. ``device``: the GPU that computes them, else the CPU.

    ``of``: the part that takes them, where it holds ``root``.
    """

    root: Expr
    inputs: Inputs
    device: int | None
    stop: Stop
    store: Store
    threads: int
    of: Part | None = field(default=None, kw_only=True)

    @property
    def size(self) -> int:
        return math.prod(self.root.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.root.dtype)

    @property
    def none(self) -> Array:
        """No element."""
        return np.empty(0, self.dtype)

    @cached_property
    def memory(self) -> Array | None:
        """All elements, flat, where they lie so in host memory: to be read only."""
        root = self.root
        if isinstance(root, Leaf) and id(root.source) in self.inputs and is_whole(root):
            array: Any = self.inputs[id(root.source)]
            flat = array.get() if hasattr(type(array), "__cuda_array_interface__") else array
            return np.ascontiguousarray(flat).reshape(-1)[: self.size]
        return straight(root, root.dtype) if self.size else None

    def whole(self) -> Array:
        """All elements, flat, in memory of their own."""
        if self.memory is not None:
            return self.memory.copy()
        out = Destination(self.root.shape, self.root.dtype)
        stage = self._stage(self.threads)
        self.each(lambda part: self.store(stage, part, out, self.inputs), stage.parts)
        return np.asarray(out.take()).reshape(-1)

    def held(self) -> Array:
        """All elements, flat: to be read only."""
        return self.whole() if self.memory is None else self.memory

    @cached_property
    def _part(self) -> tuple[Stage, Part]:
        stage = self._stage(0)
        return stage, stage.parts[0]

    def _stage(self, threads: int) -> Stage:
        """What makes the elements, cut for ``threads``; for none of them all in one part."""
        known = {} if self.of is None else _cut.setdefault(self.of, {})
        key = id(self.root), threads
        if key not in known:
            one = Part(self.root, (), None, 0, 0)
            known[key] = (
                cut_stage(self.root, None, (), (), threads)
                if threads
                else Stage(self.root, None, (), (one,), "one")
            )
        return known[key]

    def blocks(self, start: int, stop: int) -> Iterator[Array]:
        """Elements ``[start, stop)``, block after block; each is gone with the next."""
        if start >= stop:
            return  # what has no elements may have no memory, either
        if self.memory is not None:
            for first in range(start, stop, _STRAIGHT):
                if self.stop.is_set():
                    return
                yield self.memory[first : min(stop, first + _STRAIGHT)]
            return
        stage, part = self._part
        prepared = prepare(stage, part, None)
        if self.device is None:
            found = cpu.blocks(prepared, self.inputs, start, stop, self.stop, _MADE)
        else:
            found = self._on_gpu(prepared, start, stop)
        for block in found:
            yield block.view(self.dtype)

    def _on_gpu(self, prepared: Any, start: int, stop: int) -> Iterator[Array]:
        import cupy

        assert self.device is not None
        with cupy.cuda.Device(self.device):
            yield from gpu.blocks(prepared, self.inputs, start, stop, self.device, self.stop)

    def fill(self, out: Array, start: int) -> None:
        """The elements from ``start`` on into ``out``, flat."""
        at = 0
        for block in self.blocks(start, start + len(out)):
            out[at : at + len(block)] = block
            at += len(block)

    def rooms(self, start: int, stop: int, room: Array) -> Iterator[Array]:
        """Elements ``[start, stop)``, as many as ``room`` holds each time, in it."""
        at = 0
        for block in self.blocks(start, stop):
            taken = 0
            while taken < len(block):
                count = min(len(room) - at, len(block) - taken)
                room[at : at + count] = block[taken : taken + count]
                at, taken = at + count, taken + count
                if at == len(room):
                    yield room
                    at = 0
        if at:
            yield room[:at]

    def part(self, start: int, stop: int, room: Array) -> Array:
        """Elements ``[start, stop)`` where they lie, or in ``room``: to be read only."""
        if self.memory is not None:
            return self.memory[start:stop]
        out = room[: stop - start]
        self.fill(out, start)
        return out

    def spans(self, line: int = 1) -> list[tuple[int, int]]:
        """A share of the elements for each thread, in whole lines."""
        lines = self.size // max(line, 1)
        pieces = max(1, min(self.threads, lines, self.size // _SHARE))
        ends = [lines * k // pieces * line for k in range(pieces + 1)]
        return list(pairwise(ends))

    def each(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """``function`` of all ``items``, on threads where there are several."""
        if len(items) < 2 or self.threads < 2:
            return [function(item) for item in items]
        with futures.ThreadPoolExecutor(min(self.threads, len(items))) as pool:
            try:
                return list(pool.map(function, items))
            except BaseException:
                self.stop.set()
                raise


def in_step(
    one: AllElements, other: AllElements, span: tuple[int, int], step: int
) -> Iterator[tuple[Array, Array]]:
    """Elements of both in ``span``, about ``step`` at a time; each pair is gone with the next."""
    if one.memory is not None and other.memory is not None:
        step = max(step, _PAIRS)
    rooms = [np.empty(0 if a.memory is not None else step, a.dtype) for a in (one, other)]
    for first in range(*span, step):
        if one.stop.is_set():
            return
        stop = min(span[1], first + step)
        yield one.part(first, stop, rooms[0]), other.part(first, stop, rooms[1])


def elements_of(
    args: Sequence[Expr],
    inputs: Inputs,
    device: int | None,
    stop: Stop,
    store: Store,
    threads: int,
    of: Part | None = None,
) -> list[AllElements]:
    """A stream for each of ``args``, ``of`` a part; what is no one kernel is put into memory."""
    found = []
    for root in args:
        own = threads if device is None else 1
        one = AllElements(root, inputs, device, stop, store, own, of=of)
        if pieced(root) or dtypes.stored(root.dtype) != root.dtype:
            one = _kept(one)
        found.append(one)
    return found


def in_memory(one: AllElements) -> AllElements:
    """``one``, or its elements put into memory."""
    return _kept(one) if one.memory is None else one


def _kept(one: AllElements) -> AllElements:
    """``one`` whose elements lie in memory."""
    return in_memory_as(one, one.whole().reshape(one.root.shape))


def in_memory_as(one: AllElements, values: Array) -> AllElements:
    """``values`` for who takes those of ``one``."""
    result = StageResult(values.shape, one.root.dtype)
    leaf = Leaf(result, values.shape, 0, c_strides(values.shape))
    return AllElements(leaf, {id(result): values}, None, one.stop, one.store, one.threads)
