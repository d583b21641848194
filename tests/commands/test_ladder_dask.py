"""Plain Dask beside the ladder: the same rung, the published chunks, and when it is scaled."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dask
import distributed
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speedcube.commands.ladder import dask_time as dask_rung
from speedcube.commands.ladder.dask_time import (
    BUDGET,
    PUBLISHED,
    DaskPlace,
    chunks_for,
    place_of,
    time_dask,
)
from speedcube.commands.ladder.presets import PRESETS, Experiment, experiment
from speedcube.engine import machine, rungs
from speedcube.engine.rungs import Rung, describe
from speedcube.errors import RungError

ROOMY = 1e12


# --------------------------------------------------------------------- chunks


def test_published_chunks_where_a_quarter_of_the_memory_holds_one() -> None:
    shape, published = (100_000, 100_000), 8 * 10_000**2
    assert chunks_for(shape, 2, 4 * published) == (10_000, 10_000)
    assert math.prod(chunks_for(shape, 2, 4 * published - 32)) < 10_000**2
    assert chunks_for(shape, 2, published) == (5_000, 5_000)
    assert chunks_for((500_000, 500_000), 8, ROOMY) == (10_000, 10_000)


def test_chunks_follow_the_shape() -> None:
    assert chunks_for((10**9,), 1, ROOMY) == (PUBLISHED,)
    assert chunks_for((10, 10**9), 1, ROOMY) == (10, 10**7)
    assert chunks_for((10**9, 10), 1, ROOMY) == (10**7, 10)
    assert chunks_for((600, 700), 1, ROOMY) == (600, 700)
    assert chunks_for((600, 700), 4, ROOMY) == (600, 175)  # as much for each worker


@given(
    st.lists(st.integers(1, 10**6), min_size=1, max_size=4),
    st.integers(1, 64),
    st.floats(1e3, 1e13),
)
def test_chunks_fit_and_no_worker_is_idle(shape: list[int], workers: int, room: float) -> None:
    chunks = chunks_for(tuple(shape), workers, room)
    assert all(1 <= c <= n for c, n in zip(chunks, shape, strict=True))
    assert 8 * math.prod(chunks) <= max(8, min(room / 4, 8 * PUBLISHED))
    blocks = math.prod(-(-n // c) for n, c in zip(shape, chunks, strict=True))
    assert blocks >= workers or max(shape) < workers**2


# --------------------------------------------------------------------- the whole, or a sample


@dataclass
class Clock:
    """Stands for Dask at ``rate`` seconds a point and worker; remembers what it ran."""

    rate: float
    ran: list[tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=list)

    def __call__(self, chosen: Experiment, place: DaskPlace, chunks: tuple[int, ...]) -> float:
        self.ran.append((chosen.shape, chunks))
        return self.rate * chosen.logical / place.workers


def fake(monkeypatch: pytest.MonkeyPatch, rate: float, workers: int, room: float = ROOMY) -> Clock:
    clock = Clock(rate)
    monkeypatch.setattr(dask_rung, "_run", clock)
    monkeypatch.setattr(
        dask_rung, "place_of", lambda _: DaskPlace(workers, room, False, lambda x: x)
    )
    return clock


CORE = describe("core", "")


def test_a_rung_that_takes_minutes_runs_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, estimates = fake(monkeypatch, 5e-8, 2), []
    timing = time_dask(PRESETS["morizet"], CORE, estimates.append)
    assert timing.scaled
    assert timing.shape == (20_000, 10_000)  # a published chunk for each of two workers
    assert timing.chunks == (10_000, 10_000)
    assert clock.ran[-1] == (timing.shape, timing.chunks)
    assert timing.seconds == pytest.approx(5e-8 * 1e10 / 2)
    assert estimates == [pytest.approx(5.0, abs=0.5)]


def test_a_fast_machine_runs_several_chunks_each(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, 2e-8, 3)
    timing = time_dask(PRESETS["rocklin"], CORE)
    assert timing.shape == (3 * 3 * 10_000, 10_000)
    assert timing.seconds == pytest.approx(2e-8 * 2.5e11 / 3)


def test_a_slow_machine_runs_smaller_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    fake(monkeypatch, 4.5e-7, 1)
    timing = time_dask(PRESETS["morizet"], CORE)
    assert timing.shape == timing.chunks == (5_000, 5_000)
    assert 4.5e-7 * math.prod(timing.shape) <= 2 * BUDGET
    assert timing.seconds == pytest.approx(4.5e-7 * 1e10)


def test_a_minute_or_less_runs_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = fake(monkeypatch, 5e-8, 1)
    chosen = experiment("morizet", "30000,30000", None, "float64")
    timing = time_dask(chosen, CORE)
    assert (timing.scaled, timing.shape) == (False, (30_000, 30_000))
    assert timing.seconds == pytest.approx(5e-8 * 9e8)
    assert clock.ran[-1] == ((30_000, 30_000), (10_000, 10_000))


def test_trials_grow_until_they_take_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = fake(monkeypatch, 1e-12, 1)
    time_dask(PRESETS["morizet"], CORE)
    points = [math.prod(shape) for shape, _ in quick.ran[:-1]]
    assert points == [10**6, 10**6, 2500**2, 6000**2, 10**8]
    slow = fake(monkeypatch, 1e-6, 1)
    time_dask(PRESETS["morizet"], CORE)
    assert [math.prod(shape) for shape, _ in slow.ran[:-1]] == [10**6, 10**6]
    tiny = fake(monkeypatch, 1e-12, 2)
    time_dask(experiment("morizet", "30,40", None, "float64"), CORE)
    assert [shape for shape, _ in tiny.ran] == [(1200,), (1200,), (30, 40)]


# --------------------------------------------------------------------- the same rung


class Recorder:
    """A collection that notes how it was computed."""

    def compute(self, **options: Any) -> dict[str, Any]:
        return options


@pytest.mark.parametrize(
    ("name", "workers", "options"),
    [
        ("core", 1, {"scheduler": "single-threaded"}),
        ("cores:3", 3, {"scheduler": "threads", "num_workers": 3}),
        ("cores:1", 1, {"scheduler": "threads", "num_workers": 1}),
    ],
)
def test_cpu_rungs(name: str, workers: int, options: dict[str, Any]) -> None:
    place = place_of(describe(name, ""))
    assert (place.workers, place.on_gpu) == (workers, False)
    assert place.room == pytest.approx(machine.free_memory() / workers, rel=0.2)
    assert place.compute(Recorder()) == options


def test_dask_uses_that_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    together = threading.Barrier(3, timeout=10)

    @dask.delayed  # type: ignore[untyped-decorator]
    def meet(_: int) -> int:
        together.wait()  # passes only if three threads are here at once
        return threading.get_ident()

    threads = place_of(describe("cores:3", "")).compute(
        dask.delayed(list)([meet(k) for k in range(3)])
    )
    assert len({int(thread) for thread in threads}) == 3


def test_several_gpus_need_a_worker_process_each(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Client:
        def compute(self, collection: Any) -> Any:
            return self

        def result(self) -> str:
            return "computed by the cluster"

    def parse(name: str, reason: str) -> Rung:
        asked.append(name)
        return Rung(name, "client", 2, reason, client=Client())

    monkeypatch.setattr(dask_rung, "_free_on_gpu", lambda device: 1000 * (device + 1))
    monkeypatch.setattr(dask_rung, "find_spec", lambda name: object())
    monkeypatch.setattr(rungs, "parse", parse)
    place = place_of(Rung("gpus:1,2", "gpus", 2, "", (1, 2)))
    assert (place.workers, place.room, place.on_gpu) == (2, 2000, True)
    assert place.compute(None) == "computed by the cluster"
    place_of(Rung("cuda-cluster", "cuda-cluster", 1, "", (0,)))
    assert asked == ["cuda-cluster:1,2", "cuda-cluster"]
    assert place_of(Rung("gpus:1", "gpus", 1, "", (0,))).workers == 1
    assert len(asked) == 2
    monkeypatch.setattr(dask_rung, "find_spec", lambda name: None)
    with pytest.raises(RungError, match="plain Dask needs dask-cuda here"):
        place_of(Rung("gpus", "gpus", 2, "", (0, 1)))


def test_a_client_runs_it_on_its_workers() -> None:
    class Client:
        def scheduler_info(self, n_workers: int) -> Any:
            assert n_workers == -1
            small = {"nthreads": 2, "memory_limit": 100}
            return {"workers": {"a": small, "b": {"nthreads": 3, "memory_limit": 0}}}

    place = place_of(Rung("client tcp://h:1", "client", 2, "", client=Client()))
    assert (place.workers, place.room, place.on_gpu) == (5, 50, False)


# --------------------------------------------------------------------- for real


def test_the_expression_is_the_published_one() -> None:
    class Stream:
        def normal(self, loc: float, scale: float, size: Any, chunks: Any) -> Any:
            import dask.array as da

            self.drawn = (loc, scale, size, chunks)
            return da.arange(size[0] * size[1], chunks=-1).reshape(size).rechunk(chunks)

    stream = Stream()
    small = experiment("morizet", "6,9", "mean", "float32")
    mean = small.with_dask(stream, (2, 3))
    assert stream.drawn == (10.0, 1.0, (6, 9), (2, 3))
    assert mean.dtype == np.float32
    x = np.arange(54).reshape(6, 9)
    assert mean.compute(scheduler="sync") == np.mean((x + 1)[::2, ::2])


@pytest.mark.parametrize("name", ["core", "cores:2"])
def test_a_small_experiment(name: str) -> None:
    chosen = experiment("morizet", "300,400", "var", "float32")
    timing = time_dask(chosen, describe(name, ""))
    assert timing.seconds > 0
    assert (timing.scaled, timing.shape) == (False, (300, 400))


def test_what_goes_wrong_on_the_other_thread_is_raised_here() -> None:
    names = []

    def work() -> float:
        names.append(threading.current_thread().name)
        raise MemoryError("too large")

    with pytest.raises(MemoryError, match="too large"):
        dask_rung.interruptible(work)
    assert names == ["plain Dask"]
    assert dask_rung.interruptible(lambda: 2.5) == 2.5


@pytest.mark.slow
@pytest.mark.cluster
def test_an_address_is_a_rung(tmp_path: Path) -> None:
    """Two workers at an address: our bits, and plain Dask on the same workers."""
    file = tmp_path / "l.json"
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as cluster:
        on = f"core,{cluster.scheduler_address}"
        run = subprocess.run(
            [sys.executable, "-m", "speedcube", "ladder", "--on", on, "--shape", "400,500",
             "--repeat", "1", "--json", str(file)],
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        name = f"client {cluster.scheduler_address}"
    assert (run.returncode, run.stderr) == (0, "")
    core, client = json.loads(file.read_text())["rungs"]
    assert (client["rung"], client["workers"]) == (name, 2)
    assert client["bits"] == core["bits"]
    assert client["dask_seconds"] > 0
    assert f"Dask on {name}: all of it in chunks of 400 x 250." in run.stdout
