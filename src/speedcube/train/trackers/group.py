"""The trackers of one job: each is called from a thread of its own and dropped if it fails."""

from __future__ import annotations

import json
import threading
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

from ...errors import TrainError
from ...shown import LONG, line
from ..metrics.rows import Row
from ..metrics.steps import Ranks, StepCollector, merged
from .mlflow import MLflow
from .protocol import Tracker, require
from .tensorboard import TensorBoard
from .trackio import Trackio
from .wandb import Wandb

_KNOWN: Final = (MLflow, TensorBoard, Trackio, Wandb)
NAMES: Final[dict[str, type[Tracker]]] = {kind.package: kind for kind in _KNOWN}
# Seconds that the end of a job waits for what trackers still send: a model may be large, but
# who cancels waits at the terminal.
WAITS: Final = {"finished": 600.0, "failed": 60.0, "cancelled": 2.0}


def open_all(spec: Any, name: str, settings: Mapping[str, Any], ranks: int) -> Trackers:
    """Check what ``trackers=`` was given and gather it; `Trackers.start` opens the runs.

    Parameters
    ----------
    spec
        Names ("mlflow", "tensorboard", "trackio", "wandb"), their options (``Wandb(project=...)``)
        or trackers of your own (`Tracker`); one, or an iterable of them.
    name
        What the runs are called.
    settings
        What the job was called with: values that are not JSON are given as their ``str``.
    ranks
        How many ranks report.

    Raises
    ------
    TrainError
        A name that is none of these, an object that is no tracker, or a package not installed.
    """
    several = isinstance(spec, Iterable) and not isinstance(spec, str)
    trackers = [_tracker(one) for one in (spec if several else [spec])]
    plain = json.loads(json.dumps(dict(settings), default=str))
    return Trackers([_Thread(tracker, name, plain) for tracker in trackers], ranks)


def _tracker(one: Any) -> Tracker:
    tracker = NAMES[one]() if isinstance(one, str) and one in NAMES else one
    if isinstance(tracker, type) or not callable(getattr(tracker, "start", None)):
        raise TrainError(
            f"{one!r} is not a tracker; trackers= takes {', '.join(map(repr, NAMES))}, "
            "their options such as Wandb(project='names'), or an object with "
            "start(name, settings)"
        )
    if isinstance(tracker, _KNOWN):
        require(tracker.package)
    return tracker


class Trackers:
    """The trackers of a job. No method waits for them but `finish`.

    What a tracker raises drops it; the next call of a method here warns of it, once.
    """

    def __init__(self, threads: Sequence[_Thread], ranks: int) -> None:
        self._threads = list(threads)
        self._steps = StepCollector(ranks)
        self._logged = 0

    def start(self) -> None:
        """Open a run at each tracker."""
        for thread in self._threads:
            thread.start()

    def log(self, row: Row) -> None:
        """Take a row of any rank, or an event, of which trackers are not told.

        Each step is logged once: a restart computes steps again that are there already.
        """
        if self._threads and "metrics" in row:
            self._log(self._steps.add(row))
        self._warn()

    def _log(self, steps: list[Ranks]) -> None:
        for row in map(merged, steps):
            if row["step"] > self._logged:
                self._logged = row["step"]
                self._send("log", row)

    def _send(self, method: str, *args: Any) -> None:
        for thread in self._threads:
            thread.calls.put((method, args))

    def artifact(self, path: Path, name: str) -> None:
        """Give the directory ``path`` as the model ``name``; it has to stay until `finish`."""
        self._log(self._steps.rest())
        self._send("artifact", path, name)
        self._warn()

    def finish(self, status: str) -> None:
        """End every run as "finished", "failed" or "cancelled", and wait for what they still send.

        A tracker that is not done after the seconds in ``WAITS`` is left alone with a warning.
        """
        self._log(self._steps.rest())
        self._send("finish", status)
        deadline = time.monotonic() + WAITS[status]
        for thread in self._threads:
            thread.calls.put(None)
        for thread in filter(threading.Thread.is_alive, self._threads):
            thread.join(max(0.0, deadline - time.monotonic()))
            if thread.is_alive():
                thread.failure = f"was not done {WAITS[status]:g} s after the job"
        self._warn()

    def _warn(self) -> None:
        failed = [thread for thread in self._threads if thread.failure]
        self._threads = [thread for thread in self._threads if not thread.failure]
        for thread in failed:
            warnings.warn(
                f"the tracker {line(thread.name)} {line(thread.failure, LONG)}; "
                "metrics.jsonl has every row",
                RuntimeWarning,
                stacklevel=3,
            )


class _Thread(threading.Thread):
    """One tracker, called in the order of ``calls`` until None comes or it raises."""

    def __init__(self, tracker: Tracker, name: str, settings: Mapping[str, Any]) -> None:
        super().__init__(name=type(tracker).__name__, daemon=True)
        self._open = partial(tracker.start, name, settings)
        self.calls: SimpleQueue[tuple[str, tuple[Any, ...]] | None] = SimpleQueue()
        self.failure = ""

    def run(self) -> None:
        try:
            run = self._open()
            while (call := self.calls.get()) is not None:
                method, args = call
                getattr(run, method)(*args)
        except Exception as err:
            self.failure = f"raised {type(err).__name__}: {err}"
