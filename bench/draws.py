"""Random numbers beside NumPy's Generator on one core, and beside CuPy's on a GPU.

python bench/draws.py [--gpu] [--only WORD] [--json FILE]. On a CPU every figure is a ratio of two
calls in turn that fill memory, ours on one core: above 1, ours is the faster. On a GPU numbers are
drawn and summed, ours exactly, by the billion; CuPy fills memory with as many as fit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import gpu
import numpy as np
from cpu import in_turn

import speedcube as sc
from speedcube.commands.this_machine import this_machine
from speedcube.engine import cpu
from speedcube.engine.prepare import prepare
from speedcube.engine.tiers import FULL_PAYS

# Name: the method, its parameters, and how much faster than NumPy it is asked to be.
DRAWS: Final[dict[str, tuple[str, tuple[Any, ...], float]]] = {
    "uniform": ("random", (), 5),
    "integers": ("integers", (0, 1000), 5),
    "normal": ("normal", (), 5),
    "exponential": ("exponential", (), 5),
    "lognormal": ("lognormal", (), 5),
    "laplace": ("laplace", (), 5),
    "cauchy": ("standard_cauchy", (), 5),
    "weibull": ("weibull", (1.5,), 5),
    "bernoulli": ("binomial", (1, 0.3), 5),
    "gamma 2.5": ("standard_gamma", (2.5,), 3),
    "gamma 1": ("standard_gamma", (1.0,), 3),
    "gamma 0.5": ("standard_gamma", (0.5,), 3),
    "beta 2, 3": ("beta", (2.0, 3.0), 3),
    "beta 0.5, 0.5": ("beta", (0.5, 0.5), 3),
    "chisquare 5": ("chisquare", (5.0,), 3),
    "poisson 4": ("poisson", (4.0,), 3),
    "poisson 100": ("poisson", (100.0,), 3),
    "poisson 1e6": ("poisson", (1e6,), 3),
    "binomial 10, 0.3": ("binomial", (10, 0.3), 3),
    "binomial 100, 0.3": ("binomial", (100, 0.3), 3),
    "binomial 1000, 0.5": ("binomial", (1000, 0.5), 3),
    "student t 5": ("standard_t", (5.0,), 3),
    "geometric": ("geometric", (0.3,), 0),
    "hypergeometric": ("hypergeometric", (100, 200, 50), 0),
    "zipf": ("zipf", (2.5,), 0),
    "von mises": ("vonmises", (0.0, 2.0), 0),
    "logseries": ("logseries", (0.6,), 0),
}
COUNT: Final = 1 << 20  # numbers of a call on a CPU: 8 MB
CUPY: Final = 2 * 10**8  # and of CuPy's


def on_a_core() -> dict[str, Any]:
    rows = {}
    theirs = np.random.default_rng(1)
    for name, (method, parameters, asked) in DRAWS.items():
        if not wanted(name):
            continue
        ours = getattr(sc.random.default_rng(1), method)(*parameters, size=COUNT)
        warm(ours)
        row = in_turn(
            lambda y=ours: y.compute(on="core"),
            lambda m=method, p=parameters: getattr(theirs, m)(*p, size=COUNT),
        )
        rows[name] = printed(name, row | {"asked": asked})
    if wanted("permutation"):
        ours = sc.random.default_rng(1).permutation(COUNT)
        warm(ours)
        row = in_turn(lambda: ours.compute(on="core"), lambda: theirs.permutation(COUNT))
        rows["permutation"] = printed("permutation", row | {"asked": 0})
        rows["permutation, a slice of 2**60"] = far_slice()
    return rows


def warm(array: Any) -> None:
    """Have the full kernel, as after 2**26 numbers."""
    stage = array.plan(on="core").stages[0]
    prepared = prepare(stage, stage.parts[0], (1,))
    cpu.frame_of(prepared).tiers.seen = FULL_PAYS


def printed(name: str, row: dict[str, Any]) -> dict[str, Any]:
    row["ns"] = statistics.median(row["ours"]) / COUNT * 1e9
    asked = f", {row['asked']:g} asked" if row["asked"] else ""
    print(f"{name:20} {row['ratio']:6.2f} times NumPy{asked}; {row['ns']:.1f} ns", flush=True)
    return row


def far_slice() -> dict[str, Any]:
    """Every 2**40th of 2**60: from the call to the numbers."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        sc.random.default_rng(1).permutation(2**60)[:: 2**40].compute(on="core")
        times.append(time.perf_counter() - start)
    print(f"a slice of 2**20 of 2**60 things: {statistics.median(times) * 1e3:.0f} ms")
    return {"seconds": times}


