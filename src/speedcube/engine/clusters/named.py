"""Clusters of this machine that a rung's name stands for: started when they are first needed.

``cuda-cluster`` is `dask_cuda.LocalCUDACluster`, a process for each GPU; ``cores:10x8`` is
`distributed.LocalCluster`, ten processes of eight threads. There is at most one of a kind. One that
was started inside a block of ``sc.on`` ends with the outermost block that may use it, any other
with the process.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any, Final, TypeAlias

from ...dataclass import dataclass
from ...errors import RungError
from ...late import dask
from . import own
from .client import CLOSE_SECONDS

Devices: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Processes:
    """A cluster of ``count`` processes on this machine's cores, of ``threads`` threads each."""

    count: int
    threads: int


Which: TypeAlias = Devices | Processes

# Settings of this process that its workers must not inherit: Dask sends them its configuration.
_FOR_WORKERS: Final = {"scheduler": None, "array_plugins": ()}

_lock = threading.RLock()
_clients: dict[Which, Any] = {}
_blocks: Counter[Which] = Counter()  # how many blocks of sc.on may use a cluster
_of_blocks: set[Which] = set()  # clusters that end with those blocks


def client_of(which: Which) -> Any:
    """The client of the cluster, which is started where it does not run yet."""
    with _lock:
        client = _clients.get(which)
        if client is None or client.status != "running":
            if client is not None:
                with suppress(Exception):  # it has lost its scheduler: its workers may be there
                    _close(_clients.pop(which))
            in_block = _blocks[which] > 0
            client = _clients[which] = _start(which, in_block)
            if in_block:
                _of_blocks.add(which)
        return client


@contextmanager
def block(which: Which) -> Iterator[None]:
    """The cluster, if it is started inside, is closed when the outermost block ends."""
    with _lock:
        _blocks[which] += 1
    try:
        yield
    finally:
        with _lock:
            _blocks[which] -= 1
            if not _blocks[which] and which in _of_blocks:
                _of_blocks.discard(which)
                _close(_clients.pop(which))


def _start(which: Which, default: bool) -> Any:
    """A new cluster's client; ``default`` makes it the process's default client."""
    on_cores = isinstance(which, Processes)
    if not isinstance(which, Processes) and find_spec("dask_cuda") is None:
        raise RungError(
            f"a Dask cluster on GPUs {list(which)} needs dask-cuda, which is not installed "
            "(pip install speedcube[cuda13])"
        )
    from distributed import Client

    # Functions run at exit in the reverse order: ours has to come before those of distributed.
    atexit.unregister(_at_exit)
    atexit.register(_at_exit)
    backend = "numpy" if on_cores else "cupy"
    with dask.config.set({**_FOR_WORKERS, "array.backend": backend}):
        cluster = _on_cores(which) if isinstance(which, Processes) else _on_gpus(which)
        try:
            client = Client(cluster, set_as_default=default)
            client.wait_for_workers(len(cluster.worker_spec))
        except BaseException:
            cluster.close()
            raise
    if cluster.dashboard_link:
        print(f"dashboard: {cluster.dashboard_link}", file=sys.stderr)
    return client


def _on_gpus(devices: Devices) -> Any:
    from dask_cuda import LocalCUDACluster

    return own.start(LocalCUDACluster, CUDA_VISIBLE_DEVICES=device_names(devices))


def _on_cores(processes: Processes) -> Any:
    from distributed import LocalCluster

    return own.start(
        LocalCluster,
        n_workers=processes.count,
        threads_per_worker=processes.threads,
        silence_logs=own.CRITICAL,
    )


def device_names(devices: Devices) -> list[str]:
    """What CUDA_VISIBLE_DEVICES calls ``devices``, which count within it."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if not visible:
        return [str(device) for device in devices]
    names = [name.strip() for name in visible.split(",")]
    return [names[device] for device in devices]


def _close(client: Any) -> None:
    cluster = client.cluster
    try:
        with dask.config.set(scheduler=None):  # a default client's end changes it
            client.close(timeout=CLOSE_SECONDS)
    finally:
        cluster.close()


def _at_exit() -> None:
    own.end_quietly()
    _close_all()


def _close_all() -> None:
    while _clients:
        _close(_clients.popitem()[1])
