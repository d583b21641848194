"""Arrays as Dask collections, scheduler files, and clusters that are not as they should be."""

from __future__ import annotations

import copy
import json
import os
import pickle
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cloudpickle
import dask
import numpy as np
import pytest
from dask.base import collections_to_expr, is_dask_collection, tokenize
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine.clusters import client as cluster_module
from speedcube.errors import SchedulerError, WorkerError

distributed = pytest.importorskip("distributed")


def _normal(*shape: int) -> sc.Array:
    return sc.random.default_rng(5).normal(10, 1, size=shape) + 1


def _centred() -> sc.Array:
    x = _normal(300, 70)
    return (x - x.mean(axis=0)).T


ARRAYS: dict[str, Callable[[], sc.Array]] = {
    "sum": lambda: _normal(900, 200)[::2, ::2].sum(),
    "elements": lambda: _normal(90, 200)[::-1],
    "axis": lambda: _normal(90, 200).var(axis=1),
    "stages": _centred,
    "integers": lambda: sc.arange(10_001) * 3,
    "stored": lambda: (sc.asarray(np.arange(5000.0)) * 2 + 1).mean(),
    "empty": lambda: _normal(0, 3).sum(axis=0),
}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Two worker processes; not the default client."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client_,
    ):
        yield client_


# The protocol ------------------------------------------------------------------------------------


def test_an_array_is_a_collection() -> None:
    x = _normal(30, 20)
    assert is_dask_collection(x)
    assert not is_dask_collection(np.ones(3))
    assert tokenize(x) == tokenize(x)
    assert tokenize(x) != tokenize(_normal(30, 21))
    (key,) = x.__dask_keys__()
    assert key in x.__dask_graph__()
    assert x.__dask_layers__() == (key,)


@pytest.mark.parametrize("name", ["sum", "elements", "stages"])
def test_the_graph_has_a_task_for_each_core_and_not_for_each_chunk(name: str) -> None:
    array = ARRAYS[name]()
    graph = array.__dask_graph__()
    stages = len(array.plan(on="cores").stages)
    assert len(graph) <= stages * (os.cpu_count() or 1) + stages + 1
    huge = sc.random.default_rng(0).normal(size=(10**6, 10**6), chunks=(10, 10)).sum()
    assert len(huge.__dask_graph__()) <= (os.cpu_count() or 1) + 2


@pytest.mark.parametrize("scheduler", [None, "threads", "sync", "single-threaded"])
def test_dask_compute(scheduler: str | None) -> None:
    names = list(ARRAYS)
    results = dask.compute(*(ARRAYS[name]() for name in names), scheduler=scheduler)
    for name, value in zip(names, results, strict=True):
        assert_same_bits(value, ARRAYS[name]().compute(on="core"), name)


def test_arrays_inside_other_collections() -> None:
    """In lists and dictionaries, beside Dask arrays and delayed functions."""
    da = pytest.importorskip("dask.array")
    a, b = ARRAYS["sum"](), ARRAYS["axis"]()
    results, other = dask.compute({"a": a, "more": [b, 3]}, da.ones(5, chunks=2).sum())
    assert results["a"] == a.compute(on="core")
    assert_same_bits(results["more"][0], b.compute(on="core"))
    assert results["more"][1] == 3
    assert other == 5
    doubled = dask.delayed(lambda v: 2 * v)(a)
    assert doubled.compute(scheduler="sync") == 2 * a.compute(on="core")


def test_dask_persist() -> None:
    data = np.arange(10.0)
    (persisted,) = dask.persist(sc.asarray(data) + 1, scheduler="sync")
    data[:] = 0
    assert isinstance(persisted, sc.Array)
    assert (persisted.shape, persisted.dtype, persisted.chunks) == ((10,), np.float64, ((10,),))
    assert_same_bits((persisted * 2).compute(on="core"), (np.arange(10.0) + 1) * 2)


def test_persisting_keeps_the_grid() -> None:
    x = sc.random.default_rng(1).normal(size=(30, 40), chunks=(7, 15))[::2]
    assert x.persist(on="core").chunks == x.chunks
    (persisted,) = dask.persist(x, scheduler="sync")
    assert persisted.chunks == x.chunks


