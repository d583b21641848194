"""A worker of `cuda-cluster` killed in the middle of a sum: the bits, and the seconds it costs.

    python bench/gpu_lost_worker.py [--json FILE]

The published sum of 2 TB, and the same of a hundred times as many numbers, on a process for each
GPU of this machine. One is killed (`kill -9`) at half the time that the sum takes undisturbed. What
one GPU gives alone is what all are to give.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import threading
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np

import speedcube as sc
from speedcube.engine import machine
from speedcube.engine.clusters.named import block, client_of

TIMES: Final = 3
SIDES: Final = {"2 TB": 500_000, "200 TB": 5_000_000}


def published(side: int) -> Any:
    """The sum of every second row and column of normals, plus one."""
    x = sc.random.default_rng(0).normal(10, 1, size=(side, side))
    return (x + 1)[::2, ::2].sum()


def timed(array: Any, on: Any) -> tuple[float, str]:
    """The seconds of a computation, and its bits."""
    start = time.perf_counter()
    value = array.compute(on=on)
    return time.perf_counter() - start, np.float64(value).tobytes().hex()


def killed(array: Any, client: Any, after: float) -> tuple[float, str]:
    """The same, with a worker killed ``after`` seconds."""
    pid = next(iter(client.run(os.getpid).values()))
    timer = threading.Timer(after, os.kill, (pid, signal.SIGKILL))
    timer.start()
    try:
        return timed(array, client)
    finally:
        timer.join()


def row(side: int, devices: tuple[int, ...]) -> dict[str, Any]:
    """One sum: alone, on the cluster, and on a cluster that loses a worker."""
    array = published(side)
    timed(published(5_000), "gpu")
    alone, bits = timed(array, "gpu")
    found: dict[str, Any] = {"one GPU, s": alone, "bits": bits, "pairs": []}
    with block(devices):
        for _ in range(TIMES):
            client = client_of(devices)
            client.wait_for_workers(len(devices), timeout=60)
            timed(published(5_000), client)  # each worker has its kernel
            undisturbed, all_bits = timed(array, client)
            lost, lost_bits = killed(array, client, undisturbed / 2)
            found["pairs"].append({"undisturbed, s": undisturbed, "killed at half, s": lost})
            found["equal"] = found.get("equal", True) and bits == all_bits == lost_bits
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    import cupy

    devices = tuple(range(machine.gpu_count()))
    rows = {name: row(side, devices) for name, side in SIDES.items()}
    for name, found in rows.items():
        print(name, json.dumps(found))
    about = {
        "gpu": cupy.cuda.runtime.getDeviceProperties(0)["name"].decode(),
        "gpus": len(devices),
        "speedcube": sc.__version__,
        **{name: version(name) for name in ("cupy-cuda13x", "dask", "dask-cuda")},
        "command": "python bench/gpu_lost_worker.py",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if given.json:
        given.json.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
