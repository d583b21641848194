"""CPU threads and GPUs together beside each of them alone: seconds, bits, and who did how much.

    python bench/mixed.py [--gpus gpu] [--cores cores] [--json FILE]

Of each the least of five times after one that compiles; a result is compared by its SHA-256 with
the one of ``core`` where that takes seconds, and with the one of the GPUs elsewhere.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, Final

import numpy as np

import speedcube as sc
from speedcube.engine.dealing import tasks
from speedcube.engine.dealing.deal import Dealer

TIMES: Final = 5


def drawn(*shape: int) -> Any:
    """Numbers to compute with."""
    return sc.random.default_rng(1).normal(10, 1, size=shape)


PROGRAMS: Final[dict[str, tuple[bool, Callable[[], Any]]]] = {
    "mean of 1e9": (True, lambda: drawn(1_000_000_000).mean()),
    "std of (20000, 20000) by columns": (True, lambda: drawn(20_000, 20_000).std(axis=0)),
    "store 1e8": (True, lambda: sc.sqrt(drawn(100_000_000))),
    "gamma sum of 1e9": (False, lambda: sc.random.default_rng(1).gamma(2.5, size=10**9).sum()),
    "mean of 1e11": (False, lambda: drawn(100_000_000_000).mean()),
}

_deals: list[Dealer] = []


class Noted(Dealer):
    """A deal that is looked at afterwards."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _deals.append(self)


def measured(array: Callable[[], Any], on: Any, times: int = TIMES) -> tuple[float, str]:
    """The least of several seconds, and the hash of the result."""
    seconds = []
    for _ in range(times + 1):
        one = array()
        began = time.perf_counter()
        found = one.compute(on=on)
        seconds.append(time.perf_counter() - began)
    return min(seconds[1:] or seconds), hashlib.sha256(np.asarray(found).tobytes()).hexdigest()


def row(name: str, gpus: str, cores: str) -> dict[str, Any]:
    """What one program takes on each, and its bits."""
    on_core, array = PROGRAMS[name]
    alone = {gpus: measured(array, gpus)}
    if on_core:
        alone |= {"core": measured(array, "core", 0), cores: measured(array, cores, 1)}
    _deals.clear()
    seconds, bits = measured(array, [cores, gpus])
    last = _deals[-1]
    shares = [round(worker.slices / last.extent, 4) for worker in last.workers]
    return {
        "seconds": {where: round(took, 5) for where, (took, _) in alone.items()},
        "together": round(seconds, 5),
        "sha256": bits,
        "equal": all(other == bits for _, other in alone.values()),
        "compared_with": [*alone],
        "shares": shares,
        "pieces": [worker.pieces for worker in last.workers],
    }


def main() -> int:
    """Measure, show and write; 1 where bits differ."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--gpus", default="gpu")
    parser.add_argument("--cores", default="cores")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    tasks.Dealer = Noted  # type: ignore[misc]
    asked = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    about = {
        "gpu": subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip(),
        "cpus": os.cpu_count(),
        "repeats": TIMES,
        "date": date.today().isoformat(),
        "command": f"python bench/mixed.py --gpus {given.gpus} --cores {given.cores}",
        "numpy": np.__version__,
        "speedcube": sc.__version__,
    }
    rows = {name: row(name, given.gpus, given.cores) for name in PROGRAMS}
    found = {"about": about, "rows": rows}
    print(json.dumps(found, indent=1))
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")
    return int(not all(one["equal"] for one in rows.values()))


if __name__ == "__main__":
    raise SystemExit(main())
