"""The tables of figures in README.md and two pages of docs/, from the files in measurements/.

    python tools/figures.py [--check]

A row names its files and where in them its numbers lie; the machine is what the file says. The
tables stand between two comments in the pages. ``--check`` writes nothing, and ends with 1 where a
page is not what this would write.
"""

from __future__ import annotations

import json
import re
import statistics
import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
MARKS: Final = re.compile(
    r"(<!-- figures: tools/figures\.py -->\n).*?(<!-- end of figures -->)", re.DOTALL
)


class Number(NamedTuple):
    """A number of a file: where it lies, and how it is written."""

    file: str
    place: tuple[str | int, ...]
    form: str


class Row(NamedTuple):
    """What was measured, its numbers, and the words for its machine where the file has none."""

    what: str
    numbers: tuple[Number, ...]
    where: str = ""


SUMS: Final = "cpu-sums-2cores"
DRAWS: Final = ("cpu-draws-2cores", "cpu-draws-h200-host")
GPUS: Final = "h200x4-bench-gpu"
START: Final = "train/h200x4-start-scaling"
# The last files in which the programs of bench/programs/ were measured, as docs/speed.md has them.
CORE: Final = "floors/now-2cores-core-1"
GPU: Final = "floors/now-h200-gpu-8"
SMALL: Final = "small/small-2cores"

README: Final = (
    Row(
        "2 TB sum, `(x + 1)[::2, ::2].sum()`: one GPU; four",
        (
            Number(GPUS, ("rows", "2 TB sum", "gpu", "seconds"), "{:.4f} s"),
            Number(GPUS, ("rows", "2 TB sum", "gpus", "seconds"), "{:.4f} s"),
        ),
    ),
    Row(
        "mean of 80 GB; plain Dask's time over it, scaled up",
        (
            Number("ladder-morizet-2cores", ("rungs", 1, "seconds"), "{:.2f} s"),
            Number("ladder-morizet-2cores", ("rungs", 1, "over_dask"), "~{:.0f}"),
        ),
    ),
    Row(
        "exact sum of stored float64, over NumPy's `sum`, one core",
        (Number(SUMS, ("figures", "stored", "float64 over NumPy", "ratio"), "{:.2f}"),),
    ),
    Row(
        "`(a * 2 + 1).sum()`, over NumPy, one core",
        (Number(SUMS, ("figures", "multiplied", "over NumPy", "ratio"), "{:.1f}"),),
    ),
    Row(
        "exact sum of 16 GB of stored float64; over CuPy's inexact one",
        (
            Number("h200-sums", ("figures", "stored float64", "ours, GB/s"), "{:.0f} GB/s"),
            Number("h200-sums", ("figures", "stored float64", "ratio"), "{:.2f}"),
        ),
    ),
    Row(
        "normals, over NumPy's `Generator`, one core of two machines",
        tuple(Number(name, ("rows", "normal", "ratio"), "{:.1f}") for name in DRAWS),
    ),
    Row(
        "shuffled batches, over PyTorch's `DataLoader`, one core",
        (Number("cpu-batches-2cores", ("rows", "DataLoader", "ratio"), "{:.0f}"),),
    ),
    Row(
        "from `train.run()` to the function's first line; `torchrun` beside it",
        (
            Number(START, ("start", "run_seconds"), "{:.1f} s"),
            Number(START, ("start", "torchrun_seconds"), "{:.1f} s"),
        ),
        "four NVIDIA H200",
    ),
    Row(
        "`a.sum()` of 1,000 stored numbers: ours; NumPy's",
        (
            Number(SMALL, ("rows", "a.sum()", "now"), "{:.0f} us"),
            Number(SMALL, ("rows", "a.sum()", "numpy"), "{:.1f} us"),
        ),
        "one core, loaded",
    ),
)
PROGRAMS: Final = ("heat", "life", "climate", "asian_option", "rolling_mean")
FLOX: Final = "order/groups-core"
COMPARISON: Final = (
    *(
        Row(
            f"program `{name}`: over NumPy, one core; over CuPy, a GPU",
            (
                Number(CORE, ("programs", name, "core", "ratio"), "{:.2f}"),
                Number(GPU, ("programs", name, "gpu", "ratio"), "{:.2f}"),
            ),
        )
        for name in PROGRAMS
    ),
    README[1],
    README[4],
    Row(
        "running sum of 4e8 stored float64, over CuPy's inexact one",
        (Number("scans/h100", ("rows", 1, "ratio"), "{:.2f}"),),
        "one NVIDIA H100",
    ),
    Row(
        "product of a line of 1e8 float64, over CuPy",
        (Number("scans/h100", ("rows", 19, "ratio"), "{:.2f}"),),
        "one NVIDIA H100",
    ),
    Row(
        "mean of each day of ten years of maps: over flox; over flox on Dask",
        (
            Number(FLOX, ("mean of each day, flox", "ratio"), "{:.1f}"),
            Number(FLOX, ("mean of each day, flox on Dask", "ratio"), "{:.1f}"),
        ),
        "two cores, loaded",
    ),
    Row(
        "median of `10**7` numbers in 1,000 groups, over pandas",
        (Number(FLOX, ("median, 1e7 in 1,000, pandas", "ratio"), "{:.2f}"),),
        "one core, loaded",
    ),
    README[7],
    README[8],
)


