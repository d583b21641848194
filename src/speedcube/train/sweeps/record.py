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
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from ... import strict_json
from ...dataclass import dataclass
from ...errors import DataFileError, ParameterError
from ...files import OWN_FILE, read_regular, write_whole
from ...shown import line as shown
from ..metrics import checked
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


METHODS: Final = ("grid", "random", "tpe")
DIRECTIONS: Final = ("minimize", "maximize")
STATUSES: Final = ("finished", "pruned", "failed", "running")
_MOST_SETTINGS: Final = 64 << 20  # bytes of the file
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
    if not os.path.lexists(path):
        raise ParameterError(f"{str(out)!r} holds no sweep: there is no {SETTINGS} in it")
    try:
        fields = strict_json.parse(read_regular(path, _MOST_SETTINGS))
        return _settings(fields)
    except OSError as err:
        raise DataFileError(f"{shown(path)} cannot be used: {err.strerror or err}") from err
    except ValueError as err:
        raise DataFileError(f"{shown(path)} is not what a sweep has written: {err}") from err


def _settings(fields: Any) -> SweepSettings:
    """What a file of settings says; `ValueError`, with the reason, where it is none."""
    if type(fields) is not dict:
        raise ValueError(f"it is a {type(fields).__name__}")
    if fields.get("format") != 1:
        raise ValueError(f"its format is {fields.get('format')!r:.40}, and this version reads 1")
    unknown = sorted(fields.keys() ^ SweepSettings.__dataclass_fields__.keys())
    if unknown:
        raise ValueError(f"it lacks, or should not have, {shown(', '.join(unknown))}")
    for name in ("name", "metric"):
        checked.text(fields, name)
    checked.text(fields, "method", METHODS)
    checked.text(fields, "direction", DIRECTIONS)
    checked.count(fields, "trials")
    if type(fields["seed"]) is not int or fields["seed"] < 0:
        raise ValueError(f"its seed is {fields['seed']!r:.40}")
    if fields["prune"] is not None:
        checked.text(fields, "prune")
    if fields["target"] is not None:
        checked.number(fields, "target")
    if type(fields["fixed"]) is not dict or type(fields["space"]) is not dict:
        raise ValueError("its space or its fixed arguments are not objects")
    return SweepSettings(**fields | {"space": spaces.from_json(fields["space"])})


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


def states(events: Sequence[Row], settings: SweepSettings, path: Path) -> dict[int, State]:
    """The trials that have started, by number; ``path`` held the events, one a line."""
    by_number: dict[int, State] = {}
    for number, line in enumerate(events, 1):
        try:
            _take(by_number, line, settings)
        except ValueError as err:
            raise DataFileError(
                f"{shown(path)}, line {number}: {err}; take the file as the sweep wrote it"
            ) from None
    return by_number


def _take(by_number: dict[int, State], line: Row, settings: SweepSettings) -> None:
    kind = checked.text(line, "event")
    checked.number(line, "time")
    if kind == "session":
        checked.count(line, "workers", 1)
    elif kind == "start":
        number, ranks = checked.count(line, "trial"), checked.count(line, "ranks", 1)
        params = dict(checked.scalars(line, "params"))
        spaces.check_params(settings.space, params)
        by_number[number] = State(Trial(number, params, ranks), "running")
    elif kind == "end":
        number, status = checked.count(line, "trial"), checked.text(line, "status", STATUSES)
        if number not in by_number:
            raise ValueError(f"trial {number} ended and never began")
        error = line.get("error")
        if error is not None:
            checked.text(line, "error")
        by_number[number] = State(by_number[number].trial, status, error)


def read_events(out: Path) -> list[Row]:
    """The events of a sweep's directory so far."""
    path = out / EVENTS
    return read_rows(path) if os.path.lexists(path) else []


class Record:
    """The events of a sweep that runs; one process at a time may hold a directory."""

    def __init__(self, out: Path) -> None:
        self.out = out
        flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            self._lock = os.open(out / EVENTS, flags, OWN_FILE)
        except OSError as err:
            raise DataFileError(
                f"{shown(out / EVENTS)} cannot be used: {err.strerror or err}"
            ) from err
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise ParameterError(
                f"another process runs the sweep in {str(out)!r}; wait for it, or give another out="
            ) from None
        try:
            self._file = MetricsFile(out / EVENTS)
        except BaseException:
            os.close(self._lock)
            raise

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
