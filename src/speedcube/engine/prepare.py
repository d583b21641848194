"""From a part to something that can be run: its space, its program, its arguments."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import field, replace
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ..dataclass import dataclass
from ..expr.nodes import Expr, Map, Reduced
from ..expr.space import Space, Tiling, build, offset_table, tile
from ..kernel.folds import KEYED
from ..kernel.lower.alike import Lowered
from ..kernel.lower.folded import fold_layout, lower_folded
from ..kernel.lower.lanes import Layout
from ..kernel.lower.lower import lower
from ..kernel.lower.many import dot_layout, layout_of, line_layout, lower_many
from ..kernel.lower.parameters import Uniform, refresh
from ..kernel.lower.together import (
    Shared,
    finished_layout,
    is_fold,
    lower_finished,
    shared_sinks,
)
from ..kernel.program import Program
from ..plan.passes import Pass
from ..plan.stages import Part, Stage
from .staging.late import teams, text, together

# What the kernel does for each reduction a user can ask for.
KERNEL_REDUCTION: Final = {
    "sum": "sum",
    "mean": "mean",
    "var": "moments",
    "std": "moments",
    **{name: name for name in ("dot", *KEYED)},
}


@dataclass(frozen=True, eq=False)
class Prepared:
    """A part ready to run. ``loops`` is (kept, reduced, tile steps), the extents of its box.

    ``uniforms`` say which of ``params`` are constants and keys of the part's sources.
    """

    space: Space
    tiling: Tiling
    program: Program
    params: NDArray[np.uint64]
    loops: tuple[int, int, int]
    uniforms: tuple[Uniform, ...] = ()
    frames: dict[Any, Any] = field(default_factory=dict)  # what an engine keeps between calls

    @property
    def visits(self) -> int:
        """Elements that the kernel computes."""
        kept, reduced, steps = self.loops
        return kept * reduced * steps * self.tiling.inner

    @property
    def by_columns(self) -> bool:
        """Whether each of several results is read from memory in strides."""
        modes = {leaf.mode for leaf in self.program.leaves if leaf.kind == "stored"}
        return self.loops[0] > 1 and "strided" in modes


_memo: weakref.WeakKeyDictionary[Part, dict[Any, Prepared | None]] = weakref.WeakKeyDictionary()


def remembered(part: Part, key: Any, make: Callable[[], Prepared]) -> Prepared:
    """What ``make`` made for ``part`` under ``key``, kept as long as the part lives."""
    known = _memo.setdefault(part, {})
    prepared = known.get(key)
    if prepared is None:
        prepared = known[key] = make()
    else:
        refresh(prepared.uniforms, prepared.params)  # of a part that is used again (`known`)
    return prepared


def prepare(
    stage: Stage, part: Part, out_strides: tuple[int, ...] | None, gpu: bool = False
) -> Prepared:
    """``part`` of ``stage`` in tiles for a CPU or ``gpu``; remembered as long as the part lives."""
    # A scan's elements are stored, in C order, before they are taken.
    axes, op = ((), None) if stage.is_scan else (stage.axes, stage.op)

    def make() -> Prepared:
        space = build(part.root, axes, part.extra, out_strides, reduction=op is not None)
        tiling, reduction = tile(space, gpu), None if op is None else KERNEL_REDUCTION[op]
        return prepared_of(space, tiling, lower(part.root, space, tiling, reduction))

    return remembered(part, (axes, op, out_strides, gpu), make)


def prepared_of(space: Space, tiling: Tiling, lowered: Lowered) -> Prepared:
    """What was lowered over ``space``, ready to run."""
    loops = loops_of(space, tiling)
    return Prepared(space, tiling, lowered.program, lowered.params, loops, lowered.uniforms)


def loops_of(space: Space, tiling: Tiling) -> tuple[int, int, int]:
    """Kept and reduced positions outside of the tile loop, and its steps."""
    kept = reduced = 1
    for extent, is_reduced in zip(
        space.extents[: tiling.first], space.reduced[: tiling.first], strict=True
    ):
        if is_reduced:
            reduced *= extent
        else:
            kept *= extent
    return kept, reduced, space.extents[tiling.first]


def prepare_many(stage: Stage, part: Part, gpu: bool = False) -> Prepared | None:
    """``part`` of ``stage`` with sums or dots that its kernel finishes; None where it has records.

    On a ``gpu``, with folds too.
    """
    if gpu:
        return _finished(stage, part, teams.gpu_layout, _lower_on_gpu)
    many = _finished(stage, part, layout_of, lower_many)
    return many or _finished(stage, part, dot_layout, lower_many)


def prepare_line(stage: Stage, part: Part) -> Prepared | None:
    """The same of one sum over one loop, however short; None where records are as good."""
    return _finished(stage, part, line_layout, lower_many)


def prepare_along(one: Pass, part: Part) -> tuple[Prepared, tuple[int, ...]] | None:
    """``part`` of ``one``, whose results along axes one kernel makes of the same sums.

    And the stage of each of its results; None where each stage has a kernel of its own.
    """
    order = sorted(range(len(one.stages)), key=lambda k: one.stages[k].op not in ("var", "std"))
    first, *also = (one.stages[k] for k in order)
    root = part.root.args[0] if isinstance(part.root, Map) else part.root
    sources = [stage.source for stage in also if isinstance(stage.source, Reduced)]
    mine = replace(part, root=root)
    layout, lower = partial(layout_of, also=sources), partial(lower_many, also=sources)
    known = _memo.setdefault(part, {})
    if prepare_along not in known:
        known[prepare_along] = _finished(first, mine, layout, lower)
    prepared = known[prepare_along]
    if prepared is None:
        return None
    refresh(prepared.uniforms, prepared.params)
    return prepared, tuple(order)


def prepare_together(one: Pass, part: Part, gpu: bool) -> tuple[Prepared, tuple[int, ...]] | None:
    """``part`` of ``one``, all of whose stages are reductions, as one kernel that finishes them.

    And the stage of each of its results. None where there is none.
    """
    sources = [stage.source for stage in one.stages if isinstance(stage.source, Reduced)]
    sinks = shared_sinks(one.places, sources)
    known = _memo.setdefault(part, {})
    if (prepare_together, gpu) not in known:
        assert isinstance(part.root, Map)
        space = build(part.root, one.visited.axes, (), None, reduction=True)
        lowered = (_together_on_gpu if gpu else _together)(part.root, space, sources, sinks)
        known[prepare_together, gpu] = lowered
    found = known[prepare_together, gpu]
    if found is None:
        return None
    refresh(found.uniforms, found.params)
    return found, tuple(number for sink in sinks for number in sink.numbers)


def _together(
    root: Map, space: Space, sources: list[Reduced], sinks: list[Shared]
) -> Prepared | None:
    layout = finished_layout(space, sources)
    if layout is None:
        return None
    lowered = lower_finished(root, layout, sources, sinks)
    return prepared_of(layout.space, layout.tiling, lowered)


def _together_on_gpu(
    root: Map, space: Space, sources: list[Reduced], sinks: list[Shared]
) -> Prepared | None:
    layout = teams.together_layout(space, sources)
    if layout is None or together.words_of(sources, sinks) > together.MOST_WORDS:
        return None
    lowered = _with_short(together.lower_together(root, layout, sources, sinks), layout)
    return prepared_of(layout.space, layout.tiling, lowered)


def _with_short(lowered: Lowered, layout: Layout) -> Lowered:
    """``lowered``, whose kernel knows whether a thread takes a row at once."""
    program = lowered.program
    assert program.sink.many is not None
    short = teams.is_short(program, loops_of(layout.space, layout.tiling))
    many = replace(program.sink.many, short=short)
    return replace(lowered, program=replace(program, sink=replace(program.sink, many=many)))


def prepare_open(stage: Stage, part: Part, onto: bool = False) -> Prepared | None:
    """``part`` of ``stage``, whose kernel gives its sums unfinished; None where it has records.

    ``onto``: it adds them to those that it finds.
    """
    known = _memo.setdefault(part, {})
    if (prepare_open, onto) not in known:
        # Asked for a mean, too, the kernel adds up elements as for one, whose rest must be fine.
        source = stage.source
        assert isinstance(source, Reduced)
        also = [replace(source, op="mean")] if source.op == "var" else []
        lower = partial(lower_many, also=also, near=True, onto=onto)
        layout = partial(layout_of, also=also, near=True)
        known[prepare_open, onto] = _finished(stage, part, layout, lower)
    prepared: Prepared | None = known[prepare_open, onto]
    if onto and prepared is not None and not prepared.program.sink.unit_stride:
        return None  # it looks for what it adds to one by one
    if prepared is not None:
        refresh(prepared.uniforms, prepared.params)
    return prepared


def prepare_folded(stage: Stage, part: Part) -> Prepared | None:
    """``part`` of ``stage`` with folds that its kernel finishes; None where it has records."""
    return _finished(stage, part, fold_layout, lower_folded)


def _finished(
    stage: Stage,
    part: Part,
    layout_of: Callable[[Space, Reduced], Layout | None],
    lower: Callable[[Expr, Layout, Reduced], Lowered],
) -> Prepared | None:
    known = _memo.setdefault(part, {})
    if layout_of not in known:
        source = stage.source
        assert isinstance(source, Reduced)
        space = build(part.root, stage.axes, part.extra, None, reduction=True)
        layout = layout_of(space, source)
        known[layout_of] = None
        if layout is not None:
            lowered = lower(part.root, layout, source)
            known[layout_of] = prepared_of(layout.space, layout.tiling, lowered)
    prepared = known[layout_of]
    if prepared is not None:
        refresh(prepared.uniforms, prepared.params)
    return prepared


def _lower_on_gpu(root: Expr, layout: Layout, source: Reduced) -> Lowered:
    """The kernel of a GPU that finishes the results of ``source``."""
    space, tiling = layout.space, layout.tiling
    if is_fold(source):
        lowered = lower(root, space, tiling, KERNEL_REDUCTION[source.op])
        program = teams.folded(lowered.program, layout, source)
    else:
        lowered = lower_many(root, layout, source, integers=False)
        program = lowered.program
    return _with_short(replace(lowered, program=program), layout)


def geometry(prepared: Prepared) -> NDArray[np.int64]:
    """The kernel's geometry words; the first six (the box) are filled for each call."""
    space, tiling = prepared.space, prepared.tiling
    outer = tiling.first
    words = [0] * 6 + [tiling.rows, tiling.inner, *space.extents[:outer]]
    for offset, strides in zip(space.offsets, space.strides, strict=True):
        words += [offset, *strides[:outer], strides[outer]]
    words += [space.out_offset, *space.out_strides[:outer], space.out_strides[outer]]
    return np.array(words, np.int64)


def launch_words(prepared: Prepared) -> list[int]:
    """The same for a GPU, whose words of a launch begin differently."""
    space, tiling = prepared.space, prepared.tiling
    outer = tiling.first
    words = [0] * 4 + [prepared.loops[2], tiling.rows, tiling.inner] + [0] * 3
    words += space.extents[:outer]
    for offset, strides in zip(space.offsets, space.strides, strict=True):
        words += [offset, *strides[:outer], strides[outer]]
    words += [space.out_offset, *space.out_strides[:outer], space.out_strides[outer]]
    assert len(words) == text.HEADER + outer + (len(space.offsets) + 1) * (outer + 2)
    return words


def tables(prepared: Prepared) -> list[NDArray[np.int64]]:
    """Offset tables of the leaves and the result (none where the tile is linear)."""
    if not prepared.tiling.table:
        return []
    rows = [*prepared.space.strides, prepared.space.out_strides]
    offsets = [offset_table(strides, prepared.space, prepared.tiling) for strides in rows]
    # Vectors read past the end: repeat the first offset, which is always a legal address.
    return [np.concatenate([t, np.full(64, t[0])]) for t in offsets]
