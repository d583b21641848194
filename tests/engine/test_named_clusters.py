"""Clusters that names like `cores:2x3` and `gpus` stand for: started when needed, one of a kind.

No GPU is needed: Dask's LocalCluster takes the place of dask-cuda's, which differs only in how it
pins its worker processes to GPUs. With real GPUs: interop/test_gpu_on.py.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dask
import numpy as np
import pytest

import speedcube as sc
from speedcube.engine import rungs
from speedcube.engine.clusters import named, own
from speedcube.errors import RungError
from speedcube.interop.schedulers import GivenClient, LazyClient

pytestmark = pytest.mark.cluster
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")


@pytest.fixture
def clusters(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The clusters started so far."""
    started: list[Any] = []

    class LocalCUDACluster(distributed.LocalCluster):  # type: ignore[misc]
        """What dask-cuda's does, less the GPUs."""

        def __init__(self, CUDA_VISIBLE_DEVICES: list[str], **options: Any) -> None:
            count = len(CUDA_VISIBLE_DEVICES)
            super().__init__(n_workers=count, threads_per_worker=1, **options)
            self.names = CUDA_VISIBLE_DEVICES
            started.append(self)

    dask_cuda = SimpleNamespace(LocalCUDACluster=LocalCUDACluster)
    monkeypatch.setitem(sys.modules, "dask_cuda", dask_cuda)  # type: ignore[arg-type]
    monkeypatch.setattr(named, "find_spec", lambda name: True)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    before = dict(dask.config.config)
    yield started
    named._close_all()
    assert dask.config.config == before
    assert rungs.active_client() is None


def lazy(*devices: int) -> Any:
    return dask.config.set(scheduler=LazyClient("gpus", devices))


def places() -> set[int]:
    """The processes in which plain Dask computes."""
    pids = [dask.delayed(os.getpid, pure=False)() for _ in range(8)]
    return set(dask.compute(*pids))


