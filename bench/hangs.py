"""What a cluster is at where a program hangs on it: its tasks, its workers and their threads.

``told(cluster, client)`` says it in lines. It asks whoever answers, and waits for nobody for long.
"""

from __future__ import annotations

import asyncio
import sys
import traceback
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

PATIENCE: Final = 10.0  # seconds for the answers of all workers
SETTLED: Final = ("memory", "released", "forgotten")  # states of tasks that wait for nothing
SHOWN: Final = 40  # tasks of each process


def told(cluster: Any, client: Any) -> str:
    """All of it, one line after the other."""
    lines: list[str] = []
    for part in (_nannies(cluster), _scheduler(cluster.scheduler), _workers(client), _threads()):
        try:
            lines += part
        except Exception as err:  # what is lost may be lost for this, too
            lines.append(f"  cannot be told: {type(err).__name__}: {err}")
    return "\n".join(lines)


def _nannies(cluster: Any) -> Iterator[str]:
    """The processes of the workers, as those that keep them see them."""
    yield f"cluster: {cluster.status}, wanted {[*cluster.worker_spec]}"
    for name, nanny in [*cluster.workers.items()]:
        process = nanny.process
        state = f"process {nanny.pid} {getattr(process, 'status', None)}"
        yield f"  nanny {name}: {nanny.status}, {state}, worker {nanny.worker_address}"


def _scheduler(scheduler: Any) -> Iterator[str]:
    """The tasks that are not settled, and what each worker is believed to do."""
    yield f"scheduler: {len(scheduler.workers)} workers, {len(scheduler.tasks)} tasks"
    for one in [*scheduler.workers.values()]:
        runs = [str(task.key) for task in one.processing][:SHOWN]
        yield f"  worker {one.address} ({one.name}): {one.status}, to run {runs}"
        yield f"    last seen at {one.last_seen:.0f}, holds {len(one.has_what)}"
    for task in [t for t in [*scheduler.tasks.values()] if t.state not in SETTLED][:SHOWN]:
        where = getattr(task.processing_on, "address", None)
        wish = [*(task.worker_restrictions or ())]
        waits = [str(other.key) for other in task.waiting_on or ()]
        yield f"  task {task.key}: {task.state} on {where}, wish {wish}, waits for {waits}"


def _workers(client: Any) -> Iterator[str]:
    """What the workers themselves say, each within the time."""

    async def asked() -> dict[str, Any]:
        question = client.run(state_here, on_error="return")
        found: dict[str, Any] = await asyncio.wait_for(question, PATIENCE)
        return found

    future = asyncio.run_coroutine_threadsafe(asked(), client.loop.asyncio_loop)
    for address, text in future.result(2 * PATIENCE).items():
        yield f"worker {address} says:"
        yield f"{text}"


def state_here(dask_worker: Any) -> str:
    """The tasks of this worker that are not settled, what it fetches, and where its threads are."""
    state = dask_worker.state
    fetches = [*state.in_flight_workers]
    lines = [f"  {dask_worker.status}, {len(state.tasks)} tasks, fetches from {fetches}"]
    for task in [t for t in state.tasks.values() if t.state not in SETTLED][:SHOWN]:
        holders = sorted(task.who_has)
        lines.append(f"  task {task.key}: {task.state}, held by {holders}")
    with suppress(Exception):
        lines += [f"  log {entry}" for entry in [*state.log][-SHOWN:]]
    return "\n".join([*lines, *_threads()])


def _threads() -> Iterator[str]:
    """Where the threads of this process are."""
    for number, frame in sys._current_frames().items():
        calls = traceback.extract_stack(frame)
        places = [f"{one.filename.rpartition('/')[2]}:{one.lineno} {one.name}" for one in calls]
        yield f"  thread {number}: {' < '.join(reversed(places[-8:]))}"
