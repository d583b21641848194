"""`run`: a function on every GPU, checked before anything starts."""

from __future__ import annotations

import atexit
import functools
import inspect
import math
import os
import time
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any, Final

from ...errors import ParameterError
from ..messages import JobSettings
from ..metrics.progress import Progress
from ..pickling import dumps_call
from ..ranks import context
from ..trackers import open_all
from . import placement
from .directory import arguments_of, checked_name, run_directory, write_run_file
from .job import Job
from .request import JobRequest
from .supervisor import Supervisor, cancel_all

OWN: Final = (
    "on",
    "ranks",
    "max_restarts",
    "step_timeout",
    "stop_on_nan",
    "prunable",
    "name",
    "out",
    "keep",
    "as_task",
    "backend",
    "trackers",
    "total",
    "progress",
)


def run(
    function: Callable[..., Any],
    *args: Any,
    on: Any = None,
    ranks: int | None = None,
    max_restarts: int = 0,
    step_timeout: float | None = None,
    stop_on_nan: bool = False,
    prunable: bool = False,
    name: str | None = None,
    out: str | os.PathLike[str] | None = None,
    keep: int = 2,
    as_task: bool = False,
    backend: str | None = None,
    trackers: Sequence[Any] = (),
    total: int | None = None,
    progress: bool | None = None,
    **kwargs: Any,
) -> Job:
    """Run ``function(*args, **kwargs)`` in every rank of a training job; returns at once.

    Each rank is a process of its own, with torch.distributed initialised: NCCL on GPUs, gloo on
    CPUs. A job claims all its workers at once or waits. When a rank fails, all are killed, and
    started again from the newest valid checkpoint.

    Parameters
    ----------
    function, args, kwargs
        What runs; closures and functions of a notebook work. Dask collections and speedcube
        arrays arrive lazily and can be computed in the rank.
    on
        "cores:2", "gpus:4", "gpus:0,2", "cuda-cluster", a Dask Client, a cluster, an address or a
        scheduler file. None: the active client, else this machine's GPUs, else its cores.
    ranks
        How many of the workers; None: all that are there. A cluster that is starting is waited
        for until it has as many, as long as for a silent worker (``speedcube.worker-timeout``).
    max_restarts
        How often a failed job starts again.
    step_timeout
        Seconds between two reports of a rank, or from the call of the function to the first one,
        after which it hangs. None: ten medians, at least 30 s, and 10 min for the first.
        ``math.inf`` for a function that does not report. To start may always take 10 min.
    stop_on_nan
        Stop every rank at the step at which one reports a NaN or an infinity.
    prunable
        Whether `Job.stop` may end it between two steps.
    name, out
        The job's name; the directory of its metrics, logs and checkpoints, which ranks must be
        able to write (default: a new one below ./speedcube-runs). One that holds checkpoints is
        continued.
    keep
        Checkpoints to keep.
    as_task
        For functions written as Dask tasks: each rank gets a client (``distributed.get_client()``)
        and sees the GPUs in its worker's order, in which dask-cuda puts the worker's own first.
    backend
        "nccl" or "gloo"; None: NCCL where each rank has a GPU.
    trackers
        Names ("wandb", "mlflow", "trackio", "tensorboard"), their options such as
        ``trackers.Wandb(project="names")``, or objects of your own (`trackers.Tracker`).
    total
        How many reports each rank will make, if that is known: what is shown then says of how
        many, and how long the rest will take.
    progress
        False: show nothing. Else a live table on standard error where that is a terminal (or in
        a notebook with ipywidgets), and a line now and then where it is not.

    Raises
    ------
    ParameterError
        An option outside its domain; ``out`` is that of a job that still runs.
    RungError, SchedulerError, WorkerError
        ``on`` names what is not there.
    TrainError
        Fewer workers than ranks, after the wait, or workers whose versions differ.
    """
    check_function(function)
    if context.inside():
        raise ParameterError("train.run() inside a rank: start jobs from the program that drives")
    at_least("max_restarts", max_restarts, 0)
    at_least("keep", keep, 1)
    if total is not None:
        at_least("total", total, 1)
    title = checked_name(name, function)
    limit = _checked_timeout(step_timeout)
    site = placement.site(on, ranks, backend)
    directory = run_directory(out, title)
    where = {"on": site.name, "ranks": site.ranks}
    opened = open_all(
        trackers, directory.name, where | arguments_of(function, args, kwargs), site.ranks
    )
    call, futures = _pickled(function, args, kwargs)
    settings = JobSettings(
        f"{title}-{time.time_ns():x}",
        site.ranks,
        str(directory),
        int(keep),
        bool(stop_on_nan),
        bool(prunable),
        bool(as_task),
        site.environment,
    )
    request = JobRequest(title, settings, call, bool(as_task) or futures, int(max_restarts), limit)
    shown = Progress(title, site.ranks, total, progress)
    supervisor = Supervisor(request, site, shown, opened, (args, kwargs))
    write_run_file(directory, {"name": title, **where}, args, kwargs)
    atexit.unregister(cancel_all)
    atexit.register(cancel_all)
    supervisor.start()
    return Job(supervisor)


def check_function(function: Any) -> None:
    """`ParameterError` unless it is callable, and its parameters are no options of `run`."""
    if not callable(function):
        raise ParameterError(f"train.run({function!r}): give a function, then its arguments")
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return
    keyword = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    bound = function.keywords if isinstance(function, functools.partial) else {}
    own = [p.name for p in parameters if p.kind in keyword and p.name in OWN]
    clash = next((name for name in own if name not in bound), None)
    if clash is not None:
        raise ParameterError(
            f"{clash!r} is both a parameter of the function and an option of train.run; bind it "
            f"with functools.partial(function, {clash}=...), or rename it"
        )


def at_least(name: str, value: Any, least: int) -> None:
    """`ParameterError` unless ``value`` is an integer that is at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ParameterError(f"{name}={value!r}: give an integer, {least} or more")


def _checked_timeout(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, Real) or not float(value) > 0:
        raise ParameterError(
            f"step_timeout={value!r}: give seconds, more than 0, math.inf for none, or None"
        )
    return float(value) if math.isfinite(value) else math.inf


def _pickled(function: Any, args: Any, kwargs: Any) -> tuple[bytes, bool]:
    """The call pickled, and whether a Dask collection in it holds results on workers."""
    try:
        return dumps_call((function, args, kwargs))
    except Exception as err:
        raise ParameterError(
            f"the function or an argument cannot be sent to the ranks: {err}; open files, "
            "locks and connections have to be made inside the function"
        ) from err
