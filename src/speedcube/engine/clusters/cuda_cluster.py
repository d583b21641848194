"""`dask_cuda.LocalCUDACluster`, one worker process a GPU: started when it is first needed.

There is at most one for a set of GPUs. One that was started inside a block of ``sc.on`` ends with
the outermost block that may use it, any other with the process.
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
from typing import Any, Final

from ...errors import RungError
from ...late import dask
from . import own
from .client import CLOSE_SECONDS

Devices = tuple[int, ...]

# Settings of this process that its workers must not inherit: Dask sends them its configuration.
_FOR_WORKERS: Final = {"scheduler": None, "array.backend": "cupy", "array_plugins": ()}

_lock = threading.RLock()
_clients: dict[Devices, Any] = {}
_blocks: Counter[Devices] = Counter()  # how many blocks of sc.on may use a cluster
_of_blocks: set[Devices] = set()  # clusters that end with those blocks


def cuda_client(devices: Devices) -> Any:
    """The client of the cluster on ``devices``, which is started where it does not run yet."""
    with _lock:
        client = _clients.get(devices)
        if client is None or client.status != "running":
            if client is not None:
                with suppress(Exception):  # it has lost its scheduler: its workers may be there
                    _close(_clients.pop(devices))
            in_block = _blocks[devices] > 0
            client = _clients[devices] = _start(devices, in_block)
            if in_block:
                _of_blocks.add(devices)
        return client


@contextmanager
def block(devices: Devices) -> Iterator[None]:
    """A cluster on ``devices`` that is started inside is closed when the outermost block ends."""
    with _lock:
        _blocks[devices] += 1
    try:
        yield
    finally:
        with _lock:
            _blocks[devices] -= 1
            if not _blocks[devices] and devices in _of_blocks:
                _of_blocks.discard(devices)
                _close(_clients.pop(devices))


def _start(devices: Devices, default: bool) -> Any:
    """A new cluster's client; ``default`` makes it the process's default client."""
    if find_spec("dask_cuda") is None:
        raise RungError(
            f"a Dask cluster on GPUs {list(devices)} needs dask-cuda, which is not installed "
            "(pip install speedcube[cuda13])"
        )
    from dask_cuda import LocalCUDACluster
    from distributed import Client

    # Functions run at exit in the reverse order: ours has to come before those of distributed.
    atexit.unregister(_at_exit)
    atexit.register(_at_exit)
    with dask.config.set(_FOR_WORKERS):
        cluster = own.start(LocalCUDACluster, CUDA_VISIBLE_DEVICES=device_names(devices))
        try:
            client = Client(cluster, set_as_default=default)
            client.wait_for_workers(len(devices))
        except BaseException:
            cluster.close()
            raise
    if cluster.dashboard_link:
        print(f"dashboard: {cluster.dashboard_link}", file=sys.stderr)
    return client


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
