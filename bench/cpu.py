"""The CPU figures, each a ratio of two things measured in turn in this one run.

python bench/cpu.py [--json FILE] [--only WORD]. Absolute times are printed only for latencies.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Any

import dask
import dask.array as da
import numpy as np

import speedcube as sc
from speedcube.commands.this_machine import this_machine
from speedcube.engine import cpu, tiers
from speedcube.kernel.llvm.simd import targets


def seconds(run: Callable[[], Any], repeat: int = 5) -> list[float]:
    """Seconds of each of ``repeat`` runs, after one that is not counted."""
    run()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return times


def in_turn(ours: Callable[[], Any], theirs: Callable[[], Any], repeat: int = 9) -> dict[str, Any]:
    """theirs / ours, pair by pair; the median ratio. Ours draws in each run."""
    dask.config.set({"speedcube.keep-drawn": 0})
    ours(), theirs()
    pairs = []
    for _ in range(repeat):
        start = time.perf_counter()
        ours()
        middle = time.perf_counter()
        theirs()
        pairs.append((middle - start, time.perf_counter() - middle))
    return {
        "ratio": statistics.median(b / a for a, b in pairs),
        "ours": [a for a, _ in pairs],
        "theirs": [b for _, b in pairs],
    }


def published(n: int, dtype: str = "float64") -> Any:
    x = sc.random.default_rng(0).normal(10, 1, size=(n, n), dtype=dtype)
    return (x + 1)[::2, ::2].sum()


def against_dask() -> dict[str, Any]:
    n = 6000
    ours = published(n)
    x = da.random.RandomState(0).normal(10, 1, size=(n, n), chunks=(2000, 2000))
    theirs = (x + 1)[::2, ::2].sum()
    return in_turn(
        lambda: ours.compute(on="core"), lambda: theirs.compute(scheduler="single-threaded")
    )


def against_dask_with_avx2() -> dict[str, Any]:
    """The same, our kernels compiled for AVX2 where this machine has more."""
    if "avx2" not in targets():
        return {"not run": "this machine has no AVX2"}
    cpu.targets = lambda: ("avx2",)
    try:
        return against_dask()
    finally:
        cpu.targets = targets


_JAX = """
import os, json, sys
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.environ["JAX_PLATFORMS"] = "cpu"
import jax
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp
sys.path.insert(0, os.path.dirname(sys.argv[1]))
import cpu

@jax.jit
def theirs(key):
    x = 10 + jax.random.normal(key, (6000, 6000), dtype=jnp.float64)
    return (x + 1)[::2, ::2].sum()

