"""Results along different axes of one file: its blocks are read once, the bits are their own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.api.files.opening import read_by_tiles
from speedcube.expr.sources.tiled import Box
from speedcube.plan import passes, streams

DATA: Any = np.random.default_rng(3).normal(size=(90, 11, 37))


class Counted:
    """Tiles that count the elements that are read of them."""

    label = "counted"

    def __init__(self, data: Any = DATA, chunks: tuple[int, ...] = (10, 11, 37)) -> None:
        self.data, self.shape, self.chunks = data, data.shape, chunks
        self.count = 0

    def read(self, box: Box, out: Any) -> None:
        self.count += out.size
        out[...] = self.data[box]

    def opened(self) -> Any:
        return read_by_tiles(self, self.data.dtype)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BLOCK", 1 << 15)


def assert_same(a: Any, b: Any) -> None:
    a, b = np.asarray(a), np.asarray(b)
    assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


PROGRAMS: dict[str, Any] = {
    "mean-columns-rows": lambda x: (x.mean(), x.std(axis=0), x.max(axis=1)),
    "columns-number": lambda x: (x.mean(axis=0), x.std(axis=0), x.max()),
    "one-axis": lambda x: (x.mean(0), x.std(0), x.max(0), x.argmin(0), (2 * x).sum(0)),
    "all-axes": lambda x: tuple(x.sum(axis) for axis in (None, 0, 1, 2, (0, 1), (0, 2), (1, 2))),
    "numbers": lambda x: (x.mean(), x.std(), x.argmax(), x.min()),
    "places": lambda x: (x.argmax(0), x.argmin(2), x.std()),
    "stored": lambda x: (x * 2, x.max(0), x.sum(2), x.mean()),
    "products": lambda x: ((x * x).sum(1), (x * x).mean(0), abs(x).max()),
    "integers": lambda x: ((x > 0).sum(0), (x > 0).any(1), (x > 0).sum()),
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("on", ["core", "cores:2"])
@pytest.mark.parametrize(
    "chunks",
    [
        (25, 4, 10),
        pytest.param((10, 11, 37), marks=pytest.mark.slow),
        pytest.param((90, 4, 37), marks=pytest.mark.slow),
    ],
)
def test_all_results_take_the_blocks_of_one_reading(
    program: str, on: str, chunks: tuple[int, ...]
) -> None:
    run, tiles = PROGRAMS[program], Counted(chunks=chunks)
    found = sc.compute(*run(tiles.opened()), on=on)
    assert tiles.count == DATA.size
    for mine, alone in zip(found, run(sc.asarray(DATA)), strict=True):
        assert_same(mine, alone.compute(on="core"))


def _hard(kind: str) -> Any:
    rng = np.random.default_rng(5)
    made: dict[str, Any] = {
        "wide": lambda: DATA * 10.0 ** rng.integers(-200, 200, size=DATA.shape),
        "nan": lambda: np.where(rng.random(DATA.shape) < 0.01, np.nan, DATA),
        "infinite": lambda: np.where(rng.random(DATA.shape) < 0.01, np.inf * np.sign(DATA), DATA),
        "minus-zero": lambda: np.full_like(DATA, -0.0),
        "cancelling": lambda: np.concatenate([DATA[:45], -DATA[:45]]),
    }
    return made[kind]()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wide", "nan", "infinite", "minus-zero", "cancelling"])
@pytest.mark.parametrize("on", ["core", "cores:2"])
def test_numbers_that_are_hard_to_add(kind: str, on: str) -> None:
    with np.errstate(all="ignore"):
        data = _hard(kind)
    for dtype in ("float64", "float32"):
        with np.errstate(all="ignore"):
            x, y = Counted(data.astype(dtype)).opened(), sc.asarray(data.astype(dtype))
        found = sc.compute(x.std(), x.mean(0), x.var(0), x.max(0), x.min(1), on=on)
        each = (y.std(), y.mean(0), y.var(0), y.max(0), y.min(1))
        for mine, alone in zip(found, each, strict=True):
            assert_same(mine, alone.compute(on="core"))


def test_the_plan_says_that_a_file_is_read_once(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", DATA)
    x = sc.open(tmp_path / "x.npy")
    text = repr((x.mean() + x.std(axis=0).sum() + x.mean(axis=0).max()).plan(on="core"))
    assert "reads 293 kB of 293 kB of x.npy, 1 of 1 chunks" in text
    assert "stage 1: std over axes (0,) of (90, 11, 37) -> (11, 37) float64, in one reading" in text
    assert "float64, in one pass with stage 1" in text


def test_what_needs_another_result_reads_again() -> None:
    tiles = Counted()
    x = tiles.opened()
    sc.compute(x.max(axis=1), (x - x.mean(axis=0)).std(axis=1), on="core")
    assert tiles.count == 2 * DATA.size  # the maximum beside the mean


def test_results_of_other_shapes_and_files_do_not_share() -> None:
    one, two = Counted(), Counted()
    x, y = one.opened(), two.opened()
    found = sc.compute(x[1:].mean(0), x.max(1), y.max(0), on="core")
    assert_same(found[0], sc.asarray(DATA[1:]).mean(0).compute())
    assert_same(found[1], DATA.max(1))
    assert_same(found[2], DATA.max(0))
    assert (one.count, two.count) == (2 * DATA.size - DATA[0].size, DATA.size)


def test_workers_add_up_their_shares_of_few_results(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(0).normal(size=(4000, 30)) * 1e9
    for most, parts in ((4 << 20, 2), (8, 1)):
        monkeypatch.setattr(passes, "_MERGED", most)
        tiles = Counted(rows, (200, 30))
        x, y = tiles.opened(), sc.asarray(rows)
        total = x.std(axis=0).sum() + x.max(axis=0).sum() + x.argmin(axis=0).sum()
        assert f"{parts} part" in repr(total.plan(on="cores:2")).split("stage 0")[1].split("\n")[0]
        run = lambda a: (a.std(0), a.max(0), a.sum(0), a.argmin(0), a.max())  # noqa: E731
        for mine, alone in zip(sc.compute(*run(x), on="cores:2"), run(y), strict=True):
            assert_same(mine, alone.compute(on="core"))
        assert tiles.count == rows.size


ADDED: dict[str, Any] = {
    "sum": lambda a: a.sum(axis=0),
    "mean": lambda a: a.mean(axis=0),
    "std": lambda a: a.std(axis=0),
    "dot": lambda a: sc.vecdot(a, a, axis=0),
    "max": lambda a: a.max(axis=0),
    "count": lambda a: (a > 0).sum(axis=0),
    "integers that wrap": lambda a: (a.astype("int64") * 2**40).sum(axis=0),
    "short integers that wrap": lambda a: a.astype("int16").sum(axis=0, dtype="int16"),
}


@pytest.mark.parametrize("name", ADDED)
def test_each_worker_adds_up_results_of_all(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BLOCK", 1 << 14)
    rows = np.random.default_rng(0).normal(size=(4000, 30)) * 1e4
    tiles = Counted(rows, (200, 30))
    y, mine = ADDED[name](sc.asarray(rows)), ADDED[name](tiles.opened())
    assert "2 parts, merge" in repr(mine.plan(on="cores:2"))
    for on in ("core", "cores:2"):
        assert_same(mine.compute(on=on), y.compute(on="core"))
    assert tiles.count == 2 * rows.size
    monkeypatch.setattr(streams, "MOST_ADDED", 59)
    assert "1 part, one" in repr(ADDED[name](tiles.opened()).plan(on="cores:2"))


_COLUMNS = """
import resource, sys
import dask.array as da, numpy as np
import speedcube as sc

