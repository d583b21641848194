"""`speedcube.on`: where plain Dask code inside the block runs, and what is left behind it: nothing.

Dask, its schedulers and its worker processes are the real ones. GPU blocks are in test_gpu_on.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import dask
import numpy as np
import pytest

import speedcube as sc
from speedcube.engine import machine, rungs
from speedcube.engine.clusters import named
from speedcube.errors import RungError, SchedulerError
from speedcube.interop.cupy_backend import BitGenerator
from speedcube.interop.schedulers import LazyClient, OneGpu

da = pytest.importorskip("dask.array")
KEYS = (
    *("scheduler", "pool", "num_workers", "array.backend", "dataframe.backend", "array_plugins"),
    *("array.rechunk.method", "dataframe.shuffle.method"),
)
MISSING = object()


def settings() -> dict[str, Any]:
    """What the blocks change, and the rung and client they set."""
    of_dask = {key: dask.config.get(key, MISSING) for key in KEYS}
    return {**of_dask, "rung": rungs._current.get(), "client": rungs.active_client()}


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    before = settings()
    yield
    assert settings() == before


def seen(chunk: Any) -> Any:
    """The process and thread that computed a chunk, in place of its elements."""
    return np.array([[os.getpid(), threading.get_ident()]])


def places() -> set[tuple[int, int]]:
    """Where plain Dask computes 32 chunks."""
    x = da.ones((32, 4), chunks=(1, 4))
    where = x.map_blocks(seen, dtype="int64", chunks=(1, 2)).compute()
    return {(int(process), int(thread)) for process, thread in where}


HERE = os.getpid()


def test_core_is_the_thread_that_computes() -> None:
    with sc.on("core"):
        assert places() == {(HERE, threading.get_ident())}


@pytest.mark.parametrize(
    ("rung", "count"), [("cores:1", 1), ("cores:3", 3), ("cores", machine.cores())]
)
def test_cores_are_threads_of_this_process(rung: str, count: int) -> None:
    barrier = threading.Barrier(count)  # passed only where that many threads run at once
    late: list[int] = []

    def meet(chunk: Any) -> Any:
        try:
            barrier.wait(timeout=20)
        except threading.BrokenBarrierError:
            late.append(1)
        return seen(chunk)

    with sc.on(rung):
        x = da.ones((2 * count, 4), chunks=(1, 4))
        where = x.map_blocks(meet, dtype="int64", chunks=(1, 2), meta=np.empty((0, 0))).compute()
    assert not late
    threads = {int(thread) for _, thread in where}
    assert {int(process) for process, _ in where} == {HERE}
    assert len(threads) == count
    assert threading.get_ident() not in threads


def test_the_users_settings_give_way_and_come_back() -> None:
    from concurrent.futures import ThreadPoolExecutor

    with (
        ThreadPoolExecutor(1) as pool,
        dask.config.set(
            {
                "scheduler": "threads",
                "pool": pool,
                "num_workers": 1,
                "array.backend": "cupy",
                "dataframe.backend": "cudf",
            }
        ),
    ):
        before = settings()
        with sc.on("cores:2"):
            assert dask.config.get("pool") is None
            assert dask.config.get("num_workers") == 2
            assert dask.config.get("array.backend") == "numpy"
            assert dask.config.get("dataframe.backend") == "pandas"
            assert type(da.ones(3).compute()) is np.ndarray
        assert settings() == before


def test_a_setting_made_inside_ends_with_the_block() -> None:
    with sc.on("core"):
        dask.config.set(scheduler="threads")
        assert threading.get_ident() not in {thread for _, thread in places()}
    assert dask.config.get("scheduler", None) is None


def test_an_exception_restores() -> None:
    with pytest.raises(ZeroDivisionError), sc.on("core"):
        da.ones(3).map_blocks(lambda x: 1 // 0, dtype="f8", meta=np.empty(0)).compute()


def test_nested_blocks_unwind_one_by_one() -> None:
    with sc.on("cores:2"):
        outer = settings()
        with sc.on("core"):
            inner = settings()
            with pytest.raises(KeyError, match="1, 'cores:1'"), sc.on("cores:1"):
                raise KeyError(dask.config.get("num_workers"), sc.ones(3).plan().rung)
            assert settings() == inner
            assert dask.config.get("scheduler") == "synchronous"
            assert sc.ones(3).plan().rung == "core"
        assert settings() == outer
        assert sc.ones(3).plan().rung == "cores:2"


def test_a_block_can_be_used_again_and_inside_itself() -> None:
    cores = sc.on("cores:2")
    assert repr(cores) == "speedcube.on('cores:2')"
    before = settings()
    for _ in range(2):
        with cores:
            once = settings()
            with cores, sc.on("core"), cores:
                assert sc.ones(3).plan().rung == "cores:2"
                assert dask.config.get("num_workers") == 2
            assert settings() == once != before
            assert sc.ones(3).plan().rung == "cores:2"
        assert settings() == before
    assert "least predicted time" in sc.ones(3).plan().reason


def test_threads_share_a_block() -> None:
    core = sc.on("core")
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with core:
            inside.set()
            assert leave.wait(30)
        left.append(sc.ones(3).plan().reason)

    left: list[str] = []
    thread = threading.Thread(target=other)
    before = settings()
    with core:
        thread.start()
        assert inside.wait(30)
        leave.set()
        thread.join(30)
    assert settings() == before
    assert len(left) == 1


def test_the_block_can_be_a_decorator() -> None:
    @sc.on("core")
    def where() -> set[tuple[int, int]]:
        return places()

    for _ in range(2):
        assert where() == {(HERE, threading.get_ident())}


def test_an_array_made_outside_runs_where_the_block_says() -> None:
    x = da.ones((8, 4), chunks=(1, 4)).map_blocks(seen, dtype="int64", chunks=(1, 2))
    with sc.on("core"):
        assert {thread for _, thread in x.compute()} == {threading.get_ident()}


def test_plain_dask_gives_the_same_values_on_every_rung() -> None:
    def values() -> Any:
        x = da.random.default_rng(3).normal(size=(200, 200), chunks=(50, 50))
        return ((x + da.arange(200, chunks=50)) @ x.T).rechunk((200, 10)).sum(axis=0).compute()

    expected = values()
    for rung in ("core", "cores:2"):
        with sc.on(rung):
            np.testing.assert_array_equal(values(), expected)


def test_data_frames_follow() -> None:
    dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe needs pandas and pyarrow")
    import pandas as pd

    frame = pd.DataFrame({"k": [1, 2, 1, 2, 3, 3], "v": np.arange(6.0)})

    def where(part: Any) -> Any:
        return part.assign(thread=threading.get_ident())

    with sc.on("core"):
        lazy = dd.from_pandas(frame, npartitions=3)
        assert set(lazy.map_partitions(where).compute().thread) == {threading.get_ident()}
        assert lazy.groupby("k").v.sum().compute().to_dict() == {1: 2.0, 2: 4.0, 3: 9.0}
        assert len(lazy.shuffle("k").compute()) == 6
    with sc.on("cores:2"):
        lazy = dd.from_pandas(frame, npartitions=3)
        assert threading.get_ident() not in set(lazy.map_partitions(where).compute().thread)


# Rungs that are not there ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rung", "error", "message"),
    [
        ("gpuz", RungError, r"unknown rung 'gpuz' \(did you mean 'gpu'\?\); rungs here: core"),
        ("cores:0", RungError, "'cores:0' asks for 0 threads"),
        ("cpu", RungError, r"unknown rung 'cpu' \(did you mean 'cores'\?\); rungs here"),
        ("cpu:3", RungError, r"did you mean 'cores:3'\?"),
        ("cuda:1", RungError, r"did you mean 'gpu:1'\?"),
        ("Cores", RungError, r"did you mean 'cores'\?"),
        ("gpuss:0,1", RungError, r"did you mean 'gpus:0,1'\?"),
        ("cores:x", RungError, "unknown rung 'cores:x'; rungs here"),
        ("core:1", RungError, r"rung 'core:1' takes no such number \(did you mean 'cores:1'\?\)"),
        ("tcp://127.0.0.1:9", SchedulerError, "no Dask scheduler answers at 'tcp://127"),
        (3, SchedulerError, "3 is not a rung"),
    ],
)
def test_a_wrong_rung_is_refused_before_the_block(rung: Any, error: Any, message: str) -> None:
    entered = False
    with pytest.raises(error, match=message), sc.on(rung):
        entered = True
    assert not entered


@pytest.mark.skipif("gpu" in rungs.available(), reason="this machine has a GPU")
@pytest.mark.parametrize("rung", ["gpu", "gpu:1", "gpus", "gpus:0,1", "cuda-cluster"])
def test_a_gpu_block_without_a_gpu(rung: str) -> None:
    with pytest.raises(RungError, match=rf"asked for '{rung}'; rungs here: core"), sc.on(rung):
        pytest.fail("the block was entered")


def test_a_cluster_of_gpus_without_dask_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named, "find_spec", lambda name: None)
    with dask.config.set(scheduler=LazyClient("gpus", (0, 1))), named.block((0, 1)):
        x = da.ones(3)
        with pytest.raises(RungError, match=r"GPUs \[0, 1\] needs dask-cuda"):
            x.compute()


# Who sees what -----------------------------------------------------------------------------


def in_thread(task: Any) -> Any:
    """What ``task`` gives in a thread of its own."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(task()))
    thread.start()
    thread.join()
    return results[0]


