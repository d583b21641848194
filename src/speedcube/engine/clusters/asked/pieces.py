"""Long parts that hand no record over, cut into pieces: a lost worker costs a second of its share.

What such parts give is elements, or answers about a share, and lies with their worker. So each
piece is a task of its own. The driver takes those of what is asked for as they come. Answers and
records lie with a second worker, too, until they are read; so do elements that took very long.
Positions of pieces follow from the costs of the plan, the workers and their threads; results have
the same bits wherever they are cut.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from .... import dtypes
from ....dataclass import dataclass
from ....expr.nodes import Through
from ....expr.through.table import OPERATIONS
from ....late import task_spec
from ....plan import costs
from ....plan.passes import Pass, together
from ....plan.plan import Plan
from ....plan.shares import shared_out
from ....plan.stages import Part, Stage, make_stage
from ..losses import on_loop, reported
from ..remote import sent_part, sent_pass
from ..watch import Watch, identity
from .calls import Calls, PlanCall
from .joining import chain_parts, join_parts

WORK: Final = 0.5  # seconds of a piece by the plan's costs, on one thread
MANY: Final = 32  # threads of all workers, beyond which pieces are longer: a scheduler is but one
LEAST: Final = 1.5  # pieces of a thread, below which a part stays whole
MOST: Final = 1 << 11  # pieces of a stage
GPU: Final = 128  # so many times as fast as a core is a GPU taken for
# Nanoseconds of an element beside those that make it, by the way that it is taken.
WAYS: Final = {"scan": 2.0, "rounds": 2.0, "exchange": 20.0, "concatenate": 10.0}
# What is exchanged is a task for each two pieces, which take this much of its seconds at most.
TASK: Final = 5e-3
TASKS: Final = 0.05
# Nanoseconds of an element from which on a second worker has its block: a copy by TLS takes 16 of
# them, which is 2 % then. Those that took less are made again by all: a share of the others' time.
COPIED: Final = 800.0
FEW: Final = 1 << 13  # results of a round's answer, of which there is one for each piece
ANSWERS: Final = ("selection", "partition")  # whose answers are no larger for more results
SIEVES: Final = 1  # the one of their rounds that reads all elements, nearly always


@dataclass(frozen=True)
class Grain:
    """Who computes: so many workers of so many threads, so many times as fast as the costs say."""

    workers: int
    threads: int = 1
    speed: int = 1


def grain_of(client: Any, plan: Plan) -> Grain | None:
    """What the scheduler of ``client`` says of its workers; None where nothing is long."""
    if not any(_pieces(one, Grain(plan.workers)) for one in plan.passes):
        return None
    with reported(client):
        states = [*on_loop(client, lambda: identity(Watch(client)))[1].values()]
    if not states:
        return None
    speed = GPU if any("gpu" in one for one in states) else 1
    return Grain(plan.workers, max(one["nthreads"] for one in states), speed)


def in_pieces(one: Pass, grain: Grain | None) -> Pass:
    """``one`` with parts of about a second, where they are longer and hand nothing over."""
    pieces = 0 if grain is None else _pieces(one, grain)
    if not pieces:
        return one
    made = [_cut(stage, pieces) for stage in one.stages]
    found = together(made, pieces) if len(made) > 1 else Pass(tuple(made))
    before, after = one.visited, found.visited
    # Joined in another way results might be records, and large.
    alike = before.join == after.join or after.join != "merge"
    return found if alike and len(after.parts) > len(before.parts) else one


def _cut(stage: Stage, pieces: int) -> Stage:
    made = make_stage(stage.root, stage.source, pieces)
    if isinstance(stage.source, Through):
        made = shared_out(made, pieces)
    return replace(made, result=stage.result, why=stage.why)


def _pieces(one: Pass, grain: Grain) -> int:
    """Into how many pieces ``one`` is cut; 0: it stays as it is."""
    if one.within or _hands_over(one) or not _may_be_cut(one.visited):
        return 0
    threads = grain.workers * grain.threads
    seconds = 1e-9 * _nanoseconds(one) / (threads * grain.speed)
    each = seconds / (WORK * max(1, threads / MANY))
    pieces = min(threads * math.ceil(each), MOST)
    if one.visited.join == "exchange":
        pieces = min(pieces, math.isqrt(int(seconds * TASKS / TASK)))
    return pieces if each >= LEAST and pieces >= 2 * grain.workers else 0


def parts_asked(stage: Stage, number: int, grain: Grain | None) -> tuple[Part, ...]:
    """The parts of ``stage`` that are asked in round ``number``: pieces, where that takes long."""
    assert isinstance(stage.source, Through)
    if grain is None or OPERATIONS[stage.source.op].way not in ANSWERS or number == SIEVES:
        return stage.parts
    return _cut(stage, grain.workers).parts


def _may_be_cut(stage: Stage) -> bool:
    source = stage.source
    if not isinstance(source, Through):
        return True
    if stage.join == "rounds":
        few = math.prod(source.shape) <= FEW
        return few or OPERATIONS[source.op].way in ANSWERS
    return stage.join in ("exchange", "concatenate")


def _hands_over(one: Pass) -> bool:
    """Whether parts of ``one`` hand over what they have so far, or would give large records."""
    if one.together is None:
        return _record(one.visited)
    if one.is_along:
        return all(map(_record, one.stages))
    return bool(sent_pass(one, one.visited.parts[0], "asked").name)


def _record(stage: Stage) -> bool:
    if stage.is_scan or stage.source is None or isinstance(stage.source, Through):
        return False
    sent = sent_part(stage, stage.parts[0], "asked")
    return stage.join == "merge" or sent.hands_records_over or sent.along_results is not None


def _nanoseconds(one: Pass) -> float:
    """How long a thread takes for ``one``, by the costs of the plan."""
    root = one.visited.root
    each = costs.of_element(root)
    for stage in one.stages:
        if stage.source is None:
            each += costs.STORE * dtypes.itemsize(stage.dtype)
        else:
            each += WAYS.get("scan" if stage.is_scan else stage.join, 0.0)
    return each * math.prod(root.shape)


# Tasks -------------------------------------------------------------------------------------------


def threads_of(one: Pass, grain: Grain) -> int:
    """How many threads a piece of ``one`` takes: a worker runs several pieces at once."""
    return max(1, grain.threads * grain.workers // len(one.visited.parts))


def dealt(calls: Sequence[PlanCall], one: Pass, grain: Grain) -> list[PlanCall]:
    """``calls`` of ``one``, which is cut, each worker's pieces following one another."""
    count = len(one.visited.parts)
    return [replace(call, worker=call.worker * grain.workers // count) for call in calls]


def copies(
    found: Calls, cuts: Sequence[tuple[Pass, list[PlanCall]]], grain: Grain | None
) -> list[PlanCall]:
    """Calls after which a second worker has what pieces gave; ``cuts``: passes and their calls.

    Who puts results together fetches each as it comes, so that two have it. Of answers and records
    that lie with it already another worker has a copy, and of blocks that nobody puts together.
    What is put together in this process is needed no more once it is here; of what is exchanged
    there are too many pieces to have them twice.
    """
    if grain is None or grain.workers < 2:
        return []
    used = {call.name: call for call in found.all}
    made: list[PlanCall] = []
    for one, calls in cuts:
        dear = costs.of_element(one.visited.root) > COPIED
        own = {call.name for call in calls}
        for call in calls:
            needs = [used[name] for name in call.needs if name in own and name in used]
            if len(needs) <= grain.workers or one.visited.join == "exchange":
                continue
            if call.name in used:
                made += _copies_of_joined(call, needs, grain.workers)
            elif call.name not in found.here and dear:
                made += _copies_of_blocks(call.name, needs, found.all, grain.workers)
    return made


def _copies_of_joined(
    call: PlanCall, needs: Sequence[PlanCall], workers: int
) -> Iterator[PlanCall]:
    """Copies of what ``call`` reads, until it is done."""
    for need in needs:
        second = call.worker if call.worker != need.worker else (call.worker + 1) % workers
        if second == call.worker or call.function not in (join_parts, chain_parts):
            yield PlanCall(f"{need.name}-too", second, there_too, refs([need.name]), aside=True)
        # Of elements a copy that nobody reads would take as long as they do.
    # Dask drops copies that fewer tasks wait for.
    waits = refs([call.name, *(need.name for need in needs)])
    yield PlanCall(f"{call.name}-end", call.worker, there_too, waits, aside=True)


def _copies_of_blocks(
    name: str, blocks: Sequence[PlanCall], calls: Sequence[PlanCall], workers: int
) -> Iterator[PlanCall]:
    """Copies of ``blocks`` until all that read some have: what these give stays where it is."""
    names = {block.name for block in blocks}
    readers = [call for call in calls if not names.isdisjoint(call.needs)]
    for block in blocks:
        second = (block.worker + 1) % workers
        yield PlanCall(f"{block.name}-too", second, there_too, refs([block.name]), aside=True)
    for one in readers:
        yield PlanCall(f"{one.name}-read", one.worker, there_too, refs([one.name]), aside=True)
    waits = [*(f"{one.name}-read" for one in readers), *(block.name for block in blocks)]
    yield PlanCall(f"{name}-end", 0, there_too, refs(waits), aside=True)


def there_too(*_: Any) -> None:
    """Task: nothing; who runs it has fetched what it reads."""


def refs(names: Sequence[str]) -> tuple[Any, ...]:
    """What stands for the results of calls."""
    return tuple(task_spec.TaskRef(name) for name in names)
