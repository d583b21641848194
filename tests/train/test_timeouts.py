"""How long ranks may take, by the driver's clock."""

from __future__ import annotations

import math
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from speedcube.errors import CheckpointError
from speedcube.train.driver.attempt import Attempt
from speedcube.train.driver.request import JobRequest
from speedcube.train.driver.scheduler import Answers
from speedcube.train.driver.timeouts import Rank, limit, overdue
from speedcube.train.events import JobEvent
from speedcube.train.messages import FromAgent, JobSettings, Launch, Place, Reported, Saving
from speedcube.train.ranks import context


def rank(number: int = 0, since: float = 0.0, **known: bool | int) -> Rank:
    return Rank(Place(number, f"tcp://{number}", "host", number, 4), since, **known)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("known", "step_timeout", "durations", "expected"),
    [
        ({}, None, (), 600.0),
        ({}, 2.0, (), 600.0),  # to start is no step
        ({}, 1000.0, (), 1000.0),
        ({}, math.inf, (), math.inf),
        ({"ready": True}, None, (), 600.0),
        ({"ready": True}, None, (1.0,), 600.0),  # the first step, others were faster
        ({"ready": True}, 2.0, (), 2.0),
        ({"ready": True, "reported": True}, None, (), 600.0),
        ({"ready": True, "reported": True}, None, (0.1, 1.0, 0.1), 30.0),
        ({"ready": True, "reported": True}, None, (7.0, 100.0, 6.0), 70.0),
        ({"ready": True, "reported": True}, 2.0, (7.0,), 2.0),
        ({"ready": True, "reported": True, "saving": True}, 2.0, (7.0,), 4500.0),
    ],
)
def test_limits(
    known: dict[str, bool],
    step_timeout: float | None,
    durations: tuple[float, ...],
    expected: float,
) -> None:
    assert limit(rank(**known), step_timeout, durations) == expected


def test_the_rank_furthest_behind_is_named() -> None:
    ranks = [
        rank(0, ready=True, reported=True, step=5),
        rank(1, ready=True, reported=True, step=4),
        rank(2, ready=True, reported=True, step=4, since=99.0),
        rank(3, ready=True, reported=True, step=1, done=True),
    ]
    late = overdue(ranks, 100.0, 10.0, ())
    assert late is not None
    assert late[0] is ranks[1]
    assert late[1] == (
        "it hangs after step 4: no train.report() for 10 s (step_timeout= sets the limit)"
    )
    assert overdue(ranks, 10.0, 10.0, ()) is None


def test_only_rank_0_may_report() -> None:
    ranks = [rank(0, ready=True, reported=True, step=5, since=95.0), rank(1, ready=True)]
    assert overdue(ranks, 100.0, 10.0, ()) is None
    ranks[0].reported = False
    late = overdue(ranks, 100.0, 10.0, ())
    assert late is not None
    assert late[0] is ranks[1]


def test_a_rank_that_never_starts_is_told_of() -> None:
    ranks = [rank(0, ready=True, reported=True, since=599.0), rank(1)]
    assert overdue(ranks, 600.0, 5.0, ()) is None
    late = overdue(ranks, 601.0, 5.0, ())
    assert late is not None
    assert late[0] is ranks[1]
    assert late[1] == "it hangs before its function is called: not ready after 600 s"


def test_time_that_the_driver_was_away_does_not_count() -> None:
    stopped = rank(0, ready=True, reported=True, step=5)
    stopped.forgive(95.0)
    assert stopped.since == 95.0
    assert overdue([stopped], 100.0, 10.0, ()) is None


def test_a_pause_of_the_network_counts_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connections come back one after the other: the last of them after as long again."""
    now = 0.0
    monkeypatch.setattr("speedcube.train.patience.time.monotonic", lambda: now)
    late = rank(0, ready=True, reported=True, step=3)
    late.silence.heard()
    answers, judged = Answers(0.0), {}
    for now in (0.5, 1.0, 21.0, *(21.0 + k / 2 for k in range(1, 140))):
        answers.arrived(now, [late])
        silent = late.silence.seconds() > late.patience(b"")
        judged[now] = silent, overdue([late], now, None, (0.3,)) is not None
    assert not any(silent or hung for at, (silent, hung) in judged.items() if at < 41.0)
    assert (judged[46.0][0], judged[47.5][0]) == (False, True), "six seconds after that"
    assert (judged[69.5][1], judged[70.0][1]) == (False, True), "thirty of the rest, for a step"


def test_a_pause_that_is_none_forgives_nothing() -> None:
    late = rank(0, ready=True, reported=True, step=3)
    answers = Answers(0.0)
    for k in range(1, 80):
        answers.arrived(k / 2, [late])
    assert late.since == 0.0


def test_a_long_checkpoint_is_no_hung_step(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10_000, 50))  # an event looks at it twice
    monkeypatch.setattr("speedcube.train.driver.attempt.time.monotonic", lambda: float(next(clock)))
    heard: list[JobEvent] = []
    request = JobRequest("job", JobSettings("job", 1, "out"), b"", False, 0, None)
    attempt = Attempt(None, request, 0, [], "gloo", None, heard.append, bool)
    attempt.ranks[0] = writer = rank(0, ready=True)
    messages: list[FromAgent] = [
        Reported({"step": 1}),  # at 0 s
        Reported({"step": 2}),  # 100
        Saving(True),  # 200
        Saving(False),  # 300
        Reported({"step": 3}),  # 400
    ]
    late = []
    for message in messages:
        attempt._handle(JobEvent(0, 0, 0.0, message))
        late.append(overdue([writer], writer.since + 99.0, 50.0, ()) is not None)
    assert late == [True, True, False, True, True]
    assert list(attempt.durations) == [100.0, 100.0]  # the checkpoint's 100 s are in neither
    assert [event.message for event in heard] == messages
    attempt._handle(JobEvent(0, 0, 0.0, Saving(True)))
    hung = overdue([writer], writer.since + 4501.0, 50.0, ())
    assert hung is not None
    assert hung[1] == "it hangs in the checkpoint of step 3 for 4.5e+03 s"


@pytest.mark.parametrize("error", [None, CheckpointError("the disk is full")])
def test_a_rank_tells_when_it_saves(
    monkeypatch: pytest.MonkeyPatch, error: CheckpointError | None
) -> None:
    said: list[Any] = []

    class Link:
        def send(self, message: FromAgent) -> None:
            said.append(message)

    class Saver:
        def save(self, *args: Any) -> None:
            said.append("save")
            if error is not None:
                raise error

    settings = JobSettings("job", 1, "out")
    launch = Launch(settings, 0, rank().place, "gloo", (), ("", 0), b"")
    here = context.Context(launch, Link(), peers=SimpleNamespace())  # type: ignore[arg-type]
    monkeypatch.setitem(vars(here), "saver", Saver())
    monkeypatch.setattr(context, "_context", here)
    with pytest.raises(CheckpointError) if error else nullcontext():
        context.report({}, checkpoint={})
    row, *rest = said
    assert (type(row), row.row["step"]) == (Reported, 1)
    assert rest == [Saving(True), "save", Saving(False)]
