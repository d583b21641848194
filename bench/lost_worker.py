"""What a worker that is killed near the end of its part costs: seconds of a sum with and without.

    python bench/lost_worker.py [--size N] [--json FILE]

Two workers of one thread each; one is killed (`kill -9`) at four fifths of the time that the sum
takes undisturbed. Without handing over the other one would do all of its part again.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import speedcube as sc


def seconds(client: Any, size: int, kill_after: float | None) -> tuple[float, Any]:
    """The time of a sum of gammas, and its value."""
    x = sc.random.default_rng(1).gamma(2.5, size=size)
    if kill_after is not None:
        pid = next(iter(client.run(os.getpid).values()))
        threading.Timer(kill_after, os.kill, (pid, signal.SIGKILL)).start()
    start = time.perf_counter()
    value = x.sum().compute(on=client)
    return time.perf_counter() - start, value


def main() -> None:
    import distributed

    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=400_000_000)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows = []
    for _ in range(3):
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None,
                silence_logs=50,
            ) as cluster,
            distributed.Client(cluster, set_as_default=False) as client,
        ):  # fmt: skip
            seconds(client, 10**6, None)
            alone, wanted = seconds(client, given.size, None)
            killed, value = seconds(client, given.size, 0.8 * alone)
        row = {"undisturbed": alone, "killed at 0.8": killed, "equal": bool(value == wanted)}
        rows.append(row)
        print(f"undisturbed {alone:.2f} s, killed at 0.8 {killed:.2f} s: {killed / alone:.2f}")
    if given.json:
        about = {"load": os.getloadavg()[0], "size": given.size, "cpus": os.cpu_count()}
        given.json.write_text(json.dumps({"about": about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
