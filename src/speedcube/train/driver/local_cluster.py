"""Our own clusters on this machine: one for CPUs, one for GPUs, started when a job names them."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import threading
import time
from collections.abc import Mapping
from typing import Any, Final

from ...engine.clusters import own
from ...engine.clusters.roster import worker_states
from ...errors import RungError, WorkerError

START_SECONDS: Final = 60.0  # for workers to register
POLL_SECONDS: Final = 0.05

# Clients of the clusters, by whether they are for GPUs; grown to what was asked for and kept.
_clients: Final[dict[bool, Any]] = {}
_environments: Final[dict[bool, dict[str, str]]] = {}  # those that the clusters began with
_growing: Final = threading.Lock()


def client(gpu: bool, workers: int) -> Any:
    """A client of this machine's cluster, which has at least ``workers`` workers, named 0, 1 ..."""
    if multiprocessing.current_process().daemon:
        raise RungError(
            "a daemonic process, such as a Dask worker under its nanny, cannot start the workers "
            "of a job; inside a Dask task give on=distributed.get_client()"
        )
    with _growing:
        there = _clients.get(gpu)
        if there is None or there.status != "running":
            there = _start(gpu, workers)
        if len(there.cluster.worker_spec) < workers:
            there.cluster.scale(workers)
        _wait_for(there, workers)
    return there


def _start(gpu: bool, workers: int) -> Any:
    from distributed import Client, LocalCluster

    atexit.unregister(_at_exit)
    atexit.register(_at_exit)  # before those of distributed, which were registered first
    _environments[gpu] = dict(os.environ)
    cluster = own.start(
        LocalCluster,
        n_workers=workers,
        threads_per_worker=1,
        memory_limit=0,  # a rank's memory is not its worker's
        silence_logs=own.CRITICAL,
    )
    try:
        _clients[gpu] = Client(cluster, set_as_default=False)
    except BaseException:
        cluster.close()
        raise
    return _clients[gpu]


def _wait_for(client: Any, workers: int) -> None:
    """Return when workers 0, 1 ... are there: one that died is being replaced."""
    deadline = time.monotonic() + START_SECONDS
    wanted = set(range(workers))
    while missing := wanted - {
        state["name"] for state in worker_states(client).values() if state["status"] == "running"
    }:
        if time.monotonic() > deadline:
            raise WorkerError(
                f"{len(missing)} of {workers} workers on this machine did not start within "
                f"{START_SECONDS:g} s; is there memory left for their processes?"
            )
        time.sleep(POLL_SECONDS)


def environment(gpu: bool) -> Mapping[str, str]:
    """The environment variables that the cluster's processes began with."""
    return _environments[gpu]


def _at_exit() -> None:
    own.end_quietly()
    close_all()


def close_all() -> None:
    """Close the clusters that this process started for training."""
    while _clients:
        _, there = _clients.popitem()
        cluster = there.cluster
        there.close()
        cluster.close()
