"""How long a plan takes to become tasks for 1, 64 and 1,000 workers, which are only simulated.

    python bench/many_workers.py [--json FILE]

Milliseconds of this process for a mean of 2 TB and for a program of three stages: to plan, and to
make the calls and pickle them as Dask would. What a scheduler takes for a task comes on top.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any, Final

import cloudpickle

import speedcube as sc
from speedcube.engine.clusters.plans import How, calls_of
from speedcube.expr.space import TILE
from speedcube.plan.plan import Resources, make_plan

WORKERS: Final = (1, 64, 1_000)
TIMES: Final = 7


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows = {
        name: {str(workers): row(array, workers) for workers in WORKERS}
        for name, array in programs().items()
    }
    found = {"about": {"load": os.getloadavg()[0], "cpus": os.cpu_count()}, "rows": rows}
    print(json.dumps(found, indent=1))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
