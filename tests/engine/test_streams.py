"""Arrays that are read a box at a time: the bits of arrays in memory, in the memory promised."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.api.files.opening import read_by_tiles
from speedcube.engine.finished import near
from speedcube.engine.known import memory
from speedcube.engine.streams import along, reading, takers, worker
from speedcube.engine.streams.worker import StreamWorker
from speedcube.errors import KernelError
from speedcube.expr.sources.tiled import Box
from speedcube.interop.readers.npy import NpyFile
from speedcube.kernel.llvm.scratch import BUFFER
from speedcube.plan import streams

DATA: Any = np.random.default_rng(3).normal(size=(90, 11, 37))


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BLOCK", 1 << 15)
    monkeypatch.setattr(NpyFile, "chunks", property(lambda self: (7, 4, 37)[-len(self.shape) :]))


def opened(tmp_path: Path, data: Any) -> Any:
    np.save(tmp_path / "x.npy", data)
    return sc.open(tmp_path / "x.npy")


def assert_same(a: Any, b: Any) -> None:
    a, b = np.asarray(a), np.asarray(b)
    assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


PROGRAMS: dict[str, Any] = {
    "itself": lambda x: x,
    "sum": lambda x: x.sum(),
    "mean": lambda x: (x * 2 + 1).mean(),
    "columns": lambda x: x.mean(axis=0),
    "rows": lambda x: x.sum(axis=2),
    "both": lambda x: x.std(axis=(0, 2)),
    "extremes": lambda x: x.max(axis=0) - x.min(axis=0),
    "places": lambda x: x.argmax(axis=0),
    "place": lambda x: x.argmin(),
    "reversed": lambda x: x[::-1, :, ::3] * 2,
    "turned": lambda x: x.transpose(2, 0, 1).sum(axis=1),
    "neighbours": lambda x: (x[1:] - x[:-1]).std(axis=0),
    "standardised": lambda x: (x - x.mean(axis=0)) / x.std(axis=0),
    "stencil": lambda x: x[:-2, 1:-1] + x[2:, 1:-1] - 4 * x[1:-1, 2:],
    "flat": lambda x: x.reshape(-1)[5:9000:7].sum(),
    "scan": lambda x: x.cumsum(axis=0),
    "product": lambda x: (1 + x / 100).prod(axis=0),
    "rolled": lambda x: sc.roll(x, 2, axis=0) + x,
    "with the one before": lambda x: (sc.roll(x, 1, axis=0) * x).sum(),
    "most of pieces": lambda x: (sc.roll(x, 1, axis=0) - x).max(),
    "spread of pieces": lambda x: (sc.pad(x, 1)[1:, :-2, :-2][:-1] - x).std(),
    "padded": lambda x: sc.pad(x, 1).sum(axis=1),
    "sorted": lambda x: sc.sort(x, axis=0),
    "median": lambda x: sc.median(x),
    "taken": lambda x: x[[5, 3, 7]],
    "masked": lambda x: x[x > 1].sum(),
    "places-in": lambda x: (x + sc.arange(37)).mean(axis=1),
    "nothing": lambda x: x[3:3].sum(axis=0),
    "dot": lambda x: sc.vecdot(x, x, axis=0),
    "broadcast": lambda x: (x[:, None, 0] * x[:1]).sum(axis=1),
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("on", ["core", "cores"])
def test_programs_have_the_bits_of_memory(tmp_path: Path, program: str, on: str) -> None:
    run = PROGRAMS[program]
    assert_same(run(opened(tmp_path, DATA)).compute(on=on), run(sc.asarray(DATA)).compute(on=on))


def made(kind: str) -> Any:
    rng = np.random.default_rng(5)
    a = rng.normal(size=(60, 5, 37))
    changes: dict[str, Any] = {
        "usual": lambda: a,
        "wide": lambda: a * 10.0 ** rng.integers(-200, 200, size=a.shape),
        "nan": lambda: np.where(rng.random(a.shape) < 0.01, np.nan, a),
        "infinite": lambda: np.where(rng.random(a.shape) < 0.01, np.inf * np.sign(a), a),
        "ties": lambda: np.round(a * 8),
        "equal": lambda: np.full_like(a, 0.1),
        "minus-zero": lambda: np.full_like(a, -0.0),
        "huge": lambda: a * 1e300,
        "tiny": lambda: a * 1e-310,
        "cancelling": lambda: np.concatenate([a, -a]),
    }
    return np.asarray(changes[kind]())


KINDS: tuple[str, ...] = tuple(
    [
        "usual",
        "wide",
        "nan",
        "infinite",
        "ties",
        "equal",
        "minus-zero",
        "huge",
        "tiny",
        "cancelling",
    ]
)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_reductions_that_blocks_cut(tmp_path: Path, kind: str, dtype: str) -> None:
    with np.errstate(all="ignore"):
        data = made(kind).astype(dtype)
    x, y = opened(tmp_path, data), sc.asarray(data)
    for name in ("sum", "mean", "var", "std", "min", "max", "argmax"):
        for axis in (0, (0, 1)) if name != "argmax" else (0,):
            mine, theirs = (getattr(a, name)(axis=axis).compute(on="core") for a in (x, y))
            assert_same(mine, theirs)
    several = [sc.compute(a.mean(0), a.std(0), a.max(0), on="core") for a in (x, y)]
    for mine, theirs in zip(*several, strict=True):
        assert_same(mine, theirs)


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool", "uint64", "int16"])
def test_integers_that_blocks_cut(tmp_path: Path, dtype: str) -> None:
    data = (made("usual") * 2**40).astype("int64").astype(dtype)
    x, y = opened(tmp_path, data), sc.asarray(data)
    for name in ("sum", "mean", "std", "max", "argmin", "any"):
        mine, theirs = (getattr(a, name)(axis=0).compute(on="core") for a in (x, y))
        assert_same(mine, theirs)


LONG: dict[str, Any] = {
    "std": lambda x: (x.std(),),
    "var": lambda x: ((x * x).var(ddof=1),),
    "five": lambda x: (x.sum(), (x * x).sum(), x.max(), x.min(), x.std()),
    "rolled": lambda x: (sc.roll(x, 3, axis=0), sc.roll(x, 3, axis=0) * 2),
    "two stores": lambda x: (x + 1, x * 2),
    "store and sum": lambda x: (x + 1, (x + 1).sum()),
}


@pytest.mark.parametrize("program", LONG)
@pytest.mark.parametrize("on", ["core", "cores"])
@pytest.mark.parametrize("kind", ["usual", "cancelling"])
def test_blocks_that_are_long_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, on: str, kind: str
) -> None:
    """Blocks and parts for which kernels say what they know of sums, in several pieces."""
    monkeypatch.setattr(streams, "BLOCK", 1 << 20)
    monkeypatch.setattr(near, "PIECE", 1 << 15)
    data = np.random.default_rng(9).normal(size=(900, 700))
    if kind == "cancelling":
        data[450:] = -data[:450]
        data[::60] *= 1e200
    x, y = opened(tmp_path, data), sc.asarray(data)
    assert data.nbytes > 4 * streams.BLOCK
    for mine, theirs in zip(
        sc.compute(*LONG[program](x), on=on), sc.compute(*LONG[program](y), on=on), strict=True
    ):
        assert_same(mine, theirs)


@pytest.mark.parametrize("name", ["sum", "mean", "var"])
def test_a_thin_last_block_stays_in_its_scratch_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Of a few wide rows sums are kept in registers, but not where they are left unfinished."""
    spans: list[tuple[int, int]] = []

    def measured(run: Any, prepared: Any, *args: Any) -> Any:
        spans.append((prepared.loops[1], prepared.tiling.rows))
        return run(prepared, *args)

    way = "run_together" if name == "var" else "run_onto"
    monkeypatch.setattr(along, way, partial(measured, getattr(along, way)))
    monkeypatch.setattr(NpyFile, "chunks", property(lambda self: (20, 20_000)))
    data = np.random.default_rng(3).normal(size=(42, 20_000))
    x = opened(tmp_path, data)
    assert_same(
        getattr(x, name)(axis=0).compute(on="core"), getattr(sc.asarray(data), name)(axis=0)
    )
    assert [rows for rows, _ in spans] == [20, 20, 2]
    assert all(columns < BUFFER for _, columns in spans)


