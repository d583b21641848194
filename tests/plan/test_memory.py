"""A plan's ``peak_bytes`` holds: what a run takes beyond its imports stays below it."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest

import speedcube as sc

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux only")

_MEASURE = """
import resource, sys
import numpy as np
import speedcube as sc

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

rung = sys.argv[1]
rng = sc.random.default_rng(0)
(rng.normal(size=2000).sum() + 0).compute(on=rung)  # LLVM and the thread pool are loaded
{make}
before = peak()
plan = array.plan(on=rung)
array.compute(on=rung)
print(peak() - before, plan.peak_bytes, plan.workers)
"""

ARRAYS = {
    "sum of stored data": "data = np.ones((4000, 4000)); array = sc.asarray(data).sum()",
    "stored data, doubled": "data = np.ones((4000, 2000)); array = sc.asarray(data) * 2",
    "var of very many rows": "array = rng.random((300_000, 20)).var(axis=1)",
    "sum of very many columns": "array = rng.random((20, 300_000)).sum(axis=0)",
    "argmin of very many columns": "array = rng.random((20, 300_000)).argmin(axis=0)",
    "a large intermediate": ("x = rng.random((40, 400_000)); array = (x - x.mean(axis=0)).sum()"),
    "two large intermediates": (
        "x = rng.random((40, 200_000)); array = ((x - x.mean(axis=0)) / x.std(axis=0)).max(axis=1)"
    ),
    "max of very many rows": "array = rng.random((15_000_000, 2)).max(axis=1)",
    "a flat result": "array = sc.arange(5_000_000) * 3 + 1",
    "a small dtype": "array = rng.integers(0, 9, size=(3000, 3000), dtype='int8') + 1",
    "prod of very many rows": "array = rng.random((8_000_000, 3)).prod(axis=1)",
    "prod of very many columns": "array = rng.random((3, 8_000_000)).prod(axis=0)",
    "prod of very many float32 rows": (
        "array = rng.random((7_000_000, 3), dtype='float32').prod(axis=1)"
    ),
    "prod, its columns in memory": (
        "data = np.ones((500_000, 3, 4)).T; array = sc.asarray(data).prod(axis=0)"
    ),
    "running sums of columns": "array = rng.random((2, 4_000_000)).cumsum(axis=0)",
    "running sums of two columns": "array = rng.random((4_000_000, 2)).cumsum(axis=0)",
    "running products in the middle": "array = rng.random((3, 1000, 3000)).cumprod(axis=1)",
    "running float16 sums": (
        "array = rng.random((3000, 3000)).astype('float16').cumsum(axis=0) + 1"
    ),
    "forty steps of a loop": (
        "array = sc.asarray(np.ones((1000, 2000)))\n"
        "for _ in range(40): array = array[1:-1] + (array[:-2] - array[2:]) * 0.1"
    ),
    "steps round a torus": (
        "array = sc.asarray(np.ones((1000, 2000)))\n"
        "for _ in range(12): array = sc.roll(array, 1, 0) - sc.pad(array[:, 2:], ((0, 0), (1, 1)))"
    ),
    "sums over pieces": (
        "array = sc.concatenate([rng.random((3000, 900)), rng.random((2000, 900))]).std(axis=0)"
    ),
    "80 GB, a slice": "array = rng.normal(size=(100_000, 100_000))[::100, ::100].sum(axis=1)",
}


@pytest.mark.parametrize("rung", ["core", "cores:2"])
@pytest.mark.parametrize("name", ARRAYS)
def test_peak_bytes_hold(name: str, rung: str) -> None:
    """``peak_bytes`` is each worker's, so two workers together stay below twice as much."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE.format(make=ARRAYS[name]), rung],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    grown, promised, workers = map(int, done.stdout.split())
    assert grown <= workers * promised, f"{grown:,} bytes more; {promised:,} for each of {workers}"


@pytest.mark.parametrize("rung", ["core", "cores:2"])
def test_stored_data_are_freed_with_their_arrays(rung: str) -> None:
    """Plans and kernels' arguments that are kept for the next call keep no data alive."""
    for ask in (lambda x: x + 1, lambda x: x.sum(), lambda x: sc.exp(x).mean(axis=0), lambda x: x):
        data = np.ones((40, 50))
        freed = weakref.ref(data)
        result = ask(sc.asarray(data))
        result.compute(on=rung)
        result.compute(on=rung)
        del data, result
        gc.collect()
        assert freed() is None