def block(block_info=None):
    rows, columns = (np.arange(*one, dtype=float) for one in block_info[None]["array-location"])
    return rows[:, None] * 0.37 + columns

x = sc.asarray(da.map_blocks(block, chunks=((2,) * 8, (1_000_000,)), dtype=float,
                             meta=np.empty((0, 0))))
run = lambda a: getattr(a, sys.argv[1])(axis=0)
run(x[:, :1000]).compute(on=sys.argv[2])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
run(x).compute(on=sys.argv[2])
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
print(grown, run(x).plan(on=sys.argv[2]).peak_bytes)
"""


@pytest.mark.slow
@pytest.mark.parametrize("op", ["sum", "std", "max", "argmax"])
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux only")
def test_a_million_columns_take_what_is_promised(op: str) -> None:
    arguments = [sys.executable, "-c", _COLUMNS, op, "core"]
    found = subprocess.run(arguments, capture_output=True, text=True, check=True, timeout=300)
    grown, promised = map(int, found.stdout.split())
    assert grown <= promised < 300_000_000


def test_the_promise_counts_what_blocks_add_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BLOCK", 1 << 15)
    x = Counted().opened()
    kept = 11 * 37
    alone, sums, spreads = (
        one.plan(on="core").peak_bytes for one in (x.sum(axis=2), x.sum(axis=0), x.std(axis=0))
    )
    assert sums - alone == kept * (8 + 48) - 90 * 11 * 8
    assert spreads - sums == kept * 48
    extremes = [one.plan(on="core").peak_bytes for one in (x.max(axis=0), sc.nanmax(x, axis=0))]
    assert extremes[0] == extremes[1]
