"""What a kill costs long computations that hand no record over, cut into pieces and whole.

    python bench/long_kills.py [--size 250000000] [--workers 4] [--kills 3] [--seed 0] [--whole]
                               [--programs median,sort] [--json FILE]

A worker of one thread is killed at a random moment. Each such run has an undisturbed one just
before it. ``extra`` are seconds more than that one took. ``whole``: each worker has one task, as
before parts were cut (`engine/clusters/asked/pieces.py`). Results are compared by their SHA-256.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import signal
import statistics
import sys
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import dask
import numpy as np
from faults import TIMEOUT, Pool, digest, fork_workers, pool_of

import speedcube as sc
from speedcube.engine.clusters.asked import pieces

SINES: Final = 100  # of each element


def long(size: int) -> Any:
    """Numbers each of which takes about 200 ns."""
    x = sc.random.default_rng(5).normal(size=size)
    for _ in range(SINES):
        x = sc.sin(x) + 1
    return x


PROGRAMS: Final[dict[str, Callable[[int], Any]]] = {
    "elements": lambda size: long(size) * 2,
    "cumsum": lambda size: long(size).cumsum(),
    "prod": lambda size: (1 + long(size) * 1e-9).prod(),
    "median": lambda size: sc.median(long(size // 2)),
    "sort": lambda size: sc.sort(long(size // 2))[::1000],
}


def timed(pool: Pool, make: Callable[[], Any]) -> tuple[float, str]:
    """Seconds, and the hash of the result."""
    began = time.monotonic()
    found = make().compute(on=pool.client)
    return time.monotonic() - began, digest(found)


def disturbed(pool: Pool, make: Callable[[], Any], delay: float) -> dict[str, Any]:
    """A run in which a worker is killed after ``delay`` seconds."""
    kill = threading.Timer(delay, pool.signal, (signal.SIGKILL,))
    kill.start()
    seconds, found = timed(pool, make)
    kill.join()
    return {"seconds": round(seconds, 3), "killed_at": round(delay, 3), "bits": found}


def measured(
    names: Sequence[str], size: int, workers: int, kills: int, seed: int
) -> dict[str, Any]:
    """The rows of the programs of these names."""
    rows, chance = dict[str, Any](), random.Random(seed)
    patience = dask.config.set({"speedcube.worker-timeout": TIMEOUT})
    with patience, pool_of(workers, seed) as pool:
        for name in names:
            make = partial(PROGRAMS[name], size)
            timed(pool, make)  # kernels are compiled
            runs = []
            for _ in range(kills):
                alone, wanted = timed(pool, make)
                delay = (0.1 + 0.8 * chance.random()) * alone
                one = disturbed(pool, make, delay)
                pool.heal()
                extra = round(one["seconds"] - alone, 3)
                runs.append({"alone": round(alone, 3), **one, "extra": extra})
                runs[-1]["wrong"] = runs[-1].pop("bits") != wanted
                print(name, runs[-1], flush=True)
            extras = [run["extra"] for run in runs]
            rows[name] = {"extra": statistics.median(extras), "most": max(extras), "runs": runs}
            rows[name]["bits"] = wanted
    return rows


def main() -> int:
    """Run, show and write what was found; 1 where bits were wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=int, default=250_000_000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--whole", action="store_true", help="a task for each worker")
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.whole:
        pieces.WORK = math.inf  # type: ignore[misc]
    fork_workers()
    rows = measured(given.programs.split(","), given.size, given.workers, given.kills, given.seed)
    about = {"date": time.strftime("%Y-%m-%d"), "cpus": os.cpu_count(), "numpy": np.__version__}
    about |= {"size": given.size, "workers": given.workers, "load": os.getloadavg()[0]}
    words = [one for one in sys.argv[1:] if one not in ("--json", str(given.json))]
    about["command"] = " ".join(["bench/long_kills.py", *words])
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")
    return int(any(run["wrong"] for row in rows.values() for run in row["runs"]))


if __name__ == "__main__":
    sys.exit(main())