key = jax.random.key(0)
ours = cpu.published(6000)
found = cpu.in_turn(lambda: ours.compute(on="core"), lambda: theirs(key).block_until_ready())
print(json.dumps({**found, "jax": jax.__version__}))
"""


def against_jax() -> dict[str, Any]:
    """`jax.jit` of the same expression, the whole process bound to one CPU."""
    if find_spec("jax") is None or not hasattr(os, "sched_setaffinity"):
        return {"not run": "JAX is not installed here (pip install jax), or this is not Linux"}
    done = subprocess.run([sys.executable, "-c", _JAX, __file__], check=True,
                          stdout=subprocess.PIPE, text=True)  # fmt: skip
    return dict(json.loads(done.stdout))


def two_cores() -> dict[str, Any]:
    y = published(24_000)
    return in_turn(lambda: y.compute(on="cores:2"), lambda: y.compute(on="core"))


def float32_over_float64() -> dict[str, Any]:
    single, double = published(16_000, "float32"), published(16_000)
    return in_turn(lambda: single.compute(on="core"), lambda: double.compute(on="core"))


def stored_sum() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=20_000_000), rng.normal(size=20_000_000)
    y = (sc.asarray(a) * 2 + sc.asarray(b)).sum()
    return in_turn(lambda: y.compute(on="core"), lambda: (a * 2 + b).sum())


def shapes() -> dict[str, Any]:
    """Cost per needed element over that of the square case, each in full code (engine/tiers.py)."""
    pays, tiers.FULL_PAYS = tiers.FULL_PAYS, 0
    rng = sc.random.default_rng(0)
    n = 10**7
    square = rng.normal(10, 1, size=(5477, 5477))
    views = {
        "square": square,
        "(n, 3)": rng.normal(10, 1, size=(n, 3)),
        "(3, n)": rng.normal(10, 1, size=(3, n)),
        "1-d": rng.normal(10, 1, size=(n,)),
    }
    for name in ("(n, 3)", "(3, n)"):
        views[f"{name}[:, 0]"] = views[name][:, 0]
    for name in ("(n, 3)", "(3, n)", "1-d"):
        views[f"{name}[::3]"] = views[name][::3]
    cost = {}
    for name, view in views.items():
        y = (view + 1).sum()
        if view.size >= 1000:
            cost[name] = min(seconds(lambda y=y: y.compute(on="core"), 5)) / view.size
    tiers.FULL_PAYS = pays
    return {name: value / cost["square"] for name, value in cost.items()}


_UNARY = (np.sqrt, np.abs, np.square, np.floor, np.negative)


_VIEWS = (
    lambda x: x,
    lambda x: x[::2, ::2],
    lambda x: x[:, ::-1],
    lambda x: x.T,
    lambda x: x[5:, ::3],
    lambda x: x[::3, 7:-7],
)


def chains(seed: int = 2026) -> dict[str, Any]:
    """30 seeded chains of a source, element-wise steps, a view, a reduction, against NumPy."""
    pick = np.random.default_rng(seed)
    ratios, names = [], []
    for _ in range(30):
        source = str(pick.choice(["normal", "uniform", "exponential", "integers"]))
        steps = [int(s) for s in pick.integers(0, 8, size=pick.integers(1, 5))]
        view = int(pick.integers(0, len(_VIEWS)))
        reduction = str(pick.choice(["sum", "mean", "max", "min", "var", "std"]))
        axis = [None, None, 0, 1][int(pick.integers(0, 4))]

        def chain(x: Any, steps: Any = steps, view: int = view, reduction: str = reduction,
                  axis: Any = axis) -> Any:  # fmt: skip
            for step in steps:
                x = _UNARY[step](abs(x)) if step < 5 else (x + step if step < 7 else x * 1.5)
            return getattr(_VIEWS[view](x), reduction)(axis=axis)

        arguments = (1000,) if source == "integers" else ()
        shape = (1500, 2000)
        ours = chain(getattr(sc.random.default_rng(0), source)(*arguments, size=shape))
        theirs = np.random.default_rng(0)
        row = in_turn(
            lambda ours=ours: ours.compute(on="core"),
            lambda c=chain, s=source, g=theirs, a=arguments, n=shape: c(getattr(g, s)(*a, size=n)),
            5,
        )
        ratios.append(row["ratio"])
        names.append(f"{source} steps {steps} view {view} {reduction} axis {axis}")
    least = sorted(zip(ratios, names, strict=True))[:5]
    return {
        "median": statistics.median(ratios),
        "least": min(ratios),
        "slowest": least,
        "all": ratios,
    }


def latencies() -> dict[str, Any]:
    small = (sc.asarray(np.arange(10.0)) + 1).sum()
    tiny = seconds(lambda: [small.compute(on="core") for _ in range(100)], 9)

    def build_and_plan(n: int) -> Callable[[], Any]:
        def run() -> Any:
            x = sc.random.default_rng(0).normal(10, 1, size=(n, n))
            return (x + 1)[::2, ::2].sum().plan(on="cores")

        return run

    return {
        "tiny compute, us": statistics.median(tiny) / 100 * 1e6,
        "build + plan 2 TB, ms": statistics.median(seconds(build_and_plan(500_000))) * 1e3,
        "build + plan 2 PB, ms": statistics.median(seconds(build_and_plan(15_811_388))) * 1e3,
    }


_KERNEL = """
import time, speedcube as sc
from speedcube.engine import prepare, tiers
from speedcube.engine.compute import plan_for
from speedcube.kernel.llvm.compile import _linker
from speedcube.kernel.llvm.simd import targets
x = sc.random.default_rng(0).normal(10, 1, size=(5000, 5000))
y = (x + 1)[::2, ::2].sum()
stage = plan_for(y._expr, "core", None, False)[0].stages[-1]
begin = time.perf_counter()
targets(), _linker()
start = time.perf_counter()
program = prepare.prepare(stage, stage.parts[0], None).program
tiers.tiers(program, targets()[0]).kernel(1)
print(start - begin, time.perf_counter() - start)
"""


def kernels() -> dict[str, Any]:
    """Lowering, printing, compiling (or loading) the published kernel in fresh processes.

    What starting LLVM takes, once in a process, stands apart.
    """
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "SPEEDCUBE_CACHE_DIR": cache}

        def run() -> list[float]:
            done = subprocess.run([sys.executable, "-c", _KERNEL], env=environment, check=True,
                                  capture_output=True, text=True)  # fmt: skip
            return [float(word) * 1e3 for word in done.stdout.split()]

        cold = []
        for _ in range(5):
            for entry in os.scandir(cache):
                os.unlink(entry)
            cold.append(run())
        cached = [run() for _ in range(5)]
    return {
        "cold, ms": statistics.median(kernel for _, kernel in cold),
        "from the cache, ms": statistics.median(kernel for _, kernel in cached),
        "starting LLVM, ms": statistics.median(start for start, _ in cold + cached),
        "cold": cold,
        "cached": cached,
    }


def imports() -> dict[str, Any]:
    """Fresh processes whose modules are compiled to bytecode already, as on any second run."""
    bytecode = tempfile.mkdtemp()
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": bytecode}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def run(code: str) -> Callable[[], Any]:
        command = [sys.executable, "-c", code]
        return lambda: subprocess.run(command, check=True, env=environment)

    row = in_turn(run("import numpy"), run("import speedcube"), 7)
    bare = seconds(run("pass"), 7)
    base = statistics.median(bare)
    row["ratio without the interpreter's own start"] = (statistics.median(row["theirs"]) - base) / (
        statistics.median(row["ours"]) - base
    )
    return row


FIGURES = {
    "one core over Dask single-threaded (>= 40)": against_dask,
    "one core with AVX2 over Dask single-threaded (>= 25)": against_dask_with_avx2,
    "one core over jax.jit on the same core (>= 15)": against_jax,
    "two cores over one (>= 1.80)": two_cores,
    "float32 over float64 (>= 1.8)": float32_over_float64,
    "exact (a * 2 + b).sum() over NumPy (>= 2)": stored_sum,
    "cost of shapes over the square (each <= 2.2)": shapes,
    "30 chains over NumPy (median >= 10, each >= 3)": chains,
    "latencies (<= 300 us, 5 ms, 5 ms)": latencies,
    "kernel (<= 60 ms, 3 ms)": kernels,
    "import over import numpy (<= 5)": imports,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json")
    parser.add_argument("--only", default="", help="figures whose name contains this")
    options = parser.parse_args()
    figures: dict[str, Any] = {}
    for name, figure in FIGURES.items():
        if options.only not in name:
            continue
        figures[name] = figure()
        shown = {k: round(v, 3) for k, v in figures[name].items() if isinstance(v, float)}
        print(f"{name}: {shown}", flush=True)
    report = {
        "schema": 1,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": "python bench/cpu.py " + " ".join(sys.argv[1:]),
        "machine": this_machine(),
        "figures": figures,
    }
    if options.json:
        with open(options.json, "w") as file:
            json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()
