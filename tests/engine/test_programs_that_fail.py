"""Programs of several stages that are interrupted, fail or are too large: memory is as it was.

Real signals to real processes, real clusters, real limits of memory.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine import machine
from speedcube.errors import MemoryLimitError

pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
distributed = pytest.importorskip("distributed")

_DATA = np.random.default_rng(1).normal(size=(1000, 2000))
MIB: Final = 1 << 20
SLACK: Final = 12 * MIB  # what kernels and their caches take


# Ctrl-C ------------------------------------------------------------------------------------------

_PROGRAM: Final = """
import ctypes, gc, os, signal, sys, threading, time
import numpy as np
import psutil
import speedcube as sc
from distributed import Client, LocalCluster

DATA = np.random.default_rng(1).normal(size=(1000, 2000))

def program(size):
    u = sc.asarray(DATA)
    for _ in range(8):
        u = np.sin(u - (np.roll(u, 1, 0) + np.roll(u, -1, 1)) * 0.3)
    noise = sc.random.default_rng(2).normal(size=(size, size))
    return [(noise * u.mean()).sum(), u, u.sum(axis=0), u.max()]

def held():
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return psutil.Process().memory_info().rss

def press(delay, over):
    # Once more after ten seconds: Python ignores what it raises while a `__del__` runs.
    while not over.wait(delay):
        os.kill(os.getpid(), signal.SIGINT)
        delay = 10

def interrupted(count, on, delay, everywhere):
    def bits():
        return [np.asarray(value).tobytes() for value in sc.compute(*program(20)[:count], on=on)]

    wanted = bits()
    before = everywhere()
    endless = program(10**6)[:count]
    with sc.cache("1GB") as kept:
        over = threading.Event()
        threading.Thread(target=press, args=(delay, over), daemon=True).start()
        try:
            sc.compute(*endless, on=on)
        except KeyboardInterrupt:
            over.set()
        nothing = kept.nbytes == 0
    def grown():
        return max(after - one for after, one in zip(everywhere(), before))

    deadline = time.monotonic() + 30  # a thread or a worker leaves when its box is done
    while grown() > SLACK and time.monotonic() < deadline:
        time.sleep(0.1)
    print(grown(), nothing, bits() == wanted, flush=True)

def on_workers(client):
    def everywhere():
        while any(client.run(lambda dask_worker: [*dask_worker.data]).values()):
            time.sleep(0.1)
        return [held(), *dict(sorted(client.run(held).items())).values()]

    return everywhere

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a script's background
    where, SLACK, delays = sys.argv[1], int(sys.argv[2]), [float(one) for one in sys.argv[3:]]
    if where == "cluster":
        options = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
        with LocalCluster(n_workers=2, threads_per_worker=1, **options) as cluster:
            with Client(cluster) as client:
                for count, delay in zip((4, 1), delays):
                    interrupted(count, client, delay, on_workers(client))
    else:
        for delay in delays:
            for count in (4, 1):
                interrupted(count, where, delay, lambda: [held()])
