"""What a training function may ask and say while it runs in a rank: `report`, `latest`, `device`.

The context is the one global of a rank's process; outside of a rank there is none, and these
functions say so.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from ...dataclass import dataclass
from ...errors import TrainError
from ..checkpoint import Checkpoint, collect
from ..messages import (
    Cause,
    Channel,
    FromRank,
    Launch,
    Reported,
    Saved,
    Saving,
    StopRequest,
    ToRank,
)
from ..metrics import rows
from . import agreement, rng
from .saving import Saver

Link: TypeAlias = Channel[FromRank, ToRank]


class Stopped(BaseException):
    """Ends a rank's function in the middle of `report`: all ranks stop at this step.

    No Exception, so that a program's own ``except Exception`` does not swallow it.
    """

    def __init__(self, cause: Cause, text: str) -> None:
        super().__init__(text)
        self.cause, self.text = cause, text


@dataclass
class Context:
    """The state of this rank."""

    launch: Launch
    link: Link
    device: Any = None
    store: Any = None
    steps: Any = None  # `Steps` of that store
    peers: Any = None  # `Peers`, once the ranks have met
    step: int = 0
    started: float = field(default_factory=time.monotonic)
    stop: str = ""  # why the driver asks this job to stop

    def hear(self, message: ToRank) -> None:
        """Take a message of the agent's; the heartbeat thread calls this."""
        if isinstance(message, StopRequest):
            self.stop = message.reason

    @cached_property
    def saver(self) -> Saver:
        """What saves and takes this rank's checkpoints together with the other ranks."""
        settings = self.launch.settings
        root = Path(settings.out) / "checkpoints"
        return Saver(
            self.store, root, self.launch.rank, settings.world_size, settings.keep, self.peers
        )


_context: Context | None = None


def enter(here: Context) -> None:
    """Make ``here`` the context of this process; rank 0 removes what killed writers left."""
    global _context
    _context = here
    if here.launch.rank == 0:
        collect(here.saver.root)


def inside() -> bool:
    """Whether this process is a rank of `speedcube.train.run`."""
    return _context is not None


def current() -> Context:
    """The context of this rank; `TrainError` outside of one."""
    if _context is None:
        raise TrainError(
            "this is not a rank: speedcube.train's report, latest, device, rank and world_size "
            "work inside the function that speedcube.train.run(function, ...) starts"
        )
    return _context


def rank() -> int:
    """The rank of this process, 0 .. world_size() - 1."""
    return current().launch.rank


def local_rank() -> int:
    """The number of this rank among those of its host: the index of its GPU in ``torch.cuda``."""
    return current().launch.place.local_rank


def world_size() -> int:
    """How many ranks the job has."""
    return current().launch.settings.world_size


def device() -> Any:
    """The ``torch.device`` of this rank: its GPU, or the CPU."""
    return current().device


def latest() -> Checkpoint | None:
    """The newest valid checkpoint of this run, or None; the generators continue from it.

    Every rank gets the one that rank 0 takes, and waits for rank 0 to call this, too.
    Restores the states that PyTorch's, NumPy's (global) and Python's generators had in this rank
    when it was saved, so call it after the model is made and before the loop starts.
    """
    here = current()
    newest = here.saver.newest(here.step)
    if newest is None:
        return None
    here.step = newest.step
    state = newest.rng(here.launch.rank)
    if state is not None:
        rng.restore(state)
    return newest


def report(metrics: dict[str, Any], checkpoint: Any = None, *, per_rank: bool = False) -> None:
    """Tell the driver how training goes; with ``checkpoint=`` return when that is durable.

    Parameters
    ----------
    metrics
        Names and values: numbers, strings, bools, None; tensors and NumPy scalars of one element.
    checkpoint
        Any nesting of dicts, lists, tensors, NumPy arrays and JSON scalars. Rank 0's is kept,
        beside the generator states of every rank that passes one at the same step; rank 0 alone
        may report one, too.
    per_rank
        Keep each rank's own ``checkpoint``: every rank has to pass one at the same step, with
        this. The run's directory must then be one that all hosts share.

    Raises
    ------
    TrainError
        A metric that is not one value; outside of a rank.
    CheckpointError
        A value that cannot be kept, a disk that is full, ranks that do not come along: in every
        rank, so a function may catch it and go on.
    """
    here = current()
    here.step += 1
    row = rows.row(
        step=here.step,
        rank=here.launch.rank,
        attempt=here.launch.attempt,
        seconds=time.monotonic() - here.started,
        metrics=metrics,
    )
    settings = here.launch.settings
    may_stop = settings.stop_on_nan or settings.prunable
    stopped = _agree(here, row["metrics"]) if may_stop else None
    here.link.send(Reported(row))
    if stopped is not None:
        raise stopped
    try:
        if checkpoint is not None:
            _save(here, checkpoint, per_rank, row["metrics"])
    finally:
        here.peers.passed = here.step


def _agree(here: Context, metrics: dict[str, Any]) -> Stopped | None:
    """What ends every rank at this step; None where none has a reason."""
    mine = _reason(here, metrics)
    if here.launch.settings.world_size == 1:
        return mine
    reason = json.dumps([mine.cause.value, mine.text]) if mine is not None else ""
    agreed = agreement.agree(here.steps, here.peers, here.launch, here.step, reason)
    if not agreed:
        return None
    cause, text = json.loads(agreed)
    return Stopped(Cause(cause), text)


def _reason(here: Context, metrics: dict[str, Any]) -> Stopped | None:
    """What this rank has to stop for."""
    bad = [
        name
        for name, value in metrics.items()
        if isinstance(value, float) and not math.isfinite(value)
    ]
    if here.launch.settings.stop_on_nan and bad:
        values = ", ".join(f"{name} is {metrics[name]}" for name in bad)
        text = f"{values} on rank {here.launch.rank} at step {here.step}"
        return Stopped(Cause.NONFINITE, text)
    return Stopped(Cause.ASKED, here.stop) if here.stop else None


def _save(here: Context, value: Any, per_rank: bool, metrics: dict[str, Any]) -> None:
    """Save a checkpoint, which is no part of a step: the driver waits longer meanwhile."""
    begin = time.time()
    here.link.send(Saving(True))
    try:
        checkpoint = here.saver.save(here.step, value, per_rank, metrics)
    finally:
        here.link.send(Saving(False))
    if checkpoint is not None:
        here.link.send(Saved(here.step, time.time() - begin))
