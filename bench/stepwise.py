"""Small programs the first time and again: node by node, by kernels, and with NumPy.

    python bench/stepwise.py [--json FILE]

Each program runs in a process of its own, with kernels of earlier processes on disk ("first") and
without ("first ever"), then twice more ("again": the better). Processor milliseconds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy

import speedcube
from speedcube.commands.this_machine import processor
from speedcube.engine.stepwise.choice import by_kernels


def wave(np: Any) -> Any:
    """A wave on a ring of 200 points, 100 steps."""
    u, v = np.exp(-(((np.arange(200) - 100) / 10.0) ** 2)), np.zeros(200)
    for _ in range(100):
        v = v + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
        u = u + v * 0.5
    return u


def network(np: Any) -> Any:
    """Thirty steps of a network of 16 neurons on 100 points of three numbers."""
    rng = numpy.random.default_rng(27)
    x, a, b = (np.asarray(rng.normal(size=shape)) for shape in ((100, 3), (3, 16), (16, 1)))
    wanted = (x[:, :1] * x[:, 1:2] > 0) * 1.0
    for _ in range(30):
        hidden = np.maximum(0, x @ a)
        error = (1 / (1 + np.exp(-(hidden @ b))) - wanted) / 100
        a, b = a - 0.5 * (x.T @ ((error @ b.T) * (hidden > 0))), b - 0.5 * (hidden.T @ error)
    return a


def regression(np: Any) -> Any:
    """A logistic regression of 500 points, 50 steps."""
    rng = numpy.random.default_rng(3)
    x, w = np.asarray(rng.normal(size=(500, 4))), np.zeros(4)
    wanted = (x @ np.asarray([1.0, -2, 0.5, 0]) > 0) * 1.0
    for _ in range(50):
        w = w - 0.1 * (x.T @ (1 / (1 + np.exp(-(x @ w))) - wanted)) / 500
    return w


def bodies(np: Any) -> Any:
    """Five steps of fifty bodies."""
    rng = numpy.random.default_rng(7)
    at, masses = np.asarray(rng.normal(size=(50, 3))), np.asarray(rng.random(50))
    speed = np.zeros((50, 3))
    for _ in range(5):
        apart = at[None] - at[:, None]
        weights = masses[None, :] / ((apart**2).sum(-1) + 0.01) ** 1.5
        speed = speed + (apart * weights[..., None]).sum(1) * 0.01
        at = at + speed * 0.01
    return at


PROGRAMS: Final[dict[str, Callable[[Any], Any]]] = {
    each.__name__: each for each in (wave, network, regression, bodies)
}


def timed(name: str, way: str) -> list[float]:
    """Three runs in this process."""
    library = numpy if way == "numpy" else speedcube
    taken = []
    with by_kernels() if way == "kernels" else nullcontext():
        for _ in range(3):
            start = time.process_time()
            numpy.asarray(PROGRAMS[name](library))
            taken.append(round((time.process_time() - start) * 1e3, 3))
    return taken


def asked(name: str, way: str, folder: str) -> list[float]:
    """The same in a process that has its kernels in ``folder``."""
    command = [sys.executable, __file__, "--one", name, way]
    environment = {**os.environ, "SPEEDCUBE_CACHE_DIR": folder, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(timed(*options.one)))
        return
    found: dict[str, Any] = {
        "command": " ".join(["python", *sys.argv]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": processor(),
        "numpy": numpy.__version__,
        "load": os.getloadavg(),
        "unit": "processor ms",
        "programs": {},
    }
    for name in PROGRAMS:
        rows: dict[str, Any] = {"numpy": asked(name, "numpy", "")}
        for way in ("steps", "kernels"):
            with tempfile.TemporaryDirectory() as folder:
                rows[way] = {
                    "first ever": asked(name, way, folder),
                    "first": asked(name, way, folder),
                }
        found["programs"][name] = rows
        print(f"{name:11} NumPy {rows['numpy']}")
        for way in ("steps", "kernels"):
            print(f"{'':11} {way:8} {rows[way]}", flush=True)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
