"""What processes of a job say to each other: every kind travels, and nothing else is let in."""

from __future__ import annotations

import re
import socket
from typing import Any, get_args

import pytest
from distributed.protocol import dumps, loads

from speedcube.errors import NonFiniteError, StoppedError, TrainError
from speedcube.train import messages
from speedcube.train.driver.attempt import Attempt
from speedcube.train.driver.failures import Failure, error
from speedcube.train.driver.request import JobRequest
from speedcube.train.driver.timeouts import Rank
from speedcube.train.events import JobEvent, from_event, to_event
from speedcube.train.messages import (
    Alive,
    Beat,
    Cause,
    Channel,
    Chunk,
    Done,
    Down,
    Failed,
    FromAgent,
    FromRank,
    JobSettings,
    Log,
    Place,
    Ready,
    Reported,
    Returned,
    Saved,
    Saving,
    Started,
    ToDriver,
    ToRank,
)
from speedcube.train.metrics.rows import row

ROW = row({"loss": 0.5, "name": "Mia", "none": None}, step=3, rank=1, attempt=2, seconds=1.5)
SAMPLES: list[FromAgent] = [
    Alive(),
    Started(4711),
    Log("printed\n"),
    Done(500),
    Down(),
    Ready(1763741234.5),
    Reported(ROW),
    Saving(True),
    Saving(False),
    Saved(3, 0.25),
    Chunk(7, b"name", b"", True, bytes(range(256)), False),
    Failed(Cause.NONFINITE, 3, "loss is nan"),
    Failed(Cause.EXCEPTION, 3, "seven", "builtins.ValueError", "Traceback ...", b"\x80\x05N."),
]


def travelled(event: dict[str, Any]) -> Any:
    """``event`` as Dask's connections deliver it."""
    return loads(dumps(event)) | {"worker": "tcp://127.0.0.1:4711"}


def test_there_is_a_sample_of_every_kind() -> None:
    assert {type(message) for message in SAMPLES} == set(get_args(FromAgent))


@pytest.mark.parametrize("message", SAMPLES, ids=lambda message: type(message).__name__)
def test_a_message_arrives_through_dask_as_it_was_sent(message: FromAgent) -> None:
    event = JobEvent(1, 2, 1763741234.25, message)
    assert from_event(travelled(to_event(event))) == event


def test_text_that_utf_8_cannot_write_is_escaped() -> None:
    event = JobEvent(0, 0, 0.0, Failed(Cause.START, 0, "a \ud800 file"))
    read = from_event(travelled(to_event(event)))
    assert read.message == Failed(Cause.START, 0, "a \\ud800 file")


FAILED = travelled(to_event(JobEvent(0, 0, 0.0, Failed(Cause.HUNG, 3, "x"))))
REPORTED = travelled(to_event(JobEvent(0, 0, 0.0, Reported(ROW))))


@pytest.mark.parametrize(
    ("event", "what"),
    [
        (None, "None is not a message"),
        ({}, "{} is not a message"),
        ({name: value for name, value in FAILED.items() if name != "rank"}, " is not a message"),
        (FAILED | {"more": 1}, " is not a message"),
        (FAILED | {"rank": "0"}, " is not a message"),
        (FAILED | {"attempt": True}, " is not a message"),
        (FAILED | {"kind": "Beat"}, "'Beat' is not a kind of message"),
        (FAILED | {"kind": "row"}, "'row' is not a kind of message"),
        (FAILED | {"kind": "Log"}, "Log has the fields ['text'], not ['cause', 'step',"),
        (FAILED | {"fields": FAILED["fields"] | {"cause": "fate"}}, "Failed has cause='fate'"),
        (FAILED | {"fields": FAILED["fields"] | {"cause": ["hung"]}}, "Failed has cause=['hung']"),
        (FAILED | {"fields": FAILED["fields"] | {"step": 3.0}}, "Failed has step=3.0"),
        (FAILED | {"fields": FAILED["fields"] | {"blob": "x"}}, "Failed has blob='x'"),
        (REPORTED | {"fields": {"row": {"step": 3}}}, "Reported has row={'step': 3}"),
        (REPORTED | {"fields": {"row": ROW | {"step": "3"}}}, "Reported has row={'step': '3'"),
    ],
)
def test_what_is_no_message_is_refused_with_what_is_wrong(event: Any, what: str) -> None:
    with pytest.raises(
        TrainError, match=r"^a worker sent an event that cannot be read: "
    ) as caught:
        from_event(event)
    assert what in str(caught.value)
    assert str(caught.value).endswith("need the same version of speedcube")