def test_spreads_are_known_without_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BLOCK", 1 << 20)
    data = np.random.default_rng(9).normal(size=(900, 700))
    x = opened(tmp_path, data)
    monkeypatch.setattr(StreamWorker, "partial", lambda *_: pytest.fail("records were made"))
    for on in ("core", "cores"):
        assert_same(x.std().compute(on=on), sc.asarray(data).std().compute(on=on))


def test_records_are_merged_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(takers, "_TOGETHER", 3)
    x, y = opened(tmp_path, DATA), sc.asarray(DATA)
    for run in (lambda a: a.sum(), lambda a: a.mean(), lambda a: a.argmin(), lambda a: a.max()):
        assert_same(run(x).compute(on="core"), run(y).compute(on="core"))


def test_a_kernel_without_its_data_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_streams", lambda *_: False)
    with pytest.raises(KernelError, match="a kernel was not given its Tiled: a bug"):
        opened(tmp_path, DATA).sum().compute(on="core")


def test_one_block_is_read_by_the_thread_that_computes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "BLOCK", 1 << 20)
    monkeypatch.setattr(reading, "_read_ahead", lambda *_: pytest.fail("a thread"))
    x = opened(tmp_path, DATA)
    assert_same(x.mean(axis=1).compute(on="core"), sc.asarray(DATA).mean(axis=1).compute())


