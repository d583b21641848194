"""Sorting, selecting and counting on workers that share no memory: one worker's bits, and plans."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import dask
import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.clusters.plans import How, graph_of
from speedcube.engine.ordering import keys, selecting
from speedcube.expr.space import TILE
from speedcube.plan import shares
from speedcube.plan.plan import Plan, Resources, make_plan

from .test_ordering import LINES, PLACES, SIZE

WORKERS: Final = 3


@pytest.fixture(autouse=True)
def few_elements_are_worth_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "LEAST", 1 << 10)


def _planned(x: Any) -> Plan:
    return make_plan(x._expr, Resources("here", WORKERS, apart=True), "a test", TILE)


def _on_shares(x: Any) -> Any:
    """``x`` by the tasks of three workers, one after the other; they are as many as promised."""
    plan = _planned(x)
    tasks = graph_of(plan, {"result": x.shape}, {}, How(False, 1), None)
    assert len(tasks) == plan.tasks + 1  # the result in its shape
    return np.asarray(dask.get(tasks, "result"))


def _same_bits(x: Any) -> None:
    one = np.asarray(x.compute(on="core"))
    found = _on_shares(x)
    assert found.dtype == one.dtype
    assert found.shape == one.shape
    assert found.tobytes() == one.tobytes()


def _some(x: Any) -> Any:
    return sc.api.order.lines.order_statistics(sc.asarray(x), PLACES)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", LINES)
def test_a_long_line(name: str) -> None:
    x = LINES[name]
    for made in (sc.sort(sc.asarray(x)), sc.argsort(sc.asarray(x)), _some(x)):
        (stage,) = _planned(made).stages
        assert len(stage.parts) == WORKERS
        _same_bits(made)


@pytest.mark.parametrize("name", LINES)
def test_a_miss_costs_rounds_and_no_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No room for what lies between: keys are counted, share by share."""
    for module in (keys, selecting):
        monkeypatch.setattr(module, "COLLECTED", 5)
    _same_bits(_some(LINES[name]))


def test_zeros_keep_their_signs_across_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selecting, "COLLECTED", 5)
    x = np.where(np.arange(SIZE) % 7 == 3, -0.0, 0.0)
    x[: SIZE // 3] = -1.0  # no zero in the first share
    _same_bits(_some(x))
    for sign in (0.0, -0.0):
        _same_bits(_some(np.full(SIZE, sign)))


_RNG = np.random.default_rng(5)
_X = _RNG.normal(size=(60, 70, 40))


def _drawn() -> Any:
    return sc.random.default_rng(3).normal(size=(400, 300))


PROGRAMS: Final[dict[str, tuple[str, Callable[[], Any]]]] = {
    "rows": ("concatenate", lambda: sc.sort(sc.asarray(_X), axis=2)),
    "columns": ("concatenate", lambda: sc.argsort(sc.asarray(_X), axis=0)),
    "the middle axis": ("concatenate", lambda: sc.sort(sc.asarray(_X) + 1, axis=1)),
    "medians": ("concatenate", lambda: sc.median(_drawn(), axis=0)),
    "all sorted": ("exchange", lambda: sc.sort(_drawn(), axis=None)),
    "a histogram": ("rounds", lambda: sc.histogram(_drawn(), 50, (-3, 3))[0]),
    "weights": ("rounds", lambda: sc.histogram(_X, 9, (-3, 3), weights=_X * 1e30)[0]),
    "weights of all sizes": (
        "rounds",
        lambda: sc.histogram(_X, 9, (-3, 3), weights=10 ** (_X * 50))[0],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_lines_and_counts(name: str) -> None:
    join, program = PROGRAMS[name]
    made = program()
    through = [stage for stage in _planned(made).stages if isinstance(stage.source, shares.Through)]
    assert [stage.join for stage in through] == [join]
    assert len(through[0].parts) == WORKERS
    assert ("bytes between workers" in str(_planned(made))) == (join == "exchange")
    _same_bits(made)


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("places", [(SIZE // 2,), (0, SIZE // 3, SIZE // 3 + 1, SIZE - 1)])
def test_a_partition_is_parted_by_all(name: str, places: tuple[int, ...]) -> None:
    made = sc.partition(sc.asarray(LINES[name]), places)
    (stage,) = _planned(made).stages
    assert (stage.join, len(stage.parts)) == ("rounds", WORKERS)
    _same_bits(made)


def test_special_weights() -> None:
    weights = _X.copy()
    weights[0, 0, :3] = np.inf
    weights[1, 5, :3] = np.nan
    weights[-1, 5, 2] = -np.inf
    _same_bits(sc.histogram(sc.asarray(_X), 9, (-3, 3), weights=weights)[0])


def test_few_elements_stay_with_one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "LEAST", SIZE + 1)
    (stage,) = _planned(sc.sort(sc.asarray(LINES["normals"]))).stages
    assert stage.join == "one"


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.cluster
def test_on_processes(client: Any) -> None:
    """What travels between real workers: samples, brackets, pieces, sums of weights."""
    x = sc.random.default_rng(3).normal(size=SIZE)
    programs = (sc.sort(x), sc.argsort(x), sc.median(x), sc.histogram(x, 9, (-3, 3), weights=x)[0])
    for made in programs:
        assert len(made.plan(on=client).stages[0].parts) == 2
        found = np.asarray(made.compute(on=client))
        assert found.tobytes() == np.asarray(made.compute(on="core")).tobytes()
    groups = sc.groupby(x, np.arange(SIZE) % 40)
    for made in (groups.mean(), groups.argmin(), groups.last(), sc.zeros(9).at[[1, 1]].add(x[:2])):
        found = np.asarray(made.compute(on=client))
        assert found.tobytes() == np.asarray(made.compute(on="core")).tobytes()
