"""Ranks of which some report and others do not: it works, or is said at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from speedcube import train
from speedcube.errors import CheckpointError, TrainError

pytestmark = pytest.mark.cluster


@pytest.fixture(autouse=True)
def _in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(function: Callable[..., Any], *args: Any, **options: Any) -> train.Job:
    return train.run(function, *args, **{"on": "cores:2", "progress": False} | options)


def reduced() -> float:
    """What ranks compute together; a wrong number where an operation of ours came between."""
    import torch
    from torch import distributed as dist

    one = torch.ones(1)
    dist.all_reduce(one)
    return float(one)


def fit(steps: int, dies: bool = False) -> list[float]:
    """The loop as most programs have it: rank 0 reports and saves, for all."""
    import torch

    torch.manual_seed(0)
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    state, first = train.latest(), 0
    if state is not None:
        model.module.load_state_dict(state["model"])
        first = state["step"] + 1
    for step in range(first, steps):
        optimizer.zero_grad()
        model(torch.full((2, 4), float(step + train.rank()))).square().mean().backward()
        optimizer.step()
        if train.rank() == 0:
            saved = {"model": model.module.state_dict(), "step": step}
            train.report({"step": step}, checkpoint=saved)
        if dies and state is None and step == 3 and train.rank() == 0:
            raise RuntimeError("in the middle")
    return model.module.weight.detach().flatten().tolist()


def test_rank_0_alone_reports_and_saves_and_the_job_goes_on_from_there() -> None:
    job = run(fit, 6, step_timeout=20)
    whole = job.results()
    assert [row["metrics"]["step"] for row in job.rows()] == [*range(6)]
    assert {row["rank"] for row in job.rows()} == {0}
    job = run(fit, 6, True, max_restarts=1)
    assert job.results() == whole
    assert job.restarts == 1
    rows = [(row["step"], row["metrics"]["step"]) for row in job.rows()]
    assert rows == [(1, 0), (2, 1), (3, 2), (4, 3), (5, 4), (6, 5)]
    newest = job.checkpoint()
    assert newest is not None
    assert (newest.step, newest["step"]) == (6, 5)
    assert newest.rng(0) is not None
    assert newest.rng(1) is None, "of a rank that saved nothing"


def test_ranks_may_report_at_other_times_than_rank_0() -> None:
    def sometimes() -> list[float]:
        sums = []
        for step in range(6):
            if train.rank() == 0 or step % 3 == 2:
                train.report({"step": step}, checkpoint={"step": step})
            sums.append(reduced())
        return sums

    def without() -> None:
        for step in range(3):
            train.report({}, checkpoint={"step": step} if train.rank() == 0 else None)

    def alone() -> None:
        if train.rank() == 0:
            train.report({}, checkpoint={})

    job = run(sometimes)
    assert job.results() == [[2.0] * 6] * 2
    newest = job.checkpoint()
    assert newest is not None
    assert newest["step"] == 5
    for other, rows in ((without, 6), (alone, 1)):
        job = run(other)
        job.results()
        assert len(job.rows()) == rows
        assert job.checkpoint() is not None


def test_a_rank_that_comes_late_is_part_of_the_checkpoint() -> None:
    def slow() -> None:
        for _ in range(3):
            time.sleep(train.rank())
            train.report({}, checkpoint={})

    job = run(slow)
    job.results()
    newest = job.checkpoint()
    assert newest is not None
    assert newest.rng(1) is not None


def returns() -> None:
    if train.rank() == 0:
        train.report({}, checkpoint={}, per_rank=True)


def reports_later() -> None:
    here = {"checkpoint": {}, "per_rank": True} if train.rank() == 0 else {}
    train.report({}, **here)
    time.sleep(100 * train.rank())


def operates() -> None:
    if train.rank() == 0:
        train.report({}, checkpoint={}, per_rank=True)
    reduced()


def without_rank_0() -> None:
    if train.rank() == 1:
        train.report({}, checkpoint={})
    reduced()


def asks_alone() -> None:
    if train.rank() == 1:
        train.latest()


def agrees_alone() -> float:
    if train.rank() == 0:
        train.report({"x": 1.0})
    return reduced()


@pytest.mark.parametrize(
    ("function", "options", "text"),
    [
        (returns, {}, "rank 0 saves a checkpoint at step 1 with per_rank=True, but rank 1 has "
         "returned after 0 reports: every rank has to call report("),
        (reports_later, {}, "at step 1 with per_rank=True, but rank 1 has gone on from its report "
         "1: every rank has to call report("),
        (operates, {}, "at step 1 with per_rank=True, but rank 1 has made 0 reports and waits in "
         "an operation of the ranks' group: every rank has to"),
        (without_rank_0, {}, "rank 1 saves a checkpoint at step 1, but rank 0 has made 0 reports "
         "and waits in an operation"),
        (asks_alone, {}, "rank 1 waits in latest(), but rank 0 has returned after 0 reports: "),
        (agrees_alone, {"stop_on_nan": True}, "rank 0 is in its report 1, but rank 1 has made 0 "
         "reports and waits in an operation of the ranks' group: with stop_on_nan=True"),
    ],
)  # fmt: skip
def test_where_ranks_have_to_come_together_who_does_not_is_named(
    function: Callable[[], Any], options: dict[str, Any], text: str
) -> None:
    kind = TrainError if options else CheckpointError
    with pytest.raises(kind) as caught:
        run(function, **options).results()
    assert text in str(caught.value)


def test_what_ranks_agree_on_does_not_meddle_with_what_they_compute() -> None:
    def both() -> list[float]:
        sums = []
        for _ in range(20):
            train.report({"x": 1.0})
            sums.append(reduced())
        return sums

    assert run(both, prunable=True).results() == [[2.0] * 20] * 2
