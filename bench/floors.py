"""Every operation beside NumPy on one core, Dask's threads on two, and CuPy on a GPU; 17 programs.

python bench/floors.py [--column gpu] [--programs] [--only WORD] [--part K/N] [--json FILE] [--page]

The rows are those of bench/speed/table.py, the programs those of bench/programs/. Figures are the
other's time over ours, the median of pairs measured in turn. Each is measured in a process that is
ended where it takes too long. --page writes docs/speed.md from measurements/floors/ and measures
nothing: baseline-*.json and now-*.json, of several what was measured last.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import scipy
from speed import page, programs, report, table
from speed.rows import COLUMNS, ON_CPU
from speed.run import LIMIT, Asked, everything
from speed.verdict import judged

from speedcube.commands.this_machine import this_machine

ROOT: Final = Path(__file__).parents[1]


def asked(columns: tuple[str, ...], only: str = "", rows: bool = True) -> Iterator[Asked]:
    """Every row in every column, rows of the same data together; programs beside NumPy and CuPy."""
    kinds = [(r.shape, r.dtype, r.layout, r.values) for r in table.ROWS]
    order = sorted(zip(table.ROWS, kinds, strict=True), key=lambda pair: kinds.index(pair[1]))
    for row, _ in order if rows else ():
        for column in columns:
            if only in row.name:
                yield "row", row.name, column
    for name in programs.names():
        for column in columns:
            if column != "cores" and only in name:
                yield "program", name, column


def part_of(every: list[Asked], part: str) -> list[Asked]:
    """Part ``K/N``: a stretch, so that rows of the same data stay together."""
    k, n = (int(number) for number in part.split("/"))
    if not 1 <= k <= n:
        raise SystemExit(f"--part {part}: K/N is one of N parts, K from 1 to N")
    return every[len(every) * (k - 1) // n : len(every) * k // n]


def measured(every: list[Asked]) -> dict[str, Any]:
    """By kind, name and column what `speed.run` found."""
    found: dict[str, Any] = {"row": {}, "program": {}}
    for (kind, name, column), result in everything(every, LIMIT):
        found[kind].setdefault(name, {})[column] = result
        shown = {k: v for k, v in result.items() if k in page.TOLD}
        print(f"{column:5s} {name}: {page.shown(result)} {shown or ''}", flush=True)
    order = {name: k for k, name in enumerate(table.BY_NAME)}
    rows = sorted(found["row"].items(), key=lambda item: order[item[0]])
    return {"rows": dict(rows), "programs": found["program"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--column", choices=COLUMNS, help="one of them; else those of the CPU")
    parser.add_argument("--only", default="", help="rows and programs whose name contains this")
    parser.add_argument("--programs", action="store_true", help="no rows")
    parser.add_argument("--part", default="1/1", help="K/N: of N parts of them the K-th")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", action="store_true", help="write docs/speed.md")
    options = parser.parse_args()
    if options.page:
        page.write(ROOT)
        return
    columns = (options.column,) if options.column else ON_CPU
    gpu = report.gpu_of(columns)  # without one this is where it ends
    load, start = os.getloadavg(), datetime.now(UTC)
    found = measured(
        part_of(list(asked(columns, options.only, not options.programs)), options.part)
    )
    whole = {
        "schema": 1,
        "date": start.isoformat(timespec="seconds"),
        "seconds": round((datetime.now(UTC) - start).total_seconds()),
        "command": " ".join(["python bench/floors.py", *sys.argv[1:]]),
        "machine": {**this_machine(), "scipy": scipy.__version__, **gpu},
        "load": {"before": load, "after": os.getloadavg()},
        "code": "full",  # speed.one sets it
        "limits, s": LIMIT,
        "columns": {name: list(COLUMNS[name]) for name in columns},
        **found,
    }
    merged = report.merged([("this run", whole)])
    print(page.together(judged(table.ROWS, merged, merged)))
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(report.written(whole))


if __name__ == "__main__":
    main()
