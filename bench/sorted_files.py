"""Sorts larger than the memory they are given: passes, bytes, growth and seconds.

A file of ``--mb`` MB of float64 is sorted, and what is sorted is written to Zarr and `.npy` within
``--memory`` MB, each in a process of its own. Its growth is its largest resident size less that
before. What is written is held against NumPy's sort, byte by byte.

    python bench/sorted_files.py --json measurements/order/sorted-files-2cores.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import speedcube as sc


def written(y: Any, target: Path, memory: int) -> Any:
    """The write of ``y`` to ``target``, not begun."""
    if target.suffix == ".zarr":
        return y.to_zarr(target, memory=memory, compute=False, overwrite=True)
    return sc.save(target, y, memory=memory, compute=False)


def run(folder: Path, op: str, target: str, memory: int) -> None:
    """One sort, in this process: what it grew by, what was promised, its passes."""
    warm = getattr(sc, op)(np.arange(100.0)[::-1])
    written(warm, folder / f"warm-{target}", memory).compute()  # what is imported for it
    write = written(getattr(sc, op)(sc.open(folder / "x.npy")), folder / target, memory)
    plan = write.plan()
    before, start, cpu = _peak(), time.perf_counter(), time.process_time()
    write.compute()
    seconds, processor = time.perf_counter() - start, time.process_time() - cpu
    passes = re.search(r"(\d+) passes at most", str(plan))
    row = {
        "grown": _peak() - before,
        "promised": plan.peak_bytes,
        "passes_at_most": int(passes[1]) if passes else 0,
        "seconds": round(seconds, 2),
        "processor_seconds": round(processor, 2),
        "plan": str(plan),
    }
    print(json.dumps(row))


def _peak() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024


def is_right(folder: Path, op: str, target: str) -> bool:
    """Whether what was written has the bytes of NumPy's stable sort."""
    x = np.load(folder / "x.npy")
    want = np.sort(x) if op == "sort" else np.argsort(x, kind="stable")
    return bool(sc.open(folder / target).compute().tobytes() == want.tobytes())


def measured(folder: Path, op: str, target: str, memory: int) -> dict[str, Any]:
    """A row of the table."""
    row: dict[str, Any] = {"op": op, "target": target, "memory": memory}
    command = [sys.executable, __file__, "--run", str(folder), op, target, str(memory)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return {**row, "holds": False, "said": done.stderr[-400:]}
    row |= json.loads(done.stdout)
    row["right"] = is_right(folder, op, target)
    return {**row, "holds": row["right"] and row["grown"] <= row["promised"] <= memory}


def main() -> None:
    """Measure, and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=800)
    parser.add_argument("--memory", type=int, default=400)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--run", nargs=4, default=None)
    args = parser.parse_args()
    if args.run:
        folder, op, target, memory = args.run
        run(Path(folder), op, target, int(memory))
        return
    rows = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        np.save(folder / "x.npy", np.random.default_rng(0).normal(size=args.mb * 125_000))
        for op, target in (("sort", "y.zarr"), ("sort", "y.npy"), ("argsort", "y.npy")):
            rows.append(measured(folder, op, target, args.memory * 1_000_000))
            print(rows[-1], flush=True)
    print(f"{sum(row['holds'] for row in rows)} of {len(rows)} hold")
    if args.json:
        about = {
            "machine": platform.processor() or platform.machine(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "speedcube": sc.__version__,
            "date": time.strftime("%Y-%m-%d"),
            "load": os.getloadavg()[0],
            "command": " ".join(["python", *sys.argv]),
            "mb": args.mb,
        }
        args.json.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