def test_few_sums_need_all_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    whole = worker.records_of

    def counted(*args: Any) -> Any:
        asked.append(len(args[-1]))
        return whole(*args)

    monkeypatch.setattr(worker, "records_of", counted)
    x = opened(tmp_path, DATA)
    assert_same(x.mean(axis=0).compute(on="core"), sc.asarray(DATA).mean(axis=0).compute())
    assert asked == []
    wide = DATA.copy()
    wide[50:54, 3, 5] = 1e308, 1e308, -1e308, -1e308  # their sums are out of range on the way
    x = opened(tmp_path, wide)
    assert_same(x.mean(axis=0).compute(on="core"), sc.asarray(wide).mean(axis=0).compute())
    assert sum(asked) == 1


class Counted:
    """Tiles that remember what was read of them."""

    label, shape, chunks = "counted", DATA.shape, (10, 11, 37)

    def __init__(self) -> None:
        self.boxes: list[Box] = []

    def read(self, box: Box, out: Any) -> None:
        self.boxes.append(box)
        out[...] = DATA[box]


def test_each_chunk_is_read_once_by_several_results() -> None:
    tiles = Counted()
    x = read_by_tiles(tiles, np.dtype("float64"))
    sc.compute(x.sum(), (x * x).sum(), x.max(), x.std(), on="core")
    assert [box[0] for box in tiles.boxes] == [slice(k, k + 10, 1) for k in range(0, 90, 10)]
    tiles.boxes.clear()
    sc.compute(x.mean(axis=0), x.std(axis=0), on="core")
    assert len(tiles.boxes) == 9
    tiles.boxes.clear()
    x[::30, 4, 2].mean().compute(on="core")
    assert tiles.boxes == [(slice(0, 61, 30), slice(4, 5, 1), slice(2, 3, 1))]


def test_what_lies_far_apart_is_read_apart() -> None:
    tiles = Counted()
    x, y = read_by_tiles(tiles, np.dtype("float64")), sc.asarray(DATA)
    assert_same((x + x[::-1]).compute(on="core"), (y + y[::-1]).compute())
    starts = sorted(box[0].start for box in tiles.boxes)
    assert starts == sorted([*range(0, 90, 10), *range(0, 40, 10), *range(50, 90, 10)])
    assert {box[0].stop - box[0].start for box in tiles.boxes} == {10}
    tiles.boxes.clear()
    assert_same(_near(x).std(axis=0).compute(on="core"), _near(y).std(axis=0).compute())
    assert sum(box[0].stop - box[0].start for box in tiles.boxes) < 3 * 90  # the three once
    assert_same(_near(x).std(axis=0).compute(on="cores"), _near(y).std(axis=0).compute())


