"""What an agent makes of a rank's last words, without a cluster."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

from speedcube.train.events import from_event
from speedcube.train.messages import (
    Beat,
    Cause,
    Done,
    Failed,
    FromAgent,
    FromRank,
    JobSettings,
    Launch,
    Log,
    Outcome,
    Place,
    Returned,
)
from speedcube.train.worker import agent


class Worker:
    """A Dask worker that keeps what is logged."""

    status = SimpleNamespace(name="running")

    def __init__(self) -> None:
        self.said: list[FromAgent] = []

    def log_event(self, topic: str, event: dict[str, Any]) -> None:
        assert topic == "speedcube-train-job"
        message = from_event(event | {"worker": "tcp://w"}).message
        self.said.append(message)  # type: ignore[arg-type]


class Child:
    """A rank that has ended; while its status is asked for, it says ``late``."""

    def __init__(self, late: list[FromRank]) -> None:
        self.pid = os.getpid()
        self.late, self.pending = late, list[FromRank]()
        self.channel = self

    def receive(self, seconds: float) -> FromRank | None:
        return self.pending.pop(0) if self.pending else None

    def status(self) -> int:
        self.pending, self.late = self.pending + self.late, []
        return 0

    def send(self, message: Any) -> None:
        raise BrokenPipeError

    def end(self) -> str:
        return "ended with exit code 0"

    def output(self) -> str:
        return ""


def watched(late: list[FromRank]) -> tuple[Outcome, list[FromAgent]]:
    place = Place(1, "tcp://w", "host", 0, 1)
    launch = Launch(JobSettings("job", 2, "out"), 0, place, "gloo", (), ("host", 1), b"")
    worker = Worker()
    watching = agent._Agent(launch, b"", worker, SimpleNamespace(state="executing"))
    return watching._watch(Child(late)), worker.said  # type: ignore[arg-type]


def test_a_value_that_came_while_the_status_was_asked_for_counts() -> None:
    outcome, said = watched([Beat(3), Returned(b"value")])
    assert outcome == Outcome(1, b"value")
    assert said == [Done(5)]


def test_a_failure_that_came_while_the_status_was_asked_for_is_the_cause() -> None:
    raised = Failed(Cause.EXCEPTION, 3, "seven", "builtins.ValueError", "Traceback ...")
    outcome, said = watched([raised])
    assert outcome == Outcome(1, None, "seven")
    assert said == [raised]


def test_a_rank_that_ends_without_a_word_has_died() -> None:
    outcome, said = watched([Beat(3)])
    assert outcome == Outcome(1, None, "ended with exit code 0")
    assert said == [Failed(Cause.DEATH, 3, "ended with exit code 0")]
    assert Log not in map(type, said)
