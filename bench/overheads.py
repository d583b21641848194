"""What records, retries and checks cost where nothing fails: a mean of a second, on a cluster.

    python bench/overheads.py [--size N] [--workers 2] [--pairs 12] [--json FILE]

``with``: ``x.mean().compute(on=client)``, whose parts hand over records, and which looks at its
workers meanwhile. ``without``: the same tasks as Dask runs them for itself,
``dask.compute(x.mean(), scheduler=client)``. Both in turns in one process; processor seconds are of
the workers and of this process, which has the scheduler. ``overhead`` compares the least of each;
``middle`` is the middle of the pairs' own. The bits of all are the same.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import dask

import speedcube as sc
from speedcube.engine.known import drawn

WARM: Final = 2  # pairs before the first that counts


def used(client: Any) -> float:
    """Processor seconds of all workers and of this process so far."""
    return sum(client.run(time.process_time).values()) + time.process_time()


def taken(client: Any, compute: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds by the wall, of processors, and the value."""
    before, began = used(client), time.perf_counter()
    value = compute()
    wall = time.perf_counter() - began
    return wall, used(client) - before, value


def pairs(client: Any, size: int, count: int) -> dict[str, Any]:
    """The rows of ``count`` pairs, and what they say."""
    ways: dict[str, Callable[[Any], Any]] = {
        "without": lambda mean: dask.compute(mean, scheduler=client)[0],
        "with": lambda mean: mean.compute(on=client),
    }
    rows: list[dict[str, tuple[float, float]]] = []
    bits = set()
    for number in range(count + WARM):
        row = {}
        for name in list(ways)[:: 1 if number % 2 else -1]:
            mean = sc.random.default_rng(1).gamma(2.5, size=size).mean()
            wall, processor, value = taken(client, lambda: ways[name](mean))  # noqa: B023
            row[name] = wall, processor
            bits.add(float(value).hex())
        rows.append(row)
    rows = rows[WARM:]
    found: dict[str, Any] = {"bits": sorted(bits), "pairs": count}
    for k, kind in enumerate(("wall", "processor")):
        least = {name: min(row[name][k] for row in rows) for name in ways}
        each = [row["with"][k] / row["without"][k] - 1 for row in rows]
        overhead, middle = least["with"] / least["without"] - 1, statistics.median(each)
        found[kind] = {**least, "overhead": overhead, "middle": middle}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=int, default=110_000_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    import distributed

    shape = {"n_workers": given.workers, "threads_per_worker": 1, "silence_logs": 50}
    where = {"host": "127.0.0.1", "dashboard_address": None}
    with (
        dask.config.set({drawn.SETTING: 0}),
        distributed.LocalCluster(**shape, **where) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        found = pairs(client, given.size, given.pairs)
    about = {"cpus": os.cpu_count(), "load": os.getloadavg()[0], "workers": given.workers}
    found = {"about": {**about, "size": given.size}, **found}
    print(json.dumps(found, indent=1))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
