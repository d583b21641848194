"""Compute: resolve the rung, plan, hand the graph to that rung's Dask scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import Any, Final

from ..expr.nodes import Expr, Leaf, Map, Staged, whole
from ..expr.pairs.laid import laid
from ..expr.pairs.node import is_pair, parts
from ..late import watched
from ..plan.plan import Plan
from . import machine
from .ahead import values as ahead
from .asked import reading as asked
from .foreign.planned import plan_within
from .keeping.run import kept_values
from .keeping.where import folder
from .known import drawn
from .known.by_plan import run as _run
from .known.kept import active
from .known.memory import planned
from .pieces.assigned import put_together
from .progress.watch import telling
from .results import PLACES, PLACES_HERE, as_complex, check_place, joined
from .results import ResultMemory as ResultMemory
from .routines import call, direct
from .routines.strictness import check_laws
from .rungs import Rung, resolve
from .small import lines as short_lines
from .small.again import few_structure
from .small.call import at_once, is_here
from .small.device import in_one_launch, value_on_gpu
from .small.device import value_again as value_again_on_gpu
from .small.known import carried, few_values, folds, value_again
from .small.known import value as small_value
from .small.pairs import pair_again, small_pair
from .small.structure import SMALL, Structure
from .stepwise.number import may_be_number, number_of
from .stepwise.on_host import kind_here, rung_of, where_few_lie
from .stepwise.run import StepByStep, new_of
from .streams.boxwise import goes_on
from .streams.decoded import in_memory

_READ_FIRST: Final = range(drawn.LEAST, SMALL + 1)  # elements: what is kept is looked up at once

# Plans by rung, kept by the array they are of. Not by its expression: a plan holds that, and the
# data in it would never be freed.
Plans = dict[Any, Plan]


def plan_for(
    root: Expr | Sequence[Expr],
    on: Any,
    scheduler: Any,
    prefers_gpu: bool,
    known: Plans | None = None,
) -> tuple[Plan, Rung]:
    """The plan of ``root``, or of several together, on the rung that would run it."""
    roots = [root] if isinstance(root, (Leaf, Map)) else root
    rung = rung_of(roots, on, scheduler, prefers_gpu)
    plan = drawn.plan_with_kept(roots, rung, planned_on) if rung.kind in drawn.RUNGS else None
    if active() is None and folder.get() is None:
        plan = plan or asked.plan_with_kept(roots, rung, planned_on)
    return plan or planned_on(roots, rung, known), rung


def planned_on(roots: Sequence[Expr], rung: Rung, known: Plans | None = None) -> Plan:
    """The plan of ``roots`` on ``rung``, if that has the memory; what is ``known`` is taken."""
    known = {} if known is None else known
    key = (rung.name, rung.reason, rung.workers)
    plan = known.get(key) or plan_within(roots, rung, partial(staged_values, rung=rung))
    if not any(goes_on(one) for stage in plan.stages for one in stage.sources):
        known[key] = plan  # another run of a scan of a file begins with the file again
    return in_memory(plan, machine.free_memory())


def staged_values(source: Staged, rung: Rung) -> Any:
    """The values of one reduction, or what else is staged, on ``rung``."""
    return compute_all([whole(source, source.shape)], rung)[0]


def compute(
    root: Expr,
    on: Any = None,
    scheduler: Any = None,
    prefers_gpu: bool = False,
    to: str | ResultMemory = "numpy",
    known: Plans | None = None,
) -> Any:
    """The value of ``root``: a NumPy array, or a scalar for 0-d.

    ``to="cupy"`` leaves it on the (first) GPU, `ResultMemory.OF_RUNG` wherever the rung computes.
    """
    free = active() is None and folder.get() is None
    if free and (found := call.called(root, on, scheduler, prefers_gpu, to)) is not None:
        return found
    here = SMALL > 0 and free and to in PLACES_HERE
    kind = partial(kind_here, root, on, scheduler, prefers_gpu, to)
    if here and (found := carried(root, kind)) is not None:
        return found
    if free and asked.has_kept() and few_structure(root) is None:
        return _reading_kept(root, on, scheduler, prefers_gpu, to, known)
    if here and not root.shape and may_be_number(root):
        rung = where_few_lie(resolve(on, scheduler, 1, prefers_gpu, root.dtype), (root,), to)
        if is_here(rung.kind):
            number = number_of(root, lambda one: small_value(one, rung.kind, new_of(_steps(rung))))
            if number is not None:
                return number
    pair = here and is_pair(root)
    if pair and (found := pair_again(root, kind)) is not None:
        return found
    few = few_structure(root) if SMALL > 0 and free and not pair else None
    if few:  # what was met before is small, and a law covers it
        rung = resolve(on, scheduler, few.size, prefers_gpu, few.root.dtype)
        rung = where_few_lie(rung, (root,), to)
        if looked := bool(few.random or few.reads):
            (root,) = _small_reading([root], max(few.size, few.reads), rung)
            few = few_structure(root) or few
        if (value := _value_again(few, root, rung, to)) is not None:
            return value
    check_laws((root,))
    if here:
        where = partial(rung_of, (root,), on, scheduler, prefers_gpu, to)
        if (made := ahead.values((root,), where, compute, compute_all)) is not None:
            return made[0]
    if not free or is_pair(root):
        reals = laid(root) if is_pair(root) and active() is None else None
        if reals is not None:
            return as_complex(compute(reals, on, scheduler, prefers_gpu, to))
        return compute_all([root], on, scheduler, prefers_gpu, to)[0]
    visited, size = direct.visited(root), direct.elements(root)
    rung = rung_of((root,), on, scheduler, prefers_gpu, to)
    if free and (again := asked.reading_asked([root], rung, _makes_on(rung))):
        with asked.paused():
            return compute(again[0], rung, to=to)
    if direct.is_routine(root):
        with telling(None, rung.name, size):
            made = direct.values((root,), rung, to == "cupy")
        if made:
            return made[0]
    steps = _steps(rung)
    if steps and to in PLACES_HERE and (value := put_together(root, rung.workers)) is not None:
        return value
    root = root if few and looked else _small_reading([root], size, rung)[0]
    one_call = here and not direct.reads_routine(root)
    if one_call and size <= at_once(rung.kind, SMALL, visited is not root):
        value = small_value(root, rung.kind, new_of(steps))
        if value is not None:
            return value
    if steps and to in PLACES_HERE and (found := steps.several([root])):
        return found[0]
    check_place(to, rung)
    if rung.kind == "gpu" and size <= in_one_launch(SMALL) and not known:
        value = value_on_gpu(root, rung.devices[0], to != "numpy", size > SMALL)
        if value is not None:
            return value
    return (_values if size in _READ_FIRST else _read_again)([root], rung, to, known)[0]


def _reading_kept(
    root: Expr,
    on: Any,
    scheduler: Any,
    prefers_gpu: bool,
    to: str | ResultMemory,
    known: Plans | None,
) -> Any:
    """The value of ``root``, made of what is kept as far as it can be."""
    rung = rung_of([root], on, scheduler, prefers_gpu, to)
    again = asked.reading_asked([root], rung, _makes_on(rung))
    with asked.paused():
        if again is None:
            return compute(root, on, scheduler, prefers_gpu, to, known)
        check_laws((root,))
        return compute(again[0], rung, to=to)


def _makes_on(rung: Rung) -> asked.Make:
    """What makes arrays that are kept, where ``rung`` computes."""
    place = ResultMemory.OF_RUNG

    def make(some: Sequence[Expr]) -> list[Any]:
        alone = len(some) == 1
        return [compute(some[0], rung, to=place)] if alone else compute_all(some, rung, to=place)

    return make


def _steps(rung: Rung) -> StepByStep | None:
    """What makes few elements node by node, where a rung lets it."""
    if not _runs_lines(rung):
        return None
    return StepByStep(rung, lambda root: _read_again([root], rung, "numpy")[0])


def _value_again(few: Structure, root: Expr, rung: Rung, to: str | ResultMemory) -> Any:
    """The value of ``root``, with its ``few`` words, if the like of it was met; None otherwise."""
    if is_here(rung.kind):
        new = new_of(_steps(rung)) if few.reads else None
        return value_again(few, root, rung.kind, new) if to in PLACES_HERE else None
    if rung.kind == "gpu" and few.size <= in_one_launch(SMALL) and to in PLACES:
        large = few.size > SMALL
        return value_again_on_gpu(few, root, rung.devices[0], to != "numpy", large)
    return None


def _small_reading(roots: Sequence[Expr], size: int, rung: Rung) -> Sequence[Expr]:
    """``roots`` that read what is kept of drawn numbers, where they may be one call."""
    if rung.kind not in drawn.RUNGS or size not in _READ_FIRST:
        return roots
    return drawn.keeping_drawn(roots, lambda some: _values(some, rung, "numpy"))


def _read_again(
    roots: Sequence[Expr], rung: Rung, to: str | ResultMemory, known: Plans | None = None
) -> list[Any]:
    """The values of ``roots``, made of what is kept of drawn numbers where there is room for it."""
    if rung.kind not in drawn.RUNGS:
        return _values(roots, rung, to, known)
    reading = drawn.keeping_drawn(roots, lambda some: _values(some, rung, "numpy"))
    if reading is not roots:
        try:
            return _values(reading, rung, to)
        except MemoryError:
            reading = ()
            drawn.drop()
    return _values(roots, rung, to, known)


def _values(
    roots: Sequence[Expr], rung: Rung, to: str | ResultMemory, known: Plans | None = None
) -> list[Any]:
    """The values of ``roots``, by a plan that is known of such programs, or by one of their own."""
    if not known and rung.kind != "client":
        lines = short_lines.outline(roots) if _runs_lines(rung) else None
        if lines is not None and (values := short_lines.values(lines, roots, rung)) is not None:
            return values
        with planned(roots, rung, lines) as remembered:
            if remembered is not None:
                return _run(remembered, roots, rung, to)
    return _run(planned_on(roots, rung, known), roots, rung, to)


def _runs_lines(rung: Rung) -> bool:
    """Whether a program of short lines may be calls in this thread."""
    return rung.kind in drawn.RUNGS and SMALL > 0 and not watched()


def compute_all(
    roots: Sequence[Expr],
    on: Any = None,
    scheduler: Any = None,
    prefers_gpu: bool = False,
    to: str | ResultMemory = "numpy",
) -> list[Any]:
    """The values of ``roots``, planned together: what they share is made once."""
    if not roots:
        return []
    free = active() is None and folder.get() is None
    if free and (few := call.all_called(roots, on, scheduler, prefers_gpu, to)):
        return few
    check_laws(roots)
    rung = rung_of(roots, on, scheduler, prefers_gpu, to)
    check_place(to, rung)
    kept_there = kept_values(roots, rung, lambda here: planned_on(roots, here, None))
    if kept_there is not None:
        return kept_there
    called = ahead.values if SMALL > 0 and free and to in PLACES_HERE else None
    if called and (made := called(roots, lambda: rung, compute, compute_all)) is not None:
        return made
    if free and (again := asked.reading_asked(roots, rung, _makes_on(rung))):
        with asked.paused():
            return compute_all(again, rung, to=to)
    kept, size = active(), max(map(direct.elements, roots))
    roots = _small_reading(roots, size, rung) if kept is None else roots
    steps = _steps(rung) if kept is None else None
    pairs = kept is None and rung.kind in drawn.RUNGS
    if pairs and (value := small_pair(roots, rung.kind, new_of(steps))) is not None:
        return [value]
    if steps is not None:
        few = few_values(roots, rung.kind, steps.new) or folds(roots, rung.kind)
        if few is None and to in PLACES:
            few = steps.several(roots)
        if few is not None:
            return few
    if kept is None and (made := direct.values(roots, rung, to == "cupy")):
        return made

    def values(some: Sequence[Expr]) -> list[Any]:
        looked = kept is None and size in _READ_FIRST
        return (_values if looked else _read_again)(some, rung, to)

    if kept is None or (rung.devices and to != "numpy"):
        return values(roots)
    each = [parts(root) if is_pair(root) else (root,) for root in roots]
    found = iter(kept.values([one for some in each for one in some], values))
    return [joined(list(islice(found, len(some)))) for some in each]
