"""Programs on a cluster whose workers are killed, stopped, retired: the bits, and what it costs.

    python bench/faults.py [--faults 20] [--seed 0] [--workers 3] [--kinds SIGKILL] [--paired]
                           [--forked] [--minutes 3] [--json FILE]
    python bench/faults.py --together FILES [--json FILE]

Each fault hits a random worker at a random moment of a program; the twelve programs take turns.
A result is compared by its SHA-256 with the undisturbed one. ``extra`` are seconds more than the
program takes undisturbed. At the end there may be no other process, file or open descriptor than
before. ``levels`` are megabytes and open descriptors of this process, which has the scheduler,
after every 50 faults. ``--faults 2000`` takes more than an hour on two cores; what was found so
far is in FILE meanwhile.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import random
import shutil
import signal
import statistics
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import dask
import hangs
import numpy as np
import psutil

import speedcube as sc
from speedcube.commands.this_machine import processor
from speedcube.engine.clusters import own

TIMEOUT: Final = 3.0  # seconds that a silent worker is waited for
HELPERS: Final = ("resource_tracker", "forkserver")  # processes of Python's own
PRELOAD: Final = ("speedcube.engine.clusters.remote", "llvmlite.binding", "zarr")
HANG: Final = 120.0  # seconds after which a program hangs
Program = Callable[[Any, Path], Any]


def normal(*shape: int) -> Any:
    """Numbers to compute with."""
    return sc.random.default_rng(5).normal(10, 1, size=shape)


def gamma(size: int) -> Any:
    """Numbers that take longer."""
    return sc.random.default_rng(6).gamma(2.5, size=size)


def compute(client: Any, *arrays: Any) -> Any:
    """Their values on the cluster."""
    return sc.compute(*arrays, on=client)


def written(client: Any, folder: Path) -> Any:
    """A Zarr array, written by the workers: every byte of its files."""
    place = folder / "written.zarr"
    shutil.rmtree(place, ignore_errors=True)
    with sc.on(client):
        (normal(3000, 2000) * 2 + 1).to_zarr(place, chunks=(500, 500), mode="w")
    # A worker that is killed as it writes a chunk leaves what Zarr calls partial, and never reads.
    files = sorted(path for path in place.rglob("c/*/*") if path.name.isdigit())
    return b"".join(path.read_bytes() for path in files)


def saved(client: Any, folder: Path) -> Any:
    """A file of NumPy's."""
    place = folder / "saved.npy"
    place.unlink(missing_ok=True)
    sc.save(place, normal(2000, 2000).cumsum(axis=1), on=client)
    return place.read_bytes()


def assigned(client: Any, _: Path) -> Any:
    """What is assigned to an array of this process."""
    target = np.zeros((1500, 2000))
    sc.store(sc.sqrt(normal(1500, 2000)), target, on=client)
    return target


def persisted(client: Any, _: Path) -> Any:
    """What is read again from the workers' memory, which some of them have lost."""
    held = client.persist(normal(1500, 2000))
    ours = normal(1000, 1000).persist(on=client)
    time.sleep(0.2)
    return compute(client, held.sum(), (held * 2).max(), ours.mean())


def stages(client: Any, _: Path) -> Any:
    """Three stages, each of which needs the one before."""
    x = normal(3000, 2000)
    y = (x - x.mean(axis=0)) / x.std(axis=0)
    return compute(client, (y**3).mean())


PROGRAMS: Final[dict[str, Program]] = {
    "sum": lambda client, _: compute(client, gamma(30_000_000).sum()),
    "several": lambda client, _: compute(
        client, *(lambda x: (x.sum(), x.std(), x.max()))(normal(20_000_000))
    ),
    "along": lambda client, _: compute(client, normal(4000, 3000).var(axis=1)),
    "argmax": lambda client, _: compute(client, gamma(20_000_000).argmax()),
    "cumsum": lambda client, _: compute(client, normal(4_000_000).cumsum()[::1000]),
    "sort": lambda client, _: compute(client, sc.sort(normal(1_000_000))[::100]),
    "median": lambda client, _: compute(client, sc.median(normal(2_000_000))),
    "stages": stages,
    "to_zarr": written,
    "save": saved,
    "store": assigned,
    "persist": persisted,
}


