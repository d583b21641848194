"""Parts that read the blocks of stages before them, which nobody puts together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine.clusters.asked import copies, given, pieces
from speedcube.engine.clusters.asked.calls import Calls, PlanCall
from speedcube.engine.clusters.asked.given import elements_of, one_after_another
from speedcube.engine.clusters.asked.joining import join_parts
from speedcube.engine.clusters.asked.pieces import Grain
from speedcube.engine.clusters.asked.submitted import Submission
from speedcube.engine.clusters.fingerprint import expected
from speedcube.engine.clusters.plans import How, calls_of
from speedcube.engine.ordering.exchange import put_together
from speedcube.expr.space import TILE
from speedcube.late import task_spec
from speedcube.plan.plan import Plan, Resources, make_plan
from speedcube.plan.stages import WORKER_OVERHEAD

pytestmark = pytest.mark.cluster
distributed = pytest.importorskip("distributed")

WORKERS: Final = 3


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    where = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    shape = {"n_workers": WORKERS, "threads_per_worker": 1}
    with (
        distributed.LocalCluster(**shape, **where) as cluster,
        distributed.Client(cluster, set_as_default=False) as connected,
    ):
        yield connected


def _long(*shape: int) -> Any:
    """Elements that take more operations than one kernel has."""
    x = sc.random.default_rng(5).normal(size=shape)
    for _ in range(70):
        x = sc.sin(x) + 1
    return x


def _places(length: int) -> Any:
    return sc.asarray(np.random.default_rng(1).integers(0, length, 150_000))


def _around(u: Any) -> Any:
    return u[:-2] + u[1:-1] * 2 + u[2:]


PROGRAMS: Final[dict[str, Callable[[], Any]]] = {
    "elements": lambda: sc.sqrt(_long(200_000)) + 1,
    "a stencil": lambda: _around(_long(200_000)),
    "rows around": lambda: _around(_long(500, 400)),
    "backwards": lambda: _long(200_000)[::-1] - 1,
    "some": lambda: _long(200_000)[10:-5:3] * 2,
    "rows": lambda: _long(500, 400).mean(axis=1),
    "columns": lambda: _long(500, 400).std(axis=0),
    "a sum": lambda: _long(200_000).sum(),
    "a place": lambda: _long(200_000).argmax(),
    "a median": lambda: sc.median(_long(200_000)),
    "sorted": lambda: sc.sort(_long(200_000)),
    "sorted rows": lambda: sc.sort(_long(500, 400), axis=1),
    "running sums": lambda: _long(200_000).cumsum(),
    "running sums of rows": lambda: _long(500, 400).cumsum(axis=1) * 2,
    "a product": lambda: (1 + _long(200_000) * 1e-9).prod(),
    "transposed": lambda: (_long(500, 400).T + sc.arange(500.0)).max(axis=1),
    "weights": lambda: sc.bincount(sc.arange(200_000) % 7, weights=_long(200_000)),
    "taken": lambda: sc.take(_long(200_000), sc.arange(199_999, -1, -2)),
    "taken where it says": lambda: _long(200_000)[_places(200_000)],
    "found": lambda: sc.searchsorted(sc.sort(_long(90_000)), sc.arange(50_000.0) / 2e4 - 1),
    "kept of pieces": lambda: sc.roll(_long(200_000), 3)[_long(200_000) > 1],
    "joined": lambda: sc.concatenate([_long(100_000), _long(150_000)])[5:] * 3,
    "integers": lambda: (_long(400_000) * 1e9).astype("int64") // 7,
    "nothing": lambda: _long(200_000)[:0].sum(),
}


def _plan(array: Any, workers: int = WORKERS) -> Plan:
    resources = Resources("a cluster", workers, shared=False, apart=True)
    return make_plan([array._expr], resources, "a test", TILE)


def _calls(array: Any, grain: Grain | None = None) -> Calls:
    return calls_of(_plan(array), {}, "x", How(hand_over=True, grain=grain, here=True))


def _by_name(calls: Calls) -> dict[str, PlanCall]:
    return {call.name: call for call in calls.all}


@pytest.mark.parametrize("in_pieces", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_bits(client: Any, name: str, in_pieces: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(given, "LARGE", 0)
    if in_pieces:
        monkeypatch.setattr(pieces, "WORK", 3e-4)
    array = PROGRAMS[name]()
    assert_same_bits(array.compute(on=client), array.compute(on="core"))


def test_several_results_of_blocks(client: Any) -> None:
    x = _long(300_000)
    found = sc.compute(x.sum(), x.max(), x * 2, x[::2].mean(), on=client)
    for one, wanted in zip(
        found, sc.compute(x.sum(), x.max(), x * 2, x[::2].mean(), on="core"), strict=True
    ):
        assert_same_bits(one, wanted)


def test_each_part_reads_its_own_block_and_nobody_puts_them_together() -> None:
    calls = _by_name(_calls(sc.sqrt(_long(200_000)) + 1))
    assert "x-0" not in calls
    for k in range(WORKERS):
        assert calls[f"x-1-part-{k}"].needs == [f"x-0-part-{k}"]
        assert calls[f"x-1-part-{k}"].worker == calls[f"x-0-part-{k}"].worker
    asked = [call for call in _calls(sc.median(_long(200_000) * 2)).all if "-0-part-" in call.name]
    assert [call.needs for call in asked] == [[]] * WORKERS


def test_what_lies_in_several_blocks_is_cut_out_where_they_are() -> None:
    calls = _by_name(_calls(_around(_long(200_000))))
    assert "x-1" not in calls
    read = [calls[f"x-2-part-{k}"].needs for k in range(WORKERS)]
    joins = [calls[name] for (name,) in read]
    assert {one.function for one in joins} == {one_after_another}
    assert [one.worker for one in joins] == [0, 1, 2]
    assert [one.needs for one in joins] == [
        ["x-1-part-0", "x-1-part-1-from-66666-to-66668"],
        ["x-1-part-1", "x-1-part-2-from-133333-to-133334"],
        ["x-1-part-1-from-133332-to-133333", "x-1-part-2"],
    ]
    cuts = [call for call in calls.values() if call.function is elements_of]
    assert [(call.worker, call.needs) for call in cuts] == [
        (1, ["x-1-part-1"]),
        (2, ["x-1-part-2"]),
        (1, ["x-1-part-1"]),
    ]
    x = np.arange(12).reshape(4, 3)
    assert elements_of(4, 9, x).base is not None  # no copy
    assert_same_bits(one_after_another(elements_of(4, 6, x[:2]), x[2:]), np.arange(4, 12))


def test_a_worker_holds_no_more_than_is_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has of the array that is read, all that reaches it, and what it makes of it."""
    monkeypatch.setattr(pieces, "WORK", 3e-4)
    for workers in (2, 3, 8):
        array = _around(_long(400_000))
        plan = _plan(array, workers)
        for grain in (None, Grain(workers)):
            calls = calls_of(plan, {}, "x", How(hand_over=True, grain=grain, here=True))
            values: dict[str, Any] = {}
            held = [dict[str, int]() for _ in range(workers)]
            for call in calls.all:
                if call.aside:
                    continue
                given = [
                    values[str(a.key)] if type(a) is task_spec.TaskRef else a
                    for a in call.arguments
                ]
                values[call.name] = made = call.function(*given)
                if not call.name.startswith(("x-2-", "x-1-from-")):
                    continue  # what is read then was let go, as what the first stage gave
                own = held[call.worker]
                for name in call.needs:
                    own.setdefault(name, values[name].nbytes)
                own[call.name] = made.nbytes
            assert max(sum(one.values()) for one in held) < plan.peak_bytes - WORKER_OVERHEAD


