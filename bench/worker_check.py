"""What does a small computation on a warm Dask Client cost, and the check of its workers in it?

python bench/worker_check.py [--before SRC] [--rounds 6] [--json FILE]. A LocalCluster of two
processes; a sum of 100,000 normals, again and again. ``--before``: the ``src`` of another tree,
measured in turn with this one. Milliseconds, medians.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

COMPUTATIONS = 60
CHECKS = 200


def milliseconds(action: Any, times: int) -> float:
    """The median time of ``action``."""
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        action()
        taken.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(taken)


def measured() -> dict[str, float]:
    """One cluster of the tree that Python's path names."""
    from distributed import Client, LocalCluster

    import speedcube as sc
    from speedcube.engine import rungs

    where = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, **where) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        total = sc.random.default_rng(0).normal(size=(1000, 100)).sum()
        begin = time.perf_counter()
        total.compute(on=client)
        first = 1e3 * (time.perf_counter() - begin)
        computation = milliseconds(lambda: total.compute(on=client), COMPUTATIONS)
        check = milliseconds(lambda: rungs.worker_addresses(client), CHECKS)
    return {"first": first, "computation": computation, "check": check}


def in_turn(trees: dict[str, str], rounds: int, file: str) -> dict[str, list[dict[str, float]]]:
    """What ``file --one`` prints last, in a process of its own for each tree, in turn."""
    found: dict[str, list[dict[str, float]]] = {name: [] for name in trees}
    for _ in range(rounds):
        for name, source in trees.items():
            run = subprocess.run(
                [sys.executable, file, "--one"],
                env={**os.environ, "PYTHONPATH": source},
                capture_output=True,
                text=True,
                check=True,
            )
            found[name].append(json.loads(run.stdout.splitlines()[-1]))
            print(name, found[name][-1], f"load {os.getloadavg()[0]:.1f}", flush=True)
    return found


def run(one: Callable[[], dict[str, float]], doc: str, note: str, file: str, rounds: int) -> None:
    """The command line of a script that compares two trees by ``one()`` of each."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--before", help="the src of another tree, measured in turn with this one")
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--json")
    parser.add_argument("--one", action="store_true", help="measure this process's tree once")
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(one()))
        return
    trees = {"before": chosen.before} if chosen.before else {}
    trees["now"] = str(Path(file).resolve().parents[1] / "src")
    found = in_turn(trees, chosen.rounds, file)
    summary = {
        name: {key: round(statistics.median(one[key] for one in runs), 3) for key in runs[0]}
        for name, runs in found.items()
    }
    content = {
        "note": note,
        "command": f"python bench/{Path(file).name} --before SRC --json FILE",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "medians": summary,
        "runs": found,
    }
    print(json.dumps(summary, indent=1))
    if chosen.json:
        Path(chosen.json).write_text(json.dumps(content, indent=1) + "\n")


NOTE = "milliseconds on a warm Client of two worker processes, but for the first"

if __name__ == "__main__":
    run(measured, __doc__ or "", NOTE, __file__, 6)
