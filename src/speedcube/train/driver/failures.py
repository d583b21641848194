"""What can go wrong with a rank, which of several failures is the cause, and how to say it."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import field
from typing import Final, NamedTuple

from ...dataclass import dataclass
from ...errors import NonFiniteError, RankError, StoppedError, TrainError
from ..messages import Cause, Failed, Place
from . import words

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


class Nature(NamedTuple):
    """What is to be known of a cause."""

    words: str
    final: bool = False  # a restart would not help
    of_rank: bool = True


# The likeliest cause first: a death makes its peers raise, never the other way round.
NATURES: Final = {
    Cause.CANCELLED: Nature("the job was cancelled", final=True, of_rank=False),
    Cause.SCHEDULER: Nature("{text}", final=True, of_rank=False),
    Cause.WORKER: Nature("its Dask worker {text}"),
    Cause.DEATH: Nature("it {text}"),
    Cause.SILENT: Nature("{text}"),
    Cause.NONFINITE: Nature("{text}", final=True),
    Cause.ASKED: Nature("{text}", final=True),
    Cause.HUNG: Nature("{text}"),
    Cause.START: Nature("it could not start: {text}", final=True),
    Cause.EXCEPTION: Nature("it raised {name}: {text}"),
}
STOPPED: Final = (Cause.NONFINITE, Cause.ASKED)  # every rank at the same step, by itself
_LIKELIEST_FIRST: Final = tuple(NATURES)


@dataclass(frozen=True)
class Failure:
    """One rank's failure; ``time`` in unix s."""

    rank: int
    host: str
    cause: Cause
    step: int
    time: float
    text: str = ""
    name: str = ""  # the exception's type
    blob: bytes | None = None  # the exception, pickled
    trace: str = ""
    stacks: dict[int, str] = field(default_factory=dict)
    worker: str = ""  # its address

    @property
    def final(self) -> bool:
        """Whether the same would happen again."""
        return NATURES[self.cause].final

    @property
    def of_rank(self) -> bool:
        """Whether a rank failed, and not what holds the job together."""
        return NATURES[self.cause].of_rank

    @property
    def consequence(self) -> bool:
        """Whether this may be what another rank's failure did to this one."""
        words = f"{self.name} {self.text}".lower()
        return self.cause is Cause.EXCEPTION and any(word in words for word in CONSEQUENCES)

    def sentence(self) -> str:
        """Rank, host, step and cause; the cause alone where it is no rank's."""
        nature = NATURES[self.cause]
        why = nature.words.format(text=self.text, name=self.name)
        if not nature.of_rank:
            return why
        return f"rank {self.rank} on {self.host} failed at step {self.step}: {why}"


def failure_of(failed: Failed, place: Place, step: int, time: float) -> Failure:
    """What a rank or its agent said of its end; the driver may know of a later step."""
    return Failure(
        place.rank,
        place.host,
        failed.cause,
        max(failed.step, step),
        time,
        failed.text,
        failed.name,
        failed.blob,
        failed.trace,
    )


def root(failures: Sequence[Failure]) -> Failure:
    """The failure that the others follow from: by cause, then by time."""

    def order(failure: Failure) -> tuple[int, float]:
        return _LIKELIEST_FIRST.index(failure.cause) + failure.consequence, failure.time

    return min(failures, key=order)


def error(
    failure: Failure,
    before: Sequence[Failure],
    restarts: int,
    work_left: str,
    last_lines: str = "",
) -> BaseException:
    """What the caller gets: the rank's own exception where it can be had, with notes.

    ``work_left`` says what of the job's work is left, as a sentence; ``last_lines`` are of the
    rank's log.
    """
    if failure.cause is Cause.NONFINITE:
        return NonFiniteError(f"{failure.text}; every rank stopped there. {work_left}")
    if failure.cause is Cause.ASKED:
        return StoppedError(
            f"the job was asked to stop at step {failure.step}: {failure.text}. {work_left}"
        )
    tries = f"after {len(before)} of {restarts} restarts. " if restarts else ""
    text = f"{failure.sentence()}. {tries}{work_left}"
    if failure.stacks:
        text += f"\n{words.report(failure.stacks, failure.rank)}"
    if failure.cause is Cause.CANCELLED:
        return TrainError(text)
    raised = _exception(failure)
    if raised is None:
        if last_lines:
            text += f"\n--- last lines of rank {failure.rank}'s log ---\n{last_lines}"
        return RankError(text + (f"\n--- traceback ---\n{failure.trace}" if failure.trace else ""))
    raised.add_note(text)
    raised.add_note(f"--- traceback of rank {failure.rank} ---\n{failure.trace}")
    return raised


def _exception(failure: Failure) -> BaseException | None:
    """The exception that the rank raised, if its type can be imported here."""
    if failure.blob is None:
        return None
    try:
        raised = pickle.loads(failure.blob)
    except Exception:
        return None
    return raised if isinstance(raised, Exception) else None  # a SystemExit stays there