def test_small_results_and_those_read_by_all_are_put_together() -> None:
    for array in (
        _long(100_000) * 2,  # 800 kB
        _long(500, 400).T + sc.arange(500.0),  # parts are rows of what lies in columns
        _long(200_000).cumsum(),  # its parts are positions of one line
    ):
        calls = _by_name(_calls(array))
        assert calls["x-0"].function is join_parts
        assert calls["x-1-part-0"].needs == ["x-0"]


def test_a_second_worker_has_blocks_that_took_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "WORK", 3e-4)
    monkeypatch.setattr(copies, "COPIED", 40.0)
    calls = _by_name(_calls(sc.sqrt(_long(200_000)) + 1, Grain(WORKERS)))
    blocks = [call for name, call in calls.items() if name.startswith("x-0-part-")]
    made = [call for call in blocks if not call.aside and "-from-" not in call.name]
    asked = (call for call in calls.values() if not call.aside and not call.name.startswith("x-2"))
    readers = {call.name for call in asked if any("x-0-part" in need for need in call.needs)}
    assert len(made) > WORKERS
    for call in made:
        second = (call.worker + 1) % WORKERS
        copy = calls[f"{call.name}-too-{second}"]
        assert copy.needs == [call.name]
        assert copy.worker == second
        ends = {
            number for number in range(WORKERS) if call.name in calls[f"x-0-end-{number}"].needs
        }
        assert ends == {call.worker, second}  # who waits has it: nothing is fetched then
    assert len(readers) > WORKERS
    assert {*calls["x-0-all-read"].needs} == {f"{name}-read" for name in readers}
    for number in range(WORKERS):
        end = calls[f"x-0-end-{number}"]
        assert (end.worker, end.needs[0]) == (number, "x-0-all-read")
    monkeypatch.setattr(copies, "COPIED", 60.0)
    assert not any("-too" in name for name in _by_name(_calls(_long(200_000) * 2)))


