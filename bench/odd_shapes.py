"""Shapes that nobody named, in which something was wrong or slow once: beside NumPy, on one core.

    taskset -c 0 python bench/odd_shapes.py [--rounds 7] [--only TEXT] [--json FILE]

Each row is a program as its users write it, ours and NumPy's (of files: of a mapped file; of a
folder: Zarr's own opening). Both take turns; of each the shortest time counts. ``ratio`` is
NumPy's over ours. Results are compared: bools and orders exactly, sums to 1e-12 of their size.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import numpy as np
import zarr

import speedcube as sc
from speedcube.commands.this_machine import processor

CHUNKS: Final = 400
WARM: Final = 3  # calls, after which a kernel is there


@dataclass(frozen=True)
class Odd:
    """A program, ours and theirs."""

    name: str
    ours: Callable[[], Any]
    theirs: Callable[[], Any]


def rows(folder: Path) -> list[Odd]:
    """The programs, with what they read under ``folder``."""
    draw = np.random.default_rng(0)
    table, planes = folder / "table.npy", folder / "planes.npy"
    np.save(table, draw.normal(size=(3_000_000, 10)))
    np.save(planes, draw.normal(size=(256, 256, 512)).astype("float32"))
    group = folder / "chunks.zarr"
    zarr.create_array(group, shape=(CHUNKS, 10), chunks=(1, 10), dtype="f8")[:] = 1.0
    points = draw.normal(size=(1_000_000, 3)).astype("float32").astype("float64")
    bools, alike = draw.normal(size=(10_000, 1_000)) > 0, np.ones(10_000_000)
    few = draw.integers(0, 3, size=10_000_000).astype("float64")
    x, y, z, b = sc.asarray(points), sc.asarray(alike), sc.asarray(few), sc.asarray(bools)
    mapped, held = np.load(table, mmap_mode="r"), np.load(planes, mmap_mode="r")
    return [
        Odd(
            "a column of a .npy file of 3e6 rows of 10: sum",
            lambda: sc.open(table)[:, 3].sum(),
            lambda: mapped[:, 3].sum(),
        ),
        Odd(
            "every third row of it: mean",
            lambda: sc.open(table)[::3].mean(axis=0),
            lambda: mapped[::3].mean(axis=0),
        ),
        Odd(
            "planes of float32 in a .npy file of 134 MB: sum(axis=0)",
            lambda: sc.open(planes).sum(axis=0),
            lambda: held.sum(axis=0, dtype="float64").astype("float32"),
        ),
        Odd(
            f"a Zarr array of {CHUNKS} chunks: to open it",
            lambda: np.zeros(sc.open(group).ndim),
            lambda: np.zeros(zarr.open_array(group, mode="r").ndim),
        ),
        Odd(
            "norms of 1e6 points of three float32 numbers, held as float64",
            lambda: sc.linalg.norm(x, axis=1),
            lambda: np.linalg.norm(points, axis=1),
        ),
        Odd("1e7 equal numbers: median", lambda: sc.median(y), lambda: np.median(alike)),
        Odd("1e7 numbers of three values: median", lambda: sc.median(z), lambda: np.median(few)),
        Odd("bools (10000, 1000): mean(axis=0)", lambda: b.mean(axis=0), lambda: bools.mean(0)),
        Odd("bools (10000, 1000): std(axis=0)", lambda: b.std(axis=0), lambda: bools.std(0)),
        Odd("bools (10000, 1000): mean(axis=1)", lambda: b.mean(axis=1), lambda: bools.mean(1)),
    ]


# Programs of arrays in memory: complex z and w, some of their rows; a million doubles each in a
# and b; points of 3 and of 8, and places of theirs in any order; five million in rows of ten. A
# table of 24 MB in rows of 100, and of as much float32; rows of 136 numbers; an image's bytes.
IN_MEMORY: Final[dict[str, Callable[..., Any]]] = {
    "complex (1000, 1000): z + w": lambda m, v: v.z + v.w,
    "complex (1000, 1000): diff(z, axis=0)": lambda m, v: m.diff(v.z, axis=0),
    "complex (1000, 1000): roll(z, 7, axis=1)": lambda m, v: m.roll(v.z, 7, axis=1),
    "complex (1000, 1000): concatenate([z, w])": lambda m, v: m.concatenate([v.z, v.w]),
    "complex (1000, 1000): take(z, rows, 0)": lambda m, v: m.take(v.z, v.rows, axis=0),
    "complex (1000, 1000): z * w": lambda m, v: v.z * v.w,
    "complex (1000, 1000): linalg.norm(z)": lambda m, v: m.linalg.norm(v.z),
    "complex (1000, 1000): linalg.norm(z, axis=1)": lambda m, v: m.linalg.norm(v.z, axis=1),
    "complex (1000, 1000): vdot(z, w)": lambda m, v: m.vdot(v.z, v.w),
    "complex (300, 300): z * w": lambda m, v: v.z[:300, :300] * v.w[:300, :300],
    "two dots of 1e6 at once": lambda m, v: both(m, v.a @ v.b, v.a @ v.a),
    "dots along the columns of (500000, 10)": lambda m, v: m.vecdot(v.ten, v.ten, axis=0),
    "300,000 points of 3 at places": lambda m, v: v.three[v.places],
    "300,000 rows of 8 at places": lambda m, v: v.eight[v.places],
    "roll of 250,000": lambda m, v: m.roll(v.a[:250_000], 7),
    "ten numbers: concatenate": lambda m, v: m.concatenate([v.a[:10], v.b[:10]]),
    "ten numbers: sort": lambda m, v: m.sort(v.a[:10]),
    "ten numbers: roll": lambda m, v: m.roll(v.a[:10], 3),
    "(30000, 100): x + row": lambda m, v: v.table + v.table[0],
    "(30000, 100): x[::-1] + 1": lambda m, v: v.table[::-1] + 1,
    "float32 (60000, 100): x * row": lambda m, v: v.table4 * v.table4[0],
    "(41000, 52): pad(x, 1)": lambda m, v: m.pad(v.borders, 1),
    "(20000, 136): argsort": lambda m, v: m.argsort(v.lines, axis=1),
    "int64 (20000, 136) up to 1000: argsort": lambda m, v: m.argsort(v.whole, axis=1),
    "int64 (20000, 136) up to 1000: argsort(axis=0)": lambda m, v: m.argsort(v.whole, axis=0),
    "bytes (7500, 212): sort": lambda m, v: m.sort(v.image, axis=1),
    "bytes (7500, 212): percentile": lambda m, v: m.percentile(v.image, [10, 90], axis=1),
    "3e6 numbers: those above 0": lambda m, v: v.long[v.long > 0],
    "3e6 numbers: all but one in a hundred": lambda m, v: v.long[v.long > -2.33],
    "int64, a million: cumsum": lambda m, v: m.cumsum(v.whole.reshape(-1)[:1_000_000]),
    "cov of 62 variables, 53,988 rows": lambda m, v: m.cov(v.tall, rowvar=False),
    "cov of 240 variables, 10,982 rows": lambda m, v: m.cov(v.many, rowvar=False),
    "cov of 1,000 variables, 100 of each": lambda m, v: m.cov(v.table[:1000]),
    "cov of 10 variables, 500,000 rows": lambda m, v: m.cov(v.ten, rowvar=False),
    "cov of 8 variables, 300,000 weighed rows": lambda m, v: m.cov(
        v.eight, rowvar=False, aweights=v.weights
    ),
    "cov of 3 variables, 1,000 rows": lambda m, v: m.cov(v.three[:1000], rowvar=False),
    "corrcoef of two lines of 1,000": lambda m, v: m.corrcoef(v.a[:1000], v.b[:1000]),
    "(1000, 100): take of rows": lambda m, v: m.take(v.table[:1000], v.few, axis=0),
    "17 columns of (200000, 34): + 1": lambda m, v: v.wide[:, 8:25] + 1,
    "17 columns of (200000, 34): max": lambda m, v: v.wide[:, 8:25].max(),
    "17 columns of (200000, 34): sum": lambda m, v: v.wide[:, 8:25].sum(),
    "17 columns of (200000, 34): max(axis=1)": lambda m, v: v.wide[:, 8:25].max(axis=1),
    "24 columns of (40000, 48): * 2": lambda m, v: v.wide[:40_000, :24] * 2,
    "every other row of (32000, 30): + 1": lambda m, v: v.wide[:64_000:2, :30] + 1,
    "bytes, 17 columns of (200000, 34): + 1": lambda m, v: v.wide1[:, 8:25] + np.uint8(1),
    "int16, a million: // 3": lambda m, v: v.short // 3,
    "int32, a million: // 10": lambda m, v: v.whole.reshape(-1)[:1_000_000].astype("int32") // 10,
    "complex (300, 1000): z + 1": lambda m, v: v.z[:300] + 1,
    "complex (300, 1000): z / w": lambda m, v: v.z[:300] / v.w[:300],
    "complex (300, 1000): sum(axis=0)": lambda m, v: v.z[:300].sum(axis=0),
    "every other row of (1000, 600), put together: + 1": lambda m, v: v.page[::2].ravel() + 1,
    "every other row of (1000, 600), put together: sum": lambda m, v: v.page[::2].ravel().sum(),
    "the inside of (1000, 600): std": lambda m, v: v.page[1:-1, 1:-1].std(),
    "the inside of (1000, 600): sum": lambda m, v: v.page[1:-1, 1:-1].sum(),
    "8 columns of (200000, 34): std": lambda m, v: v.wide[:, 8:16].std(),
    "(1000, 600): roll(x, 5)": lambda m, v: m.roll(v.page, 5),
    "(1000, 600): tile(x, (2, 1))": lambda m, v: m.tile(v.page, (2, 1)),
    "3e6 numbers in 60 given bins": lambda m, v: m.histogram(v.long, BINS)[0],
    "float32 (60000, 100) in 60 given bins": lambda m, v: m.histogram(v.table4, BINS)[0],
    "corrcoef of 8 variables, 100 float32 of each": lambda m, v: m.corrcoef(v.table4[:8]),
    "(1000, 100): rows through a mask": lambda m, v: v.table[:1000][v.table[:1000, 0] > 0],
}


BINS: Final = np.linspace(-3, 3, 61)


def both(m: Any, first: Any, second: Any) -> Any:
    """Two results at once."""
    return np.stack(sc.compute(first, second) if m is sc else [first, second])


def in_memory() -> list[Odd]:
    """The programs of `IN_MEMORY`, of the same numbers."""
    draw = np.random.default_rng(0)
    held: dict[str, Any] = {
        **{name: draw.normal(size=(1000, 2000)).view(complex) for name in "zw"},
        **{name: draw.normal(size=1_000_000) for name in "ab"},
        "ten": draw.normal(size=(500_000, 10)),
        "three": draw.normal(size=(300_000, 3)),
        "eight": draw.normal(size=(300_000, 8)),
        "table": draw.normal(size=(30_000, 100)),
        "table4": draw.normal(size=(60_000, 100)).astype("float32"),
        "borders": draw.normal(size=(41_000, 52)),
        "lines": draw.normal(size=(20_000, 136)),
        "whole": draw.integers(0, 1000, (20_000, 136)),
        "image": draw.integers(0, 256, (7500, 212), "uint8"),
        "wide": draw.normal(size=(200_000, 34)),
        "wide1": draw.integers(0, 200, (200_000, 34), "uint8"),
        "short": draw.integers(-999, 999, 1_000_000, "int16"),
        "long": draw.normal(size=3_000_000),
        "page": draw.normal(size=(1000, 600)),
        "tall": draw.normal(size=(53_988, 62)),
        "many": draw.normal(size=(10_982, 240)),
    }
    places = {
        "few": np.arange(0, 1000, 3),
        "rows": draw.integers(0, 1000, 1000),
        "places": draw.integers(0, 300_000, 300_000),
        "weights": draw.random(300_000),
    }
    theirs = SimpleNamespace(**held, **places)
    ours = SimpleNamespace(**{name: sc.asarray(one) for name, one in held.items()}, **places)
    return [
        Odd(name, partial(text, sc, ours), partial(text, np, theirs))
        for name, text in IN_MEMORY.items()
    ]


def _same(name: str, ours: Any, theirs: Any) -> None:
    """Refuse other results; NumPy has places of equal numbers in any order."""
    if name.startswith("int64") and "argsort" in name:
        axis = 0 if "axis=0" in name else 1
        assert (np.sort(ours, axis) == np.sort(theirs, axis)).all()
        return
    np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9)


def measured(row: Odd, rounds: int) -> dict[str, Any]:
    """Milliseconds of both, and their ratio; `AssertionError` where results differ."""
    ours, theirs = list[float](), list[float]()
    with sc.on("core"):
        for _ in range(WARM):
            value = np.asarray(row.ours())
        _same(row.name, value, np.asarray(row.theirs()))
        for _ in range(rounds):
            for program, times in ((row.ours, ours), (row.theirs, theirs)):
                began = time.perf_counter()
                np.asarray(program())
                times.append(1e3 * (time.perf_counter() - began))
    best = min(ours), min(theirs)
    found = {"ms": round(best[0], 3), "numpy_ms": round(best[1], 3)}
    return found | {"ratio": round(best[1] / best[0], 3)}


def main() -> int:
    """Run, show and write what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    found = dict[str, Any]()
    with tempfile.TemporaryDirectory() as folder:
        for row in [*rows(Path(folder)), *in_memory()]:
            if given.only in row.name:
                found[row.name] = measured(row, given.rounds)
                print(f"{row.name:66s} {found[row.name]}", flush=True)
    about = {"date": f"{date.today():%Y-%m-%d}", "processor": processor(), "cores": 1}
    about |= {"numpy": np.__version__, "zarr": zarr.__version__, "load": os.getloadavg()[0]}
    about["command"] = "taskset -c 0 python bench/odd_shapes.py"
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps({"about": about, "rows": found}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
