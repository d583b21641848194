"""`run`: a PyTorch function on every worker of a Dask cluster, one Dask future for each rank.

The job is one of `speedcube.train`. Its futures are Dask's own: they stay pending while the job
runs; then the scheduler is given a task under each one's key that returns, or raises, what the job
ended with. Values travel pickled, tensors of a GPU as CPU tensors, so no worker touches its GPU.
"""

from __future__ import annotations

import functools
import logging
import math
import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import cloudpickle

from ... import train
from ...errors import RankError, TrainError

if TYPE_CHECKING:
    from distributed import Client, Future

logger: Final = logging.getLogger(__name__)

SMALL: Final = 1 << 20  # bytes that a task's graph may hold


def run(
    client: Client,
    pytorch_function: Callable[..., Any],
    *args: Any,
    backend: str = "nccl",
    pass_local_rank: bool = False,
    **kwargs: Any,
) -> list[Future]:
    """Run ``pytorch_function(*args, **kwargs)`` on every worker of ``client``; returns at once.

    Parameters
    ----------
    client
        Every worker of its cluster runs one rank, in a process of its own that ends with it.
    pytorch_function, args, kwargs
        What runs, after torch.distributed was initialised. Dask collections arrive lazily.
    backend
        "nccl": NCCL where every worker has a GPU, else gloo. "gloo": gloo; every rank then sees
        all the GPUs that its worker does.
    pass_local_rank
        Also pass ``local_rank=``, the number of the rank among those of its host.

    Returns
    -------
    list of Future
        What the function returned, by rank. If a rank fails, all are stopped and every future has
        its exception. Cancelling one cancels the job. Each has the job as its attribute ``job``.

    Raises
    ------
    ParameterError
        Another backend; arguments that cannot be pickled.
    WorkerError, TrainError
        No workers, or workers without PyTorch or of other versions.
    """
    from distributed import Future

    job = train.run(
        _InRank(pytorch_function),
        args,
        kwargs,
        backend == "nccl",
        pass_local_rank,
        on=client,
        backend=None if backend == "nccl" else backend,
        step_timeout=math.inf,
        progress=False,
        as_task=True,
    )
    futures = [Future(f"{job.id}-rank-{rank}", client) for rank in range(job.ranks)]
    for future in futures:
        future.job = job
        future.add_done_callback(_cancel_with)
    threading.Thread(target=_settle, args=(client, job, futures), daemon=True).start()
    return futures


class _InRank:
    """What each rank calls. It bears the name of ``function``, so the job does, too."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        while isinstance(function, functools.partial):
            function = function.func
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __call__(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        wants_gpu: bool,
        pass_local_rank: bool,
    ) -> Any:
        if wants_gpu and train.device().type == "cpu" and _has_gpu():
            print(
                "backend='nccl' needs a GPU for each worker: this job has fewer and uses gloo",
                file=sys.stderr,
            )
        if pass_local_rank:
            kwargs = {**kwargs, "local_rank": train.local_rank()}
        return self.function(*args, **kwargs)


def _has_gpu() -> bool:
    import torch

    return bool(torch.cuda.is_available())


def _cancel_with(future: Any) -> None:
    """Cancel the job of a future that was cancelled."""
    if future.cancelled():
        future.job.cancel()


def _settle(client: Client, job: train.Job, futures: list[Future]) -> None:
    """Give the futures what the job ended with."""
    import dask

    job.wait()
    try:
        if job.status != "cancelled":
            tasks = [
                dask.delayed(end)(_placed(client, blob), dask_key_name=future.key)
                for (end, blob), future in zip(_ends(job), futures, strict=True)
            ]
            client.persist(tasks)
            return
    except Exception as err:
        logger.error("the results of %s cannot be given to its futures: %r", job, err)
    with suppress(Exception):  # the client may be closed, which cancels them, too
        client.cancel(futures)


def _ends(job: train.Job) -> list[tuple[Callable[[bytes], Any], bytes]]:
    """For each rank how its future ends, and on which pickle."""
    try:
        return [(pickle.loads, value) for value in job.pickled()]
    except BaseException as err:
        return [(_raise, _carried(err))] * job.ranks


def _carried(err: BaseException) -> bytes:
    """``err`` pickled, or its words where it cannot be."""
    with suppress(Exception):
        if isinstance(err, Exception):
            return bytes(cloudpickle.dumps(err))
    notes = getattr(err, "__notes__", ())
    return pickle.dumps(RankError("\n".join([f"{type(err).__name__}: {err}", *notes])))


def _placed(client: Client, blob: bytes) -> Any:
    """``blob``, on a worker where it is too large for a graph."""
    return blob if len(blob) < SMALL else client.scatter(blob, hash=False)


def _raise(blob: bytes) -> None:
    raise pickle.loads(blob)


def dispatch_with_ddp(
    pytorch_function: Callable[..., Any],
    master_addr: Any,
    master_port: Any,
    rank: Any,
    world_size: Any,
    *args: Any,
    backend: str = "nccl",
    **kwargs: Any,
) -> Any:
    """Call ``pytorch_function(*args, **kwargs)`` here, as one rank of a group set up around it.

    For programs that start their ranks themselves; `run` does not need it. Afterwards the group
    is gone and the environment as before. "nccl" is gloo where PyTorch sees no GPU.

    Parameters
    ----------
    master_addr, master_port
        Where rank 0 serves the rendezvous.
    rank, world_size
        Numbers, or strings of them.

    Raises
    ------
    TrainError
        This process is in a group already.
    """
    from torch import distributed as dist

    if dist.is_initialized():
        raise TrainError(
            "torch.distributed is initialised in this process: dispatch.run() has done that for "
            "its function, which can call yours directly"
        )
    names = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE")
    values = map(str, (master_addr, master_port, rank, world_size))
    with _environment(dict(zip(names, values, strict=True))):
        dist.init_process_group("gloo" if backend == "nccl" and not _has_gpu() else backend)
        try:
            return pytorch_function(*args, **kwargs)
        finally:
            with suppress(Exception):  # what the function raised matters, not what follows
                dist.destroy_process_group()


@contextmanager
def _environment(changes: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
