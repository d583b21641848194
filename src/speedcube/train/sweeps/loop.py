"""The loop of a sweep: start what fits, hear what rank 0 reports, give up what does badly."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Final

from ...dataclass import dataclass
from ...errors import StoppedError, TrainError
from ...numbers import value_text
from ..driver import run as launch
from ..driver.job import Job
from ..metrics.rows import Row
from ..reports.curves import number, points, series
from . import packing, record
from .packing import Trial
from .record import Record, State, SweepSettings
from .search import Search
from .space import Params
from .trials import rows_of

LONGEST_ERROR: Final = 4000  # characters that are kept of one


@dataclass(frozen=True)
class Call:
    """What the job of every trial is started with."""

    function: Callable[..., Any]
    fixed: Mapping[str, Any]
    passed: frozenset[str]  # names of the space that the function takes
    options: Mapping[str, Any]  # of train.run
    key: str | None  # of the space, that says how many ranks
    ranks: int  # where none does

    def trial(self, number: int, params: Params) -> Trial:
        """Trial ``number`` with these settings."""
        ranks = self.ranks if self.key is None else params[self.key]
        assert isinstance(ranks, int)
        return Trial(number, params, ranks)

    def start(self, trial: Trial, settings: SweepSettings, out: Any) -> Job:
        """The job of a trial, which continues what its directory holds."""
        varied = {name: value for name, value in trial.params.items() if name in self.passed}
        return launch.run(
            self.function,
            ranks=trial.ranks,
            name=f"{settings.name}-{trial.number:04d}",
            out=out,
            prunable=settings.prune is not None,
            progress=False,
            **self.options,
            **self.fixed,
            **varied,  # type: ignore[arg-type]
        )


@dataclass
class _RunningTrial:
    """A trial whose job runs, and what rank 0 has reported."""

    trial: Trial
    job: Job
    value: float | None = None  # the last one
    reports: int = 0
    names: set[str] = field(default_factory=set)  # of metrics that came
    stopped: int | None = None  # the attempt that was asked to stop


@dataclass(frozen=True)
class _End:
    """The last that is heard of a job."""

    error: BaseException | None


class TrialLoop:
    """Runs the trials that have not ended; `run` returns when all have."""

    def __init__(
        self,
        files: Record,
        settings: SweepSettings,
        search: Search,
        call: Call,
        workers: int,
        say: Callable[[str], None],
        retry_failed: bool,
    ) -> None:
        self._files, self._settings, self._search, self._call = files, settings, search, call
        self._workers, self._say, self._retry_failed = workers, say, retry_failed
        self._running: dict[int, _RunningTrial] = {}
        self._events: queue.Queue[tuple[int, Row | _End]] = queue.Queue()
        self._waiting: list[Trial] = []
        self._next = settings.trials  # the number of the next trial to be proposed
        self._ended = 0

    def run(self) -> None:
        """Run to the end; whatever ends it early cancels the trials that run."""
        out = self._files.out
        events = record.read_events(out)
        self._resume(record.states(events, self._settings, out / record.EVENTS))
        self._files.session(self._workers)
        try:
            while True:
                self._start_fitting()
                if not self._running:
                    return
                trial, event = self._events.get()
                if isinstance(event, _End):
                    self._end(self._running.pop(trial), event.error)
                else:
                    self._hear(self._running[trial], event)
        except KeyboardInterrupt as interrupt:
            interrupt.add_note(
                f"Interrupted: {self._ended} of {self._settings.trials} trials have ended. The "
                f"same call with out={str(self._files.out)!r} goes on from here."
            )
            raise
        finally:
            self._cancel()

    def _resume(self, states: Mapping[int, State]) -> None:
        """Take in what earlier sessions did, and line up what is left."""
        planned = self._search.planned()
        if self._retry_failed:
            states = {number: state.reopened() for number, state in states.items()}
        failed = sum(state.status == "failed" for state in states.values())
        if failed:
            self._say(f"{failed} failed before: not run again without retry_failed")
        for state in states.values():
            rows = rows_of(self._files.out, state.trial.number)
            curve = series(points(rows), self._settings.metric)
            values = [(point.step, value) for point, value in curve]
            self._search.replay(state.trial, state.status, values)
        begun = [state.trial for state in states.values() if state.status == "running"]
        self._ended = len(states) - len(begun)
        left = [
            self._call.trial(number, params)
            for number, params in enumerate(planned)
            if number not in states
        ]
        self._waiting = packing.order([*begun, *left], self._workers)
        if not planned:
            self._next = max(states, default=-1) + 1

    def _free(self) -> int:
        return self._workers - sum(run.trial.ranks for run in self._running.values())

    def _start_fitting(self) -> None:
        """Start trials until the next does not fit."""
        while self._free() > 0:
            if not self._waiting and self._next < self._settings.trials:
                params = self._search.propose(self._next)
                self._waiting.append(self._call.trial(self._next, params))
                self._next += 1
            trial = packing.fitting(self._waiting, self._free())
            if trial is None:
                return
            self._waiting.remove(trial)
            self._start(trial)

    def _start(self, trial: Trial) -> None:
        self._search.start(trial)
        self._files.start(trial)
        out = record.directory(self._files.out, trial.number)
        try:
            job = self._call.start(trial, self._settings, out)
        except TrainError as err:  # a worker was lost; the other trials may do without it
            self._close(trial, "failed", _text(err), None)
            return
        self._running[trial.number] = _RunningTrial(trial, job)
        ranks = f"{trial.ranks} rank{'s' * (trial.ranks > 1)}"
        self._say(f"trial {trial.number} ({_params(trial)}) starts on {ranks}")
        threading.Thread(
            target=self._follow, args=(trial.number, job), name=f"follow-{job.id}", daemon=True
        ).start()

    def _follow(self, trial: int, job: Job) -> None:
        """Thread: pass on the rows of a job, then how it ended."""
        try:
            for row in job:
                self._events.put((trial, row))
        except BaseException as err:
            self._events.put((trial, _End(err)))
        else:
            self._events.put((trial, _End(None)))

    def _hear(self, run: _RunningTrial, row: Row) -> None:
        run.reports += 1
        run.names.update(row["metrics"])
        value = number(row["metrics"].get(self._settings.metric))
        if value is None:
            return
        run.value = value
        giving_up = self._search.hear(run.trial.number, row["step"], value)
        if giving_up and run.stopped != row["attempt"]:
            run.stopped = row["attempt"]
            run.job.stop(f"pruned with {self._settings.metric} {value:.5g} at step {row['step']}")

    def _end(self, run: _RunningTrial, error: BaseException | None) -> None:
        if isinstance(error, StoppedError) and run.stopped is not None:
            self._close(run.trial, "pruned", None, run.value)
        elif error is not None:
            self._close(run.trial, "failed", _text(error), run.value)
        elif run.value is None:
            self._close(run.trial, "failed", self._missing(run), None)
        else:
            self._close(run.trial, "finished", None, run.value)

    def _missing(self, run: _RunningTrial) -> str:
        metric, names = self._settings.metric, ", ".join(sorted(run.names))
        if metric in run.names:
            return f"{metric!r} was reported, and never as a number"
        if not run.reports:
            return f"{metric!r} never came: the function made no train.report()"
        return f"{metric!r} never came in {run.reports} reports; they have {names or 'no metrics'}"

    def _close(self, trial: Trial, status: str, error: str | None, value: float | None) -> None:
        self._files.end(trial.number, status, error)
        self._search.end(trial.number, status, value)
        self._ended += 1
        last = "" if value is None else f", {self._settings.metric} {value:.5g}"
        why = "" if error is None else f": {error.splitlines()[0]}"
        self._say(
            f"{self._ended} of {self._settings.trials}: trial {trial.number} ({_params(trial)}) "
            f"{status}{last}{why}"
        )

    def _cancel(self) -> None:
        """Kill the trials that run, all at once; they stay "running" in the files."""
        killers = [threading.Thread(target=run.job.cancel) for run in self._running.values()]
        for killer in killers:
            killer.start()
        for killer in killers:
            killer.join()


def _params(trial: Trial) -> str:
    return ", ".join(f"{name}={value_text(value)}" for name, value in trial.params.items())


def _text(error: BaseException) -> str:
    """An error as it is kept: its type and message, and what its notes say of rank and step."""
    lines = [f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())]
    return "\n".join(lines)[:LONGEST_ERROR]
