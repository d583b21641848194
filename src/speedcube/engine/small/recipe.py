"""The stages of a program of short lines as kernels, and where their arguments come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ...dataclass import dataclass
from ...expr.nodes import (
    Const,
    Expr,
    Leaf,
    Map,
    Random,
    Reduced,
    Scanned,
    StageResult,
    Stored,
    c_strides,
    whole,
)
from ...expr.views import rebuild
from ...kernel.math.positions import SEGMENT
from ...plan.plan import Resources, make_plan
from ...plan.stages import Stage
from ..known.outline import Outline
from ..known.template import Template, template_of
from .call import Reusable
from .known import reusable
from .lengths import marked
from .structure import NotSmallError, structure_of

_NO_DATA: Final = np.empty(0)
# Elements of scans whose kernels take them as they are stored.
_SCANNED: Final = frozenset(("float64", "float32", "int64"))


@dataclass(frozen=True, slots=True)
class Made:
    """An argument: the user's array ``data``, or what step ``made`` leaves; from element ``at``."""

    data: int
    made: int | None
    at: int


@dataclass(frozen=True, eq=False, slots=True)
class LineStep:
    """A stage: its kernel with the places of its arguments.

    ``ready`` is None for a scan of what lies in memory already. ``source`` says what is reduced or
    scanned, of elements of ``arg_dtype`` and ``shape`` (marks). ``last``: steps that nothing
    needs after this one.
    """

    ready: Reusable | None
    source: Reduced | Scanned | None
    shape: tuple[int, ...]
    arg_dtype: str
    dtype: str
    line: bool
    segments: bool
    data: tuple[Made, ...]
    constants: tuple[int | Const, ...]
    random: tuple[int, ...]
    last: tuple[int, ...]


@dataclass(frozen=True, eq=False, slots=True)
class Recipe:
    """Steps in order, and which of them give the results."""

    steps: tuple[LineStep, ...]
    results: tuple[int, ...]
    constants_count: bool
    peak_bytes: int


def made_for(shape: tuple[int, ...], dtype: str) -> Map:
    """What stands for elements of ``shape`` where only that and their type are asked for."""
    return Map("line", (), shape, dtype)


def recipe_of(found: Outline, length: int) -> Recipe:
    """The recipe of ``found``, whose longest axis has ``length`` elements.

    `NotSmallError` where a stage has no kernel that takes any length.
    """
    template = template_of(found)
    plan = make_plan(template.roots, Resources("core", 1), "", 1)
    stages = [stage for one in plan.passes for stage in one.stages]
    numbers = {id(stage.result): k for k, stage in enumerate(stages)}
    results = tuple(numbers[id(result)] for result in plan.results)
    last = _last(stages, numbers, results)
    made = _Steps(template, numbers, length)
    steps = tuple(made.step(stage, last[k]) for k, stage in enumerate(stages))
    return Recipe(steps, results, made.constants_count, plan.peak_bytes)


def _last(
    stages: Sequence[Stage], numbers: dict[int, int], results: tuple[int, ...]
) -> list[tuple[int, ...]]:
    """For each stage, what nothing needs after it."""
    seen, last = set(results), []
    for k in range(len(stages) - 1, -1, -1):
        reads = {numbers[id(n)] for n in stages[k].needs if id(n) in numbers}
        last.append(tuple(reads - seen))
        seen |= reads
    return last[::-1]


class _Steps:
    """Stages of a plan of ``template`` as steps."""

    def __init__(self, template: Template, numbers: dict[int, int], length: int) -> None:
        self.numbers, self.length = numbers, length
        self.data = {id(source): k for k, source in enumerate(template.data)}
        self.constants = {id(source): k for k, source in enumerate(template.constants)}
        self.random = {id(source): k for k, source in enumerate(template.random)}
        self.constants_count = False

    def step(self, stage: Stage, last: tuple[int, ...]) -> LineStep:
        """``stage``, after which nothing needs what the steps ``last`` leave."""
        source, root = stage.source, stage.root
        if not (source is None or isinstance(source, (Reduced, Scanned))) or len(root.shape) > 1:
            raise NotSmallError
        shape = tuple(marked(extent, self.length) for extent in root.shape)
        ordered = isinstance(source, Scanned) or stage.op == "prod"
        if ordered:
            assert source is not None
            _check_scan(source, root)
        if source is not None:  # of the same elements, without the data
            source = replace(source, arg=made_for(root.shape, root.dtype))
        holders: dict[int, int] = {}  # steps, by what stands for their results
        placed = rebuild(root, root.shape, self._held(holders))
        if ordered and isinstance(placed, Leaf):
            place = (self._place(placed, holders),)
            return LineStep(
                None, source, shape, root.dtype, stage.dtype, True, False, place, (), (), last
            )
        if isinstance(source, Reduced) and not ordered:
            axes = tuple(range(len(root.shape)))
            if source.axes != axes:
                raise NotSmallError
            reduced = Reduced(source.op, placed, axes, False, source.dtype, source.ddof)
            placed = whole(reduced, ())
        found = structure_of(placed, through=False)
        if found.size > 1 and not found.line:
            raise NotSmallError
        ready = reusable(found)
        if ready is None or ready.slots.several or ready.slots.order:
            raise NotSmallError
        self.constants_count |= bool(found.constants) and ready.slots.constants is None
        return LineStep(
            ready,
            source,
            shape,
            root.dtype,
            stage.dtype,
            found.line,
            found.size > SEGMENT,
            tuple(self._place(leaf, holders) for leaf in found.data),
            tuple(self._constant(constant) for constant in found.constants),
            tuple(self._random(source) for source in found.random),
            last,
        )

    def _held(self, holders: dict[int, int]) -> Callable[[Leaf], Expr]:
        """What reads an array in memory in place of what an earlier step leaves."""
        own: dict[int, Stored] = {}

        def held(leaf: Leaf) -> Leaf:
            source = leaf.source
            if not isinstance(source, StageResult):
                if isinstance(source, Const) and id(source) not in self.constants:
                    self.constants_count = True
                return leaf
            if id(source) not in own:
                own[id(source)] = Stored(_NO_DATA, source.dtype)
                holders[id(own[id(source)])] = self.numbers[id(source)]
            return Leaf(own[id(source)], leaf.shape, leaf.offset, leaf.strides)

        return held

    def _place(self, leaf: Leaf, holders: dict[int, int]) -> Made:
        if leaf.offset < 0 or (leaf.shape and leaf.shape[0] > 1 and leaf.strides[0] not in (0, 1)):
            raise NotSmallError
        made, at = holders.get(id(leaf.source)), marked(leaf.offset, self.length)
        return Made(-1 if made is not None else self.data[id(leaf.source)], made, at)

    def _constant(self, constant: Const) -> int | Const:
        return self.constants.get(id(constant), constant)

    def _random(self, source: Random) -> int:
        return self.random[id(source)]


def _check_scan(source: Any, root: Expr) -> None:
    """`NotSmallError` where a scan of ``root`` is not one kernel's in one call."""
    stored = root.dtype in _SCANNED and (source.op != "prod" or source.dtype == root.dtype)
    straight = not isinstance(root, Leaf) or root.strides == c_strides(root.shape)
    in_memory = not isinstance(root, Leaf) or isinstance(root.source, (Stored, StageResult))
    if not (root.shape and stored and straight and in_memory):
        raise NotSmallError
