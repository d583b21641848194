"""What pieces gave lies with a second worker, too, until it is read: a kill loses what runs.

Who puts results together fetches each as it comes, so that two have it. Of answers and records that
lie with it already another worker has a copy, and of blocks that took long and stay where they are.
What is exchanged goes to who puts it together as soon as it is made. What is put together in this
process is needed no more once it is here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ....dataclass import dataclass
from ....late import task_spec
from ....plan import costs
from ....plan.passes import Pass
from ...ordering.exchange import put_together
from .calls import Calls, PlanCall
from .given import elements_of, one_after_another
from .joining import chain_parts, join_parts
from .pieces import Grain

# Nanoseconds of an element from which on a second worker has its block: where all cores are busy, a
# copy takes 20 of them, of both workers: 5 %. Those that took less are made again by all others,
# but where the setting says "all". Of what one worker puts together only its own share needs a
# copy, so that those may be cheaper.
COPIED: Final = 400.0
JOINS: Final = (join_parts, chain_parts)


@dataclass(frozen=True)
class Twice:
    """What the call ``name`` gives, and which two workers have it; one fetch takes all ``of``."""

    name: str
    first: int
    second: int
    of: str


def copies(
    found: Calls, cuts: Sequence[tuple[Pass, list[PlanCall]]], grain: Grain | None
) -> list[PlanCall]:
    """Calls after which two workers have what pieces gave; ``cuts``: passes and their calls."""
    if grain is None or grain.workers < 2:
        return []
    used = {call.name: call for call in found.all}
    made: list[PlanCall] = []
    least = 0.0 if grain.copied else COPIED  # of what waits
    held: list[tuple[str, list[PlanCall]]] = []  # what is to be lost by no kill
    behind = dict[int, float]()  # nanoseconds of an element, with what it is made of, by its result
    for one, calls in cuts:
        if one.visited.join == "exchange":
            made += _exchanged(found, [c for c in calls if c.name in used], grain.workers)
            continue
        each = costs.of_element(one.visited.root)
        whole = each + sum(behind.get(id(need), 0.0) for need in one.visited.needs)
        behind |= {id(stage.result): whole for stage in one.stages}
        own = {call.name for call in calls}
        for call in calls:
            needs = [used[name] for name in call.needs if name in own and name in used]
            if len(needs) <= grain.workers:
                continue
            if call.name in used:
                dear = whole * grain.workers > least
                is_held = grain.copied and dear and call.name not in found.results
                if is_held and call.function in JOINS:
                    held.append((call.name, needs))
                else:
                    made += _joined(call, needs, grain.workers, dear)
                continue
            waits = _wait(needs, found.all)
            if call.name in found.here or not (whole > least if waits else each > COPIED):
                continue
            if grain.copied:
                held.append((call.name, needs))
            else:
                made += _blocks(call.name, needs, _readers(needs, found.all), grain.workers)
    safe = {one.name for _, blocks in held for one in blocks} | {*found.results}
    for name, blocks in held:
        made += _blocks(name, blocks, _until_safe(blocks, found.all, safe), grain.workers)
    return made


def _wait(blocks: Sequence[PlanCall], calls: Sequence[PlanCall]) -> bool:
    """Whether ``blocks`` lie there until others gave something; else each is read once made."""
    names = {block.name for block in blocks}
    for call in calls:
        if call.function in (elements_of, one_after_another) and names.issuperset(call.needs):
            names.add(call.name)
    readers = [call for call in calls if not names.isdisjoint(call.needs)]
    return any(not names.issuperset(call.needs) for call in readers)


def _readers(blocks: Sequence[PlanCall], calls: Sequence[PlanCall]) -> list[PlanCall]:
    """Who reads some of ``blocks``: what these give stays where it is."""
    names = {block.name for block in blocks}
    return [call for call in calls if not names.isdisjoint(call.needs)]


def _until_safe(
    blocks: Sequence[PlanCall], calls: Sequence[PlanCall], safe: set[str]
) -> list[PlanCall]:
    """Those after which nobody needs ``blocks``, even if a worker is lost.

    What is made of them and is not ``safe`` would be made again.
    """
    readers = defaultdict[str, list[PlanCall]](list)
    for call in calls:
        for need in call.needs:
            readers[need].append(call)
    ends = dict[str, PlanCall]()
    open_, seen = [block.name for block in blocks], set[str]()
    while open_:
        for reader in readers[open_.pop()]:
            if reader.name in safe:
                ends[reader.name] = reader
            elif reader.name not in seen:
                seen.add(reader.name)
                open_.append(reader.name)
    return [*ends.values()]


def _joined(
    call: PlanCall, needs: Sequence[PlanCall], workers: int, dear: bool
) -> Iterator[PlanCall]:
    """Copies of what ``call`` reads, until it is done; of elements that it has only ``dear`` ones.

    A copy that nobody reads would take as long as the others do.
    """
    for need in needs:
        second = call.worker if call.worker != need.worker else _next(call.worker, workers)
        if second == call.worker or dear or call.function not in JOINS:
            yield PlanCall(f"{need.name}-too", second, there_too, refs([need.name]), aside=True)
    # Dask drops copies that fewer tasks wait for.
    waits = refs([call.name, *(need.name for need in needs)])
    yield PlanCall(f"{call.name}-end", call.worker, there_too, waits, aside=True)


def _blocks(
    name: str, blocks: Sequence[PlanCall], readers: Sequence[PlanCall], workers: int
) -> Iterator[PlanCall]:
    """Copies of ``blocks`` until all ``readers`` are done."""
    what = [Twice(b.name, b.worker, _next(b.worker, workers), b.name) for b in blocks]
    return _twice(name, what, readers, workers)


def _exchanged(found: Calls, calls: Sequence[PlanCall], workers: int) -> Iterator[PlanCall]:
    """Copies of what workers exchange until all that read what is put together of it have."""
    used = {call.name: call for call in calls}
    puts = [call for call in calls if call.function is put_together]
    what = []
    for put in puts:
        for piece in map(used.__getitem__, put.needs):
            second = put.worker if put.worker != piece.worker else _next(put.worker, workers)
            what.append(Twice(piece.name, piece.worker, second, piece.needs[0]))
    whole = [call for call in calls if call.function is join_parts]
    names = {call.name for call in whole}
    readers = [call for call in found.all if not names.isdisjoint(call.needs)]
    yield from _twice(puts[0].name, what, readers or whole or puts, workers)


def _twice(
    name: str, what: Sequence[Twice], readers: Sequence[PlanCall], workers: int
) -> Iterator[PlanCall]:
    """Copies of ``what`` until all ``readers`` have what they make of it.

    Dask drops copies that fewer tasks wait for. So of each two do, on the workers that have it:
    neither fetches anything then.
    """
    groups = defaultdict[tuple[str, int], list[str]](list)
    for one in what:
        groups[one.of, one.second].append(one.name)
    for (of, second), names in groups.items():
        yield PlanCall(f"{of}-too-{second}", second, there_too, refs(names), aside=True)
    for call in readers:
        yield PlanCall(f"{call.name}-read", call.worker, there_too, refs([call.name]), aside=True)
    read = f"{name}-all-read"
    waits = refs([f"{call.name}-read" for call in readers])
    yield PlanCall(read, 0, there_too, waits, aside=True)
    for worker in range(workers):
        there = [one.name for one in what if worker in (one.first, one.second)]
        yield PlanCall(f"{name}-end-{worker}", worker, there_too, refs([read, *there]), aside=True)


def _next(worker: int, workers: int) -> int:
    return (worker + 1) % workers


def there_too(*_: Any) -> None:
    """Task: nothing; who runs it has fetched what it reads."""


def refs(names: Sequence[str]) -> tuple[Any, ...]:
    """What stands for the results of calls."""
    return tuple(task_spec.TaskRef(name) for name in names)