def attempt_of(number: int) -> Attempt:
    request = JobRequest("job", JobSettings("job", 1, "out"), b"", False, 0, None)
    place = Place(0, "tcp://w", "host", 0, 1)
    attempt = Attempt(None, request, number, [place], "gloo", None, lambda event: None, bool)
    attempt.ranks[0] = Rank(place, 0.0)
    return attempt


def test_an_attempt_leaves_out_events_of_the_one_before() -> None:
    attempt = attempt_of(1)
    attempt.events.put(travelled(to_event(JobEvent(0, 0, 0.0, Failed(Cause.DEATH, 1, "ended")))))
    attempt.events.put(travelled(to_event(JobEvent(0, 1, 5.0, Failed(Cause.HUNG, 2, "hangs")))))
    failure = attempt.watch()
    assert failure == Failure(0, "host", Cause.HUNG, 2, 5.0, "hangs")


def test_a_damaged_event_ends_the_attempt_and_is_shown() -> None:
    attempt = attempt_of(0)
    attempt.events.put({"kind": "row", "rank": 0, "attempt": 0})
    with pytest.raises(TrainError, match=r"cannot be read: {'kind': 'row', 'rank': 0"):
        attempt.watch()
    attempt.events.put(travelled(to_event(JobEvent(3, 0, 0.0, Alive()))))
    with pytest.raises(TrainError, match="an event of rank 3, which this job does not have"):
        attempt.watch()


def test_a_channel_carries_messages_both_ways() -> None:
    ours, theirs = socket.socketpair()
    agent: Channel[ToRank, FromRank] = Channel(ours.detach())
    rank: Channel[FromRank, ToRank] = Channel(theirs.detach())
    for message in (Beat(3), Returned(b"\x80"), *SAMPLES[5:]):
        rank.send(message)  # type: ignore[arg-type]
        assert agent.receive(1) == message
    agent.send(messages.StopRequest("enough"))
    assert rank.receive(1) == messages.StopRequest("enough")
    assert rank.receive(0) is None
    agent.close()
    with pytest.raises(EOFError):
        rank.receive(1)
    rank.close()


def test_the_table_lists_every_message() -> None:
    table = messages.__doc__ or ""
    listed = re.findall(r"^    ([A-Z]\w+) +(?:driver|agent|rank|Dask)", table, re.MULTILINE)
    kinds = {*get_args(ToRank), *get_args(FromRank), *get_args(ToDriver)}
    assert sorted(listed) == sorted(kind.__name__ for kind in kinds)


def test_a_stop_has_its_cause_in_a_field_and_not_in_its_text() -> None:
    stopped = Failure(0, "here", Cause.NONFINITE, 3, 0.0, "asked: loss is nan at step 3")
    raised = error(stopped, [], 0, "Kept.")
    assert type(raised) is NonFiniteError
    assert str(raised) == "asked: loss is nan at step 3; every rank stopped there. Kept."
    asked = Failure(0, "here", Cause.ASKED, 3, 0.0, "nonfinite: no")
    raised = error(asked, [], 0, "Kept.")
    assert type(raised) is StoppedError
    assert str(raised) == "the job was asked to stop at step 3: nonfinite: no. Kept."