LOADED: Final = "two cores, loaded"
KINDS: Final = ("SIGKILL", "SIGTERM", "retire", "scale down", "SIGSTOP")
CHAOS, CHURN = "faults/faults-2cores", "faults/churn-60min-2cores"
KILLS, MANY = "faults/kills-2cores", "faults/many-workers-2cores"
PAIRED = "faults/paired-2cores"
REAL = "faults/many-workers-8cores"
OVERHEADS, DRIVER = "faults/overheads-2cores", "faults/killed-driver-2workers"
LONG, LOOPS = "faults/killed-driver-long-2cores", "faults/killed-loop-2cores"
FAULTS: Final = (
    Row(
        "faults of six kinds over twelve programs; wrong bits or errors; hangs; files or processes "
        "left",
        tuple(
            Number(CHAOS, (place,), "{:,}")
            for place in ("faults", "wrong_or_failed", "hangs", "left")
        ),
        LOADED,
    ),
    *(
        Row(
            f"seconds more with one fault of the kind `{kind}`: in the middle; at most",
            tuple(Number(CHAOS, ("kinds", kind, place), "{:.2f}") for place in ("extra", "most")),
            LOADED,
        )
        for kind in KINDS
    ),
    Row(
        "seconds more with one kill, each beside an undisturbed run: in the middle; at most",
        tuple(Number(KILLS, ("kinds", "SIGKILL", place), "{:.2f}") for place in ("extra", "most")),
        LOADED,
    ),
    *(
        Row(
            f"the same of forty faults of the kind `{kind}` each, with `worker_timeout=3`",
            tuple(Number(PAIRED, ("kinds", kind, place), "{:.2f}") for place in ("extra", "most")),
            "two cores",
        )
        for kind in KINDS
    ),
    Row(
        "churn: minutes; programs; workers killed, ended, added; wrong bits or errors",
        tuple(
            Number(CHURN, (place,), "{:,}")
            for place in ("minutes", "programs", "events_in_all", "failed")
        ),
        LOADED,
    ),
    Row(
        "megabytes of the driver after five minutes of churn; at its end; descriptors then; at the "
        "end",
        tuple(
            Number(CHURN, (f"{name}_{when}",), "{:.0f}")
            for name in ("megabytes", "descriptors")
            for when in ("then", "at_the_end")
        ),
        LOADED,
    ),
    Row(
        "a driver that is killed at 60 % and started again, over the undisturbed one, three times",
        tuple(Number(DRIVER, ("size 1e9, file alone", k, "ratio"), "{:.2f}") for k in range(3)),
        LOADED,
    ),
    Row(
        "the same of a mean that takes 24 s, twice",
        tuple(Number(LONG, ("ratios", k), "{:.2f}") for k in range(2)),
        "one core, free",
    ),
    Row(
        "a `checkpointed` loop of some 20 s that is killed at 60 % and started again, three times "
        "of 1,000 numbers and three times of 16 MB: steps taken twice, of all; the time over the "
        "undisturbed one",
        tuple(
            Number(LOOPS, ("loops", name, k, place), form)
            for name in ("1,000 numbers", "16 MB")
            for k in range(3)
            for place, form in (("again", "{:.1%}"), ("ratio", "{:.2f}"))
        ),
        "two cores, free",
    ),
    Row(
        "processor time with `checkpoint=`, over that without, less 1",
        (Number(DRIVER, ("overhead", "overhead"), "{:.1%}"),),
        LOADED,
    ),
    Row(
        "processor time of a mean with records, retries and checks, over plain tasks of Dask, less "
        "1: the least of each; the middle of the pairs",
        tuple(
            Number(OVERHEADS, ("processor", place), "{:.1%}") for place in ("overhead", "middle")
        ),
        "two cores",
    ),
    Row(
        "plan and tasks of a mean of 2 TB for 1, 64 and 1,000 simulated workers: milliseconds to "
        "plan; to make the tasks",
        tuple(
            Number(MANY, ("rows", "mean of 2 TB", workers, place), "{:.1f}")
            for place in ("plan_ms", "calls_ms")
            for workers in ("1", "64", "1000")
        ),
        LOADED,
    ),
    Row(
        "the same for 10,000, on paper: seconds to plan and make the tasks; of Dask's scheduler "
        "(milliseconds a task)",
        (
            Number(MANY, ("paper", "mean of 2 TB", "plan_and_calls_s"), "{:.1f}"),
            Number(MANY, ("paper", "mean of 2 TB", "dask_s"), "{:.0f}"),
            Number(MANY, ("dask", "task"), "({:.1f})"),
        ),
        LOADED,
    ),
    Row(
        "a mean of 1e11 normal numbers on 64 workers, eight threads of each of eight processes, "
        "over 8 workers: the rate",
        (Number(REAL, ("real", "64_of_8"), "{:.2f}"),),
        "eight cores of an H100's host",
    ),
)


