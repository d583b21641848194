"""A plan as calls: one for each part and one that joins them; each stands on its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ...dataclass import dataclass
from ...expr.nodes import Reduced, Scanned, Through
from ...late import task_spec
from ...plan.passes import Pass
from ...plan.plan import Plan
from ...plan.shares import result_axis, rounds
from ...plan.stages import Part, Stage
from ..ordering.exchange import cuts_of, put_together
from ..ordering.rounds import asked
from ..scans.shared import carries, merged_products, shared_lines
from .asked.calls import Calls, PlanCall, taken_here
from .asked.copies import copies
from .asked.given import Given
from .asked.joining import chain_parts, final_shape, join_parts, merge_parts
from .asked.pieces import Grain, dealt, in_pieces, merges, parts_asked, threads_of
from .asked.shares import answer_part, decided, picked_of, piece_of, sample_part, sort_part
from .fingerprint import Fingerprint, guarded
from .remote import carry_part, run_part, run_pass, sent_part, sent_pass
from .told import said_of, told


@dataclass(frozen=True)
class How:
    """How parts run: on a GPU (None: where the worker has one), on how many threads (None: all).

    ``hand_over``: long ones hand their record over; the names of their calls are no other's.
    ``grain``: those that have none are cut into pieces. ``here``: this process takes the pieces of
    what is asked for.
    """

    gpu: bool | None = None
    threads: int | None = None
    hand_over: bool = False
    grain: Grain | None = None
    here: bool = False


def calls_of(plan: Plan, ready: dict[int, Any], name: str, how: How) -> Calls:
    """The calls of ``plan``."""
    given = Given(dict(ready), plan.workers)
    calls: list[PlanCall] = []
    last, here = _last(plan) if how.here else frozenset[int](), set[str]()
    cuts: list[tuple[Pass, list[PlanCall]]] = []
    number = 0
    for k, one in enumerate(plan.passes):
        names = [f"{name}-{k}"]
        if one.together is not None:
            names = [f"{name}-{k}-{n}" for n in range(len(one.stages))]
        stages = [*zip(names, one.stages, strict=True)]
        cut = in_pieces(one, how.grain)
        if cut is one or how.grain is None:
            made = [*_calls(names, one, given, replace(how, grain=None))]
        else:
            own = replace(how, threads=threads_of(cut, how.grain))
            made = dealt([*_calls(names, cut, given, own)], cut, how.grain)
            cuts.append((cut, made))
        joins = {call.name for call in made if call.function in (join_parts, chain_parts)}
        here |= joins.intersection(n for n, stage in stages if id(stage.result) in last)
        what = " and ".join(said_of(number + n, stage) for n, (_, stage) in enumerate(stages))
        calls += [replace(call, what=what) for call in (*given.taken(), *made)]
        number += len(stages)
        given.ready |= {id(stage.result): task_spec.TaskRef(own_name) for own_name, stage in stages}
    found = taken_here(calls, [str(given.ready[id(r)].key) for r in plan.results], here)
    return replace(found, all=(*found.all, *copies(found, cuts, how.grain)))


def _last(plan: Plan) -> frozenset[int]:
    """What is asked for and read by no stage."""
    read = {id(need) for one in plan.passes for need in one.visited.needs}
    return frozenset({id(result) for result in plan.results} - read)


def _calls(names: list[str], one: Pass, given: Given, how: How) -> Iterator[PlanCall]:
    """The calls of ``one``; those of ``names`` give its results."""
    if one.together is None:
        return _stage(names[0], one.visited, given, how)
    return _pass(names, one, given, how)


def graph_of(
    plan: Plan,
    shapes: Mapping[str, tuple[int, ...]],
    ready: dict[int, Any],
    how: How,
    here: Fingerprint | None,
) -> dict[Any, Any]:
    """Tasks of ``plan`` that can run anywhere; those named in ``shapes`` are its results.

    They compare their process with the fingerprint ``here``, if there is one.
    """
    calls = calls_of(plan, ready, next(iter(shapes)), how)
    tasks: dict[Any, Any] = {
        call.name: task_spec.Task(call.name, function_of(call, here), *call.arguments)
        for call in calls.all
    }
    for (name, shape), result in zip(shapes.items(), calls.results, strict=True):
        tasks[name] = task_spec.Task(name, final_shape, shape, task_spec.TaskRef(result))
    return tasks


def function_of(call: PlanCall, here: Fingerprint | None) -> Any:
    """The function of ``call`` for a process that has to be as ``here`` says."""
    if here is None:
        return call.function
    said = (told, call.what) if call.what else ()
    return partial(guarded, here, *said, call.function)


def _pass(names: Sequence[str], one: Pass, given: Given, how: How) -> Iterator[PlanCall]:
    """The calls of several stages that are made together; those of ``names`` give their results.

    What a part stores goes to who joins it, and no further: each array is a call of its own.
    """
    parts = [f"{names[0]}-part-{k}" for k in range(len(one.visited.parts))]
    for k, (share, arrays) in enumerate(given.each(one.visited, one.visited.parts)):
        sent = sent_pass(one, share, parts[k] if how.hand_over else "")
        yield PlanCall(parts[k], k, run_pass, (sent, how.gpu, how.threads, *arrays))
    for k, (name, stage) in enumerate(zip(names, one.stages, strict=True)):
        picked = [f"{part}-{k}" for part in parts]
        for worker, (pick, part) in enumerate(zip(picked, parts, strict=True)):
            yield PlanCall(pick, worker, picked_of, (k, task_spec.TaskRef(part)))
        refs = [task_spec.TaskRef(pick) for pick in picked]
        if one.gives_records(stage):
            yield PlanCall(name, 0, merge_parts, (stage.source, stage.shape, *refs))
        else:
            axis = _kept_axis(stage, one.visited.parts[0])
            given.keep(stage, one.visited.parts, axis, picked)
            yield PlanCall(name, 0, join_parts, (axis, *refs))


def _kept_axis(stage: Stage, part: Part) -> int:
    """The axis of the result of ``stage`` along which ``part`` is cut (0 where there is one)."""
    if isinstance(stage.source, Through) and part.axis is not None:
        return result_axis(stage.source, part.axis)
    kept = [k for k in range(len(stage.root.shape)) if k not in stage.axes]
    return 0 if part.axis is None else kept.index(part.axis)


def _stage(key: str, stage: Stage, given: Given, how: How) -> Iterator[PlanCall]:
    if stage.join in ("rounds", "exchange"):
        yield from (_rounds if stage.join == "rounds" else _exchange)(key, stage, given, how)
        return
    arrays = given.all(stage)
    if stage.join == "one":
        whole = sent_part(stage, stage.parts[0], key if how.hand_over else "")
        yield PlanCall(key, 0, run_part, (whole, how.gpu, how.threads, *arrays))
        return
    names = [f"{key}-part-{k}" for k in range(len(stage.parts))]
    parts = [task_spec.TaskRef(name) for name in names]
    if stage.block:  # parts of a line are all of it from a place on
        folds = [(*stage.folded(k), arrays) for k in range(len(names))]
    else:
        folds = [(stage, *share) for share in given.each(stage, stage.parts)]
    for k, (of, part, some) in enumerate(folds):
        sent = sent_part(of, part, names[k] if how.hand_over else "")
        yield PlanCall(names[k], k, run_part, (sent, how.gpu, how.threads, *some))
    if stage.join == "carry":
        before = f"{key}-before"
        yield PlanCall(before, 0, carries, (shared_lines(stage), *parts))
        parts = [task_spec.TaskRef(f"{key}-carried-{k}") for k in range(len(names))]
        for k, one in enumerate(stage.parts):
            own = sent_part(stage, one), how.gpu, how.threads
            arguments = (*own, task_spec.TaskRef(before), *arrays)
            yield PlanCall(str(parts[k].key), k, carry_part, arguments)
    if stage.join == "concatenate":
        given.keep(stage, stage.parts, _kept_axis(stage, stage.parts[0]), names)
    function, first = _joining(stage)
    yield PlanCall(key, 0, function, (*first, *parts))


def _rounds(key: str, stage: Stage, given: Given, how: How) -> Iterator[PlanCall]:
    """The calls of a stage whose workers are asked about their shares, round by round."""
    assert isinstance(stage.source, Through)
    what, count = asked(stage.source), len(stage.parts)
    last, question = rounds(stage.source) - 1, None
    for number in range(last + 1):
        shares = given.each(stage, parts_asked(stage, number, how.grain))
        threads = how.threads if len(shares) == count else None
        answers = [f"{key}-{number}-part-{k}" for k in range(len(shares))]
        for k, (part, arrays) in enumerate(shares):
            arguments = (sent_part(stage, part), how.gpu, threads, k, question, *arrays)
            yield PlanCall(answers[k], k * count // len(shares), answer_part, arguments)
        name = f"{key}-{number}" if number < last else key
        yield PlanCall(name, 0, decided, (what, question, *map(task_spec.TaskRef, answers)))
        question = task_spec.TaskRef(name)


def _exchange(key: str, stage: Stage, given: Given, how: How) -> Iterator[PlanCall]:
    """The calls of a stage whose workers sort their shares and exchange pieces of them."""
    shares, count = given.each(stage, stage.parts), len(stage.parts)
    sent = [sent_part(stage, part) for part, _ in shares]
    samples = [f"{key}-sample-{k}" for k in range(count)]
    for k, name in enumerate(samples):
        yield PlanCall(name, k, sample_part, (sent[k], how.gpu, how.threads, *shares[k][1]))
    cuts, ranges = f"{key}-cuts", range(merges(stage, how.grain))
    yield PlanCall(cuts, 0, cuts_of, (len(ranges), *map(task_spec.TaskRef, samples)))
    for k in range(count):
        arguments = (sent[k], how.gpu, how.threads, task_spec.TaskRef(cuts), *shares[k][1])
        yield PlanCall(f"{key}-part-{k}", k, sort_part, arguments)
        for to in ranges:  # who puts it together fetches this piece, and no other
            taken = (to, task_spec.TaskRef(f"{key}-part-{k}"))
            yield PlanCall(f"{key}-part-{k}-{to}", k, piece_of, taken)
    for to in ranges:
        pieces = [task_spec.TaskRef(f"{key}-part-{k}-{to}") for k in range(count)]
        worker = to * count // len(ranges)
        yield PlanCall(f"{key}-sorted-{to}", worker, put_together, tuple(pieces))
    ranges_of = [task_spec.TaskRef(f"{key}-sorted-{to}") for to in ranges]
    yield PlanCall(key, 0, join_parts, (0, *ranges_of))


def _joining(stage: Stage) -> tuple[Any, tuple[Any, ...]]:
    """The task that puts the parts of ``stage`` together, and its first arguments."""
    if stage.join == "carry":
        assert isinstance(stage.source, Scanned)
        return chain_parts, (stage.shape, stage.source.axis)
    if stage.block:
        return merged_products, (shared_lines(stage),)
    if stage.join == "merge":
        source = stage.source
        assert isinstance(source, Reduced)
        return merge_parts, (source, stage.shape)
    return join_parts, (_kept_axis(stage, stage.parts[0]),)
