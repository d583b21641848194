"""Small computations and loops, built and computed each time: microseconds beside NumPy and CuPy.

python bench/small.py [--gpu] [--rows] [--steps] [--before SRC] [--json FILE]. On one core beside
NumPy, with ``--gpu`` on a GPU beside CuPy. Ours and the other's take turns in one process; with
``--before``, the ``src`` of an earlier tree, processes of both trees take turns, too. ``--rows``:
single operations instead (`small_rows.py`); ``--steps``: where the time of one goes.
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
from typing import Any, Final, TypeAlias

import numpy as np
import small_rows

import speedcube as sc
from speedcube.commands.this_machine import processor

Pairs: TypeAlias = dict[str, tuple[Callable[[], Any], Callable[[], Any]]]

A, B = (np.random.default_rng(seed).normal(size=1000) for seed in (1, 2))
LINE: Final = np.random.default_rng(3).normal(size=5000)
PLATE: Final = 4096  # the side of the plate whose heat a GPU spreads


def standardised(x: Any) -> Any:
    """Three stages: a mean, a deviation, a sum."""
    return ((x - x.mean()) / x.std()).sum()


def line(u: Any, steps: int) -> Any:
    for _ in range(steps):
        u = (u[:-2] + u[1:-1] * 2 + u[2:]) * 0.25
    return u


def heat(u: Any, steps: int) -> Any:
    for _ in range(steps):
        inner = u[1:-1, 1:-1]
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u = inner + (around - inner * 4) * 0.1
    return u


PAIRS: Final[Pairs] = {
    "(a * 2 + b).sum()": (
        lambda: (sc.asarray(A) * 2 + sc.asarray(B)).sum().compute(on="core"),
        lambda: (A * 2 + B).sum(),
    ),
    "the same, float(), default rung": (
        lambda: float((sc.asarray(A) * 2 + sc.asarray(B)).sum()),
        lambda: float((A * 2 + B).sum()),
    ),
    "a * 2 + b": (
        lambda: (sc.asarray(A) * 2 + sc.asarray(B)).compute(on="core"),
        lambda: A * 2 + B,
    ),
    "a.sum()": (lambda: sc.asarray(A).sum().compute(on="core"), A.sum),
    "a.mean()": (lambda: sc.asarray(A).mean().compute(on="core"), A.mean),
    "a.max()": (lambda: sc.asarray(A).max().compute(on="core"), A.max),
    "a.std()": (lambda: sc.asarray(A).std().compute(on="core"), A.std),
    "a[1:] - a[:-1]": (
        lambda: (lambda x: x[1:] - x[:-1])(sc.asarray(A)).compute(on="core"),
        lambda: A[1:] - A[:-1],
    ),
    "new lengths and numbers": (lambda: _loop(sc.asarray, "core"), lambda: _loop(None)),
    "((a - a.mean()) / a.std()).sum()": (
        lambda: standardised(sc.asarray(A)).compute(on="core"),
        lambda: standardised(A),
    ),
    "the same, new lengths": (
        lambda: standardised(sc.asarray(_part())).compute(on="core"),
        lambda: standardised(_part()),
    ),
    "a line of 5,000, 200 steps": (
        lambda: line(sc.asarray(LINE), 200).compute(on="core"),
        lambda: line(LINE, 200),
    ),
}
# Calls of one before it is the other's turn: few of what takes milliseconds.
_TURNS: Final = {"a line of 5,000, 200 steps": 3}
_TURN: Final = 50
_STEP = 0


def gpu_pairs() -> Pairs:
    """The same on a GPU: small things with the result on the host, loops whose result stays."""
    import cupy

    a, b = cupy.asarray(A), cupy.asarray(B)
    plate = cupy.asarray(np.random.default_rng(4).normal(size=(PLATE, PLATE)))
    stays = {"on": "gpu", "to": "cupy"}
    wait = cupy.cuda.Device().synchronize

    def waited(make: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> None:
            made = make()
            wait()
            del made

        return run

    def now_and_then() -> Any:
        u = sc.asarray(plate)
        for _ in range(5):
            u = heat(u, 10).persist(on="gpu")
        return u.compute(**stays)

    long = waited(lambda: heat(plate, 50))
    return {
        "(a * 2 + b).sum()": (
            lambda: (sc.asarray(a) * 2 + sc.asarray(b)).sum().compute(on="gpu"),
            lambda: float((a * 2 + b).sum()),
        ),
        "a * 2 + b": (
            waited(lambda: (sc.asarray(a) * 2 + sc.asarray(b)).compute(**stays)),
            waited(lambda: a * 2 + b),
        ),
        "a.sum()": (lambda: sc.asarray(a).sum().compute(on="gpu"), lambda: float(a.sum())),
        "a.max()": (lambda: sc.asarray(a).max().compute(on="gpu"), lambda: float(a.max())),
        "((a - a.mean()) / a.std()).sum()": (
            lambda: standardised(sc.asarray(a)).compute(on="gpu"),
            lambda: float(standardised(a)),
        ),
        HEAT: (waited(lambda: heat(sc.asarray(plate), 50).compute(**stays)), long),
        f"{HEAT}, computed every 10": (waited(now_and_then), long),
    }


HEAT: Final = f"heat of {PLATE} x {PLATE}, 50 steps"
_TURNS.update({HEAT: 3, f"{HEAT}, computed every 10": 3})


def _part() -> Any:
    """A part of the data, of another length each time."""
    global _STEP
    _STEP += 1
    return A[: 200 + _STEP % 797]


def _loop(read: Any, on: str = "") -> Any:
    """One step of a loop in which the length and the number change each time."""
    part = _part()
    number = 0.5 + _STEP
    return (read(part) * number).sum().compute(on=on) if read else (part * number).sum()


def measured(pairs: Pairs, clock: Callable[[], int], turns: int = 8) -> dict[str, dict[str, float]]:
    """Medians in microseconds by ``clock``, some calls of each in turn."""
    found = {}
    for name, pair in pairs.items():
        times: tuple[list[int], list[int]] = ([], [])
        for turn in range(1 + turns):
            for run, into in zip(pair, times, strict=True):
                for _ in range(_TURNS.get(name, _TURN)):
                    start = clock()
                    run()
                    if turn:
                        into.append(clock() - start)
        ours, other = (round(statistics.median(t) / 1e3, 1) for t in times)
        found[name] = {"us": ours, "other_us": other}
    return found


def chosen(options: argparse.Namespace) -> Pairs:
    """The pairs that are asked for."""
    if options.rows:
        return small_rows.pairs("gpu" if options.gpu else "core")
    return gpu_pairs() if options.gpu else PAIRS


def in_processes(trees: dict[str, str], on_gpu: bool, rows: bool, turns: int = 3) -> dict[str, Any]:
    """Figures of several trees, a new process for each in turn; the median over the turns."""
    runs: dict[str, list[Any]] = {name: [] for name in trees}
    for _ in range(turns):
        for name, source in trees.items():
            command = [sys.executable, __file__, "--one", *["--gpu"] * on_gpu, *["--rows"] * rows]
            paths = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
            environment = {**os.environ, "PYTHONPATH": paths}
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True
            )
            runs[name].append(json.loads(done.stdout))
    other = "cupy" if on_gpu else "numpy"
    return {
        row: {
            name: statistics.median(run[row]["us"] for run in several)
            for name, several in runs.items()
        }
        | {other: statistics.median(run[row]["other_us"] for run in runs["now"])}
        for row in runs["now"][0]
    }


def _device() -> str:
    import cupy

    return str(cupy.cuda.runtime.getDeviceProperties(0)["name"].decode())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", help="the src folder of an earlier tree")
    parser.add_argument("--gpu", action="store_true", help="on a GPU, beside CuPy")
    parser.add_argument("--rows", action="store_true", help="single operations")
    parser.add_argument("--steps", action="store_true", help="the steps of one, too")
    parser.add_argument("--json", help="a file to write")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        # On one core the seconds that the processor worked: what else runs is left out.
        clock = time.perf_counter_ns if options.gpu else time.process_time_ns
        print(json.dumps(measured(chosen(options), clock)))
        return
    if options.steps:
        for name, us in small_rows.steps("gpu" if options.gpu else "core").items():
            print(f"{name:50}{us:9.2f}")
    trees = {"before": options.before} if options.before else {}
    trees["now"] = str(Path(sc.__file__).parents[1])
    rows = in_processes(trees, options.gpu, options.rows)
    for name, row in rows.items():
        print(f"{name:50}" + "".join(f"{key:>9} {us:9.1f}" for key, us in row.items()))
    if options.json:
        facts = {
            "what": "1,000 stored float64 numbers (or as said), built and computed; microseconds, "
            "medians",
            "command": f"python bench/small.py{' --gpu' * options.gpu}{' --rows' * options.rows}"
            " --before SRC --json FILE",
            "device": _device() if options.gpu else f"one core, {processor()}",
            "date": datetime.now(UTC).date().isoformat(),
            "load": round(os.getloadavg()[0], 1),
            "python": sys.version.split()[0],
            "rows": rows,
        }
        Path(options.json).write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
