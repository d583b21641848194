"""How long a plan takes to become tasks for 1, 64 and 1,000 workers; how fast 64 real ones are.

    python bench/many_workers.py [--real 1e10] [--repeats 3] [--json FILE]

``rows``: milliseconds of this process for a mean of 2 TB and for a program of three stages, for
workers that are only simulated: to plan, and to make the calls and pickle them as Dask would.
``dask``: milliseconds of Dask for a task and for an event, client, scheduler and worker in one
process. ``paper``: seconds for 10,000 workers, from these.

``real``: seconds of a mean of so many normal numbers on 64 workers, eight threads of each of eight
processes, and on 8, one of each, in turns; and of a mean of eight, which is scheduling alone.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import multiprocessing
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import cloudpickle

import speedcube as sc
from speedcube.engine.clusters.plans import How, calls_of
from speedcube.expr.space import TILE
from speedcube.plan.plan import Resources, make_plan

WORKERS: Final = (1, 64, 1_000)
TIMES: Final = 7
PROCESSES: Final = 8
TASKS: Final = 1_000
FAR: Final = 10_000


def programs() -> dict[str, Any]:
    """Expressions: a mean, and what needs it."""
    x = sc.random.default_rng(1).normal(size=(500_000, 500_000))
    return {"mean of 2 TB": x.mean(), "three stages": (((x - x.mean()) / x.std()) ** 3).mean()}


def row(array: Any, workers: int) -> dict[str, float]:
    """The least of several times, in milliseconds; tasks and bytes."""
    plans, calls, made, size = [], [], 0, 0
    for _ in range(TIMES):
        began = time.perf_counter()
        plan = make_plan(array._expr, Resources("workers", workers, apart=True), "", TILE)
        planned = time.perf_counter()
        found = calls_of(plan, {}, "speedcube", How(hand_over=True)).all
        made, size = len(found), sum(len(cloudpickle.dumps(one.arguments)) for one in found)
        calls.append(1e3 * (time.perf_counter() - planned))
        plans.append(1e3 * (planned - began))
    return {"plan_ms": min(plans), "calls_ms": min(calls), "tasks": made, "bytes": size}


def dask_ms() -> dict[str, float]:
    """Milliseconds of Dask for a task that does nothing, and for an event that one hands over."""
    import distributed

    def tell(number: int) -> None:
        distributed.get_worker().log_event("many", {"number": number, "record": b"0" * 600})

    least = {"task": float("inf"), "task_with_event": float("inf")}
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        for _ in range(3):
            for name, function in {"task": int, "task_with_event": tell}.items():
                began = time.perf_counter()
                client.gather(client.map(function, range(TASKS), pure=False))
                seconds = time.perf_counter() - began
                least[name] = min(least[name], 1e3 * seconds / TASKS)
    return {**least, "event": max(0.0, least["task_with_event"] - least["task"])}


def on_paper(rows: dict[str, Any], dask: dict[str, float]) -> dict[str, Any]:
    """Seconds of `FAR` workers: what 1,000 take, times more; and a task of Dask for each call."""
    found: dict[str, Any] = {"workers": FAR}
    for name, each in rows.items():
        more = FAR / 1_000
        here = more * (each["1000"]["plan_ms"] + each["1000"]["calls_ms"]) / 1e3
        there = more * each["1000"]["tasks"] * dask["task"] / 1e3
        found[name] = {"plan_and_calls_s": here, "dask_s": there}
    return found


async def several(address: str, count: int) -> None:
    """``count`` workers of one thread each in this process, until the scheduler ends."""
    from distributed import Worker

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    where = {"nthreads": 1, "memory_limit": None, "host": "127.0.0.1", "dashboard": False}
    workers = [await Worker(address, **where) for _ in range(count)]
    await asyncio.gather(*(one.finished() for one in workers))


def host(address: str, count: int) -> None:
    """What one of the processes does."""
    asyncio.run(several(address, count))


@contextmanager
def threads_of_processes(count: int) -> Iterator[Any]:
    """The client of a cluster of `PROCESSES` processes with ``count`` workers each."""
    import distributed

    context = multiprocessing.get_context("spawn")
    with (
        distributed.LocalCluster(
            n_workers=0, host="127.0.0.1", dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        words = cluster.scheduler_address, count
        hosts = [context.Process(target=host, args=words) for _ in range(PROCESSES)]
        for one in hosts:
            one.start()
        client.wait_for_workers(PROCESSES * count, timeout=300)
        try:
            yield client
        finally:
            for one in hosts:
                one.kill()
                one.join()


def real(size: int, repeats: int) -> dict[str, Any]:
    """Seconds of each time on 8 and on 64 workers, the rates, and how they compare."""
    mean = {"many": size, "few": 8}
    seconds: dict[str, dict[str, list[float]]] = {name: {"8": [], "64": []} for name in mean}
    bits = set()
    with threads_of_processes(1) as eight, threads_of_processes(8) as all_of_them:
        clients = {"8": eight, "64": all_of_them}
        for client in clients.values():
            sc.random.default_rng(1).normal(size=10**6).mean().compute(on=client)
        for _ in range(repeats):
            for name, elements in mean.items():
                for workers, client in clients.items():
                    x = sc.random.default_rng(1).normal(size=elements)
                    began = time.perf_counter()
                    value = x.mean().compute(on=client)
                    seconds[name][workers].append(time.perf_counter() - began)
                    bits.add((name, float(value).hex()))
    assert len(bits) == len(mean), bits
    rates = {workers: size / min(each) for workers, each in seconds["many"].items()}
    ratio = rates["64"] / rates["8"]
    return {"size": size, "seconds": seconds, "elements_a_second": rates, "64_of_8": ratio}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--real", type=float, default=0, help="elements; none: not measured")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    rows = {
        name: {str(workers): row(array, workers) for workers in WORKERS}
        for name, array in programs().items()
    }
    found: dict[str, Any] = {"about": {"load": os.getloadavg()[0], "cpus": os.cpu_count()}}
    found["rows"] = rows
    found["dask"] = dask_ms()
    found["paper"] = on_paper(rows, found["dask"])
    if given.real:
        found["real"] = real(int(given.real), given.repeats)
    print(json.dumps(found, indent=1))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
