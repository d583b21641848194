"""The published programs run with only their import line changed.

Rocklin (2019) sums every second element of 500,000 x 500,000 normals, 2 TB of float64; Morizet
(2020) takes the mean over 100,000 x 100,000. At their published sizes they take minutes on a core,
so those runs are marked slow; the ordinary run builds, describes and plans the published sizes,
watches the memory of the 2 TB sum for some seconds, and computes smaller ones.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import dask
import numpy as np
import pytest

import speedcube as sc
from speedcube.engine import rungs

ROCKLIN = """
import dask.array as da

rs = da.random.RandomState()
x = rs.normal(10, 1, size=(500000, 500000), chunks=(10000, 10000))
y = (x + 1)[::2, ::2]
result = y.sum()
"""
MORIZET = """
import dask.array as da

rs = da.random.RandomState()
x = rs.normal(10, 1, size=(100000, 100000), chunks=(10000, 10000))
y = (x + 1)[::2, ::2]
result = y.mean()
"""
PROGRAMS = {"rocklin": (ROCKLIN, 500_000), "morizet": (MORIZET, 100_000)}
CPU_SCHEDULERS = ["single-threaded", "sync", "threads", None]


def ours(program: str, size: int | None = None) -> str:
    """``program`` with its import line changed and, for quick runs, ``size`` rows and columns."""
    text = program.replace("import dask.array as da", "import speedcube as da")
    assert text != program
    if size is not None:
        for published in ("500000", "100000"):
            text = text.replace(f"({published}, {published})", f"({size}, {size})")
        text = text.replace("(10000, 10000)", f"({size // 10}, {size // 10})")
    return text


def run(text: str) -> SimpleNamespace:
    """The names ``text`` leaves behind."""
    names: dict[str, Any] = {}
    exec(text, names)
    return SimpleNamespace(**names)


# What can be seen before anything runs -----------------------------------------------------------


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_arrays_describe_themselves_as_dasks_do(name: str) -> None:
    program, n = PROGRAMS[name]
    mine, dasks = run(ours(program)), run(program)
    assert mine.x.nbytes == 8 * n * n
    for value, wanted in ((mine.x, dasks.x), (mine.y, dasks.y), (mine.result, dasks.result)):
        assert value.shape == wanted.shape
        assert value.dtype == wanted.dtype
        assert value.ndim == wanted.ndim
        assert value.size == wanted.size
        assert value.nbytes == wanted.nbytes
        assert value.chunks == wanted.chunks
        assert value.numblocks == wanted.numblocks
    assert mine.x.chunks == ((10_000,) * (n // 10_000),) * 2
    assert mine.y.chunks == ((5_000,) * (n // 10_000),) * 2


@pytest.mark.parametrize(
    ("name", "size", "terabytes"), [("rocklin", "500000", "2 TB"), ("morizet", "100000", "80 GB")]
)
def test_they_print_and_draw_themselves(name: str, size: str, terabytes: str) -> None:
    mine = run(ours(PROGRAMS[name][0]))
    assert repr(mine.x) == (f"<speedcube.Array ({size}, {size}) float64: normal(10, 1)>")
    assert "float64" in repr(mine.result)
    assert "normal(10, 1)" in repr(mine.result)
    picture = mine.x._repr_html_()
    assert terabytes in picture
    assert "<svg" in picture
    assert "</svg>" in picture


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("rung", ["core", "cores:2", "cores:40"])
def test_the_published_sizes_are_planned(name: str, rung: str) -> None:
    mine = run(ours(PROGRAMS[name][0]))
    plan = mine.result.plan(on=rung)
    assert plan.rung == rung
    assert plan.tasks <= plan.workers + 1
    assert plan.peak_bytes < 300e6
    assert plan.result_bytes == 8


def test_the_words_of_dasks_schedulers_name_rungs() -> None:
    result = run(ours(ROCKLIN)).result
    assert result.plan(scheduler="single-threaded").rung == "core"
    assert result.plan(scheduler="sync").rung == "core"
    assert result.plan(scheduler="threads").rung == "cores"
    with dask.config.set(scheduler="single-threaded"):
        assert result.plan().rung == "core"


# Smaller, on every CPU rung ----------------------------------------------------------------------

SMALL = 4000


@pytest.mark.parametrize("scheduler", CPU_SCHEDULERS)
def test_rocklins_sum(scheduler: str | None) -> None:
    """Within five standard errors, whatever the seed: one run in two million may fail."""
    n = (SMALL // 2) ** 2
    value = run(ours(ROCKLIN, SMALL)).result.compute(scheduler=scheduler)
    assert isinstance(value, np.float64)
    assert abs(value - 11 * n) < 5 * np.sqrt(n)


@pytest.mark.parametrize("scheduler", CPU_SCHEDULERS)
def test_morizets_mean(scheduler: str | None) -> None:
    """Within five standard errors, whatever the seed: one run in two million may fail."""
    value = run(ours(MORIZET, SMALL)).result.compute(scheduler=scheduler)
    assert isinstance(value, np.float64)
    assert abs(value - 11) < 5 / (SMALL // 2)


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_seed_gives_one_result(name: str) -> None:
    """On every rung, and with ``float()``."""
    text = ours(PROGRAMS[name][0], SMALL).replace("RandomState()", "RandomState(7)")
    values = {run(text).result.compute(scheduler=s).hex() for s in CPU_SCHEDULERS}
    values.add(run(text).result.compute(on="cores:3").hex())
    values.add(float(run(text).result).hex())
    with sc.on("cores:2"):
        values.add(float(run(text).result).hex())
    assert len(values) == 1
    assert run(text.replace("(7)", "(8)")).result.compute().hex() not in values


@pytest.fixture
def client() -> Iterator[Any]:
    """An active client of a small cluster in this process."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=False,
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.cluster
def test_with_an_active_client(client: Any) -> None:
    text = ours(ROCKLIN, SMALL).replace("RandomState()", "RandomState(7)")
    result = run(text).result
    assert result.plan().rung.startswith("client ")
    assert result.plan().workers == 2
    value = result.compute()
    assert value.hex() == result.compute(scheduler="single-threaded").hex()


