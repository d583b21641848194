"""What a kill costs long computations that hand no record over, and long writes.

    python bench/long_kills.py [--size 250000000] [--workers 4] [--kills 3] [--seed 0] [--whole]
                               [--programs median,sort] [--copies dear|all] [--json FILE]

A worker of one thread is killed at a random moment. Each such run has an undisturbed one just
before it. ``extra`` are seconds more than that one took; ``work`` are seconds of processor time
more, of each worker: what was done again, also where other programs keep the cores busy.
``copies`` is the setting ``speedcube.copies``: of which elements a second worker has copies.
``whole``: each worker has one task, as before parts were cut (`engine/clusters/asked/pieces.py`).
Results are compared by their SHA-256: of files every byte and name.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import random
import signal
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import dask
import numpy as np
import psutil
from faults import TIMEOUT, Pool, digest, fork_workers, pool_of

import speedcube as sc
from speedcube.commands.this_machine import processor
from speedcube.engine.clusters.asked import pieces

SINES: Final = 100  # of each element
LOOK: Final = 0.02  # seconds between two looks at processor time


def long(size: int, sines: int = SINES) -> Any:
    """Numbers each of which takes about 2 ns for each of its ``sines``."""
    x = sc.random.default_rng(5).normal(size=size)
    for _ in range(sines):
        x = sc.sin(x) + 1
    return x


def files(client: Any, folder: Path, size: int) -> Path:
    """A Zarr array, written by the workers."""
    place = folder / "written.zarr"
    long(size).reshape(-1, 1000).to_zarr(place, mode="w", on=client)
    return place


def stored(client: Any, _: Path, size: int) -> Any:
    """An array of this process, to which it assigns what the workers give, block after block."""
    target = np.zeros(size)
    sc.store(long(size), target, on=client)
    return target


def persisted(client: Any, _: Path, size: int, sines: int = SINES) -> Any:
    """An array that stays with a worker, and a tenth of it."""
    return long(size, sines).persist(on=client)[::10].compute(on=client)


def read_again(client: Any, _: Path, size: int, sines: int = SINES) -> Any:
    """Elements that a second stage reads, which waits for all of them."""
    x = long(size, sines)
    return ((x - x.mean()) ** 3).cumsum()[::1000].compute(on=client)


def computed(make: Callable[[int], Any]) -> Callable[..., Any]:
    """What is made of a size is computed, and comes to this process."""
    return lambda client, _, *, size: make(size).compute(on=client)


PROGRAMS: Final[dict[str, Callable[..., Any]]] = {
    "elements": computed(lambda size: long(size) * 2),
    "cumsum": computed(lambda size: long(size).cumsum()),
    "prod": computed(lambda size: (1 + long(size) * 1e-9).prod()),
    "median": computed(lambda size: sc.median(long(size // 2))),
    "sort": computed(lambda size: sc.sort(long(size // 2))[::1000]),
    "to_zarr": files,
    "store": stored,
    "persist": persisted,
    "persist dear": lambda *given, size: persisted(*given, size // 5, 5 * SINES),
    "read again": read_again,
    "read again dear": lambda *given, size: read_again(*given, size // 5, 5 * SINES),
}


@contextmanager
def working(pool: Pool) -> Iterator[dict[int, float]]:
    """Seconds of processor time of each worker, also of one that is killed."""
    before, now, done = dict[int, float](), dict[int, float](), threading.Event()

    def look(seen: dict[int, float]) -> None:
        for pid in [nanny.pid for nanny in pool.cluster.workers.values()]:
            with suppress(psutil.NoSuchProcess, ValueError, AttributeError):
                times = psutil.Process(pid).cpu_times() if pid else None
                if times is not None:
                    seen[pid] = times.user + times.system - before.get(pid, 0.0)

    def watch() -> None:
        while not done.wait(LOOK):
            look(now)

    look(before)
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield now
    finally:
        done.set()
        watcher.join()


def timed(pool: Pool, run: Callable[[Any, Path], Any]) -> tuple[float, float, str]:
    """Seconds, those of a worker's processor, and the hash of the result, or of all files."""
    with TemporaryDirectory() as folder:
        with working(pool) as work:
            began = time.monotonic()
            found = run(pool.client, Path(folder))
            seconds = time.monotonic() - began
        each = sum(work.values()) / pool.workers
        if not isinstance(found, Path):
            return seconds, each, digest(found)
        state = hashlib.sha256()
        for path in sorted(path for path in found.rglob("*") if path.is_file()):
            state.update(f"{path.relative_to(found)}\n".encode())
            state.update(path.read_bytes())
        return seconds, each, state.hexdigest()


def disturbed(pool: Pool, run: Callable[[Any, Path], Any], delay: float) -> dict[str, Any]:
    """A run in which a worker is killed after ``delay`` seconds."""
    kill = threading.Timer(delay, pool.signal, (signal.SIGKILL,))
    kill.start()
    seconds, work, found = timed(pool, run)
    kill.join()
    return {"seconds": round(seconds, 3), "killed_at": delay, "work": work, "bits": found}


def measured(
    names: Sequence[str], size: int, workers: int, kills: int, seed: int, copies: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of the programs of these names, each as it is found."""
    chance = random.Random(seed)
    settings = dask.config.set({"speedcube.worker-timeout": TIMEOUT, pieces.SETTING: copies})
    with settings, pool_of(workers, seed) as pool:
        for name in names:
            run = partial(PROGRAMS[name], size=size)
            timed(pool, run)  # kernels are compiled
            runs = []
            for _ in range(kills):
                alone, work, wanted = timed(pool, run)
                delay = round((0.1 + 0.8 * chance.random()) * alone, 3)
                one = disturbed(pool, run, delay)
                pool.heal()
                extra = round(one["seconds"] - alone, 3)
                one["work"] = round(one["work"] - work, 3)
                runs.append({"alone": round(alone, 3), **one, "extra": extra})
                runs[-1]["wrong"] = runs[-1].pop("bits") != wanted
                print(name, runs[-1], flush=True)
            extras = [run["extra"] for run in runs]
            row = {"extra": statistics.median(extras), "most": max(extras), "runs": runs}
            yield name, row | {"most_work": max(run["work"] for run in runs), "bits": wanted}


def main() -> int:
    """Run, show and write what was found; 1 where bits were wrong."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--size", type=int, default=250_000_000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--whole", action="store_true", help="a task for each worker")
    parser.add_argument("--programs", default=",".join(PROGRAMS))
    parser.add_argument("--copies", choices=["dear", "all"], default="dear")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.whole:
        pieces.WORK = math.inf  # type: ignore[misc]
    fork_workers()
    about = {"date": time.strftime("%Y-%m-%d"), "cpus": os.cpu_count(), "numpy": np.__version__}
    about |= {"size": given.size, "workers": given.workers, "processor": processor()}
    words = [one for one in sys.argv[1:] if one not in ("--json", str(given.json))]
    about["command"] = " ".join(["bench/long_kills.py", *words])
    rows = dict[str, Any]()
    wanted = given.size, given.workers, given.kills, given.seed, given.copies
    for name, row in measured(given.programs.split(","), *wanted):
        rows[name] = row
        about["load"] = os.getloadavg()[0]
        if given.json:
            given.json.parent.mkdir(parents=True, exist_ok=True)
            given.json.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")
    return int(any(run["wrong"] for row in rows.values() for run in row["runs"]))


if __name__ == "__main__":
    sys.exit(main())
