"""What bounds rows of the table on a GPU: launches, bytes or instructions, as Nsight Compute sees.

    python bench/device_bounds.py NAMES.json --json FILE

Of each row the clock of a call, ours and CuPy's (`device_rows.py`), and of every kernel of ours its
time, and which part of the greatest throughput memory and multiprocessors reach (`ncu`, in a
process of its own, of a second call).
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from device_order import machine
from device_rows import seen, slow, texts

from speedcube.engine import tiers

METRICS: Final = {
    "Duration": "us",
    "DRAM Throughput": "memory, %",
    "L2 Cache Throughput": "L2, %",
    "Compute (SM) Throughput": "multiprocessors, %",
}
FIVE: Final = 5
IDLE: Final = 0.5  # of the clock's time without a kernel: then launches are the bound


def one_call(name: str) -> None:
    """What `ncu` looks at: our second call of the row."""
    import cupy

    tiers.FULL_PAYS = 0
    library, text = texts(name)[0]
    library.run(text)
    cupy.cuda.profiler.start()
    library.run(text)
    cupy.cuda.profiler.stop()


def kernels(name: str) -> list[dict[str, float]]:
    """Every kernel of a call of ours, in their order."""
    command = ["ncu", "--profile-from-start", "off", "--section", "SpeedOfLight", "--csv"]
    command += [sys.executable, __file__, "--one", name]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith('"ID"'))
    found: dict[str, dict[str, float]] = {}
    for row in csv.DictReader(lines[first:]):
        key = METRICS.get(row["Metric Name"])
        if key is not None:
            value = float(row["Metric Value"].replace(",", ""))
            scale = {"ns": 1e-3, "us": 1.0, "ms": 1e3}.get(row["Metric Unit"], 1.0)
            found.setdefault(row["ID"], {})[key] = round(value * scale, 2)
    return list(found.values())


def bound(clock: float, each: list[dict[str, float]]) -> str:
    """What a call waits for most of its time."""
    if sum(one["us"] for one in each) < IDLE * clock:
        return "launches"
    longest = max(each, key=lambda one: one["us"])
    return max(("memory, %", "multiprocessors, %"), key=lambda key: longest[key]).partition(",")[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", type=Path, nargs="?")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        one_call(options.one)
        return
    tiers.FULL_PAYS = 0
    report: dict[str, Any] = {**machine(), "rows": {}}
    for name in json.loads(options.names.read_text()) if options.names else slow()[:FIVE]:
        ours, theirs = (seen(*each) for each in texts(name))
        each = kernels(name)
        report["rows"][name] = {
            "bound by": bound(ours["us"], each),
            "ours": ours,
            "cupy": theirs,
            "kernels": each,
        }
        print(name, report["rows"][name], flush=True)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
