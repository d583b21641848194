"""How long ranks may take, by the driver's clock."""

from __future__ import annotations

import math

import pytest

from speedcube.train.patience import Rank, latest, limit
from speedcube.train.wire import Place


def rank(number: int = 0, since: float = 0.0, **known: bool | int) -> Rank:
    return Rank(Place(number, f"tcp://{number}", "host", number, 4), since, since, **known)  # type: ignore[arg-type]


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
    found = latest(ranks, 100.0, 10.0, ())
    assert found is not None
    assert found[0] is ranks[1]
    assert found[1] == (
        "it hangs after step 4: no train.report() for 10 s (step_timeout= sets the limit)"
    )
    assert latest(ranks, 10.0, 10.0, ()) is None


def test_only_rank_0_may_report() -> None:
    ranks = [rank(0, ready=True, reported=True, step=5, since=95.0), rank(1, ready=True)]
    assert latest(ranks, 100.0, 10.0, ()) is None
    ranks[0].reported = False
    found = latest(ranks, 100.0, 10.0, ())
    assert found is not None
    assert found[0] is ranks[1]


def test_a_rank_that_never_starts_is_told_of() -> None:
    ranks = [rank(0, ready=True, reported=True, since=599.0), rank(1)]
    assert latest(ranks, 600.0, 5.0, ()) is None
    found = latest(ranks, 601.0, 5.0, ())
    assert found is not None
    assert found[0] is ranks[1]
    assert found[1] == "it hangs before its function is called: not ready after 600 s"


def test_time_that_the_driver_was_away_does_not_count() -> None:
    stopped = rank(0, ready=True, reported=True, step=5)
    stopped.forgive(95.0)
    assert (stopped.alive, stopped.since) == (95.0, 95.0)
    assert latest([stopped], 100.0, 10.0, ()) is None