def _deep(*shape: int) -> Any:
    """Elements that one stage makes of another's, and each as dear."""
    x = _long(*shape)
    for _ in range(70):
        x = sc.sin(x) + 1
    return x


def _copied(calls: Calls) -> set[str]:
    """The stages of whose blocks others have copies."""
    names = [call.name for call in calls.all if "-too" in call.name]
    return {name.partition("-part-")[0] for name in names}


def test_what_waits_is_as_dear_as_all_that_it_was_made_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read as soon as it is made, is not: copies of each stage of a loop would cost."""
    monkeypatch.setattr(pieces, "WORK", 3e-4)
    monkeypatch.setattr(copies, "COPIED", 60.0)
    x = _deep(400_000)
    assert _copied(_calls(x * 2 + 1, Grain(WORKERS))) == set()
    assert _copied(_calls(x - x.mean(), Grain(WORKERS))) == {"x-2"}
    monkeypatch.setattr(copies, "COPIED", 130.0)
    assert _copied(_calls(x - x.mean(), Grain(WORKERS))) == set()


def test_where_all_is_copied_what_waits_stays_until_what_is_made_of_it_is_safe(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A cheap stage may be made again, and then what it reads must be there."""
    monkeypatch.setattr(pieces, "WORK", 3e-4)
    x = _deep(400_000)
    every = Grain(WORKERS, copied=True)
    assert _copied(_calls(x * 2 + 1, every)) == set()  # nothing of it waits
    for y in (x - x.mean(), ((x - x.mean()) ** 3).cumsum()[::5]):
        calls = _calls(y, every)
        assert "x-2" in _copied(calls)
        by_name = _by_name(calls)
        assert {*by_name["x-2-all-read"].needs} == {f"{name}-read" for name in calls.results}
        blocks = [name for name in by_name["x-2-end-0"].needs if "-part-" in name]
        assert len(blocks) >= 2
        for name in blocks:
            first = by_name[name].worker
            second = by_name[f"{name}-too-{(first + 1) % WORKERS}"]
            assert name in by_name[f"x-2-end-{second.worker}"].needs
            assert second.worker != first