def digest(found: Any) -> str:
    """The SHA-256 of what a program gave."""
    parts = found if isinstance(found, tuple) else (found,)
    state = hashlib.sha256()
    for part in parts:
        state.update(part if isinstance(part, bytes) else np.asarray(part).tobytes())
    return state.hexdigest()


@dataclass(eq=False)
class Pool:
    """A cluster of processes, some of which are to be lost."""

    cluster: Any
    client: Any
    workers: int
    chance: random.Random
    stopped: list[int] = field(default_factory=list)

    def pids(self) -> dict[str, int]:
        """The processes of the workers, by address."""
        states = self.client.scheduler_info(n_workers=-1)["workers"]
        return {
            address: found
            for address, state in states.items()
            if (found := self._pid(state)) is not None
        }

    def _pid(self, state: dict[str, Any]) -> int | None:
        nannies = {str(one.name): one for one in self.cluster.workers.values()}
        nanny = nannies.get(str(state["name"]))
        return getattr(nanny, "pid", None)

    def heal(self) -> None:
        """All workers there again."""
        for pid in self.stopped:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        self.stopped.clear()
        deadline = time.monotonic() + HANG
        while len(self.client.scheduler_info(n_workers=-1)["workers"]) != self.workers:
            self.cluster.scale(self.workers)
            time.sleep(0.2)
            if time.monotonic() > deadline:
                print(hangs.told(self.cluster, self.client), file=sys.stderr, flush=True)
                raise RuntimeError("the cluster does not come back")

    def signal(self, number: int) -> None:
        """Send a signal to a worker."""
        pids = [*self.pids().values()]
        if pids:
            pid = self.chance.choice(pids)
            with suppress(ProcessLookupError):
                os.kill(pid, number)
            if number == signal.SIGSTOP:
                self.stopped.append(pid)

    def retire(self) -> None:
        """Ask a worker to hand over what it has, and to leave."""
        address = self.chance.choice([*self.pids()])
        self.client.retire_workers([address])


FAULTS: Final[dict[str, Callable[[Pool], Any]]] = {
    "SIGKILL": lambda pool: pool.signal(signal.SIGKILL),
    "SIGTERM": lambda pool: pool.signal(signal.SIGTERM),
    "SIGSTOP": lambda pool: pool.signal(signal.SIGSTOP),
    "retire": Pool.retire,
    "scale down": lambda pool: pool.cluster.scale(pool.workers - 1),
    "scale up": lambda pool: pool.cluster.scale(pool.workers + 1),
}


def fork_workers() -> None:
    """Let workers be forked off a process that has imported everything: they come back sooner."""
    from distributed.utils import get_mp_context

    dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # a process with threads cannot be forked safely
    context = get_mp_context()
    context.set_forkserver_preload(["distributed", "speedcube", *PRELOAD])


