"""How long a rank may take for a step, and which of them takes longer."""

from __future__ import annotations

import statistics
from collections.abc import Collection
from dataclasses import field
from typing import Final

from ...dataclass import dataclass
from ..messages import Place
from ..patience import BUSY, Silence

AGENT_SECONDS: Final = 6.0  # without a sign of life of an agent, its worker is stopped
TRANSFER: Final = 20_000_000  # bytes a second that travel at least
FIRST_STEP_SECONDS: Final = 600.0  # also to start, however short the user's steps are
LEAST_STEP_SECONDS: Final = 30.0
SAVE_SECONDS: Final = 4500.0  # more than ranks wait for each other in a checkpoint
MEDIANS: Final = 10  # a step that takes this many medians hangs


@dataclass
class Rank:
    """What the driver knows of a rank; times are of its own monotonic clock."""

    place: Place
    since: float  # when what it does now began: its start, its first step, a later one
    silence: Silence = field(default_factory=lambda: Silence(None, BUSY))  # of its agent
    running: bool = True  # its process may exist
    heard: bool = False  # its agent has said something
    ready: bool = False  # its function was called
    reported: bool = False
    saving: bool = False  # it waits for a checkpoint to be durable
    done: bool = False
    step: int = 0
    value_bytes: int = 0  # of what its function returned, which is on its way

    def patience(self, call: bytes) -> float:
        """Seconds that its agent may be silent: more while ``call``, or its value, travels."""
        travels = self.value_bytes if self.heard else len(call)
        return AGENT_SECONDS + travels // TRANSFER

    def forgive(self, seconds: float) -> None:
        """Leave out time in which the driver could not listen."""
        self.since += seconds


def limit(rank: Rank, step_timeout: float | None, durations: Collection[float]) -> float:
    """Seconds that ``rank`` may take for what it does now; ``durations`` are of steps before."""
    if not rank.ready:
        return max(FIRST_STEP_SECONDS, step_timeout or 0)
    if rank.saving:
        return SAVE_SECONDS
    if step_timeout is not None:
        return step_timeout
    if not rank.reported or not durations:
        return FIRST_STEP_SECONDS
    return max(LEAST_STEP_SECONDS, MEDIANS * statistics.median(durations))


def overdue(
    ranks: Collection[Rank], now: float, step_timeout: float | None, durations: Collection[float]
) -> tuple[Rank, str] | None:
    """The rank that is furthest behind of those that take too long, and what is wrong with it.

    Where some ranks report, those that never did need not.
    """
    some = any(rank.reported for rank in ranks)
    late = [
        rank
        for rank in ranks
        if not rank.done
        and not (some and rank.ready and not rank.reported)
        and now - rank.since > limit(rank, step_timeout, durations)
    ]
    if not late:
        return None
    behind = min(late, key=lambda rank: (rank.ready, rank.step, rank.place.rank))
    seconds = limit(behind, step_timeout, durations)
    if not behind.ready:
        return behind, f"it hangs before its function is called: not ready after {seconds:.3g} s"
    if behind.saving:
        return behind, f"it hangs in the checkpoint of step {behind.step} for {seconds:.3g} s"
    return behind, (
        f"it hangs after step {behind.step}: no train.report() for {seconds:.3g} s "
        "(step_timeout= sets the limit)"
    )