def test_visualize_draws_the_graph(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What ``dask.visualize`` hands to the drawing engine: the tasks of our graph."""
    drawn: list[Any] = []
    monkeypatch.setattr("dask.base.visualize_dsk", lambda dsk, **_: drawn.append(dsk), raising=True)
    x = ARRAYS["sum"]()
    dask.visualize(x, filename=str(tmp_path / "graph"), engine="graphviz")
    (graph,) = drawn
    assert set(x.__dask_keys__()) <= set(graph)
    assert len(graph) == len(x.__dask_graph__())


def test_collections_become_one_expression() -> None:
    """What every scheduler of Dask starts from."""
    x, y = ARRAYS["sum"](), ARRAYS["axis"]()
    keys = collections_to_expr([x, y]).__dask_keys__()
    assert [key for group in keys for key in group] == [*x.__dask_keys__(), *y.__dask_keys__()]


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_can_be_pickled(name: str) -> None:
    again = pickle.loads(pickle.dumps(ARRAYS[name]()))
    assert_same_bits(again.compute(on="core"), ARRAYS[name]().compute(on="core"))
    assert again.chunks == ARRAYS[name]().chunks


def _deep() -> sc.Array:
    x = sc.asarray(np.linspace(-1, 1, 30))
    y = x
    for k in range(1_200):
        y = y * 0.5 + (x if k % 2 else y)
        if k % 400 == 0:
            y = sc.roll(y, 1) + y.sum() + y.cumsum()[::-1] + sc.sort(y)
    return y


def test_deep_arrays_can_be_pickled_and_copied() -> None:
    y = _deep()
    wanted = y.compute(on="core")
    assert y.plan(on="core").tasks  # which is kept, and as deep
    for again in (
        pickle.loads(pickle.dumps(y)),
        pickle.loads(pickle.dumps([y, y.sum()], protocol=2))[0],
        cloudpickle.loads(cloudpickle.dumps({"y": y}))["y"],
        copy.deepcopy(y),
    ):
        assert_same_bits(again.compute(on="core"), wanted)
        assert again.chunks == y.chunks
    graph = pickle.loads(pickle.dumps(y.__dask_graph__()))
    assert set(y.__dask_keys__()) <= set(graph)


# On a client -------------------------------------------------------------------------------------


@pytest.mark.cluster
@pytest.mark.parametrize("name", ARRAYS)
def test_client_compute(client: Any, name: str) -> None:
    array, wanted = ARRAYS[name](), ARRAYS[name]().compute(on="core")
    assert_same_bits(client.compute(array).result(), wanted)
    assert_same_bits(client.gather(client.compute([array]))[0], wanted)
    with client.as_current():
        assert_same_bits(dask.compute(array)[0], wanted)


@pytest.mark.cluster
def test_distributeds_bar_follows_what_a_client_makes(client: Any, capsys: Any) -> None:
    """It looks for futures in the graph of a collection."""
    x = sc.asarray(np.arange(12.0).reshape(3, 4))
    wanted = np.arange(12.0).reshape(3, 4) + 1
    with client.as_current():
        kept = client.persist(x + 1)
        (future,) = distributed.futures_of(kept)
        distributed.progress(kept, notebook=False)
        distributed.progress(client.compute(x.sum()), notebook=False)
        assert capsys.readouterr().out.count("100% Completed") == 2
        assert_same_bits(future.result(), wanted)
        assert_same_bits(client.compute(kept).result(), wanted)
        assert_same_bits(client.compute(kept[::2] * 2).result(), wanted[::2] * 2)
        assert_same_bits(client.persist(kept).compute(), wanted)


@pytest.mark.cluster
def test_client_persist_leaves_the_values_on_the_workers(client: Any) -> None:
    x = ARRAYS["elements"]()
    persisted = client.persist(x)
    assert isinstance(persisted, sc.Array)
    (key,) = persisted.__dask_keys__()
    wanted = x.compute(on="core")
    with client.as_current():
        assert_same_bits(persisted.compute(), wanted)
        assert_same_bits(
            (persisted - 1).sum(axis=0).compute(), (x - 1).sum(axis=0).compute(on="core")
        )
    assert isinstance(key, str)


@pytest.mark.cluster
@pytest.mark.parametrize("name", ["scheduler.json", "scheduler.cfg", "where it is"])
def test_a_scheduler_file(client: Any, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text(json.dumps({"type": "Scheduler", "address": client.scheduler.address}))
    x = ARRAYS["sum"]()
    wanted = x.compute(on="core")
    plan = x.plan(on=str(file))
    assert (plan.rung, plan.workers) == (f"client {client.scheduler.address}", 2)
    assert x.compute(on=str(file)) == wanted
    with sc.on(str(file)):
        assert float(x) == wanted


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.mark.cluster
def test_a_scheduler_and_workers_started_by_hand(tmp_path: Path) -> None:
    """``dask scheduler --scheduler-file`` and ``dask worker --scheduler-file``, as on a cluster."""
    file, port = tmp_path / "scheduler.json", _free_port()
    common = ["--scheduler-file", str(file), "--no-dashboard"]
    dask_command = [sys.executable, "-m", "dask"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    commands = [
        [*dask_command, "scheduler", *common, "--host", "127.0.0.1", "--port", str(port)],
        [*dask_command, "worker", *common, "--host", "127.0.0.1", "--nthreads", "1", "--no-nanny"],
    ]
    running: list[subprocess.Popen[Any]] = []
    try:
        for command in commands:
            running.append(subprocess.Popen(command, cwd=tmp_path, **quiet))  # type: ignore[call-overload]
            for _ in range(300):
                if file.exists():
                    break
                time.sleep(0.1)
        with distributed.Client(scheduler_file=str(file), set_as_default=False) as hand:
            hand.wait_for_workers(1, timeout=60)
            x = ARRAYS["stages"]()
            assert_same_bits(x.compute(on=str(file)), x.compute(on="core"))
            assert x.plan(on=str(file)).workers == 1
            cluster_module._clients.pop(str(file)).close()
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait(30)


# Clusters that are not as they should be ---------------------------------------------------------


def test_a_scheduler_file_of_a_scheduler_that_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text(f'{{"type": "Scheduler", "address": "tcp://127.0.0.1:{_free_port()}"}}')
    begin = time.monotonic()
    with pytest.raises(SchedulerError, match="no Dask scheduler answers at") as caught:
        ARRAYS["sum"]().compute(on=str(file))
    assert str(file) in str(caught.value)
    assert time.monotonic() - begin < 8, "5 s to wait, the rest for a busy machine"


@pytest.mark.cluster
def test_a_scheduler_file_whose_address_another_scheduler_has(client: Any, tmp_path: Path) -> None:
    file, address = tmp_path / "scheduler.json", client.scheduler.address
    told = {"type": "Scheduler", "address": address, "id": "Scheduler-old"}
    file.write_text(json.dumps(told))
    x, found = ARRAYS["sum"](), client.scheduler_info()["id"]
    for _ in range(2):  # the client that has found out is not kept
        with pytest.raises(SchedulerError) as caught:
            x.compute(on=file)
        text = str(caught.value)
        assert f"{str(file)!r} is of another scheduler (Scheduler-old) than the one" in text
        assert f"({found})" in text
        assert f"give the address, {address!r}" in text
    file.write_text(json.dumps({**told, "id": found}))
    assert x.compute(on=file) == x.compute(on=address) == x.compute(on="core")


@pytest.mark.cluster
def test_a_scheduler_file_of_another_user(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, address = tmp_path / "scheduler.json", client.scheduler.address
    file.write_text(json.dumps({"type": "Scheduler", "address": address}))
    owner = file.stat().st_uid or 4712
    os.chown(file, owner, -1)
    monkeypatch.setattr(cluster_module.os, "getuid", lambda: 4711)
    with pytest.raises(SchedulerError) as caught:
        ARRAYS["sum"]().compute(on=file)
    text = str(caught.value)
    assert f"{str(file)!r} belongs to user {owner}, not to you (4711)" in text
    assert f"give the address in it, {address!r}" in text


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"address": 5}', '{"address": "tcp://127.0', "not json"]
)
def test_a_scheduler_file_that_is_none(tmp_path: Path, text: str) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text(text)
    with pytest.raises(SchedulerError, match=r"is not a scheduler file: .*; give the file that"):
        ARRAYS["sum"]().compute(on=str(file))


@pytest.mark.parametrize("name", ["absent.json", "absent/scheduler", "../absent"])
def test_a_scheduler_file_that_is_not_there(tmp_path: Path, name: str) -> None:
    for file in (name, str(tmp_path / name), tmp_path / name):
        said = f"no such scheduler file: '.*{Path(name).name}'"
        with pytest.raises(SchedulerError, match=said) as caught:
            sc.ones(3).compute(on=file)
        assert "dask scheduler --scheduler-file" in str(caught.value)
        with pytest.raises(SchedulerError, match="no such scheduler file"), sc.on(file):
            pass


def test_a_directory_is_no_scheduler_file(tmp_path: Path) -> None:
    with pytest.raises(SchedulerError, match="is not a scheduler file: Is a directory"):
        sc.ones(3).compute(on=str(tmp_path))


@pytest.mark.parametrize(
    ("address", "cause"),
    [
        ("tcp://127.0.0.1:1", "Connection refused"),
        ("tcp://no-such-host.invalid:80", "Errno|resol"),
        ("nope://x", "unknown address scheme 'nope'"),
    ],
)
def test_why_a_scheduler_cannot_be_reached_is_said(address: str, cause: str) -> None:
    with pytest.raises(SchedulerError, match=f"within 5 s: .*({cause}).*; check the address"):
        sc.ones(3).compute(on=address)


def test_a_port_that_accepts_and_says_nothing() -> None:
    """Something else listens there: given up within five seconds all the same."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        address = f"tcp://127.0.0.1:{listening.getsockname()[1]}"
        begin = time.monotonic()
        with pytest.raises(SchedulerError, match=re.escape(address)) as caught:
            ARRAYS["sum"]().compute(on=address)
        assert "within 5 s: ;" not in str(caught.value)
        assert time.monotonic() - begin < 8, "5 s to wait, the rest for a busy machine"


@pytest.mark.cluster
def test_a_cluster_without_workers() -> None:
    with (
        distributed.LocalCluster(
            n_workers=0, processes=False, dashboard_address="127.0.0.1:0"
        ) as empty,
        distributed.Client(empty, set_as_default=False) as client_,
        pytest.raises(WorkerError, match="has no workers; start some, then compute again"),
    ):
        ARRAYS["sum"]().compute(on=client_, worker_timeout=1)


@pytest.mark.cluster
def test_a_worker_without_the_package() -> None:
    """A worker that cannot import it is named before anything is sent."""

    def hide() -> None:
        import sys

        for name in ("speedcube", "speedcube.__about__"):
            sys.modules[name] = None  # type: ignore[assignment]

    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as lacking,
    ):
        lacking.run(hide)
        (worker,) = lacking.scheduler_info()["workers"]
        with pytest.raises(WorkerError) as caught:
            ARRAYS["sum"]().compute(on=lacking)
    text = str(caught.value)
    assert f"worker {worker} does not have speedcube" in text
    assert "install that version on every worker" in text


