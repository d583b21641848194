"""Records that are handed over between the slices of a part: any of them can be gone on from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine.clusters import handing
from speedcube.engine.clusters.asked.joining import merge_parts
from speedcube.engine.clusters.remote import (
    SentPass,
    run_part,
    run_pass,
    sent_part,
    sent_pass,
)
from speedcube.plan import streams
from speedcube.plan.plan import Plan, Resources, make_plan

WORKERS = 4


def _plan(*arrays: sc.Array) -> Plan:
    resources = Resources("workers", WORKERS, shared=False)
    return make_plan([array._expr for array in arrays], resources, "", 1024)


def _tall(dtype: str = "float64") -> sc.Array:
    return sc.asarray((np.random.default_rng(3).normal(size=(40_000, 3)) * 9).astype(dtype))


def _drawn() -> sc.Array:
    return sc.random.default_rng(3).normal(size=(300, 400))


FOLDS: dict[str, Callable[[], sc.Array]] = {
    "sum": lambda: _tall().sum(axis=0),
    "std": lambda: _tall("float32").std(axis=0),
    "min": lambda: _tall("int16").min(axis=0),
    "argmax": lambda: _tall().argmax(),
    "drawn": lambda: _drawn().sum(),
    "middle": lambda: _drawn().reshape(2, 30_000, 2).sum(axis=1),
    "pieces": lambda: sc.pad(_drawn(), 3, constant_values=0.5).sum(),
}


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
@pytest.mark.parametrize("name", FOLDS)
def test_a_worker_merges_the_records_of_all_results(name: str, threads: int) -> None:
    """Whatever its threads are to the number of results: there may be fewer of those, or more."""
    array = FOLDS[name]()
    (stage,) = _plan(array).stages
    records = [run_part(sent_part(stage, part), False, threads) for part in stage.parts]
    assert stage.join == "merge"
    found = merge_parts(stage.source, stage.shape, *records)  # type: ignore[arg-type]
    assert_same_bits(found.reshape(array.shape)[()], array.compute(on="core"))


class Scheduler:
    """What a worker tells the scheduler, and is told by it."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.left: list[tuple[int, Any]] = []
        self.begin: tuple[int, Any] = (0, [])
        patch.setattr(handing, "WORK", 80.0)
        patch.setattr(handing, "_leave", lambda _, at, records: self.left.append((at, records)))
        patch.setattr(handing, "_left", lambda _: self.begin)


