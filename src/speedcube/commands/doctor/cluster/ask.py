"""Asking every worker of a cluster at once; who says nothing in time is named."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from ....dataclass import dataclass
from ....engine.clusters.fingerprint import Fingerprint, expected
from ....engine.clusters.losses import on_loop, reported
from ....shown import line
from . import question

if TYPE_CHECKING:
    import asyncio

PATIENCE: Final = 15.0  # seconds that workers have for their answers
_ROUNDS: Final = 3  # questions for the time: the one that was answered soonest counts


@dataclass(frozen=True)
class WorkerFacts:
    """What one worker says of itself; ``clock`` is how many seconds it is ahead of this process.

    ``clock_error`` is by how many seconds that may be wrong: half of what the answer took.
    """

    address: str
    name: str
    host: str
    pid: int
    user: int
    python: str
    platform: str
    packages: dict[str, str]
    fingerprint: Fingerprint
    differing: dict[str, str]  # hashes of its files, where they are not ours
    simd: str
    cores: int
    threads: int
    memory: int
    memory_limit: int | None
    gpus: tuple[str, ...]
    clock: float
    clock_error: float


@dataclass(frozen=True)
class ClusterFacts:
    """A scheduler, what its workers said, and why others did not."""

    asked: str  # what --on named
    address: str
    id: str
    workers: tuple[WorkerFacts, ...]
    silent: tuple[tuple[str, str], ...] = ()  # addresses, and why nothing came


def gather_cluster(client: Any, asked: str, patience: float = PATIENCE) -> ClusterFacts:
    """Ask all workers of ``client``; `SchedulerError` where the scheduler is lost meanwhile."""
    with reported(client):
        return on_loop(client, lambda: _all(client, asked, patience))


async def _all(client: Any, asked: str, patience: float) -> ClusterFacts:
    import asyncio

    identity = await client.scheduler.identity(n_workers=-1)
    states: Mapping[str, Any] = identity["workers"]
    asking = {
        address: asyncio.ensure_future(_one(client, address, state))
        for address, state in states.items()
    }
    if asking:
        await asyncio.wait(asking.values(), timeout=patience)
    answers: list[WorkerFacts] = []
    silent: list[tuple[str, str]] = []
    for address, future in asking.items():
        why = _why(future, patience)
        if why:
            future.cancel()
            silent.append((address, why))
        else:
            answers.append(future.result())
    answers.sort(key=lambda worker: (worker.host, worker.address))
    return ClusterFacts(asked, identity["address"], identity["id"], tuple(answers), tuple(silent))


def _why(future: asyncio.Future[WorkerFacts], patience: float) -> str:
    """Why there is no answer, or nothing."""
    if not future.done():
        return f"it says nothing for {patience:g} s"
    failure = future.exception()
    return "" if failure is None else line(f"{type(failure).__name__}: {failure}")


async def _one(client: Any, address: str, state: Mapping[str, Any]) -> WorkerFacts:
    told = await _answer(client, address, question.about())
    fingerprint = Fingerprint(*map(line, told["said"]))
    differing: dict[str, str] = {}
    if fingerprint.sources and fingerprint.sources != expected().sources:
        with suppress(Exception):  # what is told with them is known
            differing = dict(await _answer(client, address, question.file_digests()))
    ahead, error = min([await _time(client, address) for _ in range(_ROUNDS)], key=lambda c: c[1])
    limit = told["memory_limit"]
    return WorkerFacts(
        address=address,
        name=line(state["name"]),
        host=line(told["host"]),
        pid=int(told["pid"]),
        user=int(told["user"]),
        python=line(told["python"]),
        platform=line(told["platform"]),
        packages={name: line(told["packages"].get(name, "")) for name in question.COMPARED},
        fingerprint=fingerprint,
        differing=differing,
        simd=line(told["simd"]),
        cores=int(told["cores"]),
        threads=int(told["threads"]),
        memory=int(told["memory"]),
        memory_limit=None if limit is None else int(limit),
        gpus=tuple(map(line, told["gpus"])),
        clock=ahead,
        clock_error=error,
    )


async def _time(client: Any, address: str) -> tuple[float, float]:
    """By how much the worker's clock is ahead, and by how much that may be wrong."""
    began = time.time()
    there = float(await _answer(client, address, question.clock()))
    ended = time.time()
    return there - (began + ended) / 2, (ended - began) / 2


async def _answer(client: Any, address: str, function: Any) -> Any:
    (answer,) = (await client.run(function, workers=[address], on_error="return")).values()
    if isinstance(answer, BaseException):
        raise answer
    return answer
