"""Sorts that memory does not hold, a cell of the order after the other: the bits of memory."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube import errors
from speedcube.api.order import distinct
from speedcube.engine import machine
from speedcube.engine.foreign import planned
from speedcube.engine.streams import boxwise
from speedcube.engine.streams.ordered import cuts, lines, long
from speedcube.engine.streams.ordered import distinct as pieces
from speedcube.expr.nodes import Through
from speedcube.interop.readers.npy import NpyFile

RNG = np.random.default_rng(16)
SIZE = 30_000
NORMALS: Any = RNG.normal(size=SIZE)
SIGNS: Any = RNG.choice([-1.0, 1.0], SIZE)

# What is hard for some way to sort: NaN, both zeros, one value, few, neighbours, all in one bin.
HARD: dict[str, Any] = {
    "normals": NORMALS,
    "NaN": np.where(RNG.random(SIZE) < 0.3, np.nan, NORMALS),
    "only NaN": np.full(SIZE, np.nan),
    "one value": np.ones(SIZE),
    "zeros of both signs": np.round(NORMALS) * SIGNS,
    "only zeros": 0.0 * SIGNS,
    "infinite": np.inf * SIGNS,
    "subnormal": RNG.integers(0, 2, SIZE) * 5e-324 * SIGNS,
    "sorted": np.sort(NORMALS),
    "backwards": np.sort(NORMALS)[::-1].copy(),
    "neighbours": 1 + np.arange(SIZE)[::-1] * 2.0**-52,
    "float32": NORMALS.astype("float32"),
    "float16": NORMALS.astype("float16"),
    "few": RNG.integers(0, 5, SIZE),
    "beyond 2**63": RNG.integers(0, 2**64, SIZE, dtype="uint64"),
    "near 2**64": (2**64 - 1 - RNG.integers(0, 99, SIZE, dtype="uint64")),
    "bytes": RNG.integers(-3, 3, SIZE).astype("int8"),
    "int32": RNG.integers(-(2**31), 2**31, SIZE).astype("int32"),
}


def assert_same(a: Any, b: Any) -> None:
    a, b = np.asarray(a), np.asarray(b)
    assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def cells(op: str, data: Any, room: int, threads: int) -> long.SortedBlocks:
    dtype = "int64" if op == "argsort" else str(data.dtype)
    x = sc.asarray(data)._expr
    return long.SortedBlocks(Through(op, x, data.shape, dtype), x, room, threads)


def whole(blocks: long.SortedBlocks) -> Any:
    out = np.empty(blocks.shape, blocks.source.dtype)
    blocks.read((slice(0, len(out), 1),), out)
    return out


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("op", ["sort", "argsort"])
@pytest.mark.parametrize("threads", [1, 2])
def test_cells_have_the_bits_of_memory(
    kind: str, op: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long, "LEAST_CELL", 1_500)
    blocks, data = cells(op, HARD[kind], 0, threads), sc.asarray(HARD[kind])
    want = (sc.sort if op == "sort" else sc.argsort)(data).compute()
    assert_same(whole(blocks), want)
    assert blocks._cells is not None
    assert max(c.count for c in blocks._cells) <= 1_500
    some = np.empty(len(want[101::7]), want.dtype)
    blocks.read((slice(101, SIZE, 7),), some)
    assert_same(some, want[101::7])


@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize("op", ["sort", "argsort"])
def test_passes_are_bounded(kind: str, op: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long, "LEAST_CELL", 1_500)
    passes = 0
    blocks_of = long.AllElements.blocks

    def counting(self: Any, start: int, stop: int) -> Any:
        nonlocal passes
        passes += start == 0
        return blocks_of(self, start, stop)

    monkeypatch.setattr(long.AllElements, "blocks", counting)
    blocks = cells(op, HARD[kind], 0, 1)
    whole(blocks)
    assert passes <= blocks.touched((slice(0, SIZE, 1),))[1]


def test_what_is_heavy_is_counted_by_few_more_bits() -> None:
    assert cuts.most_passes(10**12, 10**7, "float64", False)[0] <= 1 + 48 // 4
    assert cuts.most_passes(10**9, 10**8, "float64", False) == (6, 14)
    assert cuts.most_passes(10**6, 10**7, "int8", False) == (1, 1)


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A file of which sorts in memory are not wanted; its values, too."""
    data = np.where(RNG.random(400_000) < 0.01, np.nan, RNG.normal(size=400_000))
    data[::50], data[::51] = 0.0, -0.0
    np.save(tmp_path / "x.npy", data)
    monkeypatch.setattr(long, "LEAST_CELL", 50_000)

    def little(roots: Any, make: Any, weigh: Any, room: Any = None, threads: int = 1) -> Any:
        return boxwise.made_boxwise(roots, make, weigh, boxwise.SortRoom(0, 2, 0))

    monkeypatch.setattr(planned, "made_boxwise", little)
    return sc.open(tmp_path / "x.npy"), sc.asarray(data)