def test_our_rung_is_the_threads_own_and_dasks_settings_are_the_processs() -> None:
    with sc.on("cores:2"):
        assert in_thread(rungs._current.get) is None
        assert in_thread(lambda: dask.config.get("num_workers")) == 2
        plan = in_thread(lambda: sc.ones(3).plan())
        assert plan.rung == "cores"
        assert plan.reason == "Dask's scheduler is 'threads'"


def test_asyncio_tasks_keep_their_own_rungs() -> None:
    import asyncio

    async def plan(rung: str) -> str:
        with rungs.running_on(rung):
            await asyncio.sleep(0)
            return str(sc.ones(3).plan().rung)

    async def both() -> list[str]:
        return await asyncio.gather(plan("core"), plan("cores:2"))

    assert asyncio.run(both()) == ["core", "cores:2"]


def test_a_plain_scheduler_inside_does_not_confuse_speedcube() -> None:
    with sc.on("cores:2"), dask.config.set(scheduler="synchronous"):
        assert sc.ones(3).plan().rung == "cores:2"
    with sc.on("core"):
        assert sc.ones(3).plan(scheduler="threads").rung == "cores"
        assert float(sc.ones(3).sum()) == 3.0


@pytest.mark.parametrize("scheduler", [OneGpu("cores:2", 0), LazyClient("cores:2", (0,))])
def test_another_threads_gpu_block_is_understood(scheduler: Any) -> None:
    """Our schedulers name their rung; here they name one that this machine has."""
    import pickle

    with dask.config.set(scheduler=scheduler):
        assert sc.ones(3).plan().rung == "cores:2"
    assert pickle.loads(pickle.dumps(scheduler)) is None  # as a worker process would get it


