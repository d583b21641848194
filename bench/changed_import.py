"""Programs of others with their import changed: each beside its original, on one core.

A folder has ``NAME.numpy.py`` and ``NAME.dask.py``. Each is a module whose ``run()`` does the work
and returns numbers. It runs as it is, and with the line ``import numpy as np``, or that of
``dask.array``, replaced by ours; lazy results are computed. The two take turns; a ratio is the
least of the original's CPU seconds over ours. What is drawn differs, so that of results shape,
dtype, mean and deviation are told.

    taskset -c 0 python bench/changed_import.py FOLDER dask --json measurements/programs/FILE.json
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import statistics
import sys
import time
import types
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import dask
import numpy as np

import speedcube as sc

IMPORTS: Final = {
    "numpy": ("import numpy as np", "import speedcube as np"),
    "dask": ("import dask.array as da", "import speedcube as da"),
}


def loaded(path: Path, kind: str, is_ours: bool) -> types.ModuleType:
    """The program, with its import changed where it is ours."""
    text = path.read_text()
    before, after = IMPORTS[kind]
    if before not in text:
        raise SystemExit(f"{path}: no line {before!r}")
    module = types.ModuleType(f"{path.stem}_{'ours' if is_ours else 'theirs'}")
    source = text.replace(before, after) if is_ours else text
    exec(compile(source, str(path), "exec"), module.__dict__)
    return module


def told(value: Any) -> dict[str, Any]:
    """What a result is like."""
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        return {"shape": array.shape, "dtype": str(array.dtype)}
    of = array[np.isfinite(array)] if array.dtype.kind == "f" else array
    return {
        "shape": array.shape,
        "dtype": str(array.dtype),
        "mean": float(of.mean()) if of.size else None,
        "std": float(of.std()) if of.size else None,
    }


def held(value: Any) -> Any:
    """``value`` in memory: programs for NumPy return lazy arrays once their import is changed."""
    if isinstance(value, (tuple, list)):
        return [held(one) for one in value]
    return value.compute() if isinstance(value, sc.Array) else value


def compared(path: Path, kind: str, repeats: int) -> dict[str, Any]:
    """Times of one program, what it gives, and what fails."""
    found: dict[str, Any] = {"theirs": [], "ours": []}
    modules: dict[str, types.ModuleType] = {}
    with sc.on("core"):
        for who in found.copy():
            try:
                modules[who] = loaded(path, kind, who == "ours")
            except Exception as error:
                found[f"{who} fails"] = f"{type(error).__name__}: {error}"[:200]
        for who in (*modules,) * repeats:
            if f"{who} fails" in found:
                continue
            gc.collect()
            start = time.process_time()
            try:
                value = held(modules[who].run())
            except Exception as error:
                found[f"{who} fails"] = f"{type(error).__name__}: {error}"[:200]
                continue
            found[who].append(time.process_time() - start)
            found[f"{who} gives"] = told(value)
    if found["theirs"] and found["ours"]:
        found["ratio"] = min(found["theirs"]) / min(found["ours"])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("kind", choices=IMPORTS)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="", help="programs whose names contain this")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    dask.config.set(scheduler="synchronous")
    found: dict[str, Any] = {}
    for path in sorted(options.folder.glob(f"*.{options.kind}.py")):
        name = path.name.split(".")[0]
        if options.only not in name:
            continue
        one = found[name] = compared(path, options.kind, options.repeats)
        fails = [f"{key}: {text}" for key, text in one.items() if key.endswith("fails")]
        print(f"{one.get('ratio', float('nan')):8.2f}  {name}  {'; '.join(fails)}", flush=True)
    ratios = [one["ratio"] for one in found.values() if "ratio" in one]
    ours = sum("ours fails" not in one for one in found.values())
    print(f"{ours} of {len(found)} run with the import changed; of {len(ratios)} pairs", end=" ")
    print(f"the least ratio is {min(ratios):.2f}, the median {statistics.median(ratios):.2f}")
    if options.json:
        table = {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "command": f"bench/changed_import.py FOLDER {options.kind}",
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "load": os.getloadavg()[0],
            "python": sys.version.split()[0],
            "versions": {one.__name__: one.__version__ for one in (np, dask, sc)},
            "programs": found,
        }
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
