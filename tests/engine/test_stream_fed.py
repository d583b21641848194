"""Tiles of files that a kernel takes as they are read: the bits of memory, and nothing twice."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube import errors
from speedcube.engine import machine
from speedcube.engine.boxes import Stop
from speedcube.engine.streams import along, fed, reading, worker
from speedcube.engine.streams.lines import place_of
from speedcube.interop.readers import npy
from speedcube.kernel.llvm import compile as compiling
from speedcube.kernel.llvm.compile import source, styles
from speedcube.kernel.program import Program
from speedcube.plan import streams
from speedcube.plan.reads import BlockRoom
from speedcube.plan.streams import BlockFinder

from .test_streams import assert_same

DATA: Any = np.random.default_rng(3).normal(size=(90, 11, 37))
WILD: Any = DATA.copy()
WILD[38:44] = np.where(np.arange(37) % 12 == 5, DATA * 1e300, DATA)[38:44]
WILD[7, 3, 5], WILD[7, 3, 17] = 3e300, -3e300
WILD[50] = np.nan
WILD[60, 2, 1] = np.inf
LEFT: list[Any] = []  # what each part left


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    def spied(*args: Any) -> Any:
        LEFT.append(fed.left_of(*args))
        return LEFT[-1]

    LEFT.clear()
    monkeypatch.setattr(worker, "left_of", spied)
    monkeypatch.setattr(streams, "BLOCK", 1 << 16)
    monkeypatch.setattr(streams, "QUICK", 1 << 13)
    monkeypatch.setattr(fed, "TILE", 1 << 12)
    monkeypatch.setattr(fed, "_MOST", 8)
    monkeypatch.setattr(streams, "FEW_RESULTS", 50)
    monkeypatch.setattr(along, "_PIECE", 37 * 8)  # a line of a plane
    monkeypatch.setattr(along, "_TILES", 1)
    monkeypatch.setattr(npy, "_LEAST_PIECE", 1 << 8)
    monkeypatch.setattr(npy, "_AT_ONCE", 1 << 11)


def opened(tmp_path: Path, form: str, data: Any) -> Any:
    if form == "npy":
        np.save(tmp_path / "x.npy", data)
        return sc.open(tmp_path / "x.npy")
    sc.asarray(data).to_zarr(tmp_path / "x.zarr", chunks=(16, 11, 37), codecs=[], fill_value=2)
    return sc.open(tmp_path / "x.zarr")


PROGRAMS: dict[str, Any] = {
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(),
    "rows": lambda x: x.sum(axis=2),
    "middle": lambda x: x.mean(axis=1),
    "planes": lambda x: x.sum(axis=(1, 2)),
    "largest": lambda x: x.max(axis=1),
    "a slice": lambda x: x[3:80].sum(axis=2),
    "a map": lambda x: (x * 2 + 1).sum(axis=2),
    "with a place": lambda x: (x + sc.arange(37)).mean(),
    "columns": lambda x: x.sum(axis=0),
    "columns of a slice": lambda x: x[3:80].mean(axis=0),
    "columns of a map": lambda x: (x * 2 + 1).sum(axis=0),
    "columns, turned": lambda x: x.transpose(0, 2, 1).sum(axis=0),
    "columns, in the middle": lambda x: x.transpose(2, 0, 1).sum(axis=1),
    "columns, at the end": lambda x: x.transpose(2, 1, 0).mean(axis=2),
    "spreads of columns": lambda x: x.std(axis=0),
    "few columns": lambda x: x.sum(axis=(0, 1)),
    "lines across": lambda x: x.mean(axis=(0, 2)),
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("form", ["npy", "zarr"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i2"])
def test_their_bits_are_those_of_memory(
    tmp_path: Path, program: str, form: str, dtype: str
) -> None:
    data = (DATA * 1000).astype(dtype)
    run, x = PROGRAMS[program], opened(tmp_path, form, data)
    assert_same(run(x).compute(on="cores"), run(sc.asarray(data)).compute(on="cores"))
    if dtype == "f8" and form == "npy" and len(os.sched_getaffinity(0)) > 1:
        # A plane's sum is a single result of a tile, which no kernel finishes. The second half of
        # the lines begins with one whose tiles lie alone.
        left = {"planes": [None, None], "lines across": [None, []]}
        left["spreads of columns"] = [None, None]  # they take large blocks
        turned = ("columns, turned", "columns, in the middle", "columns, at the end")
        left.update({one: [None, None] for one in turned})  # results do not lie as columns do
        assert sorted(LEFT, key=repr) == sorted(left.get(program, [[], []]), key=repr)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("cores", [1, 2])
def test_where_there_is_one_core_no_other_thread_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, cores: int
) -> None:
    readers: list[str] = []

    def spied(*args: Any) -> Any:
        readers.append("reads ahead")
        return read_ahead(*args)

    read_ahead = reading._read_ahead
    monkeypatch.setattr(reading, "_read_ahead", spied)
    monkeypatch.setattr(machine, "cores", lambda: cores)
    run, x = PROGRAMS[program], opened(tmp_path, "npy", DATA)
    assert_same(run(x).compute(on="core"), run(sc.asarray(DATA)).compute(on="core"))
    if cores == 1:
        assert not readers
        untaken = ("planes", "spreads of columns", "columns, turned")
        untaken += ("columns, in the middle", "columns, at the end")
        assert [one is None for one in LEFT] == [program in untaken]
        assert len(LEFT[0] or ()) <= 3  # at the border
    else:
        assert readers == ["reads ahead"]
        assert not LEFT


@pytest.mark.parametrize("program", PROGRAMS)
def test_results_that_the_kernel_leaves_are_made_again(tmp_path: Path, program: str) -> None:
    run = PROGRAMS[program]
    with np.errstate(all="ignore"):
        wanted = run(sc.asarray(WILD)).compute(on="cores")
    assert_same(run(opened(tmp_path, "npy", WILD)).compute(on="cores"), wanted)
    if program == "rows" and len(os.sched_getaffinity(0)) > 1:
        assert 0 < sum(map(len, LEFT)) < 30


@pytest.mark.parametrize("program", ["sum", "rows", "spread", "columns"])
def test_what_is_not_fed_is_read_as_ever(tmp_path: Path, program: str) -> None:
    more = {"spread": lambda x: x.std(), "columns": lambda x: x.sum(axis=0)}
    run, turned = {**PROGRAMS, **more}[program], DATA.transpose(0, 2, 1)[::2, ::-1]
    x = opened(tmp_path, "npy", DATA).transpose(0, 2, 1)[::2, ::-1]
    assert_same(run(x).compute(on="cores"), run(sc.asarray(turned)).compute(on="cores"))


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("form", ["npy", "zarr"])
def test_columns_of_any_magnitudes_have_the_bits_of_memory(
    tmp_path: Path, dtype: str, form: str
) -> None:
    top, columns = np.finfo(dtype).max, DATA.astype(dtype)
    columns[3, 0, 0] = np.nan  # NaN, whatever comes after it
    columns[60, 0, 0] = np.inf
    columns[70, 0, 1] = -np.inf
    columns[[5, 80], 0, 2] = np.inf, -np.inf  # NaN without one
    columns[[5, 6, 80], 0, 3] = top, top, -np.inf  # the first two leave the range, their sum not
    columns[[5, 6, 7, 80], 0, 4] = top, top, -top, -top
    columns[:, 0, 5] *= 1e-30
    columns[[5, 80], 0, 5] = top, -top  # what is left is small
    columns[:, 0, 6] = np.finfo(dtype).smallest_subnormal
    columns[:, 0, 7] = -0.0
    columns[:, 0, 8], columns[:2, 0, 8] = 0, (1, np.finfo(dtype).eps / 2)  # a tie
    columns[:3, 0, 9] = 1, np.finfo(dtype).eps / 2, np.finfo(dtype).smallest_subnormal  # above it
    columns[3:, 0, 9] = 0
    columns[8:, 0, 10] = np.nan
    columns[[2, 3, 70], 0, 11] = top, top, np.nan  # out of range first, then NaN
    x = opened(tmp_path, form, columns)
    for run in (PROGRAMS["columns"], lambda x: x.mean(axis=0), lambda x: (x * 3).sum(axis=0)):
        with np.errstate(all="ignore"):
            wanted = run(sc.asarray(columns)).compute(on="core")
        assert_same(run(x).compute(on="cores"), wanted)
    if dtype == "f8" and len(os.sched_getaffinity(0)) > 1:
        assert LEFT == [[]] * 6


@pytest.mark.parametrize("tiles", [1, 2])
def test_tiles_go_down_or_across(
    tmp_path: Path, tiles: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Down, so that their sums stay in the cache; across where there are few rows."""
    monkeypatch.setattr(along, "_TILES", tiles)
    steps, x = [], opened(tmp_path, "npy", DATA)
    fed_to = along.Added.fed

    def spied(self: Any, feed: fed.Feed) -> Any:
        first, second = (feed.at(k).item for k in (0, 1))
        steps.append([a.start != b.start for a, b in zip(first, second, strict=True)])
        return fed_to(self, feed)

    monkeypatch.setattr(along.Added, "fed", spied)
    found = x.sum(axis=0).compute(on="cores")
    assert found.tobytes() == sc.asarray(DATA).sum(axis=0).compute(on="core").tobytes()
    if len(os.sched_getaffinity(0)) > 1:
        assert steps
        down, across = [True, False, False], [False, True, False]
        assert steps.count(down) == (11 if tiles == 1 else 0)  # each line of a plane
        assert steps.count(across) == len(steps) - steps.count(down) > 0  # the rows that are left