def _near(x: Any) -> Any:
    """Three that are near each other, and one that is mostly far off."""
    return x[:-2] + x[1:-1] * x[2:] - x[:1:-1]


def test_an_error_of_a_reader_is_the_users() -> None:
    class Broken(Counted):
        def read(self, box: Box, out: Any) -> None:
            raise OSError("the disk is gone")

    x = read_by_tiles(Broken(), np.dtype("float64"))
    for on in ("core", "cores"):
        with pytest.raises(OSError, match="the disk is gone"):
            x.mean(axis=0).compute(on=on)


def test_the_plan_names_the_file(tmp_path: Path) -> None:
    x = opened(tmp_path, DATA)
    assert "reads x.npy[0 + (407, 37, 1)·i]" in repr(x.sum(axis=0).plan())


GROWTH = """
import sys
import numpy as np
import speedcube as sc

def peak():  # ru_maxrss would begin with what the process had that started this one
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024

x = sc.open(sys.argv[1])
program = {"mean": lambda: x.mean(axis=0), "std": lambda: x.std(), "max": lambda: x.max(axis=1),
    "neighbours": lambda: (x[1:] - x[:-1]).mean(axis=0)}[sys.argv[2]]()
sc.open(sys.argv[3]).sum(axis=0).compute(on=sys.argv[4])  # what the first kernel takes once
before = peak()
program.compute(on=sys.argv[4])
print(peak() - before, program.plan(on=sys.argv[4]).peak_bytes)
"""


@pytest.mark.slow
@pytest.mark.parametrize("on", ["core", "cores"])
@pytest.mark.parametrize("program", ["mean", "std", "max", "neighbours"])
def test_a_gigabyte_takes_what_is_promised(tmp_path: Path, program: str, on: str) -> None:
    small, large = tmp_path / "small.npy", tmp_path / "large.npy"
    np.save(small, DATA)
    file = np.lib.format.open_memmap(large, "w+", np.float64, (8000, 16000))
    file[::1000] = 1.0
    del file
    run = [sys.executable, "-c", GROWTH, str(large), program, str(small), on]
    done = subprocess.run(run, capture_output=True, text=True, env=os.environ, check=True)
    grown, promised = map(int, done.stdout.split())
    assert grown < promised < 200 << 20


def test_small_files_are_planned_once_and_read_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "BLOCK", 8 << 20)
    monkeypatch.setattr(NpyFile, "chunks", property(lambda self: self.shape))
    plans: list[Any] = []
    first = 0
    make_plan = memory.make_plan

    def counted(*args: Any) -> Any:
        plans.append(args)
        return make_plan(*args)

    monkeypatch.setattr(memory, "make_plan", counted)
    for k in range(3):
        data = np.random.default_rng(k).normal(size=(61, 7, 3))
        x = opened(tmp_path, data)
        for on in ("core", "cores"):
            each = [a.std(axis=0) - a[::-1].mean(axis=0) for a in (x, sc.asarray(data))]
            assert_same(each[0].compute(on=on), each[1].compute(on=on))
        np.save(tmp_path / "x.npy", data + 1)
        assert_same(x.max().compute(), (data + 1).max())
        first = first or len(plans)
    assert 0 < first == len(plans)


@pytest.mark.parametrize("on", ["core", "cores"])
def test_a_result_is_not_in_a_buffer_that_is_used_again(tmp_path: Path, on: str) -> None:
    runs = (PROGRAMS["itself"], lambda x: x[:1].sum(axis=0), lambda x: x[5:6].max(axis=0))
    kept = [run(opened(tmp_path, DATA)).compute(on=on) for run in runs]
    opened(tmp_path, DATA * 0 - 7).sum(axis=0).compute(on=on)
    for run, found in zip(runs, kept, strict=True):
        assert_same(found, run(sc.asarray(DATA)).compute(on="core"))