# Memory ------------------------------------------------------------------------------------------

_WATCHED = """
import os, resource, threading

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

import dask.threaded, dask.local  # imports of the engine
{program_import}
before = peak()

def stop():
    print(peak() - before, "stopped", flush=True)
    os._exit(0)

timer = threading.Timer({seconds}, stop)
timer.daemon = True
timer.start()
{program}
value = result.compute(scheduler="{scheduler}")
print(peak() - before, "finished", value.hex(), flush=True)
os._exit(0)
"""


def watched(scheduler: str, seconds: float, size: int | None = None) -> list[str]:
    """Bytes Rocklin's program took beyond its imports, and whether it finished in ``seconds``."""
    text = _WATCHED.format(
        program_import="import speedcube as da",
        program=ours(ROCKLIN, size),
        seconds=seconds,
        scheduler=scheduler,
    )
    done = subprocess.run(
        [sys.executable, "-c", text],
        check=True,
        capture_output=True,
        text=True,
        timeout=seconds + 120,
    )
    return done.stdout.split()


on_linux = pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux only")


@on_linux
@pytest.mark.parametrize("scheduler", ["single-threaded", "threads"])
def test_two_terabytes_in_little_memory(scheduler: str) -> None:
    """The first four seconds of the published sum: compiling, and then billions of normals.

    A core calls the same kernel on one box after another and keeps one record of 576 bytes, so
    later seconds are like these; the slow test below watches a whole run.
    """
    grown, state, *_ = watched(scheduler, 4)
    assert int(grown) < 300e6
    assert state in ("stopped", "finished")


# At the published sizes --------------------------------------------------------------------------


@pytest.mark.slow
@on_linux
@pytest.mark.parametrize(("scheduler", "size"), [("single-threaded", 200_000), ("threads", None)])
def test_rocklin_published(scheduler: str, size: int | None) -> None:
    """6.25e10 normals, on all cores: minutes on one, which has 1e10 to make.

    The sum is within five standard errors.
    """
    grown, state, *value = watched(scheduler, 3600, size)
    assert state == "finished"
    assert int(grown) < 300e6
    edge = (size or 500_000) // 2
    assert abs(float.fromhex(value[0]) - 11 * edge**2) < 5 * edge


@pytest.mark.slow
@pytest.mark.parametrize("rung", ["core", "cores", "cores:2", "cores:3"])
def test_morizet_published(rung: str) -> None:
    """2.5e9 normals on every CPU rung: within 1e-4 of 11, which is five standard errors."""
    value = run(ours(MORIZET)).result.compute(on=rung)
    assert abs(value - 11) < 1e-4


GPU_RUNGS = [rung for rung in rungs.available() if rung.startswith("gpu")]


@pytest.mark.gpu
@pytest.mark.skipif(not GPU_RUNGS, reason="no GPU is visible here")
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("scheduler", ["single-threaded", "threads"])
def test_published_on_gpus(name: str, scheduler: str) -> None:
    """``RandomState=cupy.random.RandomState`` means the GPU; a GPU takes the published sizes."""
    program, n = PROGRAMS[name]
    state = "import cupy\nrs = da.random.RandomState(RandomState=cupy.random.RandomState)"
    result = run(ours(program).replace("rs = da.random.RandomState()", state)).result
    wanted = "gpu" if scheduler == "single-threaded" or len(GPU_RUNGS) == 1 else "gpus"
    assert result.plan(scheduler=scheduler).rung.startswith(wanted)
    value = result.compute(scheduler=scheduler)
    count = (n // 2) ** 2
    mean = value / count if name == "rocklin" else value
    assert abs(mean - 11) < 5 / np.sqrt(count)
