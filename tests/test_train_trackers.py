"""Trackers: what they are told, what happens when one fails, and each real one, offline."""

from __future__ import annotations

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from speedcube.errors import TrainError
from speedcube.train import metrics
from speedcube.train.steps import Steps, merged
from speedcube.train.trackers import TensorBoard, Trackers, Wandb, group, open_all


def row(step: int, rank: int = 0, attempt: int = 0, **values: Any) -> metrics.Row:
    return metrics.row(values, step=step, rank=rank, attempt=attempt, seconds=float(step))


class Mine:
    """A tracker that keeps what it is told, and raises where it is asked to."""

    def __init__(self, fails: str = "") -> None:
        self.told: list[Any] = []
        self.fails = fails

    def _tell(self, method: str, *what: Any) -> None:
        if method == self.fails:
            raise OSError(f"no {method} today")
        self.told.append((method, *what))

    def start(self, name: str, settings: Any) -> Mine:
        self._tell("start", name, settings)
        return self

    def log(self, row: metrics.Row) -> None:
        self._tell("log", row["step"], row["metrics"])

    def artifact(self, path: Path, name: str) -> None:
        self._tell("artifact", path, name)

    def finish(self, status: str) -> None:
        self._tell("finish", status)


def started(spec: Any, ranks: int = 1, name: str = "names", **settings: Any) -> Trackers:
    trackers = open_all(spec, name, settings, ranks)
    trackers.start()
    return trackers


def test_a_tracker_is_told_everything_in_order() -> None:
    mine = Mine()
    trackers = started(mine, lr=0.1, path=Path("/data"))
    trackers.log(metrics.event("start", ranks=1))
    trackers.log(row(1, loss=0.5))
    trackers.log(row(2, loss=0.25))
    trackers.artifact(Path("checkpoints/2"), "names")
    trackers.finish("finished")
    assert mine.told == [
        ("start", "names", {"lr": 0.1, "path": "/data"}),
        ("log", 1, {"loss": 0.5}),
        ("log", 2, {"loss": 0.25}),
        ("artifact", Path("checkpoints/2"), "names"),
        ("finish", "finished"),
    ]


def test_other_ranks_are_told_where_they_differ() -> None:
    mine = Mine()
    trackers = started([mine], ranks=3)
    trackers.log(row(1, rank=2, loss=0.5, lr=0.1, only=1))
    trackers.log(row(1, rank=1, loss=0.75, lr=0.1, bad=float("nan")))
    trackers.log(row(2, rank=2, loss=0.5))
    trackers.log(row(1, rank=0, loss=0.5, lr=0.1, bad=float("nan")))
    trackers.finish("finished")
    (_, step, told), (_, last, alone), _ = mine.told[1:]
    assert (step, last) == (1, 2)
    assert repr(told) == repr(
        {"loss": 0.5, "lr": 0.1, "bad": float("nan"), "loss/rank1": 0.75, "only/rank2": 1}
    )
    assert alone == {"loss": 0.5}


def test_steps_that_a_restart_repeats_are_logged_once() -> None:
    mine = Mine()
    trackers = started(mine, ranks=2)
    for step in (1, 2, 3):
        for rank in (0, 1):
            trackers.log(row(step, rank, loss=step))
    trackers.log(row(4, 1, loss=-1))  # rank 0 died in step 4
    for step in (2, 3, 4, 5):
        for rank in (1, 0):
            trackers.log(row(step, rank, attempt=1, loss=step + rank))
    trackers.finish("finished")
    assert mine.told[1:-1] == [
        ("log", 1, {"loss": 1}),
        ("log", 2, {"loss": 2}),
        ("log", 3, {"loss": 3}),
        ("log", 4, {"loss": -1}),
        ("log", 5, {"loss": 5, "loss/rank1": 6}),
    ]


