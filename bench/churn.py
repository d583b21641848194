"""Programs on a cluster that loses or gains a worker every three seconds, for an hour, say.

    python bench/churn.py [--minutes 60] [--every 3] [--workers 3] [--seed 0] [--forked]
                           [--json FILE]

The twelve programs of ``bench/faults.py`` take turns. A result is compared by its SHA-256 with the
undisturbed one. Every half minute it is noted what this process (client and scheduler) holds, and
what its workers hold together: megabytes and open descriptors. ``slope`` is what a straight
line through the later half gains in an hour: of memory that is level it is about nothing.

``MALLOC_TRIM_THRESHOLD_=65536`` before it lets glibc give back what this process has freed, as
Dask has it for its workers. Without, each of glibc's arenas keeps up to 64 MB of freed memory.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import faults
import psutil

PERIOD: Final = 30.0  # seconds between two looks at memory


@dataclass(frozen=True)
class Held:
    """What is held after some seconds: megabytes, open descriptors, threads; of the workers."""

    seconds: float
    programs: int
    megabytes: float
    descriptors: int
    threads: int
    workers: int
    workers_megabytes: float


@dataclass(eq=False)
class Churn:
    """Kills, adds or takes away a worker at each turn, as chance has it, and counts what it did."""

    pool: faults.Pool
    every: float
    chance: random.Random
    done: Counter[str] = field(default_factory=Counter)
    over: threading.Event = field(default_factory=threading.Event)

    def turns(self) -> None:
        """Until it is over: one event after the other."""
        while not self.over.wait(self.every):
            name = self.chance.choice([*EVENTS])
            with suppress(IndexError, OSError):  # no worker is there at this moment
                EVENTS[name](self.pool)
                self.done[name] += 1


def another_number(pool: faults.Pool) -> None:
    """One worker more than there should be, or one fewer where there are more already."""
    there = len(pool.cluster.workers)
    pool.cluster.scale(pool.workers - 1 if there > pool.workers else pool.workers + 1)


EVENTS: Final[dict[str, Callable[[faults.Pool], Any]]] = {
    "killed": lambda pool: pool.signal(signal.SIGKILL),
    "ended": lambda pool: pool.signal(signal.SIGTERM),
    "added or taken away": another_number,
}


@dataclass(eq=False)
class Found:
    """What was computed, what was wrong, and what was held meanwhile."""

    programs: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    slowest: float = 0.0
    held: list[Held] = field(default_factory=list)


def held(pool: faults.Pool, seconds: float, programs: int) -> Held:
    """What is held now."""
    one = psutil.Process()
    sizes = []
    for pid in pool.pids().values():
        with suppress(psutil.Error):
            sizes.append(psutil.Process(pid).memory_info().rss / 1e6)
    return Held(
        round(seconds),
        programs,
        round(one.memory_info().rss / 1e6, 1),
        one.num_fds(),
        one.num_threads(),
        len(sizes),
        round(sum(sizes), 1),
    )


def slope(rows: list[Held], name: str) -> float | None:
    """What the later half of the rows gains in an hour, by a straight line."""
    later = rows[len(rows) // 2 :]
    if len(later) < 3:
        return None
    seconds = [row.seconds for row in later]
    gained = statistics.linear_regression(seconds, [getattr(row, name) for row in later]).slope
    return round(3600 * gained, 1)


def around(rows: list[Held]) -> dict[str, Any]:
    """Megabytes and descriptors, the middle of five minutes, five minutes in and at the end."""
    first = [row for row in rows if 300 <= row.seconds < 600]
    last = [row for row in rows if row.seconds >= rows[-1].seconds - 300]
    return {
        f"{name}_{when}": statistics.median(getattr(row, name) for row in some)
        for name in ("megabytes", "descriptors")
        for when, some in (("then", first), ("at_the_end", last))
        if some
    }


def run(
    seconds: float,
    every: float,
    workers: int,
    seed: int,
    folder: Path,
    tell: Callable[[Found], Any],
) -> tuple[Found, Counter[str]]:
    """Compute for so many seconds while workers come and go; what was found, and what was done."""
    found, wanted = Found(), dict[str, str]()
    with faults.pool_of(workers, seed) as pool:
        for name in faults.PROGRAMS:
            _, wanted[name], problem = faults.timed(pool, name, folder)
            if problem:
                raise RuntimeError(f"{name} fails before any worker was lost: {problem}")
        churn = Churn(pool, every, random.Random(seed))
        thread = threading.Thread(target=churn.turns, daemon=True)
        began, looked = time.monotonic(), -PERIOD
        thread.start()
        while (now := time.monotonic() - began) < seconds:
            if now - looked >= PERIOD:
                looked = now
                found.held.append(held(pool, now, found.programs.total()))
                tell(found)
            name = [*faults.PROGRAMS][found.programs.total() % len(faults.PROGRAMS)]
            took, digest, problem = faults.timed(pool, name, folder)
            found.programs[name] += 1
            found.slowest = max(found.slowest, took)
            if problem or digest != wanted[name]:
                found.wrong.append(f"{name} at {now:.0f} s: {problem or 'other bits'}")
                if "hangs" in problem:
                    break
        churn.over.set()
        thread.join()
    return found, churn.done


def shown(found: Found, done: Counter[str], more: dict[str, Any]) -> dict[str, Any]:
    """As it is written down."""
    names = ("megabytes", "descriptors", "threads", "workers_megabytes")
    told = {"minutes": round(found.held[-1].seconds / 60), "events_in_all": done.total()}
    told |= {"failed": len(found.wrong)} | around(found.held)
    return {
        **more,
        **told,
        "programs": found.programs.total(),
        "each": dict(found.programs),
        "events": dict(done),
        "wrong": found.wrong,
        "slowest_program_s": round(found.slowest, 1),
        "slope_an_hour": {name: slope(found.held, name) for name in names},
        "held": [vars(row) for row in found.held],
    }


def main() -> int:
    """Run, show and write what was found; 1 where something was wrong or left."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--every", type=float, default=3.0, help="seconds between two events")
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--forked", action="store_true", help="workers come back sooner")
    given = parser.parse_args()
    if given.forked:
        faults.fork_workers()
    about = {"cpus": os.cpu_count(), "workers": given.workers, "every_s": given.every}
    about |= {"minutes_asked": given.minutes, "seed": given.seed, "forked": given.forked}
    about["trim_threshold"] = os.environ.get("MALLOC_TRIM_THRESHOLD_")

    def write(found: Found, done: Counter[str], more: dict[str, Any]) -> None:
        if given.json:
            given.json.parent.mkdir(parents=True, exist_ok=True)
            given.json.write_text(json.dumps(shown(found, done, more), indent=1) + "\n")

    def tell(found: Found) -> None:
        print(found.held[-1], len(found.wrong), "wrong", flush=True)
        write(found, Counter(), {"about": about})

    before, began = faults.children(), time.monotonic()
    with TemporaryDirectory() as directory:
        some = given.every, given.workers, given.seed, Path(directory), tell
        found, done = run(60 * given.minutes, *some)
        left = faults.left_behind(before, Path(directory))
    about["load"] = os.getloadavg()[0]
    more = {"about": about, "seconds": round(time.monotonic() - began), "left": left}
    write(found, done, more)
    rest = shown(found, done, more)
    print(json.dumps({name: value for name, value in rest.items() if name != "held"}, indent=1))
    return int(bool(found.wrong or left))


if __name__ == "__main__":
    sys.exit(main())
