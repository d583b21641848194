"""How long do our own clusters and jobs on them take, from a cold start to a report?

python bench/own_cluster.py [--before SRC] [--rounds 5] [--json FILE]. A new process each time, two
cores. ``start``: seconds until both workers of a new cluster have answered. ``job``: milliseconds
of a job that returns at once, on a warm cluster. ``report``, ``agreed``: microseconds of a report,
and of one after which the ranks agree whether to stop. ``saved``: milliseconds of a checkpoint of
1 MB.
``restart``: milliseconds from a rank's exception to the next attempt's first line. Medians.
"""

from __future__ import annotations

import math
import statistics
import tempfile
import time

import numpy as np
from worker_check import run

from speedcube import train
from speedcube.train.driver import local_cluster

REPORTS = 2000
SAVES = 30


def nothing() -> float:
    return time.time()


def reports() -> float:
    begin = time.perf_counter()
    for _ in range(REPORTS):
        train.report({"loss": 1.0})
    return 1e6 * (time.perf_counter() - begin) / REPORTS


def saves() -> float:
    taken, state = [], {"weights": np.zeros(1 << 17)}
    for _ in range(SAVES):
        begin = time.perf_counter()
        train.report({"loss": 1.0}, checkpoint=state)
        taken.append(time.perf_counter() - begin)
    return 1e3 * statistics.median(taken)


def fails_once() -> float:
    begun, checkpoint = time.time(), train.latest()
    if checkpoint is None:
        train.report({"loss": 1.0}, checkpoint={"at": time.time()})
        raise ValueError("once")
    return begun - float(checkpoint["at"])


def measured() -> dict[str, float]:
    """One process's figures."""
    with tempfile.TemporaryDirectory() as folder:

        def job(function: object, number: int, **options: object) -> list[float]:
            out = f"{folder}/{number}"
            return train.run(function, on="cores:2", out=out, progress=False, **options).results()  # type: ignore[arg-type]

        begin = time.perf_counter()
        client = local_cluster.client(False, 2)
        client.run(time.time)
        start = time.perf_counter() - begin
        job(nothing, 0)
        jobs = []
        for k in range(8):
            begin = time.perf_counter()
            job(nothing, 10 + k)
            jobs.append(time.perf_counter() - begin)
        endless = {"step_timeout": math.inf}
        found = {
            "start": start,
            "job": 1e3 * statistics.median(jobs),
            "report": max(job(reports, 1, **endless)),
            "agreed": max(job(reports, 2, stop_on_nan=True, **endless)),
            "saved": job(saves, 3)[0],
            "restart": 1e3 * max(job(fails_once, 4, max_restarts=1)),
        }
        local_cluster.close_all()
    return found


NOTE = "a process each, in turn; units and meaning: the first lines of the script"

if __name__ == "__main__":
    run(measured, __doc__ or "", NOTE, __file__, 5)
