"""Loops that ask for a number of their state in each step: with NumPy or CuPy, and with speedcube.

    python bench/asking.py [--on core|cores|gpu] [--only LIFE ...] [--without] [--json FILE]

The same text for each library. Seconds: the first run of a process with kernels on disk or
without, as they are ("first"), and the best of three after it ("again"); "without" is a run with
``speedcube.keep-asked`` at 0, where each question makes all steps before it. The values of all
runs are compared.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Final, TypeAlias

import dask
import numpy

import speedcube
from speedcube.commands.this_machine import processor

RUNS: Final = 3
NOT_CUPYS: Final = ("edit_distance",)  # which asks for `minimum.accumulate`: NumPy's time instead
Row: TypeAlias = tuple[Callable[..., list[Any]], int, int]  # a program, its size and its steps


def life(np: Any, size: int, steps: int) -> list[Any]:
    """Cells that live, counted in each generation."""
    g = np.asarray(numpy.random.default_rng(0).integers(0, 2, (size, size)).astype("int8"))
    found = []
    for _ in range(steps):
        near = [np.roll(np.roll(g, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
        n = sum(near[1:], near[0])
        g = ((n == 3) | ((g == 1) & (n == 2))).astype("int8")
        found.append(int(g.sum()))
    return found


def heat(np: Any, size: int, steps: int) -> list[Any]:
    """Heat until it stands still, the edges held."""
    u = np.zeros((size, size))
    u[0] = 1.0
    found: list[Any] = []
    for _ in range(steps):
        new = u.copy()
        new[1:-1, 1:-1] = (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]) / 4
        found.append(round(float(abs(new - u).max()), 12))
        u = new
        if found[-1] < 1e-9:
            break
    return found


def wave(np: Any, size: int, steps: int) -> list[Any]:
    """A wave on a square, and its largest speed."""
    u = np.asarray(numpy.random.default_rng(1).random((size, size)))
    v, found = u * 0, []
    for _ in range(steps):
        near = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
        v = v + 0.1 * (near - 4 * u)
        u = u + 0.1 * v
        found.append(round(float(abs(v).max()), 12))
    return found


def regression(np: Any, size: int, steps: int) -> list[Any]:
    """A logistic regression, and its loss."""
    rng = numpy.random.default_rng(2)
    data = rng.normal(size=(size, 8))
    x, t, w = np.asarray(data), np.asarray((data[:, 0] > data[:, 1]) * 1.0), np.zeros(8)
    found = []
    for _ in range(steps):
        p = 1 / (1 + np.exp(-(x @ w)))
        found.append(round(float(-(t * np.log(p) + (1 - t) * np.log(1 - p)).mean()), 9))
        w = w - 0.5 * (x.T @ (p - t)) / size
    return found


def frames(np: Any, size: int, steps: int) -> list[Any]:
    """Every tenth state of a diffusion, as a picture."""
    u = np.asarray(numpy.random.default_rng(3).random((size, size)))
    found = []
    for k in range(steps):
        near = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1)
        u = u + 0.1 * (near - 4 * u)
        if k % 10 == 9:
            picture = u.get() if hasattr(u, "get") else numpy.asarray(u)
            found.append(round(float(picture[3, 4]), 12))
    return found


def orbit(np: Any, size: int, steps: int) -> list[Any]:
    """Predators and prey on many islands, and the most prey of one."""
    x = np.asarray(numpy.linspace(0.5, 1.5, size))
    y, most = 2 - x, []
    for _ in range(steps):
        x, y = x + 0.01 * x * (1 - y), y + 0.01 * y * (x - 1)
        most.append(round(float(x.max()), 12))
    return most


ROWS: Final[tuple[Row, ...]] = (
    (life, 64, 60),
    (life, 400, 60),
    (life, 2000, 60),
    (heat, 128, 100),
    (heat, 1000, 60),
    (wave, 100, 100),
    (wave, 1000, 60),
    (regression, 5000, 60),
    (frames, 256, 100),
    (frames, 2000, 60),
    (orbit, 1000, 200),
    (orbit, 1_000_000, 60),
)


def timed(program: Callable[..., list[Any]], library: Any, *given: int) -> tuple[float, list[Any]]:
    start = time.perf_counter()
    found = program(library, *given)
    return round(time.perf_counter() - start, 5), found


def row(program: Callable[..., list[Any]], on: str, without: bool, *given: int) -> dict[str, Any]:
    """The seconds of one program, of the same values."""
    other = import_module("cupy") if on == "gpu" and program.__name__ not in NOT_CUPYS else numpy
    theirs, ours = [], []
    for _ in range(RUNS + 1):  # in turns
        taken, wanted = timed(program, other, *given)
        theirs.append(taken)
        with speedcube.on(on):
            taken, found = timed(program, speedcube, *given)
        ours.append(taken)
        numpy.testing.assert_allclose(found, wanted, rtol=1e-9)
    made = {other.__name__: theirs, "ours": ours, "first": ours[0]}
    made |= {"again": min(ours[1:]), "ratio": round(min(theirs[1:]) / min(ours[1:]), 3)}
    if without:
        with speedcube.on(on), dask.config.set({"speedcube.keep-asked": 0}):
            made["without"], found = timed(program, speedcube, *given)
        numpy.testing.assert_allclose(found, wanted, rtol=1e-9)
    return made


def device() -> dict[str, str]:
    """Which GPU, and by what."""
    cupy = import_module("cupy")
    asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
    return {
        "gpu": cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(),
        "driver": subprocess.run(asked, capture_output=True, text=True).stdout.strip(),
        "cupy": cupy.__version__,
    }


def main(rows: Sequence[Row] = ROWS, text: str | None = __doc__) -> None:
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--on", default="core", choices=("core", "cores", "gpu"))
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--without", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found: dict[str, Any] = {
        "command": " ".join(["python", *sys.argv]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": processor(),
        "numpy": numpy.__version__,
        "on": options.on,
        "load": os.getloadavg(),
        "unit": "seconds",
        "programs": {},
    }
    if options.on == "gpu":
        found |= device()
    for program, size, steps in rows:
        name = f"{program.__name__} {size}, {steps} steps"
        if options.only and program.__name__ not in options.only:
            continue
        found["programs"][name] = one = row(program, options.on, options.without, size, steps)
        print(f"{name:28} {json.dumps(one)}", flush=True)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