def on_a_gpu() -> dict[str, Any]:
    rows = {}
    for name, (method, parameters, _) in DRAWS.items():
        if not wanted(name):
            continue
        count = 4 * 10**10 if name in ("uniform", "exponential", "normal") else 4 * 10**9
        array = getattr(sc.random.default_rng(1), method)(*parameters, size=count).sum()
        total, times = repeated(lambda a=array: a.compute(on="gpu"), 4)
        bits = hashlib.sha256(np.asarray(total).tobytes()).hexdigest()[:16]
        rows[name] = {"per_second": count / min(times[1:]), "seconds": times, "bits": bits}
        rows[name]["cupy"] = cupys(method, parameters)
        row = rows[name]
        beside = f"CuPy {row['cupy'] / 1e9:.2f}" if row["cupy"] else "not in CuPy"
        print(f"{name:20} {row['per_second'] / 1e9:7.1f} G/s; {beside}; first {times[0]:.2f} s")
    if wanted("fill"):
        rows["fill"] = filled()
    if wanted("permutation"):
        array = sc.random.default_rng(1).permutation(2**33).sum()
        _, times = repeated(lambda: array.compute(on="gpu"), 3)
        rows["permutation"] = {"per_second": 2**33 / min(times[1:]), "seconds": times}
        print(f"permutation {rows['permutation']['per_second'] / 1e9:.1f} G/s")
    return rows


def cupys(method: str, parameters: tuple[Any, ...]) -> float | None:
    """Numbers a second of CuPy's Generator, else of its legacy functions; None without either."""
    import cupy

    rng = cupy.random.default_rng(1)
    draw = getattr(rng, method, None) or getattr(cupy.random, method, None)
    if draw is None:
        return None
    stream = cupy.cuda.get_current_stream()

    def call() -> None:
        draw(*parameters, size=CUPY)
        stream.synchronize()

    return CUPY / min(repeated(call, 4)[1][1:])


def filled() -> dict[str, Any]:
    """16 GB of normals into memory, beside CuPy's fill with one number."""
    import cupy

    count = 2 * 10**9
    array = sc.random.default_rng(1).normal(size=count)
    wait = cupy.cuda.get_current_stream().synchronize
    times = repeated(lambda: (array.compute(on="gpu", to="cupy"), wait()), 5)[1]
    memory = cupy.empty(count)

    def fill() -> None:
        memory.fill(1.0)
        wait()

    writes = repeated(fill, 5)[1]
    row = {"per_second": count / min(times[1:]), "seconds": times, "write": writes}
    share = min(writes[1:]) / min(times[1:])
    print(f"filling: {row['per_second'] / 1e9:.1f} G/s, {share:.2f} of the speed of a write")
    return row | {"share": share}


def repeated(call: Callable[[], Any], times: int) -> tuple[Any, list[float]]:
    result, seconds = None, []
    for _ in range(times):
        start = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - start)
    return result, seconds


def wanted(name: str) -> bool:
    return not options.only or options.only in name


def main() -> None:
    rows = on_a_gpu() if options.gpu else on_a_core()
    if options.json:
        machine = gpu.machine() if options.gpu else this_machine()
        head = {"command": " ".join(sys.argv), "date": datetime.now(UTC).isoformat()}
        with open(options.json, "w") as file:
            json.dump({**head, "machine": machine, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--json")
    options = parser.parse_args()
    main()