# Ctrl-C ------------------------------------------------------------------------------------------

# A run of the tests in the background of a script ignores SIGINT, and so would its children.
_LISTEN = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
_LONG = """
import time
import speedcube as sc
from distributed import Client, LocalCluster

if __name__ == "__main__":
    where = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=2, threads_per_worker=1, **where) as cluster:
        with Client(cluster) as client:
            pids = list(client.run(__import__("os").getpid).values())
            x = sc.random.default_rng(0).normal(size=(10**6, 10**6)).sum()
            print("started", *pids, flush=True)
            try:
                x.compute(on=client)
            except KeyboardInterrupt:
                print("stopped", flush=True)
                begin = time.monotonic()
                print(float(sc.ones(10).sum().compute(on=client)), flush=True)
                print(time.monotonic() - begin < 5, flush=True)
"""


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.cluster
def test_ctrl_c_frees_the_workers(tmp_path: Path) -> None:
    """The workers leave their parts at once, take new work, and end with the program."""
    program = tmp_path / "long.py"
    program.write_text(_LISTEN + _LONG)
    with subprocess.Popen(
        [sys.executable, str(program)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        first, *pids = process.stdout.readline().split()
        assert first == "started"
        time.sleep(2.0)
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        try:
            assert process.stdout.readline() == "stopped\n"
            assert time.monotonic() - begin < 5
            out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert out == "10.0\nTrue\n", err
    assert process.returncode == 0
    assert not [pid for pid in map(int, pids) if _alive(pid)], "no orphan process"


_LOCAL = """
import sys
import dask
import speedcube as sc
x = sc.random.default_rng(0).normal(size=(10**6, 10**6)).sum()
print("started", flush=True)
try:
    dask.compute(x, scheduler=sys.argv[1])
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_ctrl_c_stops_dask_compute(scheduler: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _LISTEN + _LOCAL, scheduler], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        begin = time.monotonic()
        try:
            assert process.communicate(timeout=20)[0] == "stopped\n"
        finally:
            process.kill()
        assert time.monotonic() - begin < 5
