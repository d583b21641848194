"""What it costs that a worker is killed just before what it holds is read by others.

    python bench/lost_holders.py [--kills 20] [--workers 3] [--seed 0] [--json FILE]

Who was to fetch from it may go on connecting to it for 30 seconds. `told`: the others are told of
workers that have gone (`engine/clusters/watch.py`), as always; `untold`: they are not. Sums of
persisted arrays are compared bit by bit.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import dask
import numpy as np
from faults import TIMEOUT, Pool, digest, fork_workers, pool_of

import speedcube as sc
from speedcube.engine.clusters.patience import Listed
from speedcube.engine.clusters.watch import Watch

ARRAYS: Final = 6
SIZE: Final = 3_000
SETTLED: Final = 0.2  # seconds, after which a cluster knows what its workers hold


def killed(pool: Pool) -> tuple[float, str]:
    """Seconds, and the hash, of sums of what a worker held that was killed just before."""
    drawn = (sc.random.default_rng(k).normal(size=SIZE) for k in range(ARRAYS))
    sums = [(one.persist(on=pool.client) * 2).sum() for one in drawn]
    time.sleep(SETTLED)
    pool.signal(signal.SIGKILL)
    began = time.monotonic()
    found = sc.compute(*sums, on=pool.client)
    return time.monotonic() - began, digest(found)


def row(workers: int, kills: int, seed: int) -> dict[str, Any]:
    """So many kills, one after the other, on a cluster of its own."""
    runs, found = list[float](), set[str]()
    patience = dask.config.set({"speedcube.worker-timeout": TIMEOUT})
    with patience, pool_of(workers, seed) as pool:
        for _ in range(kills):
            pool.heal()
            seconds, bits = killed(pool)
            runs.append(round(seconds, 3))
            found.add(bits)
            print(runs[-1], flush=True)
    middle = statistics.median(runs)
    return {"middle": middle, "most": max(runs), "runs": runs, "results": sorted(found)}


async def untold(self: Watch, gone: Sequence[str], listed: Iterable[Listed]) -> None:
    """In place of `Watch.disconnect`."""


def main() -> int:
    """Run, show and write what was found; 1 where bits were wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    fork_workers()
    rows = {"told": row(given.workers, given.kills, given.seed)}
    Watch.disconnect = untold  # type: ignore[method-assign]
    rows["untold"] = row(given.workers, given.kills, given.seed)
    about = {"date": time.strftime("%Y-%m-%d"), "cpus": os.cpu_count(), "numpy": np.__version__}
    about |= {"load": os.getloadavg()[0], "dask": dask.__version__}
    words = [one for one in sys.argv[1:] if one not in ("--json", str(given.json))]
    about["command"] = " ".join(["bench/lost_holders.py", *words])
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")
    return int(len({bits for one in rows.values() for bits in one["results"]}) != 1)


if __name__ == "__main__":
    sys.exit(main())