def test_what_is_made_is_read_before_more_of_it_is_made(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "WORK", 3e-4)
    submit, asked = client.submit, dict[str, int]()

    def noted(*given: Any, key: str, priority: int, **others: Any) -> Any:
        asked[key] = priority
        return submit(*given, key=key, priority=priority, **others)

    monkeypatch.setattr(client, "submit", noted)
    found = _calls(sc.sqrt(_long(200_000)) - _long(200_000).mean(), Grain(WORKERS, copied=True))
    calls = _by_name(found)
    submission = Submission(client, calls, found.results, expected())
    submission.submit([*client.scheduler_info()["workers"]])
    assert {*asked} == {*calls}
    for name, call in calls.items():
        assert all(asked[need] < asked[name] for need in call.needs if not call.aside)
    others = [asked[name] for name, call in calls.items() if not call.aside]
    assert min(others) == 0  # what others wait for on the cluster has none
    assert {asked[name] for name, call in calls.items() if call.aside} == {max(others) + 1}


def test_a_second_worker_has_what_dear_results_are_put_together_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where a result stays with a worker, its own share was with it alone."""
    monkeypatch.setattr(pieces, "WORK", 3e-4)
    how = How(hand_over=True, grain=Grain(WORKERS))  # as `persist` asks
    for least, own in ((3 * 110.0, True), (3 * 125.0, False)):  # its share is a third of all
        monkeypatch.setattr(copies, "COPIED", least)
        calls = calls_of(_plan(_deep(400_000)), {}, "x", how)
        (join,) = (call for call in calls.all if call.function is join_parts)
        by_name = _by_name(calls)
        for need in map(by_name.__getitem__, join.needs):
            copy = by_name.get(f"{need.name}-too")
            assert (copy is not None) is (own or need.worker != join.worker)
            assert copy is None or copy.worker != need.worker
        assert {need.worker for need in map(by_name.__getitem__, join.needs)} == {0, 1, 2}


def test_what_is_exchanged_goes_at_once_to_who_puts_it_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pieces, "WORK", 3e-4)
    monkeypatch.setattr(pieces, "TASK", 1e-6)
    calls = _by_name(_calls(sc.sort(_long(3_000_000))[::100], Grain(WORKERS)))
    puts = [call for call in calls.values() if call.function is put_together]
    assert len(puts) >= WORKERS
    assert {call.worker for call in puts} == {0, 1, 2}
    for put in puts:
        for need in put.needs:
            piece = calls[need]
            second = put.worker if put.worker != piece.worker else (put.worker + 1) % WORKERS
            (share,) = piece.needs
            assert need in calls[f"{share}-too-{second}"].needs
            ends = {name for name, call in calls.items() if "-end-" in name and need in call.needs}
            assert ends == {f"x-1-sorted-0-end-{piece.worker}", f"x-1-sorted-0-end-{second}"}
    assert calls["x-1-sorted-0-all-read"].needs == ["x-2-read"]  # the pieces stay until then


def test_what_a_result_was_made_of_is_there_until_it_is_here(client: Any) -> None:
    """Else a worker that is lost with the last of a sort takes all of the sort along."""
    calls = _by_name(_calls(sc.sqrt(_long(200_000)) + 1))
    results = tuple(f"x-1-part-{k}" for k in range(WORKERS))
    submission = Submission(client, calls, results, expected())
    submission.submit([*client.scheduler_info()["workers"]])
    for future in submission.futures.values():
        future.result()
    blocks = {f"x-0-part-{k}" for k in range(WORKERS)}
    submission.let_go(until_here=True)
    assert {*submission.futures} == {*results} | blocks
    submission.take(results[0], submission.futures[results[0]].result())
    submission.let_go(until_here=True)
    assert {*submission.futures} == ({*results} | blocks) - {results[0], "x-0-part-0"}
    submission.let_go(until_here=False)
    assert {*submission.futures} == {*results[1:]}