def value(number: Number) -> str:
    """A number as it is written; a list of repeats by its median."""
    found: Any = json.loads((ROOT / "measurements" / f"{number.file}.json").read_text())
    place = number.place
    if place[0] == "rows" and isinstance(found["rows"], list) and isinstance(place[1], str):
        _, row, rung, *rest = place  # of rows that have names
        (found,) = [r for r in found["rows"] if (r["name"], r["on"]) == (row, rung)]
        place = tuple(rest)
    for step in place:
        found = found[step]
    return number.form.format(statistics.median(found) if isinstance(found, list) else found)


def machine(row: Row) -> str:
    """On what it was measured, in the words of the first file."""
    told: list[str] = [row.where] if row.where else []
    for number in row.numbers if not told else ():
        said = json.loads((ROOT / "measurements" / f"{number.file}.json").read_text())["machine"]
        if said.get("gpu") and said.get("gpus"):
            many = {1: "one", 2: "two", 4: "four"}.get(said["gpus"], str(said["gpus"]))
            words = f"{'up to ' if said['gpus'] > 1 else ''}{many} {said['gpu']}"
        else:
            words = f"{said['cores']} cores of {said['processor'].replace('(R)', '')}"
        told += [words] if words not in told else []
    return "; ".join(told)


def table(rows: tuple[Row, ...], above: str) -> str:
    """The rows as a table, with links from a page that lies ``above`` the files."""
    lines = ["| what | figure | machine | file |", "|---|---|---|---|"]
    for row in rows:
        files = dict.fromkeys(number.file for number in row.numbers)
        links = ", ".join(
            f"[{file.rpartition('/')[2]}]({above}measurements/{file}.json)" for file in files
        )
        figures = "; ".join(value(number) for number in row.numbers)
        lines.append(f"| {row.what} | {figures} | {machine(row)} | {links} |")
    return "\n".join(lines) + "\n"


PAGES: Final = (
    ("README.md", README, ""),
    ("docs/comparison.md", COMPARISON, "../"),
    ("docs/faults.md", FAULTS, "../"),
)


def written(page: str, rows: tuple[Row, ...], above: str) -> str:
    """The page with its table made again."""
    text, count = MARKS.subn(
        lambda marks: f"{marks[1]}{table(rows, above)}{marks[2]}", (ROOT / page).read_text()
    )
    if count != 1:
        raise ValueError(f"{page} has {count} places for figures, not one")
    return text


def main() -> int:
    old = {page: (ROOT / page).read_text() for page, _, _ in PAGES}
    new = {page: written(page, rows, above) for page, rows, above in PAGES}
    stale = [page for page in old if old[page] != new[page]]
    if "--check" in sys.argv[1:]:
        print("\n".join(f"{page} is not what tools/figures.py makes" for page in stale) or "equal")
        return bool(stale)
    for page in stale:
        (ROOT / page).write_text(new[page])
    return 0


if __name__ == "__main__":
    sys.exit(main())