@pytest.mark.parametrize("name", FOLDS)
def test_any_record_is_gone_on_from(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (stage,) = _plan(FOLDS[name]()).stages
    part, source, shape = stage.parts[1], stage.source, stage.shape

    def value(name: str, threads: int) -> Any:
        record = run_part(sent_part(stage, part, name), False, threads)
        return merge_parts(source, shape, record)  # type: ignore[arg-type]

    wanted = value("", 1)
    scheduler = Scheduler(monkeypatch)
    for threads in (1, 3):
        scheduler.begin = 0, []
        assert_same_bits(value("mine", threads), wanted)
    left = scheduler.left[:]
    assert len(left) > 3
    for scheduler.begin in left[:: len(left) // 3]:
        scheduler.left.clear()
        assert_same_bits(value("mine", 2), wanted)
        assert all(at > scheduler.begin[0] for at, _ in scheduler.left)


def test_the_records_of_several_results(monkeypatch: pytest.MonkeyPatch) -> None:
    x = _drawn()
    (one,) = _plan(x.sum(), (x * x).max(), x.std()).passes
    part = one.visited.parts[0]
    wanted = run_pass(sent_pass(one, part), False, 1)
    scheduler = Scheduler(monkeypatch)
    sent = sent_pass(one, part, "mine")
    for begin in ((0, []), None):
        scheduler.begin = scheduler.left[2] if begin is None else begin
        records = zip(one.stages, run_pass(sent, False, 2), wanted, strict=True)
        for stage, *pair in records:
            found, other = (merge_parts(stage.source, (), record) for record in pair)  # type: ignore[arg-type]
            assert_same_bits(found, other)
    assert len(scheduler.left) > 3


def test_a_thousand_parts_hand_over_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask keeps a thousand events: more than the last of each part should be among them."""
    x = _drawn()
    (one,) = _plan(x.sum(), x.std()).passes
    sent = sent_pass(one, one.visited.parts[0], "mine")
    assert sent.among == len(one.visited.parts) > 1
    scheduler, places = Scheduler(monkeypatch), {}
    for among in (1, handing.PARTS, 1000):
        scheduler.left.clear()
        run_pass(replace(sent, among=among), False, 1)
        places[among] = [at for at, _ in scheduler.left]
    assert places[1] == places[handing.PARTS]
    assert len(places[1]) > 8
    assert places[1000] == places[1][3::4]


def test_what_is_stored_is_not_handed_over() -> None:
    x = _drawn()
    (one,) = _plan(x.sum(), x + 1).passes
    sent = sent_pass(one, one.visited.parts[0], "mine")
    assert isinstance(sent, SentPass)
    assert sent.name == ""


KEPT: dict[str, Callable[[], sc.Array]] = {
    "mean of rows": lambda: _drawn().mean(axis=1),
    "mean of columns": lambda: _drawn().mean(axis=0),
    "greatest place": lambda: _drawn().argmax(axis=1),
    "bytes": lambda: (_drawn() > 0).any(axis=0),
    "halves": lambda: _drawn().astype("float16").max(axis=1),
    "in the middle": lambda: _drawn().reshape(30, 100, 40).std(axis=1),
    "products": lambda: (_drawn() / 2).prod(axis=1),
}


@pytest.mark.parametrize("name", KEPT)
def test_results_along_kept_axes_are_gone_on_from(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (stage,) = _plan(KEPT[name]()).stages
    assert stage.join == "concatenate"
    part = stage.parts[1]

    def value(name: str, threads: int) -> Any:
        return run_part(sent_part(stage, part, name), False, threads)

    wanted = value("", 1)
    scheduler = Scheduler(monkeypatch)
    monkeypatch.setattr(handing, "WORK", 4000.0)
    for threads in (1, 3):
        scheduler.begin = 0, []
        assert_same_bits(value("mine", threads), wanted)
    left = scheduler.left[:]
    if name == "products":  # they are made in their order
        assert left == []
        return
    assert len(left) > 3
    for scheduler.begin in left[:: len(left) // 3]:
        scheduler.left.clear()
        assert_same_bits(value("mine", 2), wanted)
        assert all(at > scheduler.begin[0] for at, _ in scheduler.left)


def test_a_few_results_that_each_take_long_are_handed_over_as_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (stage,) = _plan(_drawn().reshape(8, 15_000).sum(axis=1)).stages
    assert stage.join == "concatenate"
    part = stage.parts[1]
    wanted = run_part(sent_part(stage, part), False, 1)
    scheduler = Scheduler(monkeypatch)
    assert_same_bits(run_part(sent_part(stage, part, "mine"), False, 2), wanted)
    assert len(scheduler.left) > 3
    scheduler.begin = scheduler.left[2]
    assert_same_bits(run_part(sent_part(stage, part, "mine"), False, 1), wanted)


def test_too_many_results_are_not_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them so far go to the scheduler, which keeps a thousand of these."""
    (stage,) = _plan(_drawn().mean(axis=1)).stages
    scheduler = Scheduler(monkeypatch)
    monkeypatch.setattr(handing, "MOST", 8 * 74)
    run_part(sent_part(stage, stage.parts[0], "mine"), False, 1)
    assert scheduler.left == []


def test_slices_of_results_have_whole_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each chunk is decoded once."""
    zarr = pytest.importorskip("zarr")
    values = np.random.default_rng(4).normal(size=(320, 40))
    zarr.create_array(tmp_path / "x.zarr", shape=(320, 40), chunks=(16, 40), dtype="f8")[:] = values
    (stage,) = _plan(sc.open(tmp_path / "x.zarr").mean(axis=1)).stages
    assert stage.join == "concatenate"
    scheduler = Scheduler(monkeypatch)
    monkeypatch.setattr(handing, "WORK", 10.0)
    monkeypatch.setattr(streams, "BLOCK", 1 << 8)
    found = run_part(sent_part(stage, stage.parts[0], "mine"), False, 1)
    assert_same_bits(found, sc.asarray(values).mean(axis=1).compute(on="core")[:80])
    assert [at for at, _ in scheduler.left] == [16, 32, 48, 64]
