"""Long parts in pieces: the same bits, as many tasks as are worth it, and what a kill costs."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

import dask
import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine.clusters import own
from speedcube.engine.clusters.asked import pieces
from speedcube.engine.clusters.asked.calls import Calls
from speedcube.engine.clusters.asked.joining import laid_out
from speedcube.engine.clusters.asked.pieces import Grain, grain_of, in_pieces, merges
from speedcube.engine.clusters.asked.submitted import Submission
from speedcube.engine.clusters.plans import How, calls_of
from speedcube.errors import ParameterError
from speedcube.expr.space import TILE
from speedcube.plan.plan import Plan, Resources, make_plan

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    # What was connecting to a worker that has gone is cancelled in the middle of TLS.
    pytest.mark.filterwarnings("ignore:unclosed <ssl:ResourceWarning"),
]
distributed = pytest.importorskip("distributed")

WORKERS: Final = 2


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    where = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=WORKERS, threads_per_worker=2, **where) as cluster,
        distributed.Client(cluster, set_as_default=False) as connected,
    ):
        yield connected


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of less than a millisecond."""
    monkeypatch.setattr(pieces, "WORK", 3e-4)
    monkeypatch.setattr(pieces, "TASK", 1e-6)


def _normal(*shape: int) -> Any:
    return sc.random.default_rng(5).normal(10, 1, size=shape)


def _gamma(*shape: int) -> Any:
    return sc.random.default_rng(6).gamma(2.5, size=shape)


PROGRAMS: Final[dict[str, Callable[[], Any]]] = {
    "elements": lambda: _gamma(2000, 900) * 2,
    "running sums": lambda: _gamma(2_000_000).cumsum(),
    "running sums of few lines": lambda: _gamma(3, 700_000).cumsum(axis=1),
    "running sums of columns": lambda: _gamma(900, 2000).cumsum(axis=0),
    "running products": lambda: (1 + _normal(6_000_000) * 1e-7).cumprod(),
    "a product": lambda: (1 + _normal(5_000_000) * 1e-7).prod(),
    "products of lines": lambda: (1 + _normal(9000, 500) * 1e-7).prod(axis=1),
    "sorted": lambda: sc.sort(_gamma(2_000_000)),
    "places in order": lambda: sc.argsort(_normal(2_000_000)),
    "a median": lambda: sc.median(_gamma(2_000_000)),
    "medians of lines": lambda: sc.median(_normal(2000, 900), axis=1),
    "partitioned": lambda: sc.partition(_normal(2_000_000), 700),
    "counted": lambda: sc.histogram(_gamma(2_000_000), bins=30, range=(0, 9))[0],
    "many means": lambda: _gamma(20_000, 100).mean(axis=1),
    "complex": lambda: _gamma(2000, 900) + 1j * _normal(2000, 900),
    "then reduced": lambda: (_gamma(2_000_000).cumsum() * 2)[::3].mean(),
    "zeros": lambda: sc.median(sc.zeros(2_000_000) * -_gamma(2_000_000)),
}


def _plan(*arrays: Any, workers: int = WORKERS) -> Plan:
    resources = Resources("a cluster", workers, shared=False, apart=True)
    return make_plan([one._expr for one in arrays], resources, "a test", TILE)


def _calls(plan: Plan, grain: Grain | None) -> Calls:
    return calls_of(plan, {}, "x", How(hand_over=True, grain=grain, here=True))


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_bits_in_pieces(client: Any, name: str) -> None:
    make = PROGRAMS[name]
    plan = make().plan(on=client)
    grain = grain_of(client, plan)
    assert grain == Grain(WORKERS, 2)
    assert len(_calls(plan, grain).all) > len(_calls(plan, None).all) + 4
    found, wanted = make().compute(on=client), make().compute(on="cores")
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    assert found.tobytes() == wanted.tobytes()


@pytest.mark.usefixtures("short")
def test_the_setting_says_of_what_others_have_copies(client: Any) -> None:
    plan = _gamma(2_000_000).cumsum().plan(on=client)
    with dask.config.set({"speedcube.copies": "all"}):
        assert grain_of(client, plan) == Grain(WORKERS, 2, copied=True)
    x = _gamma(1_000_000)
    deviation = ((x - x.mean()) ** 3).cumsum()
    with dask.config.set({"speedcube.copies": "all"}):
        found = deviation.compute(on=client)
        held = deviation.persist(on=client)
    for one in (found, held.compute()):
        assert_same_bits(one, deviation.compute(on="cores"))
    for wrong in ("ALL", 2, None):
        with (
            dask.config.set({"speedcube.copies": wrong}),
            pytest.raises(ParameterError, match=r"speedcube\.copies=.*: give 'dear' or 'all'"),
        ):
            deviation.compute(on=client)


@pytest.mark.usefixtures("short")
def test_what_is_held_is_made_in_pieces(client: Any) -> None:
    x = _gamma(2_000_000).cumsum()
    held = x.persist(on=client)
    assert_same_bits(held.compute(), x.compute(on="cores"))


def test_what_is_short_or_hands_over_stays_whole() -> None:
    """A second of work, sums however long, sums of columns, and results of a library's."""
    for whole in (
        _gamma(50_000_000).cumsum(),
        sc.sort(_normal(20_000_000)),
        _gamma(10**12).sum(),
        _gamma(10**9, 50).mean(axis=0),
        _gamma(10**10, 40).std(axis=1)[:10],
        sc.linalg.svd(_normal(6000, 6000), compute_uv=False),
    ):
        plan = _plan(whole)
        assert [in_pieces(one, Grain(WORKERS)) for one in plan.passes] == [*plan.passes]


