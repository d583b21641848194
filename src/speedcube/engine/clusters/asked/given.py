"""What parts read of stages before them: the blocks that have it, where a whole array is large.

A stage that stores its result in parts leaves a block with each worker. Who reads it part by part,
too, is given the block that has what it reads. What lies in several blocks is cut out where they
are, so that no more of them travels, and put together by who reads it. Most often all of it lies
with the same worker. So the array is never put together, and no worker has all of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .... import dtypes
from ....dataclass import dataclass
from ....expr.graph import memories
from ....expr.nodes import Expr, Leaf, Map, StageResult, walk
from ....expr.piecewise.regions import pieced
from ....expr.push import Nodes
from ....late import task_spec
from ....plan.stages import Part, Stage
from .calls import PlanCall

Array: TypeAlias = NDArray[Any]
Span: TypeAlias = tuple[int, int]  # elements of a result in C order, the first and their end

LARGE: Final = 1 << 20  # bytes of a result below which all of it goes to who reads of it
MOST: Final = 1.5  # times all of it that its readers may read together, as stencils do


@dataclass(frozen=True)
class ResultBlock:
    """The call that gives the elements ``[start, stop)`` of a result, and whose it is."""

    name: str
    start: int
    stop: int
    worker: int


@dataclass
class Given:
    """What stages gave ``workers`` so far: whole, and of those that lie in blocks which."""

    ready: dict[int, Any]
    workers: int
    blocks: dict[int, tuple[ResultBlock, ...]] = field(default_factory=dict)
    cuts: dict[str, PlanCall] = field(default_factory=dict)  # by their names
    new: list[PlanCall] = field(default_factory=list)  # of ``cuts``, those not yet taken

    def all(self, stage: Stage) -> list[Any]:
        """What stands for the arrays that ``stage`` reads."""
        return [self.ready[id(need)] for need in stage.needs]

    def keep(self, stage: Stage, parts: Sequence[Part], axis: int, names: Sequence[str]) -> None:
        """The calls ``names`` give ``parts`` of the result of ``stage``, along its ``axis``."""
        shape = stage.shape
        size = math.prod(shape)
        small = size * dtypes.itemsize(stage.dtype) < LARGE
        if small or math.prod(shape[:axis]) != 1 or len(parts) < 2:
            return
        each = size // shape[axis]
        self.blocks[id(stage.result)] = tuple(
            ResultBlock(name, part.start * each, part.stop * each, self._worker(k, len(parts)))
            for k, (name, part) in enumerate(zip(names, parts, strict=True))
        )

    def _worker(self, number: int, count: int) -> int:
        """Who has part ``number`` of ``count``: pieces follow one another on each worker."""
        return number if count <= self.workers else number * self.workers // count

    def taken(self) -> list[PlanCall]:
        """The calls that cut blocks, each once."""
        new, self.new = self.new, []
        return new

    def each(self, stage: Stage, parts: Sequence[Part]) -> list[tuple[Part, list[Any]]]:
        """Each of ``parts`` of ``stage``, with what stands for the arrays that it reads."""
        whole = self.all(stage)
        spans = {
            id(need): found
            for need in stage.needs
            if id(need) in self.blocks and (found := _spans(need, parts))
        }
        if not spans:
            return [(part, whole) for part in parts]
        return [self._part(stage, part, k, spans) for k, part in enumerate(parts)]

    def _part(
        self, stage: Stage, part: Part, number: int, spans: dict[int, list[Span]]
    ) -> tuple[Part, list[Any]]:
        arrays, here = [], dict[int, tuple[StageResult, int]]()
        for need in stage.needs:
            if id(need) not in spans:
                arrays.append(self.ready[id(need)])
                continue
            start, stop = spans[id(need)][number]
            here[id(need)] = StageResult((stop - start,), need.dtype), start
            worker = self._worker(number, len(spans[id(need)]))
            arrays.append(self._elements(id(need), start, stop, worker))
        return replace(part, root=_over(part.root, here)), arrays

    def _elements(self, need: int, start: int, stop: int, worker: int) -> Any:
        """What stands for the elements ``[start, stop)``, for ``worker``."""
        name = f"{self.ready[need].key}-from-{start}-to-{stop}"
        some = [b for b in self.blocks[need] if b.start < stop and b.stop > start]
        refs = [self._of_block(b, max(start, b.start), min(stop, b.stop)) for b in some]
        return refs[0] if len(refs) == 1 else self._call(name, worker, one_after_another, *refs)

    def _of_block(self, block: ResultBlock, start: int, stop: int) -> Any:
        if (start, stop) == (block.start, block.stop):
            return task_spec.TaskRef(block.name)
        name = f"{block.name}-from-{start}-to-{stop}"
        places = start - block.start, stop - block.start
        return self._call(name, block.worker, elements_of, *places, task_spec.TaskRef(block.name))

    def _call(self, name: str, worker: int, function: Any, *arguments: Any) -> Any:
        """What stands for what ``function`` gives, which is called once."""
        if name not in self.cuts:
            self.cuts[name] = PlanCall(name, worker, function, arguments)
            self.new.append(self.cuts[name])
        return task_spec.TaskRef(name)


def elements_of(start: int, stop: int, block: Array) -> Array:
    """Task: the elements ``[start, stop)`` of ``block``, in its memory."""
    return block.reshape(-1)[start:stop]


def one_after_another(*blocks: Array) -> Array:
    """Task: the elements of ``blocks``."""
    return np.concatenate([block.reshape(-1) for block in blocks])


def _spans(need: Any, parts: Sequence[Part]) -> list[Span]:
    """The elements of ``need`` that each of ``parts`` reads; none where that is most of it."""
    if len(parts) < 2 or not isinstance(need, StageResult):
        return []
    found = []
    for part in parts:
        nodes = walk(part.root)
        own = [node for node in nodes if isinstance(node, Leaf) and node.source is need]
        if pieced(part.root) or memories(nodes).intersection(map(id, own)):
            return []  # what is read where computed numbers say may lie anywhere
        if not (ends := [*_ends(own)]):
            return []
        found.append((min(start for start, _ in ends), max(stop for _, stop in ends)))
    read = sum(stop - start for start, stop in found)
    return found if read <= MOST * math.prod(need.shape) else []


def _ends(readers: Iterable[Leaf]) -> Iterator[Span]:
    """The first element that each of ``readers`` reads of its source, and where it ends."""
    for leaf in readers:
        reach = [step * (n - 1) for step, n in zip(leaf.strides, leaf.shape, strict=True)]
        if 0 not in leaf.shape:
            least = leaf.offset + sum(min(0, one) for one in reach)
            yield least, leaf.offset + sum(max(0, one) for one in reach) + 1


def _over(root: Expr, here: dict[int, tuple[StageResult, int]]) -> Expr:
    """``root`` that reads, in place of sources by their ids, elements of them from a place on."""
    nodes = Nodes()

    def leaf(one: Leaf) -> Leaf:
        if id(one.source) not in here:
            return one
        source, start = here[id(one.source)]
        return Leaf(source, one.shape, one.offset - start, one.strides)

    def over(one: Expr) -> Expr:
        made = nodes.rebuilt(one, one.shape, leaf)
        assert made is not None
        return made

    if isinstance(root, Map) and root.op == "several":  # of any shapes
        return replace(root, args=tuple(map(over, root.args)))
    return over(root)
