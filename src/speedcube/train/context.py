"""What a training function may ask and say while it runs in a rank: `report`, `latest`, `device`.

The context is the one global of a rank's process; outside of a rank there is none, and these
functions say so.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from ..errors import CheckpointError, TrainError
from . import checkpoint as checkpoints
from . import metrics as rows
from . import rng
from .checkpoint import Checkpoint, RankFile
from .wire import Channel, Launch

PEER_SECONDS: Final = 60  # for the other ranks to reach a checkpoint
WRITE_SECONDS: Final = 3600  # for rank 0 to write it


class Stopped(BaseException):
    """Ends a rank's function in the middle of `report`: all ranks stop at this step.

    No Exception, so that a program's own ``except Exception`` does not swallow it.
    """


@dataclass
class Context:
    """The state of this rank."""

    launch: Launch
    link: Channel
    device: Any = None
    store: Any = None
    step: int = 0
    started: float = field(default_factory=time.monotonic)
    stop: str = ""  # why the driver asks this job to stop

    def heard(self, kind: str, fields: dict[str, Any]) -> None:
        """A message of the agent's; the heartbeat thread calls this."""
        if kind == "stop":
            self.stop = fields["reason"]

    @property
    def root(self) -> Path:
        return Path(self.launch.settings.out) / "checkpoints"


_context: Context | None = None


def enter(made: Context) -> None:
    """Make ``made`` the context of this process; rank 0 removes what killed writers left."""
    global _context
    _context = made
    if made.launch.rank == 0:
        checkpoints.collect(made.root)


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

    Restores the states that PyTorch's, NumPy's (global) and Python's generators had in this rank
    when it was saved, so call it after the model is made and before the loop starts.
    """
    here = current()
    found = checkpoints.newest(here.root, world_size=here.launch.settings.world_size)
    if found is None:
        return None
    here.step = found.step
    state = found.rng(here.launch.rank)
    if state is not None:
        rng.restore(state)
    return found.of(here.launch.rank)


def report(metrics: dict[str, Any], checkpoint: Any = None, *, per_rank: bool = False) -> None:
    """Tell the driver how training goes; with ``checkpoint=`` return when that is durable.

    Parameters
    ----------
    metrics
        Names and values: numbers, strings, bools, None; tensors and NumPy scalars of one element.
    checkpoint
        Any nesting of dicts, lists, tensors, NumPy arrays and JSON scalars. Every rank has to pass
        one at the same step. Rank 0's is kept, beside every rank's generator states.
    per_rank
        Keep each rank's own ``checkpoint``; the run's directory must then be one that all hosts
        share.

    Raises
    ------
    TrainError
        A metric that is not one value; outside of a rank.
    CheckpointError
        A value that cannot be kept, a disk that is full, ranks that do not come along.
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
    reason = _agree(here, row["metrics"]) if settings.stop_on_nan or settings.prunable else ""
    here.link.send("row", row=row)
    if reason:
        raise Stopped(reason)
    if checkpoint is not None:
        _keep(here, checkpoint, per_rank, row["metrics"])


def _agree(here: Context, metrics: dict[str, Any]) -> str:
    """Why every rank has to stop at this step: "" where none has a reason."""
    from torch import distributed as dist

    bad = [
        name
        for name, value in metrics.items()
        if isinstance(value, float) and not math.isfinite(value)
    ]
    mine = ""
    if here.launch.settings.stop_on_nan and bad:
        values = ", ".join(f"{name} is {metrics[name]}" for name in bad)
        mine = f"nonfinite:{values} on rank {here.launch.rank} at step {here.step}"
    elif here.stop:
        mine = f"asked:{here.stop}"
    size = here.launch.settings.world_size
    if size == 1:
        return mine
    import torch

    flag = torch.tensor([size - here.launch.rank if mine else 0])
    if dist.get_backend() == "nccl":
        flag = flag.to(here.device)
    dist.all_reduce(flag, op=dist.ReduceOp.MAX)
    speaker = size - int(flag.item())
    if speaker == size:
        return ""
    key = f"stop/{here.launch.attempt}/{here.step}"
    if speaker == here.launch.rank:
        here.store.set(key, mine)
    return str(here.store.get(key).decode())


def _keep(here: Context, value: Any, per_rank: bool, metrics: dict[str, Any]) -> None:
    """Save a checkpoint together with the other ranks; return when it is durable."""
    if here.launch.rank == 0:
        _lead(here, value, per_rank, metrics)
        return
    rank, name = here.launch.rank, f"{here.launch.attempt}/{here.step}"
    state = rng.capture()
    if per_rank:
        pending = _wait(here, f"pending/{name}", 0).decode()
        file = checkpoints.write_rank(pending, rank, value, {rank: state})
        here.store.set(f"part/{name}/{rank}", json.dumps(asdict(file)))
    else:
        here.store.set(f"part/{name}/{rank}", rng.to_bytes(state))
    _wait(here, f"kept/{name}", 0, WRITE_SECONDS)


def _lead(here: Context, value: Any, per_rank: bool, metrics: dict[str, Any]) -> None:
    """Rank 0's part: write its value, wait for the others' parts, make it a checkpoint."""
    settings, name, begin = here.launch.settings, f"{here.launch.attempt}/{here.step}", time.time()
    pending = checkpoints.begin(here.root, here.step)
    try:
        states = {0: rng.capture()}
        if per_rank:
            here.store.set(f"pending/{name}", str(pending.path))
        parts = [_part(here, f"part/{name}/{rank}", rank) for rank in range(1, settings.world_size)]
        if not per_rank:
            states |= {rank: rng.from_bytes(part) for rank, part in enumerate(parts, 1)}
        files = [checkpoints.write_rank(pending.path, 0, value, states)]
        if per_rank:
            files += [RankFile(**json.loads(part)) for part in parts]
    except BaseException:
        pending.close()
        raise
    made = checkpoints.commit(pending, settings.world_size, files, metrics)
    here.store.set(f"kept/{name}", "1")
    checkpoints.prune(made, settings.keep)
    here.link.send("checkpoint", step=here.step, path=str(made.path), seconds=time.time() - begin)


def _part(here: Context, key: str, rank: int) -> bytes:
    found = _wait(here, key, rank)
    here.store.delete_key(key)
    return found


def _wait(here: Context, key: str, rank: int, seconds: float = PEER_SECONDS) -> bytes:
    """What another rank has set, or will have soon."""
    from torch.distributed import DistStoreError

    try:
        here.store.wait([key], timedelta(seconds=seconds))
    except DistStoreError as err:
        raise CheckpointError(
            f"rank {rank} did not reach the checkpoint of step {here.step} within "
            f"{seconds:g} s; every rank has to call report(..., checkpoint=...) at the same step"
        ) from err
    found: bytes = here.store.get(key)
    return found
