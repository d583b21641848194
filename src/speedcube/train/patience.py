"""How long a process has been silent, in time in which it could have spoken and been heard.

A clock alone takes a busy machine for a dead process. So time does not count in which the
listener itself did not run, and none in which the system shows the other at work: computing with
the interpreter locked, waiting for a CPU that others have, or for a disk. A process that was
stopped, or that waits for nothing the machine could give it, is silent by the clock.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from ..dataclass import dataclass
from .messages import AWAY_SECONDS

LOOK_SECONDS: Final = 0.5  # between two looks at a silent process
# Share of the time that a process at work runs or waits for a CPU, all its threads together.
ANY: Final = 0.002  # of one that does nothing but what it is watched for
BUSY: Final = 0.2  # of one that does other things, too, as a Dask worker does
_TICK: Final = 1 / os.sysconf("SC_CLK_TCK")


def machine() -> str:
    """A name for the processes that this one can look at by their numbers."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot} {os.readlink('/proc/self/ns/pid')}"


@dataclass(frozen=True)
class Vitals:
    """What the machine has given a process so far."""

    stopped: bool  # by a signal, or a debugger
    wants: bool  # a thread wants a CPU, which it has or not, or waits for a disk
    ran: float  # seconds of CPU time
    waited: dict[str, float]  # seconds for a CPU that it got in the end, by thread

    def since(self, before: Vitals) -> float:
        """Seconds that it ran or waited for a CPU, all threads together."""
        waited = (t - before.waited.get(name, 0.0) for name, t in self.waited.items())
        return self.ran - before.ran + sum(waited)


def vitals(pid: int) -> Vitals | None:
    """Those of a process of this machine; None where it is gone, or hidden."""
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
        state, ran = _stat(f"/proc/{pid}/stat")
    except (OSError, ValueError, IndexError):
        return None
    if state in "ZX":
        return None
    states, waited = {state}, {}
    for task in tasks:
        with suppress(OSError, ValueError, IndexError):  # it has just ended
            states.add(_stat(f"/proc/{pid}/task/{task}/stat")[0])
            delay = Path(f"/proc/{pid}/task/{task}/schedstat").read_text().split()[1]
            waited[task] = int(delay) / 1e9
    return Vitals(state in "Tt", not states.isdisjoint("DR"), ran, waited)


def _stat(path: str) -> tuple[str, float]:
    """The state, and the seconds of CPU time, of a line of /proc."""
    fields = Path(path).read_text().rpartition(")")[2].split()
    return fields[0], (int(fields[11]) + int(fields[12])) * _TICK


class Silence:
    """Counts how long a process is silent; to be looked at again and again.

    ``pid`` is None where it cannot be looked at from here: then its time is the clock's. ``share``
    is how much of the time it uses at least when it is at work.
    """

    def __init__(self, pid: int | None, share: float) -> None:
        self._pid, self._share = pid, share
        self._seen = time.monotonic()
        self._silent = self._since_look = 0.0
        self._last: Vitals | None = None

    def heard(self) -> None:
        """It has said something."""
        self._seen = time.monotonic()
        self._silent = self._since_look = 0.0
        self._last = None

    def seconds(self) -> float:
        """How long it has been silent."""
        now = time.monotonic()
        self._since_look += min(now - self._seen, AWAY_SECONDS)
        self._seen = now
        if self._since_look >= LOOK_SECONDS:
            if not self._at_work(self._since_look):
                self._silent += self._since_look
            self._since_look = 0.0
        return self._silent + self._since_look

    def _at_work(self, seconds: float) -> bool:
        if self._pid is None:
            return False
        before, now = self._last, vitals(self._pid)
        self._last = now
        if now is None or now.stopped:
            return False
        if now.wants:
            return True
        return before is not None and now.since(before) >= self._share * seconds