def test_what_columns_sum_up_to_no_other_way_of_adding_changes(tmp_path: Path) -> None:
    found = opened(tmp_path, "npy", WILD).sum(axis=0).compute(on="cores")
    for (line, place), got in np.ndenumerate(found):
        column = WILD[:, line, place]
        wanted = np.nan if np.isnan(column).any() else math.fsum(column)
        assert np.array_equal(got, wanted, equal_nan=True)
    assert np.isnan(found).all()
    some = np.delete(WILD, [50, 60], axis=0)
    np.save(tmp_path / "some.npy", some)
    found = sc.open(tmp_path / "some.npy").sum(axis=0).compute(on="cores")
    assert found.tolist() == [
        [math.fsum(some[:, line, place]) for place in range(37)] for line in range(11)
    ]


@pytest.mark.parametrize("base", [-1060, -1000, -540, 0, 500, 940])
def test_rows_that_are_added_at_once_lose_nothing(
    tmp_path: Path, base: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of any spread of magnitudes: the last places of what is rounded away may not fit a double."""
    monkeypatch.setattr(fed, "TILE", 1 << 13)  # more than sixteen rows
    rng = np.random.default_rng(base + 2000)
    spread = rng.integers(0, np.arange(11 * 37).reshape(11, 37) % 74 + 1, size=DATA.shape)
    data = np.ldexp(DATA, base + spread)
    data[np.abs(DATA) < 0.05] = 0
    data[:, 0, 0] = 0
    data[:3, 0, 0] = np.ldexp([1, 2.0**-53, 2.0**-110], max(base, -800))  # above a tie
    data[1::2, :, 1::5] = -data[::2, :, 1::5]  # sums of nothing but what the others leave
    found = opened(tmp_path, "npy", data).sum(axis=0).compute(on="cores")
    assert found.tolist() == [
        [math.fsum(data[:, line, place]) for place in range(37)] for line in range(11)
    ]


def test_sums_that_end_in_ties_are_certain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ninety numbers of 53 bits below one, each 64th sum ends in half a last place."""
    asked, by_records = list[int](), along._by_records
    monkeypatch.setattr(along, "_by_records", lambda *a: asked.append(len(a[2])) or by_records(*a))
    data = np.random.default_rng(5).random(size=(90, 11, 37))
    found = opened(tmp_path, "npy", data).sum(axis=0).compute(on="cores")
    assert found.tolist() == [
        [math.fsum(data[:, line, place]) for place in range(37)] for line in range(11)
    ]
    assert asked == []


def test_tiles_of_columns_lie_in_one_chunk(tmp_path: Path) -> None:
    x = opened(tmp_path, "zarr", DATA)
    room = BlockRoom(13 * 296, 0, 296)
    lengths = {one.stop - one.start for one in streams.cuts_of(x._expr, room)[0]}
    assert lengths == {8, 2}  # half of a chunk of 16; the last one has 10 rows
    begins = [one.start for one in streams.cuts_of(x[5:]._expr, room)[0]]
    assert begins == [0, 3, *range(11, 85, 8)]
    place = place_of(BlockFinder(x._expr, [0, 1]).at((slice(24, 32), slice(3, 4), slice(0, 37))))
    assert place == (str(tmp_path / "x.zarr/c/1/0/0"), (8 * 11 + 3) * 296, 8, 11 * 296)


def test_a_chunk_that_is_missing_has_the_fill_value(tmp_path: Path) -> None:
    x, wanted = opened(tmp_path, "zarr", DATA), DATA.copy()
    (tmp_path / "x.zarr/c/1/0/0").unlink()
    wanted[16:32] = 2
    for run in (PROGRAMS["sum"], PROGRAMS["rows"], PROGRAMS["columns"]):
        assert_same(run(x).compute(on="cores"), run(sc.asarray(wanted)).compute())


@pytest.mark.parametrize("program", ["sum", "rows", "columns"])
def test_a_file_that_is_cut_short_says_so(tmp_path: Path, program: str) -> None:
    x = opened(tmp_path, "npy", DATA)
    os.truncate(tmp_path / "x.npy", (tmp_path / "x.npy").stat().st_size - 5)
    with pytest.raises(errors.DataFileError, match="cut short"):
        PROGRAMS[program](x).compute(on="cores")
    os.unlink(tmp_path / "x.npy")
    with pytest.raises(OSError, match="No such file"):
        PROGRAMS[program](x).compute(on="cores")


def test_who_is_stopped_reads_no_more(tmp_path: Path) -> None:
    root = opened(tmp_path, "npy", DATA)._expr
    stop, given = Stop(), list[int]()

    class Taker:
        feeds = True

        def tile_room(self, root: Any, size: int) -> BlockRoom:
            return BlockRoom(size)

        def fed(self, feed: fed.Feed) -> list[int]:
            given.append(feed.count)
            stop.set()
            return []

    assert fed.left_of([Taker()], root, {}, stop) == []
    assert given == [8]


@pytest.mark.parametrize("name", ["sum", "mean", "std", "max", "any"])
@pytest.mark.parametrize("axis", [0, (0, 2)])
@pytest.mark.parametrize("width", [140, 300, 700])
def test_a_tile_that_is_one_row_is_added_to_the_others(
    tmp_path: Path, name: str, axis: Any, width: int
) -> None:
    """Of rows that fill more than half of a tile: each has elements of all results."""
    data = np.random.default_rng(2).normal(size=(9, 2, width))
    x, known = opened(tmp_path, "npy", data), sc.asarray(data)
    for on in ("core", "cores:2"):
        wanted = getattr(known, name)(axis=axis).compute(on="core")
        assert_same(getattr(x, name)(axis=axis).compute(on=on), wanted)


@pytest.mark.parametrize("what", ["nan", "inf", "both", "wild", "nan at the end"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("axis", [0, 2, (0, 1), (0, 2)])
def test_sums_that_a_kernel_knows_nothing_of_are_made_by_records(
    tmp_path: Path, what: str, dtype: str, axis: Any
) -> None:
    data = np.ones((60, 3, 500), dtype)
    if what == "wild":
        far = 60 if dtype == "f4" else 1000
        data = np.exp2(np.random.default_rng(1).integers(-far, far, data.shape).astype("f8"))
        data = data.astype(dtype)
    elif what == "nan at the end":
        data[-1, 1, -1] = np.nan
    else:
        data[5] = np.nan if what == "nan" else 1
        data[7, :, 3] = 1 if what == "nan" else np.inf
        data[-1, 0, 2] = -np.inf if what == "both" else 1
    x = opened(tmp_path, "npy", data)
    for run in (lambda x: x.sum(axis=axis), lambda x: x.mean(axis=axis)):
        with np.errstate(all="ignore"):
            wanted = run(sc.asarray(data)).compute(on="core")
            for on in ("core", "cores:2"):
                assert_same(run(x).compute(on=on), wanted)


@pytest.mark.parametrize("form", ["npy", "zarr"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "u1"])
def test_pieces_of_a_tile_lie_an_odd_number_of_lines_apart(
    tmp_path: Path, form: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else lines of one column, a power of two apart, would push each other out of the cache."""
    found, run = set[tuple[int, ...]](), fed.Feed.run

    def spied(self: Any, *args: Any) -> Any:
        found.add((self.pieces, self.size, self.memory.nbytes // self.pieces))
        return run(self, *args)

    monkeypatch.setattr(fed.Feed, "run", spied)
    data = np.random.default_rng(4).integers(0, 99, size=(64, 8, 512)).astype(dtype)
    monkeypatch.setattr(along, "_PIECE", 512 * 8)
    monkeypatch.setattr(along, "_LEAST_PIECE", 512)
    monkeypatch.setattr(npy, "_AT_ONCE", 1 << 13)
    monkeypatch.setattr(fed, "TILE", 16 * 512 * data.itemsize)
    if form == "npy":
        np.save(tmp_path / "x.npy", data)
    else:
        sc.asarray(data).to_zarr(tmp_path / "x.zarr", chunks=(32, 8, 512), codecs=[])
    x = sc.open(tmp_path / f"x.{form}")
    assert_same(x.mean(axis=0).compute(on="cores"), sc.asarray(data).mean(axis=0).compute())
    if len(os.sched_getaffinity(0)) > 1:
        size = 512 * data.itemsize
        assert found == {(16, size, size + 64)}


@pytest.mark.parametrize("kind", ["near", "far", "bits", "zeros", "not numbers"])
@pytest.mark.parametrize("dtype", ["f4", "i2", "u1"])
def test_short_numbers_are_added_by_one_addition_where_a_double_holds_them(
    tmp_path: Path, kind: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fed, "TILE", 1 << 13)  # more than sixteen rows
    rng = np.random.default_rng(len(kind))
    far = {"near": 2, "far": 60, "bits": 26}.get(kind, 20)
    data: Any = np.ldexp(rng.normal(size=DATA.shape), rng.integers(-far, far, DATA.shape))
    if dtype != "f4":
        data = data.clip(0, np.iinfo(dtype).max)
    data = data.astype(dtype)
    data[:, :, ::3] = 0
    if kind == "bits" and dtype == "f4":  # as far apart as sixteen of them fit a double, and not
        data[:, :, 1::3], data[::2, :, 1::3] = 1 + 2.0**-23, 2.0**25 - 2
        data[:, :, 2::3], data[::2, :, 2::3] = 1 + 2.0**-23, 2.0**26 - 4
        data[:, 2:5], data[:3, 2:5, ::2] = 0, np.array([2.0**60, 2.0**36, 1]).reshape(3, 1, 1)
    if kind == "not numbers" and dtype == "f4":
        data[5, 1], data[60, 2], data[61, 3, ::2] = np.inf, np.nan, -np.inf
        data[7, 3, ::4] = np.inf
    x = opened(tmp_path, "npy", data)
    programs: list[Any] = [lambda x: x.mean(axis=0), lambda x: (x * 3 + 1).mean(axis=0)]
    programs.append(lambda x: x.sum(axis=0))  # above a tie, which a double would be
    for run in programs:
        with np.errstate(all="ignore"):
            wanted = run(sc.asarray(data)).compute(on="core")
        assert_same(run(x).compute(on="cores"), wanted)


@pytest.mark.parametrize("axes", [(0,), (0, 2)])
def test_rows_that_are_added_at_once_lie_so_much_further_than_the_first(
    tmp_path: Path, axes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """How much is known before the loop, where all rows lie evenly apart: of one processor."""
    monkeypatch.setattr(compiling, "foresees", lambda: True)
    monkeypatch.setattr(compiling, "QUICK", compiling.ByTarget(**compiling.QUICK._shapes))
    monkeypatch.setattr(fed, "TILE", 1 << 15)
    programs: list[Program] = []
    real = along.run_onto

    def run_onto(prepared: Any, *others: Any) -> None:
        programs.append(prepared.program)
        real(prepared, *others)

    monkeypatch.setattr(along, "run_onto", run_onto)
    data = np.ldexp(DATA, np.arange(37) * 9 - 160).reshape(45, 11, 2, 37)
    x = opened(tmp_path, "npy", data)
    assert_same(x.sum(axis=axes).compute(on="core"), sc.asarray(data).sum(axis=axes).compute())
    text = source(programs[0], "avx512", styles(programs[0], "avx512")[1])
    blocks = re.split(r"^[\w.]+:.*$", text, flags=re.MULTILINE)
    block = max(blocks, key=lambda some: some.count("load <8 x double>"))
    assert block.count("load <8 x double>") >= 16
    assert (block.count("mul i64") <= 3) == (axes == (0,))
