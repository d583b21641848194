"""Long parts that hand no record over, cut into pieces: a lost worker costs a second of its share.

What such parts give is elements, or answers about a share, and lies with their worker. So each
piece is a task of its own. The driver takes those of what is asked for as they come; of others a
second worker has copies (`copies.py`). Positions of pieces follow from the costs of the plan, the
workers and their threads; results have the same bits wherever they are cut.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from .... import dtypes
from ....dataclass import dataclass
from ....errors import ParameterError
from ....expr.nodes import Through
from ....expr.through.table import OPERATIONS
from ....late import dask
from ....plan import costs
from ....plan.passes import Pass, together
from ....plan.plan import Plan
from ....plan.shares import shared_out
from ....plan.stages import Part, Stage, make_stage
from ..losses import on_loop, reported
from ..remote import sent_part, sent_pass
from ..watch import Watch, identity
from .calls import PlanCall

WORK: Final = 0.5  # seconds of a piece by the plan's costs, on one thread
MANY: Final = 32  # threads of all workers, beyond which pieces are longer: a scheduler is but one
LEAST: Final = 1.5  # pieces of a thread, below which a part stays whole
MOST: Final = 1 << 11  # pieces of a stage
GPU: Final = 128  # so many times as fast as a core is a GPU taken for
# Nanoseconds of an element beside those that make it, by the way that it is taken.
WAYS: Final = {"scan": 2.0, "rounds": 2.0, "exchange": 20.0, "concatenate": 10.0}
# What is exchanged is a task for each piece and range of values. These take so many seconds each,
# and this much of those of the whole at most.
TASK: Final = 2e-3
TASKS: Final = 0.05
FEW: Final = 1 << 13  # results of a round's answer, of which there is one for each piece
ANSWERS: Final = ("selection", "partition")  # whose answers are no larger for more results
SIEVES: Final = 1  # the one of their rounds that reads all elements, nearly always
SETTING: Final = "speedcube.copies"  # of which elements a second worker has copies
_COPIES: Final = ("dear", "all")


@dataclass(frozen=True)
class Grain:
    """Who computes: so many workers of so many threads, so many times as fast as the costs say."""

    workers: int
    threads: int = 1
    speed: int = 1
    copied: bool = False  # whether others have copies of elements that took next to no time, too


def grain_of(client: Any, plan: Plan) -> Grain | None:
    """What the scheduler of ``client`` says of its workers; None where nothing is long."""
    copied = dask.config.get(SETTING, _COPIES[0])
    if copied not in _COPIES:
        raise ParameterError(f"{SETTING}={copied!r}: give {_COPIES[0]!r} or {_COPIES[1]!r}")
    if not any(_pieces(one, Grain(plan.workers)) for one in plan.passes):
        return None
    with reported(client):
        states = [*on_loop(client, lambda: identity(Watch(client)))[1].values()]
    if not states:
        return None
    speed = GPU if any("gpu" in one for one in states) else 1
    threads = max(one["nthreads"] for one in states)
    return Grain(plan.workers, threads, speed, copied == _COPIES[1])


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
        tasks = int(seconds * TASKS / TASK)
        pieces = min(pieces, tasks // _merges(one.visited, grain, tasks) // threads * threads)
    return pieces if each >= LEAST and pieces >= 2 * grain.workers else 0


def merges(stage: Stage, grain: Grain | None) -> int:
    """Of how many ranges of values the result of ``stage`` is put together, each by a worker."""
    if grain is None:
        return len(stage.parts)
    return _merges(stage, grain, len(stage.parts) ** 2)


def _merges(stage: Stage, grain: Grain, tasks: int) -> int:
    """Ranges of about half a second, but no fewer than threads."""
    seconds = 1e-9 * WAYS["exchange"] * math.prod(stage.root.shape)
    return max(grain.workers * grain.threads, min(math.ceil(seconds / WORK), math.isqrt(tasks)))


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
