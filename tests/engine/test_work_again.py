"""What is done again after a worker was killed in the middle, counted: not what was handed over."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine.clusters.handing import TOPIC
from speedcube.engine.writing import write

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
distributed = pytest.importorskip("distributed")

BLOCKS: Final = 32
BEFORE: Final = 8  # of them are there when a worker is killed


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    where = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **where) as cluster,
        distributed.Client(cluster, set_as_default=False) as connected,
    ):
        yield connected


@contextmanager
def _kill(client: Any, when: Callable[[], bool], found: Callable[[], Any]) -> Iterator[list[Any]]:
    """Kill a worker ``when`` it is time; what was ``found`` then is put into the list."""
    then: list[Any] = []
    victim = next(iter(client.run(os.getpid).values()))

    def wait() -> None:
        while not when():
            time.sleep(0.01)
        os.kill(victim, signal.SIGKILL)
        then.append(found())

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    yield then
    thread.join(60)


def _slow(rows: int, columns: int) -> Any:
    """Elements that take long to make, and are short to write."""
    return (sc.random.default_rng(6).gamma(2.5, size=(rows, columns)) > 2).astype("float64")


def _chunks(place: Path) -> dict[str, int]:
    """When each chunk was written."""
    return {str(one): one.stat().st_mtime_ns for one in place.glob("c/*/*") if one.name == "0"}


@pytest.mark.parametrize("how", ["to_zarr", "store"])
def test_blocks_that_are_written_stay(client: Any, tmp_path: Path, how: str) -> None:
    """Those of a worker that is lost, too: only what was begun is written again."""
    zarr = pytest.importorskip("zarr")
    place = tmp_path / "x.zarr"
    x = _slow(BLOCKS * 400, 5000)  # two chunks are too much for a block
    with _kill(client, lambda: len(_chunks(place)) >= BEFORE, lambda: _chunks(place)) as then:
        if how == "store":
            z = zarr.create_array(place, shape=x.shape, chunks=(400, 5000), dtype=x.dtype)
            sc.store([x], [z], on=client)
        else:
            x.to_zarr(place, chunks=(400, 5000), on=client)
    assert_same_bits(zarr.open_array(place)[:], x.compute(on="cores"))
    now = _chunks(place)
    assert len(now) == BLOCKS
    (before,) = then
    assert len(before) >= BEFORE
    again = [one for one, at in before.items() if now[one] != at]
    assert len(again) <= 2


def test_blocks_come_home_several_at_a_time(client: Any) -> None:
    """To a target that is assigned to by this process: each once, though a worker is killed."""
    x = _slow(BLOCKS * 400, 5000)
    target, written = np.full(x.shape, np.nan), list[slice]()

    class Target:
        shape, chunks = x.shape, (400, 5000)

        def __setitem__(self, key: Any, values: Any) -> None:
            written.append(key[0])
            target[key] = values

    plan = sc.store(x, Target(), on=client, compute=False).plan()
    assert plan.at_once > 1
    with _kill(client, lambda: len(written) >= BEFORE, lambda: len(written)) as then:
        sc.store(x, Target(), on=client)
    assert_same_bits(target, x.compute(on="cores"))
    assert then[0] < len(written)
    assert len({key.start for key in written}) == len(written) == plan.grid.count


@pytest.mark.parametrize("how", ["to_zarr", "store"])
def test_what_is_written_in_place_is_made_once(
    client: Any, tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By this process: a block of a worker that was lost would be made of what it wrote."""
    zarr = pytest.importorskip("zarr")
    monkeypatch.setattr(write, "write_on_client", None)
    x = np.arange(600.0).reshape(60, 10)
    place = tmp_path / "x.zarr"
    z = zarr.create_array(place, data=x, chunks=(5, 10))
    twice = sc.from_zarr(place) * 2
    if how == "store":
        sc.store(twice, z, on=client)
    else:
        twice.to_zarr(place, mode="r+", on=client)
    assert_same_bits(z[:], x * 2)
    assert [one.name for one in place.iterdir() if "speedcube" in one.name] == []


def test_a_file_s_handles_are_closed(client: Any, tmp_path: Path) -> None:
    """By each task: a worker lives for many files."""
    x = sc.random.default_rng(6).normal(size=(2000, 200))

    def handles() -> int:
        def count(dask_worker: Any) -> int:
            return len([one for one in os.scandir("/proc/self/fd") if "npy" in os.readlink(one)])

        return sum(client.run(count).values())

    for k in range(3):
        sc.save(tmp_path / f"{k}.npy", x, on=client)
    assert_same_bits(np.load(tmp_path / "2.npy"), x.compute(on="cores"))
    assert handles() == 0


def test_results_along_kept_axes_stay(client: Any) -> None:
    """Who goes on with a part begins behind what was handed over of it."""
    x = sc.random.default_rng(1).gamma(2.5, size=(4000, 60_000))
    pids, found = client.run(os.getpid), list[Any]()
    run = threading.Thread(target=lambda: found.append(x.mean(axis=1).compute(on=client)))
    run.start()
    while not (events := client.get_events(TOPIC)) and run.is_alive():
        time.sleep(0.02)
    _, first = events[0]
    os.kill(pids[first["worker"]], signal.SIGKILL)
    run.join()
    places: dict[bool, list[int]] = {True: [], False: []}
    for _, one in client.get_events(TOPIC):
        if one["name"] == first["name"]:
            places[one["worker"] == first["worker"]].append(one["position"])
    assert_same_bits(found[0], x.mean(axis=1).compute(on="cores"))
    assert min(places[False]) > max(places[True]) > 0