def test_a_cpu_block_imports_no_dask_collections() -> None:
    code = (
        "import sys, speedcube as sc\n"
        "with sc.on('core'), sc.on('cores:2'): assert float(sc.ones(3).sum()) == 3\n"
        "print(*(m for m in ('dask.array', 'dask.dataframe', 'distributed', 'cupy')"
        " if m in sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == []


# Clients -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as connected,
    ):
        yield connected


def workers(client: Any) -> set[int]:
    return set(client.run(os.getpid).values())


@pytest.mark.cluster
def test_a_client_a_cluster_and_an_address(client: Any) -> None:
    import distributed

    expected = workers(client)
    with dask.config.set(scheduler="synchronous"):  # the block's client goes before it
        for where in (client, client.cluster, client.scheduler.address):
            with sc.on(where):
                assert {process for process, _ in places()} == expected
                assert distributed.get_client().scheduler.address == client.scheduler.address
                persisted = da.ones(4, chunks=2).persist()
                assert all(isinstance(v, distributed.Future) for v in persisted.dask.values())
                assert persisted.sum().compute() == 4
                assert in_thread(places) == in_thread(places)
                assert {process for process, _ in in_thread(places)} == expected
                assert sc.ones(3).plan().workers == 2
        assert {process for process, _ in places()} == {HERE}


@pytest.mark.cluster
def test_cpu_rungs_inside_a_client(client: Any) -> None:
    with sc.on(client):
        with sc.on("core"):
            assert places() == {(HERE, threading.get_ident())}
            # with a client, Dask would plan a rechunk that only workers can run
            x = da.ones((300, 300), chunks=(300, 1)).rechunk((1, 300))
            assert x.sum().compute() == 90_000
        assert {process for process, _ in places()} == workers(client)


@pytest.mark.cluster
def test_frames_shuffle_on_a_cpu_rung_inside_a_client(client: Any) -> None:
    dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe needs pandas and pyarrow")
    import pandas as pd

    frame = pd.DataFrame({"k": np.arange(40) % 7, "v": np.arange(40.0)})
    with sc.on(client), sc.on("cores:2"):
        shuffled = dd.from_pandas(frame, npartitions=4).shuffle("k")
        assert sorted(shuffled.v.compute()) == list(range(40))
    with sc.on(client):
        assert dd.from_pandas(frame, npartitions=4).groupby("k").v.sum().compute()[0] == 105.0


# Random numbers of GPU blocks, as far as they need no GPU -----------------------------------


def test_bit_generators_split_and_repeat() -> None:
    from dask.base import tokenize

    one, two, other = BitGenerator(7), BitGenerator(np.random.SeedSequence(7)), BitGenerator(8)
    assert tokenize(one) == tokenize(two) != tokenize(other)
    assert tokenize(one) != tokenize(np.random.PCG64(7))
    children = [BitGenerator(seed) for seed in one._seed_seq.spawn(3)]
    assert len({tokenize(child) for child in [one, *children]}) == 4
    assert BitGenerator()._seed_seq.entropy != BitGenerator()._seed_seq.entropy


def test_choice_of_speedcubes_own_generator() -> None:
    drawn = sc.random.default_rng(5).choice(10, size=(30, 40))
    expected = sc.random.default_rng(5).integers(10, size=(30, 40))
    np.testing.assert_array_equal(drawn.compute(), expected.compute())
    for options in ({"p": [1.0]}, {"replace": False}):
        assert sc.random.default_rng(5).choice(1, **options).compute() == 0
    things = sc.random.default_rng(5).choice([7, 9], 50).compute()
    np.testing.assert_array_equal(
        things, np.array([7, 9])[sc.random.default_rng(5).integers(2, size=50).compute()]
    )