def test_pieces_take_about_half_a_second_and_are_no_more_than_that() -> None:
    (one,) = _plan(_gamma(10**10).cumsum()).passes  # 60 seconds on each of two threads

    def count(*grain: int) -> int:
        return len(in_pieces(one, Grain(*grain)).visited.parts)

    assert 200 < count(2) < 300
    assert 200 < count(2, 8) < 300
    assert count(2, 1, 128) == len(one.visited.parts) == 2  # on two GPUs it is no second
    (one,) = _plan(_gamma(10**10).cumsum(), workers=1000).passes
    assert count(1000) == 1000
    (one,) = _plan(_gamma(10**13).cumsum(), workers=1000).passes
    assert count(1000) == pieces.MOST
    (one,) = _plan(sc.sort(_normal(10**9))).passes  # 10 seconds: few tasks
    assert count(2) == 16
    assert merges(in_pieces(one, Grain(2)).visited, Grain(2)) == 16
    (one,) = _plan(sc.sort(_normal(10**9)), workers=16).passes
    assert count(16) == 16


def test_a_worker_runs_as_many_pieces_as_it_has_threads() -> None:
    plan = _plan(_gamma(10**10).cumsum())
    for call in _calls(plan, Grain(2, 8)).all:
        if "-part-" in call.name and not call.aside:
            assert call.arguments[2] == 1
    places = [call.worker for call in _calls(plan, Grain(2)).all if "-carried-" in call.name]
    assert places == sorted(places)
    assert {*places} == {0, 1}


def test_pieces_are_laid_out_one_after_the_other() -> None:
    x = np.arange(60.0).reshape(3, 4, 5)
    for axis in range(3):
        some = np.array_split(x, 2, axis=axis)
        assert_same_bits(laid_out(some, axis), x)
        assert some == []
    assert laid_out([x], 0) is x


class _Made(distributed.SchedulerPlugin):  # type: ignore[misc]
    """How often each task was done."""

    name = "made"

    def __init__(self) -> None:
        self.times = Counter[str]()

    def transition(self, key: Any, start: str, finish: str, *_: Any, **__: Any) -> None:
        if finish == "memory":
            self.times[str(key)] += 1

    def done(self, what: str) -> int:
        return sum(what in key and "-too" not in key for key in [*self.times])


@pytest.fixture(scope="module")
def losing() -> Iterator[Any]:
    """A client of two workers of a thread each, one of which is to be lost, more than once."""
    shape = {"n_workers": 2, "threads_per_worker": 1, "silence_logs": 50}
    with (
        own.start(distributed.LocalCluster, **shape) as cluster,
        distributed.Client(cluster, set_as_default=False) as connected,
    ):
        yield connected


KILLED: Final[dict[str, tuple[Callable[[], Any], str]]] = {
    "elements": (lambda: _gamma(6000, 2000) > 9, "-part-"),
    "running sums": (lambda: _gamma(20_000_000).cumsum(), "-carried-"),
    "what products begin with": (lambda: _gamma(10_000_000).prod(), "-part-"),
    "a median": (lambda: sc.median(_gamma(16_000_000)), "-1-part-"),
    "a sort": (lambda: sc.sort(_gamma(16_000_000))[::1000], "-part-"),
}


@pytest.mark.parametrize("name", KILLED)
def test_a_kill_costs_the_pieces_that_run(
    losing: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Not those that this process has, or another worker, too."""
    monkeypatch.setattr(pieces, "WORK", 5e-3)
    monkeypatch.setattr(pieces, "TASK", 1e-4)
    make, what = KILLED[name]
    losing.wait_for_workers(2, timeout=120)
    wanted = make().compute(on=losing)  # kernels are compiled
    for _ in range(5):  # until a kill comes in the middle: a loaded machine may run it late
        found, safe, then, made = _killed(losing, monkeypatch, make, what)
        assert_same_bits(found, wanted)
        assert len(safe) >= 3
        assert [key for key in safe if made.times[key] > 1] == []
        if then < made.done(what):
            return
    pytest.fail("all of them were done, five times, before the kill")


def _killed(
    losing: Any, monkeypatch: pytest.MonkeyPatch, make: Callable[[], Any], what: str
) -> tuple[Any, set[str], int, _Made]:
    """The value, what was in two places at the kill, how much was done then; how often each was."""
    losing.wait_for_workers(2, timeout=120)
    scheduler, made, here = losing.cluster.scheduler, _Made(), set[str]()
    take = Submission.take

    def noted(self: Submission, name: str, value: Any) -> None:
        take(self, name, value)
        here.add(name)

    scheduler.add_plugin(made)
    pids, safe, then = losing.run(os.getpid), set[str](), list[int]()
    victim = next(iter(pids))

    def kill() -> None:
        while len(safe) < 3:
            time.sleep(0.001)
            safe.update(key for key in [*here] if what in key)
            tasks = [*scheduler.tasks.values()]
            twice = [str(task.key) for task in tasks if len(task.who_has or ()) > 1]
            safe.update(key for key in twice if what in key)
        os.kill(pids[victim], signal.SIGKILL)
        then.append(made.done(what))

    killing = threading.Thread(target=kill, daemon=True)
    with monkeypatch.context() as patched:
        patched.setattr(Submission, "take", noted)
        killing.start()
        found = make().compute(on=losing)
    killing.join(20)
    scheduler.remove_plugin(made.name)
    return found, safe, then[0], made
