"""Columns of a table, and rows beside a row: beside NumPy on one core, and sums on all cores.

python bench/slices.py [--json FILE]. Nanoseconds of processor time an element: ours, and NumPy's.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from elementary import machine

import speedcube as sc
from speedcube.engine import tiers

WIDTHS: Final = (8, 16, 30, 64, 100, 256, 511)
TABLE: Final = (20_000, 512)
REPEATS: Final = 9
Row = Callable[[Any, Any], Any]  # of columns of the table, and as many columns by themselves
ROWS: Final[dict[str, tuple[Row, str]]] = {
    "x.sum()": (lambda x, own: x.sum(), "core"),
    "x.sum() on cores": (lambda x, own: x.sum(), "cores"),
    "x + 1": (lambda x, own: x + 1, "core"),
    "own - own[0]": (lambda x, own: own - own[0], "core"),
    "(own * own[0]).sum()": (lambda x, own: (own * own[0]).sum(), "core"),
}


def best(call: Callable[[], Any], other: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of both, the least of some that are measured in turn."""
    least = [float("inf")] * 2
    for _ in range(REPEATS):
        for k, one in enumerate((call, other)):
            start = time.process_time()
            one()
            least[k] = min(least[k], time.process_time() - start)
    return least[0], least[1]


def measured(width: int) -> dict[str, dict[str, float]]:
    table = np.random.default_rng(0).random(TABLE)
    columns = table[:, 1 : 1 + width]
    theirs = columns, columns.copy()
    ours = sc.asarray(table)[:, 1 : 1 + width], sc.asarray(theirs[1])
    found = {}
    for name, (row, on) in ROWS.items():

        def call(row: Row = row, on: str = on) -> Any:
            return row(*ours).compute(on=on)

        def other(row: Row = row) -> Any:
            return row(*theirs)

        assert np.allclose(call(), other())
        each = [round(1e9 * seconds / columns.size, 3) for seconds in best(call, other)]
        found[name] = {"ours": each[0], "NumPy": each[1], "ratio": round(each[1] / each[0], 2)}
    return found


def cube() -> dict[str, float]:
    """Milliseconds of processor time for the sum of a cube whose last axis is the longest."""
    x = sc.asarray(np.random.default_rng(0).random((488, 256, 512)))
    core, cores = best(lambda: x.sum().compute(on="core"), lambda: x.sum().compute(on="cores"))
    return {"core": round(1e3 * core, 1), "cores": round(1e3 * cores, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    tiers.FULL_PAYS = 0
    rows = {}
    for width in WIDTHS:
        rows[str(width)] = measured(width)
        print(width, rows[str(width)], flush=True)
    found = {
        "schema": 1,
        "date": datetime.date.today().isoformat(),
        "command": "python bench/slices.py --json ...",
        "machine": machine(False),
        "repeats": REPEATS,
        "ns an element, by width": rows,
        "ms of the sum of (488, 256, 512)": cube(),
    }
    print(found["ms of the sum of (488, 256, 512)"])
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
