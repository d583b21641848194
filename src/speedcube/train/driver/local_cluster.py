"""Our own clusters on this machine: one for CPUs, one for GPUs, started when a job names them."""

from __future__ import annotations

import atexit
import multiprocessing
import os
import threading
from collections.abc import Mapping
from typing import Any, Final

from ...errors import RungError

IGNORE_TERMINAL: Final = "speedcube.train.worker.ignore_terminal"
START_SECONDS: Final = 60  # for workers to register

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
        if len(there.cluster.workers) < workers:
            there.cluster.scale(workers)
        there.wait_for_workers(workers, timeout=START_SECONDS)
    return there


def _start(gpu: bool, workers: int) -> Any:
    from distributed import Client, LocalCluster

    atexit.unregister(close_all)
    atexit.register(close_all)  # before those of distributed, which were registered first
    _environments[gpu] = dict(os.environ)
    cluster = LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",  # None would serve on port 8787 of every address
        memory_limit=0,  # a rank's memory is not its worker's
        silence_logs=50,
        preload=[IGNORE_TERMINAL],
    )
    _clients[gpu] = Client(cluster, set_as_default=False)
    return _clients[gpu]


def environment(gpu: bool) -> Mapping[str, str]:
    """The environment variables that the cluster's processes began with."""
    return _environments[gpu]


def close_all() -> None:
    """Close the clusters that this process started for training."""
    while _clients:
        _, there = _clients.popitem()
        cluster = there.cluster
        there.close()
        cluster.close()
