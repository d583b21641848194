"""How long a computation waits for workers that give no sign of life, and what it says meanwhile.

Silence is counted by looks at the scheduler: a worker is silent while its last heartbeat there
stays the same. No clocks are compared, and a pause of this process counts as one look.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from numbers import Real
from typing import Any, Final, TypeAlias

from ...dataclass import dataclass
from ...errors import ParameterError
from ...late import dask

SAY: Final = 5.0  # seconds of silence until something is said, at most
LOOK: Final = 1.0  # seconds between looks
DEFAULT: Final = 60.0
_SETTING: Final = "speedcube.worker-timeout"

WorkerKey: TypeAlias = tuple[str, str, str]

_given: ContextVar[float | None] = ContextVar("speedcube_worker_timeout", default=None)


@dataclass(frozen=True)
class Listed:
    """A worker as the scheduler lists it; ``key`` is another one when it was started again."""

    address: str
    key: WorkerKey
    name: Any = field(compare=False)
    last_seen: float = field(compare=False)

    def __str__(self) -> str:
        return self.address if self.name == self.address else f"{self.address} ({self.name!r})"


@contextmanager
def waiting(worker_timeout: Any) -> Iterator[None]:
    """Computations inside wait ``worker_timeout`` seconds; None: what Dask's settings say."""
    if worker_timeout is None:
        yield
        return
    token = _given.set(_seconds(worker_timeout, "worker_timeout"))
    try:
        yield
    finally:
        _given.reset(token)


def worker_timeout() -> float:
    """Seconds until a silent worker is done without: given, or set in Dask's settings, or 60."""
    given = _given.get()
    if given is not None:
        return given
    return _seconds(dask.config.get(_SETTING, DEFAULT), _SETTING)


def _seconds(value: Any, name: str) -> float:
    problem = ParameterError(f"{name}={value!r}: give seconds, more than 0, or a text as '2 min'")
    if isinstance(value, bool) or not isinstance(value, (Real, str)):
        raise problem
    try:
        is_text = isinstance(value, str)
        seconds = float(dask.utils.parse_timedelta(value, "s") if is_text else value)
    except (ValueError, KeyError, OverflowError) as err:
        raise problem from err
    if math.isnan(seconds) or seconds <= 0:
        raise problem
    return seconds


def interval(workers: int) -> float:
    """Seconds between looks: each makes the scheduler describe all of its workers."""
    return max(LOOK, workers / 100)


def _least(workers: int, limit: float) -> float:
    """Seconds without a heartbeat that are silence, where ``limit`` seconds are waited for one.

    Many workers are asked to give a sign of life less often: some seconds are none.
    """
    # Dask's time between two heartbeats of so many workers, at most.
    beat = LOOK if workers < 50 else max(2 * LOOK, 1 + workers / 200)
    return max(min(SAY, limit), 3 * interval(workers), 2 * beat + interval(workers))


@dataclass
class Quiet:
    """For how long workers have been silent while this looked."""

    _seen: dict[WorkerKey, tuple[float, float]] = field(default_factory=dict)
    empty: float = 0.0  # seconds without any worker

    def after(self, passed: float, listed: Iterable[Listed], limit: float) -> dict[Listed, float]:
        """Seconds of silence of those who are silent, ``passed`` seconds after the last look.

        ``limit`` seconds are waited for them.
        """
        there = list(listed)
        passed = min(passed, 2 * interval(len(there)))
        self.empty = 0.0 if there else self.empty + passed
        before, self._seen = self._seen, {}
        for worker in there:
            last_seen, silent = before.get(worker.key, (None, 0.0))
            same = last_seen == worker.last_seen
            self._seen[worker.key] = (worker.last_seen, silent + passed if same else 0.0)
        least = _least(len(there), limit)
        silences = {worker: self._seen[worker.key][1] for worker in there}
        return {worker: silent for worker, silent in silences.items() if silent >= least}


@dataclass
class Sayings:
    """Lines on stderr, each said once."""

    _said: set[tuple[Any, ...]] = field(default_factory=set)

    def say(self, text: str, *about: Any) -> None:
        if about not in self._said:
            self._said.add(about)
            print(f"speedcube: {text}", file=sys.stderr, flush=True)
