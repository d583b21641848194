"""What a job does and its ranks say: into the run's files, to trackers and to the screen."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...errors import DataFileError
from ...files import OWN_FOLDER, own_file
from ...shown import line as shown
from .. import checkpoint
from ..events import JobEvent
from ..messages import Chunk, Log, Ready, Reported, Saved, Started, Waits
from ..metrics.progress import Progress
from ..metrics.rows import MetricsFile, Row
from ..trackers import Trackers
from . import words
from .inbox import Emitted, Inbox


class Journal:
    """Keeps the rows and what was emitted, too; read them under ``changed``.

    ``forget`` is called when the scheduler should drop the events that it keeps of this job.
    """

    def __init__(
        self,
        out: Path,
        job: str,
        progress: Progress,
        trackers: Trackers,
        forget: Callable[[], None],
    ) -> None:
        self.out, self._progress = out, progress
        self.changed = threading.Condition()
        self.rows: list[Row] = []
        self.emitted: list[Emitted] = []
        self._trackers, self._forget = trackers, forget
        self._inbox = Inbox(out / "emitted" / job)
        self._before: dict[int, int] = {}  # bytes of logs
        _make(out / "logs")
        self._file = MetricsFile(out / "metrics.jsonl")

    def start(self, ranks: int, on: str) -> None:
        """The job begins."""
        self.note("start", ranks=ranks, on=on)
        self._trackers.start()

    def note(self, event: str, **facts: Any) -> None:
        """Write a line of an event."""
        self._file.write({"event": event, "time": time.time(), **facts})

    def show(self, text: str) -> None:
        """Show a line."""
        self._progress.event(text)

    def log(self, rank: int) -> Path:
        """The file of what a rank prints."""
        return self.out / "logs" / f"rank-{rank}.log"

    def begin(self, ranks: int) -> None:
        """An attempt begins: what is in the logs is of those before."""
        logs = [self.log(rank) for rank in range(ranks)]
        self._before = {rank: log.stat().st_size for rank, log in enumerate(logs) if log.exists()}

    def last_lines(self, rank: int, but: str = "") -> str:
        """The last lines that a rank printed in this attempt, before the text ``but``."""
        return words.last_lines(self.log(rank), self._before.get(rank, 0), but)

    def hear(self, event: JobEvent) -> None:
        """What ranks say, in order, on the job's thread."""
        stamp = {"time": event.time, "rank": event.rank, "attempt": event.attempt}
        match event.message:
            case Reported(row):
                self._add(row)
            case Chunk() as chunk:
                self._receive(event, chunk)
            case Log(text):
                log = self.log(event.rank)
                with open(log, "a", encoding="utf-8", opener=own_file) as file:
                    file.write(text)
            case Saved(step, seconds):
                self.note("checkpoint", step=step, seconds=seconds)
                self._progress.checkpoint(step)
            case Waits(text):
                self.note("waits", text=text)
                self.show(f"waiting: {text}")
            case Started(pid):
                self.note("started", **stamp, pid=pid)
            case Ready(began):
                self.note("ready", **stamp | {"time": began})

    def _add(self, row: Row) -> None:
        self._file.write(row)
        self._progress.update(row)
        self._trackers.log(row)
        with self.changed:
            self.rows.append(row)
            self.changed.notify_all()

    def _receive(self, event: JobEvent, chunk: Chunk) -> None:
        """A part of what a rank emits; the scheduler, which logs every event, forgets it."""
        whole = self._inbox.add(event.rank, event.attempt, chunk)
        if self._inbox.full():
            self._forget()
        if whole is not None:
            with self.changed:
                self.emitted.append(whole)
                self.changed.notify_all()

    def close(self, status: str, name: str) -> None:
        """The job ended, whatever part of this fails; the newest checkpoint is the model ``name``.

        Those who wait are not told yet.
        """
        with suppress(Exception):
            self.note("end", status=status)
        with suppress(Exception):
            self._progress.close(status)
        with suppress(Exception):
            newest = checkpoint.newest(self.out / "checkpoints")
            if newest is not None:
                self._trackers.artifact(newest.path, name)
        with suppress(Exception):
            self._trackers.finish(status)
        self._file.close()


def _make(folder: Path) -> None:
    """A directory of the run's, if it is not there; `DataFileError` where it cannot be one."""
    try:
        folder.mkdir(OWN_FOLDER, exist_ok=True)
    except FileExistsError as err:
        raise DataFileError(
            f"{shown(folder)} is not a directory, and a run needs one there for what "
            "its ranks print: move it away, or give another out="
        ) from err
    except OSError as err:
        raise DataFileError(f"{shown(folder)} cannot be used: {err.strerror or err}") from err