"""


@pytest.mark.parametrize(
    "where",
    ["core", "cores:2", pytest.param("cluster", marks=[pytest.mark.cluster, pytest.mark.slow])],
)
def test_ctrl_c_between_stages_leaves_nothing(where: str, tmp_path: Path) -> None:
    """In the middle of a loop, and when several results are made and one takes for ever."""
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    delays = ["0.15", "0.8"] if where != "cluster" else ["1.5", "0.3"]
    done = subprocess.run(
        [sys.executable, str(program), where, str(SLACK), *delays],
        env={**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert len(rows) == (2 if where == "cluster" else 4)
    for grown, nothing_kept, same_bits in rows:
        assert int(grown) < SLACK, done.stdout
        assert (nothing_kept, same_bits) == ("True", "True"), done.stdout


# Workers -----------------------------------------------------------------------------------------


@pytest.fixture
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as connected,
    ):
        yield connected


def _program(rows: int) -> list[Any]:
    """Several results of several stages; each part of the first has 48 kB a row."""
    x = sc.random.default_rng(3).normal(size=(rows, 12_000))
    y = sc.exp(x - x.mean(axis=0)).cumsum(axis=0)
    return [y, y.max(axis=1), (x * x).sum(), x.min()]


def _limited(more: int | None) -> None:
    """Let this process have so many bytes more than it has, or as many as there are."""
    import resource

    import psutil

    limit = resource.RLIM_INFINITY if more is None else psutil.Process().memory_info().vms + more
    resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))


def _held() -> int:
    import ctypes
    import gc

    import psutil

    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return int(psutil.Process().memory_info().rss)


def _data_of(dask_worker: Any) -> list[str]:
    return [*dask_worker.data]


@pytest.mark.cluster
def test_a_stage_that_fails_on_a_worker(client: Any) -> None:
    """The stage, the worker and the cause are said; no worker keeps anything of it."""
    wanted = sc.compute(*_program(20), on=client)
    before = client.run(_held)
    client.run(_limited, 64 * MIB)
    with pytest.raises(MemoryLimitError) as caught:
        sc.compute(*_program(4000), on=client)
    client.run(_limited, None)
    text = str(caught.value)
    assert re.search(r"stage \d+, \w+ of \(4000, 12000\) to \(.*\), failed on worker tcp://", text)
    assert any(address in text for address in before)
    assert "MemoryError: Unable to allocate" in text
    assert "nothing of this computation is kept: give the worker more memory" in text
    deadline = time.monotonic() + 10
    while any(client.run(_data_of).values()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(client.run(_data_of).values())
    for address, held in client.run(_held).items():
        assert held < before[address] + 2 * SLACK, address
    for value, right in zip(sc.compute(*_program(20), on=client), wanted, strict=True):
        assert_same_bits(value, right)


@pytest.mark.cluster
@pytest.mark.parametrize("delays", [[0.2], pytest.param([0.1, 0.4, 0.6], marks=pytest.mark.slow)])
def test_a_worker_killed_between_stages_changes_nothing(client: Any, delays: list[float]) -> None:
    """Several results: what it held of some stages is made again for the others."""
    wanted = sc.compute(*_program(300), on="core")
    for delay in delays:
        client.wait_for_workers(2, timeout=60)
        pids = client.run(os.getpid, on_error="ignore")
        killing = threading.Timer(delay, os.kill, (min(pids.values()), signal.SIGKILL))
        killing.start()
        while killing.is_alive():
            for value, right in zip(sc.compute(*_program(300), on=client), wanted, strict=True):
                assert_same_bits(value, right, delay)
        killing.join()


# What is large -----------------------------------------------------------------------------------


def test_a_hundred_thousand_nodes() -> None:
    u, v = sc.asarray(_DATA[0]), _DATA[0]
    for _ in range(50_000):
        u = u * 1.0001 + 0.5
        v = v * 1.0001 + 0.5
    assert_same_bits(u.compute(on="core"), v)
    assert len(repr(u)) < 1000


def test_results_of_different_rungs_together() -> None:
    """Values that were made on other rungs are data for this one."""
    x = sc.asarray(_DATA)
    alone = (x * 2).compute(on="core"), x.cumsum(axis=0).compute(on="core")
    on_core, on_cores = (x * 2).persist(on="core"), x.cumsum(axis=0).persist(on="cores:2")
    with sc.on("cores:2"):
        inside = (x * 2).persist()
    asked = [on_core, on_cores, on_core + on_cores, inside.sum(), on_cores.max(), x.max()]
    wanted = [*alone, alone[0] + alone[1], (x * 2).sum().compute(on="core")]
    for rung in ("core", "cores:2"):
        found = sc.compute(*asked, on=rung)
        for value, right in zip(found[:4], wanted, strict=True):
            assert_same_bits(value, right)
        assert found[4:] == (alone[1].max(), _DATA.max())


@pytest.mark.cluster
def test_results_of_a_cluster_and_of_this_process_together(client: Any) -> None:
    data = _DATA[:100]
    x = sc.asarray(data)
    there, here = (x * 2).persist(on=client), (x + 1).persist(on="core")
    wanted = data * 2 + (data + 1)
    for on in (client, "core", "cores:2"):
        first, second = sc.compute(there + here, there.max(), on=on)
        assert_same_bits(first, wanted)
        assert second == (data * 2).max()


def test_an_intermediate_larger_than_memory_is_made_again() -> None:
    """Read in three ways and forty times as large as what there is: never stored."""
    n = machine.free_memory() * 5  # elements: the whole would be forty times as large
    x = sc.random.default_rng(1).normal(size=n)
    y = sc.exp(x)
    three = (y[1:-1] + y[:-2] * y[2:])[: 10**6].sum()
    plan = three.plan(on="core")
    assert plan.peak_bytes < 200 * MIB
    small = sc.exp(sc.random.default_rng(1).normal(size=10**6 + 2))
    assert three.compute(on="core") == (small[1:-1] + small[:-2] * small[2:]).sum().compute("core")


@pytest.mark.parametrize("rung", ["core", "cores:2"])
def test_an_intermediate_that_has_to_be_stored_and_does_not_fit(rung: str) -> None:
    n = machine.free_memory() // 8 * 2
    line = sc.random.default_rng(1).normal(size=n).cumsum()
    asked = [line.max(), (line[1:] * line[:-1]).sum(), line[::-1]]
    with pytest.raises(MemoryLimitError) as caught:
        sc.compute(*asked, on=rung)
    needed, *_, free = re.findall(r"([\d,]{9,})", str(caught.value))
    assert int(needed.replace(",", "")) > 2 * machine.free_memory() * 0.8
    assert int(free.replace(",", "")) < int(needed.replace(",", ""))
    assert "three ways out" in str(caught.value)
