"""Where a GPU's time goes in rows of the table: kernels and copies of a call, ours and CuPy's.

    python bench/device_rows.py NAMES.json --json FILE

``NAMES.json``: a list of rows' names (`bench/speed/table.py`), or without it those that
measurements/floors/now-h200-gpu-*.json has below 0.8. What runs on the GPU is seen by
`torch.profiler`; the clock is read without it.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from device_order import machine
from speed import one, table
from speed.data import shape_of
from speed.libraries import Library

from speedcube.engine import tiers

FLOORS: Final = Path(__file__).parents[1] / "measurements" / "floors"
CALLS: Final = 5


def slow(floor: float = 0.8) -> list[str]:
    """The rows below ``floor``, the slowest first."""
    found: dict[str, float] = {}
    for path in sorted(FLOORS.glob("now-h200-gpu-*.json")):
        for name, row in json.loads(path.read_text())["rows"].items():
            found[name] = row["gpu"].get("ratio", math.inf)
    return sorted((name for name in found if found[name] < floor), key=found.__getitem__)


def texts(name: str) -> list[tuple[Library, Callable[[], Any]]]:
    """The row's text with our names and with CuPy's."""
    row = table.BY_NAME[name]
    code, shape = compile(row.text, row.name, "eval"), shape_of(row, "gpu")
    held = one.arrays(True).of(row, set(code.co_names) & set("xyij"), shape)
    found = []
    for library in one.libraries("gpu"):
        names = {"np": library.names, "shape": shape, "n": math.prod(shape[:1])}
        names |= {k: library.wrap(v) if k in "xy" else v for k, v in held.items()}
        found.append((library, one.text_of(code, names)))
    return found


def seen(library: Library, text: Callable[[], Any]) -> dict[str, Any]:
    """Microseconds of a call by the clock, and of what it runs on the GPU."""
    import cupy
    from torch.profiler import ProfilerActivity, profile

    wait = cupy.cuda.Device().synchronize
    for _ in range(CALLS):
        library.run(text)
    wait()
    start = time.perf_counter()
    for _ in range(CALLS):
        library.run(text)
    wait()
    clock = (time.perf_counter() - start) / CALLS
    with profile(activities=[ProfilerActivity.CUDA]) as record:
        for _ in range(CALLS):
            library.run(text)
        wait()
    there: dict[str, list[float]] = {}
    for event in record.events():
        if event.device_type.name == "CUDA":
            each = there.setdefault(event.name[:60], [0.0, 0.0])
            each[0] += 1 / CALLS
            each[1] += event.device_time_total / CALLS
    busy = {k: {"calls": c, "us": round(us, 1)} for k, (c, us) in there.items()}
    return {"us": round(clock * 1e6, 1), "on the GPU": busy}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", type=Path, nargs="?")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    tiers.FULL_PAYS = 0
    found: dict[str, Any] = {**machine(), "calls": CALLS, "rows": {}}
    for name in json.loads(options.names.read_text()) if options.names else slow():
        sides = zip(("speedcube", "cupy"), texts(name), strict=True)
        found["rows"][name] = {side: seen(*each) for side, each in sides}
        shown = {side: each["us"] for side, each in found["rows"][name].items()}
        print(name, shown, flush=True)
        if options.json:
            options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
