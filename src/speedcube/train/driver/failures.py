"""What can go wrong with a rank, which of several failures is the cause, and how to say it."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ...errors import NonFiniteError, RankError, StoppedError, TrainError

# Kinds, the likeliest cause first: a death makes its peers raise, never the other way round.
ORDER: Final = ("cancelled", "scheduler", "worker", "death", "silent", "stopped", "hung", "start")
# Words in the exceptions of ranks whose peer went away.
CONSEQUENCES: Final = (
    "connection closed by peer",
    "connection reset",
    "connection refused",
    "broken pipe",
    "socket closed",
    "nccl",
    "gloo",
    "did not reach the checkpoint",
)
OF_NO_RANK: Final = ("cancelled", "scheduler")
FINAL: Final = ("cancelled", "scheduler", "stopped", "start")  # a restart would not help
WHY: Final = {
    "worker": "its Dask worker {text}",
    "death": "it {text}",
    "silent": "{text}",
    "hung": "{text}",
    "start": "it could not start: {text}",
    "stopped": "{text}",
    "scheduler": "{text}",
    "cancelled": "the job was cancelled",
}


@dataclass(frozen=True)
class Failure:
    """One rank's failure: ``cause`` is a name of `ORDER` or "exception"; ``time`` in unix s."""

    rank: int
    host: str
    cause: str
    step: int
    time: float
    text: str = ""
    name: str = ""  # the exception's type
    blob: bytes | None = None  # the exception, pickled
    trace: str = ""
    stacks: dict[int, str] = field(default_factory=dict)

    @property
    def final(self) -> bool:
        """Whether the same would happen again."""
        return self.cause in FINAL

    @property
    def consequence(self) -> bool:
        """Whether this may be what another rank's failure did to this one."""
        words = f"{self.name} {self.text}".lower()
        return self.cause == "exception" and any(word in words for word in CONSEQUENCES)

    def sentence(self) -> str:
        """Rank, host, step and cause; the cause alone where it is no rank's."""
        if self.cause in OF_NO_RANK:
            return WHY[self.cause].format(text=self.text)
        if self.cause == "exception":
            why = f"it raised {self.name}: {self.text}"
        else:
            text = self.text.partition(":")[2] if self.cause == "stopped" else self.text
            why = WHY[self.cause].format(text=text)
        return f"rank {self.rank} on {self.host} failed at step {self.step}: {why}"


def root(failures: Sequence[Failure]) -> Failure:
    """The failure that the others follow from: by kind, then by time."""

    def key(failure: Failure) -> tuple[int, float]:
        kind = ORDER.index(failure.cause) if failure.cause in ORDER else len(ORDER)
        return kind + failure.consequence, failure.time

    return min(failures, key=key)


def error(failure: Failure, before: Sequence[Failure], restarts: int, kept: str) -> BaseException:
    """What the caller gets: the rank's own exception where it can be had, with notes."""
    if failure.cause == "stopped":
        kind, _, text = failure.text.partition(":")
        if kind == "nonfinite":
            return NonFiniteError(f"{text}; every rank stopped there. {kept}")
        return StoppedError(f"the job was asked to stop at step {failure.step}: {text}. {kept}")
    tries = f"after {len(before)} of {restarts} restarts. " if restarts else ""
    said = f"{failure.sentence()}. {tries}{kept}"
    if failure.stacks:
        said += "\n" + "\n".join(
            f"--- stack of rank {rank} ---\n{stack or '(none: the process does not answer)'}"
            for rank, stack in sorted(failure.stacks.items())
        )
    found = _exception(failure)
    if failure.cause == "cancelled":
        return TrainError(said)
    if found is None:
        return RankError(said + (f"\n{failure.trace}" if failure.trace else ""))
    found.add_note(said)
    found.add_note(f"--- traceback of rank {failure.rank} ---\n{failure.trace}")
    return found


def _exception(failure: Failure) -> BaseException | None:
    """The exception that the rank raised, if its type can be imported here."""
    if failure.blob is None:
        return None
    try:
        found = pickle.loads(failure.blob)
    except Exception:
        return None
    return found if isinstance(found, Exception) else None  # a SystemExit stays there
