"""CPU threads and GPUs together: how slices are dealt, and that the bits do not depend on it.

No GPU is needed but where a test says so: in its place a mock takes part, a CPU's worker that calls
itself a GPU and is slower or faster.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import dask
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import speedcube as sc
from speedcube.engine import graph, machine, rungs
from speedcube.engine.boxes import Stop
from speedcube.engine.compute import planned_on
from speedcube.engine.dealing import deal, tasks
from speedcube.engine.dealing.deal import Dealer
from speedcube.engine.results import shaped_values
from speedcube.engine.rungs import Rung
from speedcube.engine.tasks import Worker
from speedcube.errors import ParameterError, RungError


def played(dealt: Dealer, speeds: list[float]) -> list[float]:
    """Seconds of each worker until it is done, in simulated time; every slice is dealt once."""
    clocks, pieces = [0.0] * len(speeds), []
    there = set(range(len(speeds)))
    while there:
        number = min(there, key=clocks.__getitem__)
        piece = dealt.take(number)
        if piece is None:
            there.remove(number)
            continue
        pieces.append(piece)
        seconds = (piece[1] - piece[0]) / speeds[number]
        clocks[number] += seconds
        dealt.took(number, piece[1] - piece[0], seconds)
    pieces.sort()
    assert pieces[0][0] == 0
    assert pieces[-1][1] == dealt.extent
    assert all(one[1] == other[0] for one, other in pairwise(pieces))
    return clocks


@pytest.mark.parametrize(
    ("expected", "speeds"),
    [
        ([1e6, 1e6], [1e6, 1e6]),
        ([1e6, 1e6, 1e8], [1e6, 1e6, 1e8]),  # as expected
        ([1e6, 1e6, 1e8], [4e6, 1e6, 2e7]),  # a CPU four times as fast, a GPU five times as slow
        ([1e6, 1e8], [1e6, 1e5]),  # a GPU that is slower than a core
    ],
)
def test_workers_end_together(expected: list[float], speeds: list[float]) -> None:
    dealt = Dealer(1_000_000_000, expected)
    clocks = played(dealt, speeds)
    best = dealt.extent / sum(speeds)
    assert max(clocks) <= 1.05 * best + 1
    shares = [worker.slices / dealt.extent for worker in dealt.workers]
    assert sum(shares) == pytest.approx(1)
    wanted = [speed / sum(speeds) for speed in speeds]
    assert shares == pytest.approx(wanted, abs=0.06)


def test_a_worker_that_would_be_last_gets_nothing() -> None:
    dealt = Dealer(8, [1.0, 1000.0])
    played(dealt, [1.0, 1000.0])
    assert [worker.slices for worker in dealt.workers] == [0, 8]


@given(
    st.integers(1, 10_000),
    st.lists(st.tuples(st.floats(1e-3, 1e9), st.floats(1e-3, 1e9)), min_size=1, max_size=6),
)
def test_every_slice_is_dealt_once(extent: int, speeds: list[tuple[float, float]]) -> None:
    played(Dealer(extent, [one for one, _ in speeds]), [other for _, other in speeds])


class Mock(Worker):
    """In place of a GPU's worker: a CPU's that takes longer."""

    def shared(self, *given: Any) -> Any:
        time.sleep(0.002)
        return super().shared(*given)


PROGRAMS: dict[str, Callable[[], Any]] = {
    "sum": lambda: drawn(400_000).sum(),
    "float32 sum": lambda: drawn(400_000).astype("float32").sum(),
    "var": lambda: drawn(600, 500).var(),
    "columns": lambda: drawn(600, 500).mean(axis=0),
    "rows": lambda: drawn(600, 500).std(axis=1),
    "store": lambda: sc.exp(drawn(600, 500)) + 1,
    "argmax": lambda: drawn(400_000).argmax(),
    "argmin of equals": lambda: sc.zeros(400_000).argmin(),
    "rows of argmax": lambda: drawn(600, 500).argmax(axis=1),
    "max with nan": lambda: sc.where(drawn(400_000) > 49, np.nan, drawn(400_000)).max(),
    "stages": lambda: ((drawn(600, 500) - drawn(600, 500).mean(axis=0)) ** 3).mean(),
    "data": lambda: sc.asarray(np.arange(300_000.0).reshape(600, 500)[::-1, ::2]).sum(axis=0),
    "cumsum": lambda: drawn(400_000).cumsum(),
    "sort": lambda: sc.sort(drawn(100_000)),
    "prod": lambda: (1 + drawn(400_000) / 1e6).prod(),
}


def drawn(*shape: int) -> Any:
    return sc.random.default_rng(3).normal(10, 7, size=shape)


def mocked(monkeypatch: pytest.MonkeyPatch) -> list[Dealer]:
    """Let GPU 0 be a mock; the deals that are made from now on."""
    deals: list[Dealer] = []

    class Kept(Dealer):
        def __post_init__(self) -> None:
            super().__post_init__()
            deals.append(self)

    def worker(stop: Stop, device: int | None = None, here: bool = False) -> Worker:
        return Worker(stop) if device is None else Mock(stop)

    monkeypatch.setattr(deal, "LEAST", 1e-5)  # so that there are many pieces
    monkeypatch.setattr(graph, "Worker", worker)
    monkeypatch.setattr(tasks, "Dealer", Kept)
    return deals


def together(arrays: list[Any], cores: int = 2) -> list[Any]:
    """The values on ``cores`` threads and the mock."""
    rung = Rung("gpus+cores", "gpus", cores + 1, "a mock", (0,), cores=cores)
    roots = [one._expr for one in arrays]
    plan = planned_on(roots, rung)
    made = graph.build_graph(plan, {}, rung.devices, False, Stop(), rung.cores)
    values = dask.threaded.get(made.tasks, list(made.keys), num_workers=rung.workers)
    return shaped_values(values, plan, roots)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_bits_are_those_of_one_core(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    deals, array = mocked(monkeypatch), PROGRAMS[name]()
    wanted = np.asarray(array.compute(on="core"))
    (found,) = map(np.asarray, together([array]))
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    assert found.tobytes() == wanted.tobytes()
    dealt = not {"cumsum", "sort", "prod"} & {name}
    assert bool(deals) == dealt
    for one in deals:
        assert sum(worker.slices for worker in one.workers) == one.extent


def test_several_results_are_dealt_together(monkeypatch: pytest.MonkeyPatch) -> None:
    deals, x = mocked(monkeypatch), drawn(400_000)
    several = [x.sum(), x.max(), (x * x).mean(), x * 2]
    wanted = sc.compute(*several, on="core")
    found = together(several)
    for one, other in zip(found, wanted, strict=True):
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
    assert sum(worker.pieces for worker in deals[0].workers) > 4


def test_what_one_raises_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    mocked(monkeypatch)

    def broken(*_: Any) -> Any:
        raise OSError("the GPU has fallen off the bus")

    monkeypatch.setattr(Mock, "shared", broken)
    with pytest.raises(OSError, match="fallen off the bus"):
        together([drawn(400_000).sum()])


def gpus(monkeypatch: pytest.MonkeyPatch, count: int, cores: int = 8) -> None:
    monkeypatch.setattr(machine, "gpu_count", lambda: count)
    monkeypatch.setattr(machine, "cores", lambda: cores)
    monkeypatch.setattr(rungs, "cupy_problem", lambda: None)


@pytest.mark.parametrize(
    ("on", "name", "devices", "cores"),
    [
        (["cores", "gpus"], "gpus+cores", (0, 1), 6),
        (("gpus", "cores"), "gpus+cores", (0, 1), 6),
        (["cores:3", "gpu:1"], "gpu:1+cores:3", (1,), 3),
        (["core", "gpu:0", "gpu:1"], "gpu:0+gpu:1+core", (0, 1), 1),
    ],
)
def test_names(
    monkeypatch: pytest.MonkeyPatch, on: Any, name: str, devices: tuple[int, ...], cores: int
) -> None:
    gpus(monkeypatch, 2)
    rung = rungs.resolve(on, None, 1, False)
    assert (rung.name, rung.kind, rung.devices, rung.cores) == (name, "gpus", devices, cores)
    assert rung.workers == cores + len(devices)
    with sc.on(on):
        assert rungs.resolve(None, None, 1, False).devices == devices


@pytest.mark.parametrize(
    "on",
    [["cores", "cores:2"], ["gpu", "gpus"], ["cores", "gpu:0", "gpus"], ["cores:2x2", "gpu"]],
)
def test_what_cannot_share_is_refused(monkeypatch: pytest.MonkeyPatch, on: list[str]) -> None:
    gpus(monkeypatch, 2)
    with pytest.raises(RungError, match=r"give one of 'core', 'cores', 'cores:4', and GPUs, each"):
        rungs.resolve(on, None, 1, False)


@pytest.mark.parametrize("on", [[], [3, "gpus"], ["cores", "tcp://10.0.0.1:8786"]])
def test_a_list_gives_names(on: list[Any]) -> None:
    with pytest.raises(RungError, match=r"a list gives names of rungs, as \['cores', 'gpus'\]"):
        sc.ones(3).sum().compute(on=on)


def test_a_list_of_one_is_that_one() -> None:
    assert sc.ones(3).sum().compute(on=["core"]) == 3.0


def test_without_a_gpu_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "gpu_count", lambda: 0)
    monkeypatch.setattr(machine, "gpu_probe", lambda: (0, "no NVIDIA driver is installed"))
    with pytest.raises(RungError, match="no GPU is visible: no NVIDIA driver is installed"):
        sc.ones(3).sum().compute(on=["cores", "gpus"])


def test_a_checkpoint_is_not_for_gpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    gpus(monkeypatch, 1)
    with pytest.raises(ParameterError, match="checkpoint= works on core, cores and clusters"):
        sc.on(["cores", "gpus"], checkpoint=tmp_path)


def test_what_is_short_is_left_to_the_fastest() -> None:
    dealt = Dealer(1_000_000, [1e6, 1e9])  # a millisecond of the GPU
    assert dealt.take(0) is None
    assert dealt.take(1) == (0, 1_000_000)


@pytest.mark.parametrize("names", ["7", "MIG-11111111-2222-3333-4444-555555555555"])
def test_names_of_no_gpu_are_told(monkeypatch: pytest.MonkeyPatch, names: str) -> None:
    """A MIG instance is used by its UUID, as the driver does; one that is not there is refused."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", names)
    monkeypatch.setattr(machine.ctypes, "CDLL", lambda _: SimpleNamespace(cuInit=lambda _: 100))
    count, why = machine.gpu_probe.__wrapped__()
    assert (count, why) == (
        0,
        f"CUDA_VISIBLE_DEVICES={names!r} names no GPU and no MIG instance of this machine",
    )


@pytest.mark.gpu
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_bits_on_a_real_gpu(name: str) -> None:
    array = PROGRAMS[name]()
    wanted = np.asarray(array.compute(on="core"))
    assert np.asarray(array.compute(on=["cores", "gpus"])).tobytes() == wanted.tobytes()
