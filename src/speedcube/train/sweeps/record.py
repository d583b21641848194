"""A sweep's directory: its settings, and what became of each trial, kept through any kill.

    sweep.json          what was asked for; a resumed sweep has to ask for the same
    trials.jsonl        events, one JSON object a line, each on the disk before the sweep goes on
    trial-0000/         the run's directory of each trial: metrics.jsonl, checkpoints, logs
    trials.parquet, report.html         written when all trials have ended

The events are::

    {"event": "session", "time": 1763741234.1, "workers": 8}
    {"event": "start", "time": ..., "trial": 0, "params": {"lr": 0.1, "gpus": 4}, "ranks": 4}
    {"event": "end", "time": ..., "trial": 0, "status": "failed", "error": "ValueError: ..."}
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from ...errors import DataFileError, ParameterError
from ...files import OWN_FILE, write_whole
from ..metrics.rows import MetricsFile, Row, event, read_rows
from . import space as spaces
from .packing import Trial
from .space import Params, Space

SETTINGS: Final = "sweep.json"
EVENTS: Final = "trials.jsonl"


@dataclass(frozen=True)
class SweepSettings:
    """What a sweep was asked for, as far as its files keep it."""

    name: str  # of the function
    space: Space
    method: str
    trials: int
    metric: str
    direction: str
    prune: str | None
    seed: int
    fixed: Params  # the other keyword arguments; what is no scalar by the name of its type
    target: float | None
    format: int = 1

    def better(self, one: float, other: float) -> bool:
        """Whether the value ``one`` is better than ``other``, which may be NaN."""
        if other != other:
            return one == one
        return one < other if self.direction == "minimize" else one > other

    def reached(self, value: float) -> bool:
        """Whether ``value`` is as good as the target."""
        return self.target is not None and (value == self.target or self.better(value, self.target))


TYPES: Final = {
    "name": str,
    "space": dict,
    "method": str,
    "trials": int,
    "metric": str,
    "direction": str,
    "prune": str | None,
    "seed": int,
    "fixed": dict,
    "target": float | None,
}
# What may change when a sweep is resumed.
FREE: Final = ("trials", "target")


def directory(out: Path, number: int) -> Path:
    """The run's directory of a trial."""
    return out / f"trial-{number:04d}"


def save(out: Path, settings: SweepSettings) -> None:
    """Write the settings."""
    fields = asdict(settings) | {"space": spaces.to_json(settings.space)}
    write_whole(
        out / SETTINGS, json.dumps(fields, indent=1).encode() + b"\n", mode=OWN_FILE, durable=True
    )


def load(out: Path) -> SweepSettings:
    """Read the settings of a sweep's directory.

    Raises
    ------
    ParameterError
        There is no sweep in ``out``.
    DataFileError
        Its settings cannot be read.
    """
    path = out / SETTINGS
    if not path.is_file():
        raise ParameterError(f"{str(out)!r} holds no sweep: there is no {SETTINGS} in it")
    try:
        fields = json.loads(path.read_bytes())
        if fields["format"] != 1:
            raise ValueError(f"its format is {fields['format']!r}, and this version reads 1")
        for name, kinds in TYPES.items():
            if not isinstance(fields[name], kinds):
                raise TypeError(f"{name} is {fields[name]!r}")
        return SweepSettings(**fields | {"space": spaces.from_json(fields["space"])})
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as err:
        raise DataFileError(f"{path} is not what a sweep has written: {err!r}") from err


def check_same(out: Path, old: SweepSettings, new: SweepSettings) -> None:
    """`ParameterError` where a sweep that is resumed asks for something else."""
    before, now = asdict(old), asdict(new)
    for name in before:
        if name not in FREE and before[name] != now[name]:
            raise ParameterError(
                f"{str(out)!r} holds a sweep with {name}={before[name]!r}, and this one has "
                f"{now[name]!r}: ask for the same to go on with it, or give another out="
            )


@dataclass(frozen=True)
class State:
    """What the events say of one trial; ``status`` "running" also where a kill ended it."""

    trial: Trial
    status: str
    error: str | None = None

    def reopened(self) -> State:
        """The same trial; one that failed is to go on, as if a kill had ended it."""
        return State(self.trial, "running") if self.status == "failed" else self


def states(events: Sequence[Row]) -> dict[int, State]:
    """The trials that have started, by number."""
    by_number: dict[int, State] = {}
    for line in events:
        try:
            if line["event"] == "start":
                trial = Trial(line["trial"], line["params"], line["ranks"])
                by_number[trial.number] = State(trial, "running")
            elif line["event"] == "end":
                known = by_number[line["trial"]].trial
                by_number[known.number] = State(known, line["status"], line["error"])
        except (KeyError, TypeError) as err:
            raise DataFileError(f"{EVENTS} is not what a sweep has written: {line}") from err
    return by_number


def read_events(out: Path) -> list[Row]:
    """The events of a sweep's directory so far."""
    path = out / EVENTS
    return read_rows(path) if path.exists() else []


class Record:
    """The events of a sweep that runs; one process at a time may hold a directory."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self._lock = os.open(out / EVENTS, os.O_RDWR | os.O_CREAT, OWN_FILE)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise ParameterError(
                f"another process runs the sweep in {str(out)!r}; wait for it, or give another out="
            ) from None
        self._file = MetricsFile(out / EVENTS)

    def session(self, workers: int) -> None:
        self._write(event("session", workers=workers))

    def start(self, trial: Trial) -> None:
        facts = {"trial": trial.number, "params": trial.params, "ranks": trial.ranks}
        self._write(event("start", **facts))

    def end(self, number: int, status: str, error: str | None) -> None:
        self._write(event("end", trial=number, status=status, error=error))

    def _write(self, line: dict[str, Any]) -> None:
        self._file.write(line)
        os.fsync(self._lock)

    def __enter__(self) -> Record:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        os.close(self._lock)