def test_one_cluster_starts_at_the_first_computation_and_ends_with_the_block(
    clusters: list[Any], capfd: pytest.CaptureFixture[str]
) -> None:
    with lazy(0, 1), named.block((0, 1)):
        x = da.ones((4, 4), chunks=2)
        assert clusters == []
        assert x.sum().compute() == 16
        (cluster,) = clusters
        assert cluster.names == ["0", "1"]
        assert cluster.scheduler_address.startswith("tls://127.0.0.1:")
        persisted = x.persist()  # on the workers, and Dask's functions find the client
        distributed.wait(persisted)
        assert all(value.done() for value in persisted.dask.values())
        assert isinstance(dask.config.get("scheduler"), LazyClient)
        with pytest.raises(ZeroDivisionError):
            dask.delayed(lambda: 1 // 0)().compute()
        with named.block((0, 1)):
            assert os.getpid() not in places()
        assert places() == set(named.client_of((0, 1)).run(os.getpid).values())
        assert clusters == [cluster]
    assert cluster.status.name == "closed"
    assert rungs.active_client() is None
    assert "dashboard" not in capfd.readouterr().err


def test_processes_of_several_threads_have_the_same_bits(clusters: list[Any]) -> None:
    x = sc.random.default_rng(0).normal(size=(300, 40)) + 1
    mean, rows = x.mean().compute(on="core"), x.sum(axis=1).compute(on="core")
    with sc.on("cores:2x3"):
        client = named.client_of(named.Processes(2, 3))
        assert x.plan().rung == "cores:2x3"
        assert x.mean().compute() == mean
        np.testing.assert_array_equal(x.sum(axis=1).compute(), rows)
        assert places() == {*client.run(os.getpid).values()}  # plain Dask's code, too
        assert [*client.nthreads().values()] == [3, 3]
        assert type(da.ones(3).compute()) is np.ndarray
    assert client.status == "closed"
    assert not named._clients


def test_how_many_processes_is_checked(clusters: list[Any]) -> None:
    x = sc.ones(3)
    for name, said in [
        ("cores:0x2", "asks for none"),
        ("cores:2x0", "asks for none"),
        ("cores:9999x1", "at most 256"),
        ("cores:2X3", r"did you mean 'cores:2x3'\?"),
        ("processes:2x3", r"did you mean 'cores:2x3'\?"),
        ("cores:2x3x4", "unknown rung"),
    ]:
        with pytest.raises(RungError, match=said):
            x.sum().compute(on=name)
    assert not named._clients


def test_an_exception_closes_the_cluster(clusters: list[Any]) -> None:
    with pytest.raises(KeyError), lazy(3), named.block((3,)):
        raise KeyError(places())
    assert [cluster.status.name for cluster in clusters] == ["closed"]


def test_workers_do_not_inherit_the_blocks_settings(clusters: list[Any]) -> None:
    def settings() -> tuple[Any, ...]:
        return tuple(dask.config.get(k) for k in ("scheduler", "array.backend", "array_plugins"))

    with (
        lazy(0),
        dask.config.set({"array.backend": "speedcube-cupy", "array_plugins": (print,)}),
        named.block((0,)),
    ):
        answers = named.client_of((0,)).run(settings)
    assert list(answers.values()) == [(None, "cupy", ())]


def test_there_is_a_dashboard_where_it_was_asked_for(
    clusters: list[Any], capfd: pytest.CaptureFixture[str]
) -> None:
    with dask.config.set({"speedcube.dashboard": "127.0.0.1:0"}), named.block((0,)):
        client = named.client_of((0,))
        link = client.dashboard_link
        assert named.client_of((0,)) is client
    assert link.startswith("http://127.0.0.1:")
    assert capfd.readouterr().err.count(f"dashboard: {link}") == 1


def test_a_cluster_outside_a_block_is_kept_and_no_default(clusters: list[Any]) -> None:
    with named.block((0, 1)):
        client = named.client_of((2,))
        assert rungs.active_client() is None
    with named.block((2,)):
        assert named.client_of((2,)) is client
    assert client.status == "running"
    client.close()
    assert named.client_of((2,)).run(os.getpid)  # another one in its place
    assert [cluster.status.name for cluster in clusters] == ["closed", "running"]


def test_devices_are_named_as_the_environment_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert named.device_names((0, 2)) == ["0", "2"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5, GPU-1a,7")
    assert named.device_names((2, 1)) == ["7", "GPU-1a"]


_PROGRAM = """
import sys, types, distributed
from speedcube.engine.clusters import named, own

class LocalCUDACluster(distributed.LocalCluster):
    def __init__(self, CUDA_VISIBLE_DEVICES, **options):
        super().__init__(n_workers=1, threads_per_worker=1, **options)

if __name__ == "__main__":
    sys.modules["dask_cuda"] = types.SimpleNamespace(LocalCUDACluster=LocalCUDACluster)
    named.find_spec = lambda name: name != "bokeh"
    import os
    (pid,) = named.client_of((0,)).run(os.getpid).values()
    print(pid)
"""


def test_the_end_of_the_process_ends_the_workers_quietly(tmp_path: Any) -> None:
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    run = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=120, check=False
    )
    assert (run.returncode, run.stderr) == (0, "")
    with pytest.raises(ProcessLookupError):
        os.kill(int(run.stdout), 0)


def test_folders_of_killed_programs_are_removed(tmp_path: Path, monkeypatch: Any) -> None:
    from speedcube.engine.clusters import private

    monkeypatch.setattr(private.tempfile, "tempdir", str(tmp_path))
    folders = {name: tmp_path / f"{private.PREFIX}{name}" for name in ("dead", "ours", "new")}
    for folder in folders.values():
        folder.mkdir()
        (folder / "scratch").write_text("much")
    program = (
        "import os, signal, sys\n"
        "from speedcube.engine.clusters.private import claimed\n"
        "claimed(sys.argv[1])\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    run = subprocess.run([sys.executable, "-c", program, folders["dead"]], check=False, timeout=120)
    assert run.returncode == -signal.SIGKILL
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "lock").touch()
    (tmp_path / f"{private.PREFIX}link").symlink_to(elsewhere)
    (tmp_path / "other").mkdir()
    handle = private.claimed(str(folders["ours"]))
    try:
        private.remove_stale()
        kept = {path.name for path in tmp_path.iterdir()}
        assert kept == {
            "elsewhere", "other", *(f"{private.PREFIX}{name}" for name in ("ours", "new", "link")),
        }  # fmt: skip
        monkeypatch.setattr(private.os, "geteuid", lambda: os.getuid() + 1)
    finally:
        os.close(handle)
    private.remove_stale()
    assert folders["ours"].exists(), "another user's"
    monkeypatch.undo()
    monkeypatch.setattr(private.tempfile, "tempdir", str(tmp_path))
    private.remove_stale()
    assert not folders["ours"].exists()
    assert (elsewhere / "lock").exists()


def test_what_a_lost_worker_ran_is_not_kept() -> None:
    """Dask's table of tasks that were moved keeps the worker, so it may not keep its tasks."""
    with (
        own.start(distributed.LocalCluster, n_workers=1, threads_per_worker=1) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        (lost,) = cluster.scheduler.workers.values()
        (nanny,) = cluster.workers.values()
        future = client.submit(time.sleep, 300, pure=False)
        while not lost.executing:  # a heartbeat tells of it
            time.sleep(0.05)
        os.kill(nanny.pid, signal.SIGKILL)
        while lost in cluster.scheduler.workers.values():
            time.sleep(0.05)
        time.sleep(0.2)
        assert lost.executing == {}
        future.cancel()


class _Failed:
    """What a nanny has of a worker whose start has raised: no process, and never one."""

    def __init__(self) -> None:
        from distributed.core import Status

        self.status, self.running = Status.starting, asyncio.Event()
        self.running.set()
        self.process = SimpleNamespace(pid=None)

    def is_alive(self) -> bool:
        return False


def test_a_worker_whose_start_has_failed_can_be_ended() -> None:
    """Its nanny once waited for the process for ever, and the cluster never healed again."""
    from speedcube.engine.clusters.private import PrivateNanny

    nanny = PrivateNanny.__new__(PrivateNanny)
    nanny.process = _Failed()
    asyncio.run(asyncio.wait_for(nanny.kill(), 5))


def test_settings_of_a_block_can_be_sent_to_workers() -> None:
    """A worker that a cluster of this process starts inside the block is sent them by pickle."""
    client = SimpleNamespace(get=lambda *_: 3, lock=threading.Lock())
    given = GivenClient(client)
    assert given.get() == 3
    assert given.speedcube_rung is client
    assert pickle.loads(pickle.dumps(given)) is None