def _differences(x: Any) -> Any:
    y = sc.sort(x)
    return (y[3:] - y[:-3])[:-5000].std()


PROGRAMS: dict[str, Any] = {
    "each thousandth": lambda x: sc.sort(x)[::1000],
    "some": lambda x: sc.sort(x)[1000:101_000],
    "backwards": lambda x: sc.sort(x)[::-1],
    "descending": lambda x: sc.sort(x, descending=True),
    "numbers": lambda x: sc.nansum(sc.sort(x)),
    "differences": _differences,
    "of an expression": lambda x: sc.sort(x * x - 1)[::100],
    "of what is read twice": lambda x: sc.sort(x - sc.nanmean(x))[::100],
    "places": lambda x: sc.argsort(x),
    "all axes": lambda x: sc.sort(x.reshape(400, 1000), axis=None)[::10],
    "running sum": lambda x: sc.cumsum(sc.sort(x)[:300_000])[::1000],
    "twice": lambda x: sc.sort(sc.sort(x)[::-1])[::1000],
    "median of it": lambda x: sc.nanmedian(sc.sort(x)),
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("on", ["core", "cores"])
def test_sorts_of_files(opened: Any, program: str, on: str) -> None:
    x, data = opened
    run = PROGRAMS[program]
    y = run(x)
    assert "passes at most" in str(y.plan())
    assert_same(y.compute(on=on), run(data).persist().compute())


@pytest.mark.parametrize("target", ["zarr", "npy", "store"])
def test_sorts_are_written(opened: Any, target: str, tmp_path: Path) -> None:
    x, data = opened
    want = sc.sort(data).compute()
    if target == "zarr":
        sc.sort(x).to_zarr(tmp_path / "y.zarr", chunks=(13_000,))
        assert_same(sc.open(tmp_path / "y.zarr").compute(), want)
    elif target == "npy":
        sc.save(tmp_path / "y.npy", sc.sort(x))
        assert_same(np.load(tmp_path / "y.npy"), want)
    else:
        out = np.empty_like(want)
        sc.store(sc.sort(x), out)
        assert_same(out, want)


def test_made_numbers_are_made_again(opened: Any) -> None:
    x = sc.random.default_rng(3).normal(size=200_000)
    y = sc.sort(x)[::100]
    assert "sort of what is made again" in str(y.plan())
    assert_same(y.compute(), np.sort(x.compute())[::100])


def test_the_plan_of_a_write_says_passes_and_bytes(opened: Any, tmp_path: Path) -> None:
    x, _ = opened
    text = str(sc.sort(x).to_zarr(tmp_path / "y.zarr", compute=False).plan())
    found = re.search(r"sort of x.npy: (\d+) passes at most, which reads (\S+) MB in all", text)
    assert found is not None
    assert float(found[2]) == pytest.approx(int(found[1]) * 3.2)


def test_a_file_that_changed_since_it_was_counted(opened: Any, tmp_path: Path) -> None:
    x, _ = opened
    y = sc.sort(x)[::1000]
    blocks = y.plan().stages[0].root.source.tiles
    out = np.empty(10)
    blocks.read((slice(0, 10, 1),), out)
    np.save(tmp_path / "x.npy", np.ones(400_000))
    with pytest.raises(errors.DataFileError, match="changed while it was read"):
        blocks.read((slice(200_000, 200_010, 1),), out)


def test_it_travels() -> None:
    blocks = cells("sort", NORMALS, 1 << 30, 1)
    assert_same(whole(pickle.loads(pickle.dumps(blocks))), np.sort(NORMALS))


# Memory ------------------------------------------------------------------------------------------


@pytest.fixture
def large(tmp_path: Path) -> Any:
    data = RNG.normal(size=16_000_000)
    np.save(tmp_path / "x.npy", data)
    return sc.open(tmp_path / "x.npy"), data


def test_only_what_does_not_fit_is_sorted_so(large: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, data = large
    y = sc.sort(x)
    assert "passes at most" not in str(y.plan())
    monkeypatch.setattr(machine, "free_memory", lambda: 300_000_000)
    plan = y[::1000].plan()
    assert plan.peak_bytes <= 300_000_000
    assert "passes at most" in str(plan)
    assert_same(y[::1000].compute(), np.sort(data)[::1000])
    monkeypatch.setattr(machine, "free_memory", lambda: 180_000_000)
    said = r"128,000,000 of them for the result, and 180,000,000 are free.*to_zarr"
    with pytest.raises(errors.MemoryLimitError, match=said):
        y.compute()


def test_a_write_keeps_to_its_memory(large: Any, tmp_path: Path) -> None:
    x, data = large
    write = sc.sort(x).to_zarr(tmp_path / "y.zarr", memory="300 MB", compute=False)
    plan = write.plan()
    assert plan.peak_bytes <= 300_000_000
    assert "sort of x.npy" in str(plan)
    write.compute()
    assert_same(sc.open(tmp_path / "y.zarr").compute(), np.sort(data))


# Lines -------------------------------------------------------------------------------------------

LINES: dict[str, Any] = {
    "first": lambda x: sc.sort(x, axis=0),
    "middle": lambda x: sc.sort(x, axis=1),
    "last": lambda x: sc.argsort(x, axis=2),
    "median": lambda x: sc.median(x, axis=0),
    "quantiles": lambda x: sc.quantile(x, [0.1, 0.9], axis=1),
    "partition": lambda x: sc.partition(x, 3, axis=0),
    "rank": lambda x: sc.rank(x, axis=0),
    "mean of it": lambda x: sc.sort(x, axis=0)[2:9].mean(axis=(1, 2)),
    "of anomalies": lambda x: sc.sort(x - x.mean(axis=0), axis=0)[::3, ::-1],
}


@pytest.mark.parametrize("program", LINES)
@pytest.mark.parametrize("on", ["core", "cores"])
def test_lines_of_files(
    opened: Any, program: str, on: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NpyFile, "chunks", property(lambda self: (7, 4, 37)[-len(self.shape) :]))
    monkeypatch.setattr(lines, "BLOCK", 1 << 14)
    data = RNG.normal(size=(60, 11, 37))
    data[3, 4] = np.nan
    np.save(tmp_path / "z.npy", data)
    run = LINES[program]
    y = run(sc.open(tmp_path / "z.npy"))
    assert " of z.npy, " in str(y.plan())
    assert_same(y.compute(on=on), run(sc.asarray(data)).compute())
    y.to_zarr(tmp_path / "y.zarr")
    assert_same(sc.open(tmp_path / "y.zarr").compute(), run(sc.asarray(data)).compute())


# Distinct ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["few", "zeros of both signs", "NaN", "bytes", "beyond 2**63"])
@pytest.mark.parametrize("equal_nan", [True, False])
def test_distinct_values_by_pieces(
    kind: str, equal_nan: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = np.tile(HARD[kind], 3)
    monkeypatch.setattr(distinct, "_LEAST", 1_000)
    monkeypatch.setattr(distinct, "_NARROW", 0)
    want = np.unique(data, True, True, True, equal_nan=equal_nan)
    monkeypatch.setattr(distinct, "_PIECE", 1_000)
    x = sc.asarray(data)
    monkeypatch.setattr(distinct, "_fits", lambda line, each: False)
    have = sc.unique(x, True, False, True, equal_nan=equal_nan)
    for one, other in zip(have, (want[0], want[1], want[3]), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(sc.unique(x, equal_nan=equal_nan), want[0])
    if equal_nan or kind != "NaN":
        inverse = sc.unique(x, return_inverse=True, equal_nan=equal_nan)[1]
        np.testing.assert_array_equal(inverse.compute(), want[2])
    if not equal_nan:
        np.testing.assert_array_equal(sc.unique_counts(x).counts, want[3])


def test_too_many_distinct_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distinct, "_LEAST", 1_000)
    monkeypatch.setattr(distinct, "_fits", lambda line, each: False)
    monkeypatch.setattr(pieces, "_COPIES", 10**9)
    with pytest.raises(errors.MemoryLimitError, match=r"are distinct, which takes .*to_zarr"):
        sc.unique(sc.asarray(NORMALS), return_counts=True)