@contextmanager
def pool_of(workers: int, seed: int) -> Iterator[Pool]:
    """Processes of one thread each, as a name like ``cores:3x1`` starts them, and a client."""
    import distributed

    shape = {"n_workers": workers, "threads_per_worker": 1, "silence_logs": 50}
    with (
        own.start(distributed.LocalCluster, **shape) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield Pool(cluster, client, workers, random.Random(seed))


@dataclass(frozen=True)
class Row:
    """What one fault did: seconds of the program without and with it, and what was wrong."""

    program: str
    fault: str
    alone: float
    seconds: float
    wrong: str = ""


def timed(pool: Pool, program: str, folder: Path) -> tuple[float, str, str]:
    """Seconds, the hash of the result, and the error instead of it."""
    results: list[str] = []
    problems: list[str] = []

    def run() -> None:
        try:
            results.append(digest(PROGRAMS[program](pool.client, folder)))
        except BaseException as err:
            problems.append(f"{type(err).__name__}: {err}"[:300])

    thread = threading.Thread(target=run, daemon=True)
    began = time.monotonic()
    thread.start()
    thread.join(HANG)
    seconds = time.monotonic() - began
    if thread.is_alive():
        problems.append(f"it hangs, for {HANG:g} s now")
        print(hangs.told(pool.cluster, pool.client), file=sys.stderr, flush=True)
    return seconds, results[0] if results else "", problems[0] if problems else ""


def run(
    faults: int,
    workers: int,
    seed: int,
    folder: Path,
    say: Callable[[Row], None] | None = None,
    only: Collection[str] = (),
    paired: bool = False,
    until: float = math.inf,
) -> list[Row]:
    """``faults`` faults, the programs and the kinds of faults taking turns.

    ``paired``: each beside an undisturbed run just before it, for a machine with other users.
    """
    chance, rows = random.Random(seed), list[Row]()
    names, kinds = [*PROGRAMS], [*(only or FAULTS)]
    turns = math.lcm(len(names), len(kinds))  # after which each pair would come again
    patience = dask.config.set({"speedcube.worker-timeout": TIMEOUT})
    with patience, pool_of(workers, seed) as pool:
        alone: dict[str, tuple[float, str, str]] = {}
        for number in range(faults):
            program = names[number % len(names)]
            kind = kinds[(number + number // turns) % len(kinds)]
            if program not in alone:
                timed(pool, program, folder)  # kernels are compiled
                alone[program] = timed(pool, program, folder)
            elif paired:
                alone[program] = timed(pool, program, folder)
            before, wanted, problem = alone[program]
            delay = chance.random() * before
            fault = threading.Timer(delay, FAULTS[kind], (pool,))
            fault.start()
            seconds, found, wrong = timed(pool, program, folder)
            fault.join()
            wrong = problem or wrong or ("" if found == wanted else "other bits")
            rows.append(Row(program, kind, round(before, 3), round(seconds, 3), wrong))
            if say is not None:
                say(rows[-1])
            if "hangs" in wrong or time.monotonic() > until:
                break
            pool.heal()
    return rows


def left_behind(before: set[int], folder: Path) -> list[str]:
    """Processes that are there since, and drafts of files."""
    deadline = time.monotonic() + 10
    while True:
        new = [one for one in psutil.Process().children(recursive=True) if one.pid not in before]
        alive = [one for one in new if not any(name in " ".join(_words(one)) for name in HELPERS)]
        if not alive or time.monotonic() > deadline:
            break
        time.sleep(0.1)
    drafts = [str(path) for path in folder.rglob("*") if ".part" in path.name]
    return [f"process {one.pid}: {' '.join(_words(one))}" for one in alive] + drafts


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def children() -> set[int]:
    """The processes that this one has started."""
    return {one.pid for one in psutil.Process().children(recursive=True)}


def summary(rows: list[Row]) -> dict[str, Any]:
    """What the rows say, by the kind of fault."""
    kinds = {}
    for kind in FAULTS:
        extra = [row.seconds - row.alone for row in rows if row.fault == kind]
        if extra:
            middle = round(statistics.median(extra), 2)
            kinds[kind] = {"faults": len(extra), "extra": middle, "most": round(max(extra), 2)}
    wrong = [row for row in rows if row.wrong]
    return {"faults": len(rows), "kinds": kinds, "wrong": [vars(row) for row in wrong]}


@dataclass(frozen=True)
class Level:
    """What this process holds after some faults: megabytes and open descriptors."""

    faults: int
    megabytes: float
    descriptors: int


@dataclass(eq=False)
class Diary:
    """Says each row as it comes, and writes all of them down every 50."""

    about: dict[str, Any]
    file: Path | None
    rows: list[Row] = field(default_factory=list)
    levels: list[Level] = field(default_factory=list)

    def say(self, row: Row) -> None:
        """Take a row."""
        self.rows.append(row)
        print(f"{len(self.rows)} {row}", flush=True)
        if len(self.rows) % 50 == 0:
            one = psutil.Process()
            megabytes = round(one.memory_info().rss / 1e6, 1)
            self.levels.append(Level(len(self.rows), megabytes, one.num_fds()))
            self.write({})

    def write(self, more: dict[str, Any]) -> dict[str, Any]:
        """Write what was found so far, and return it."""
        found = {
            **summary(self.rows),
            **more,
            "levels": [vars(one) for one in self.levels],
            "about": {**self.about, "load": os.getloadavg()[0]},
            "rows": [vars(row) for row in self.rows],
        }
        if self.file:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self.file.write_text(json.dumps(found, indent=1) + "\n")
        return found


def together(files: list[Path]) -> dict[str, Any]:
    """What several runs found, without their rows."""
    runs = [json.loads(file.read_text()) for file in files]
    rows = [Row(**row) for one in runs for row in one["rows"]]
    found = summary(rows)
    about = {**runs[0]["about"], "seeds": [one["about"]["seed"] for one in runs]}
    loads = [round(one["about"]["load"], 1) for one in runs]
    alone = {name: [row.alone for row in rows if row.program == name] for name in PROGRAMS}
    return {
        "about": {**about, "load": [min(loads), max(loads)]},
        "faults": len(rows),
        "wrong_or_failed": len(found["wrong"]),
        "hangs": sum("hangs" in row["wrong"] for row in found["wrong"]),
        "left": sum(len(one.get("left", ())) for one in runs),
        "kinds": found["kinds"],
        "alone": {name: round(statistics.median(each), 3) for name, each in alone.items() if each},
        "wrong": found["wrong"],
        "levels": [one["levels"][-1] for one in runs if one["levels"]],
    }


def main() -> int:
    """Run, show and write what was found; 1 where something was wrong or left."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--faults", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--kinds", nargs="*", choices=FAULTS, default=())
    parser.add_argument("--paired", action="store_true", help="an undisturbed run before each")
    parser.add_argument("--minutes", type=float, default=math.inf, help="at most")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--forked", action="store_true", help="workers come back sooner")
    parser.add_argument("--together", type=Path, nargs="+", help="only sum up these runs' files")
    given = parser.parse_args()
    if given.together:
        found = together(given.together)
        print(json.dumps(found, indent=1))
        if given.json:
            given.json.write_text(json.dumps(found, indent=1) + "\n")
        return int(bool(found["wrong_or_failed"] or found["left"]))
    if given.forked:
        fork_workers()
    before, began = children(), time.monotonic()
    handles = psutil.Process().num_fds()
    about = {
        "command": " ".join(sys.argv),
        "machine": processor(),
        "cpus": os.cpu_count(),
        "workers": given.workers,
        "asked": given.faults,
    }
    diary = Diary(
        {**about, "seed": given.seed, "paired": given.paired, "forked": given.forked}, given.json
    )
    with TemporaryDirectory() as directory:
        folder = Path(directory)
        until = began + 60 * given.minutes
        some = given.kinds, given.paired, until
        run(given.faults, given.workers, given.seed, folder, diary.say, *some)
        left = left_behind(before, folder)
    more = {
        "left": left,
        "descriptors": psutil.Process().num_fds() - handles,
        "seconds": round(time.monotonic() - began),
    }
    found = diary.write(more)
    print(json.dumps({name: value for name, value in found.items() if name != "rows"}, indent=1))
    return int(bool(found["wrong"] or left))


if __name__ == "__main__":
    sys.exit(main())