@pytest.mark.parametrize("method", ["start", "log", "artifact", "finish"])
def test_a_tracker_that_raises_is_dropped_with_one_warning(method: str) -> None:
    good, bad = Mine(), Mine(fails=method)
    trackers = started((bad, good))

    def use() -> None:
        trackers.log(row(1, loss=0.5))
        trackers.log(row(2, loss=0.5))
        trackers.artifact(Path("model"), "names")
        trackers.finish("failed")

    with pytest.warns(RuntimeWarning) as caught:
        use()
    assert [str(one.message) for one in caught] == [
        f"the tracker Mine raised OSError: no {method} today; metrics.jsonl has every row"
    ]
    assert [told[0] for told in good.told] == ["start", "log", "log", "artifact", "finish"]


def test_a_tracker_that_hangs_holds_up_neither_rows_nor_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = threading.Event()
    good, slow = Mine(), Mine()
    slow.log = lambda row: ended.wait() and None  # type: ignore[method-assign]
    monkeypatch.setitem(group.WAITS, "cancelled", 0.2)
    trackers = started((slow, good))
    for step in range(1, 1001):
        trackers.log(row(step, loss=0.5))
    with pytest.warns(RuntimeWarning) as caught:
        trackers.finish("cancelled")
    ended.set()
    assert [str(one.message) for one in caught] == [
        "the tracker Mine was not done 0.2 s after the job; metrics.jsonl has every row"
    ]
    assert len(good.told) == 1002


@pytest.mark.parametrize("wrong", ["wandbb", "", 3, None, Wandb, object()])
def test_what_is_no_tracker_is_refused(wrong: Any) -> None:
    with pytest.raises(TrainError) as caught:
        open_all(["tensorboard", wrong], "names", {}, 1)
    assert str(caught.value) == (
        f"{wrong!r} is no tracker; trackers= takes 'mlflow', 'tensorboard', 'trackio', 'wandb', "
        "their options such as Wandb(project='names'), or an object with start(name, settings)"
    )


@pytest.mark.parametrize("tracker", ["mlflow", TensorBoard(), "trackio", Wandb()])
def test_a_missing_package_is_told_before_the_job_starts(
    tracker: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("speedcube.train.trackers.protocol.find_spec", lambda name: None)
    package = tracker if isinstance(tracker, str) else tracker.package
    with pytest.raises(TrainError) as caught:
        open_all((tracker,), "names", {}, 1)
    assert str(caught.value) == (
        f"the tracker {package!r} needs the package {package}, which is not installed; "
        "pip install speedcube[track], or leave it out of trackers="
    )


def test_steps_wait_for_the_ranks_that_report() -> None:
    clock = SimpleNamespace(now=0.0)
    steps = Steps(3, lambda: clock.now)

    def given(*rows: metrics.Row) -> list[tuple[int, list[int]]]:
        found = [ranks for one in rows for ranks in steps.add(one)]
        return [(next(iter(ranks.values()))["step"], list(ranks)) for ranks in found]

    assert given(row(1, 1), row(2, 1), row(1, 0)) == []
    assert given(row(1, 2)) == [(1, [0, 1, 2])]
    assert given(row(2, 0), row(3, 0)) == []
    clock.now = 3.0  # rank 2 has stopped reporting: the step has waited long enough
    assert given(row(3, 1)) == [(2, [0, 1]), (3, [0, 1])]
    assert given(row(4, 1), row(4, 0)) == [(4, [0, 1])]  # nobody waits for rank 2
    assert given(row(4, 2)) == []  # too late, but it is back
    assert given(row(5, 0), row(5, 1)) == []
    assert given(row(5, 2)) == [(5, [0, 1, 2])]
    assert given(row(6, 0), row(1, 0, attempt=1)) == [(6, [0])]
    assert [list(ranks) for ranks in steps.rest()] == [[0]]


def test_a_step_waits_for_no_more_than_64_others() -> None:
    steps = Steps(2, lambda: 0.0)
    assert [steps.add(row(step)) for step in range(1, 65)] == [[]] * 64
    assert [len(steps.add(row(step))) for step in range(65, 70)] == [65, 1, 1, 1, 1]


def test_merged_takes_the_lowest_rank_that_there_is() -> None:
    both = {1: row(1, 1, loss=0.5), 3: row(1, 3, loss=True)}
    assert merged(both)["metrics"] == {"loss": 0.5, "loss/rank3": True}
    assert both[1]["metrics"] == {"loss": 0.5}
