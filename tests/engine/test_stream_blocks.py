"""Blocks of plain files: small, alike but for the boxes they read, and read in several ways."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.api.files.opening import read_by_tiles
from speedcube.engine.boxes import Stop
from speedcube.engine.streams import reading, records
from speedcube.engine.streams.adding import add, can_add
from speedcube.engine.streams.reading import Buffers, read_blocks
from speedcube.engine.streams.sums import Bounded
from speedcube.expr.nodes import leaves
from speedcube.expr.sources.tiled import Box, from_page, page_memory
from speedcube.interop.readers.npy import NpyFile
from speedcube.plan import streams
from speedcube.plan.reads import BlockRoom
from speedcube.plan.streams import blocks_of, cuts_results, room_for

from .test_streams import PROGRAMS, assert_same

DATA: Any = np.random.default_rng(3).normal(size=(90, 11, 37))


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BLOCK", 1 << 16)
    monkeypatch.setattr(streams, "QUICK", 1 << 13)
    monkeypatch.setattr(NpyFile, "chunks", property(lambda self: (2, 11, 37)[-len(self.shape) :]))


def opened(tmp_path: Path, data: Any) -> Any:
    np.save(tmp_path / "x.npy", data)
    return sc.open(tmp_path / "x.npy")


SOME = ("sum", "mean", "columns", "rows", "both", "extremes", "places", "place", "neighbours")


@pytest.mark.parametrize("program", [*SOME, "standardised", "places-in", "reversed", "flat"])
@pytest.mark.parametrize("on", ["core", "cores"])
def test_small_blocks_have_the_bits_of_memory(tmp_path: Path, program: str, on: str) -> None:
    run = PROGRAMS[program]
    assert_same(run(opened(tmp_path, DATA)).compute(on=on), run(sc.asarray(DATA)).compute(on=on))


@pytest.mark.parametrize("program", [*SOME, "itself", "turned", "standardised", "reversed", "dot"])
@pytest.mark.parametrize("chunks", [(1, 11, 37), (1, 1, 37), (7, 11, 1)])
def test_blocks_of_one_index_along_an_axis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, chunks: Any
) -> None:
    # A chunk of one row that is as large as a block: what moves along its axis moves in the file.
    monkeypatch.setattr(streams, "BLOCK", 1)
    monkeypatch.setattr(NpyFile, "chunks", property(lambda self: chunks[-len(self.shape) :]))
    data, run = DATA[:9], PROGRAMS[program]
    assert_same(
        run(opened(tmp_path, data)).compute(on="core"), run(sc.asarray(data)).compute(on="core")
    )


EXPRESSIONS: dict[str, Any] = {
    "one": lambda x: x,
    "map": lambda x: x * 2 + 1,
    "neighbours": lambda x: x[1:] - x[:-1],
    "both ends": lambda x: x + x[::-1],
    "turned": lambda x: x.transpose(2, 0, 1),
    "with a place": lambda x: x + sc.arange(90)[:, None, None],
    "with a column": lambda x: x + sc.arange(37),
    "every third": lambda x: x[1::3, ::-1],
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_blocks_that_are_moved_are_those_that_are_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    root = EXPRESSIONS[name](opened(tmp_path, DATA))._expr
    moved = list(blocks_of(root, BlockRoom(1 << 13)))
    monkeypatch.setattr(streams, "rows_that_move", lambda *_: None)
    made = list(blocks_of(root, BlockRoom(1 << 13)))
    assert len(moved) == len(made) > 3
    for one, other in zip(moved, made, strict=True):
        assert one.item == other.item
        assert [r.box for r in one.reads] == [r.box for r in other.reads]
        assert [(x.shape, x.offset, x.strides) for x in leaves(one.root)] == [
            (x.shape, x.offset, x.strides) for x in leaves(other.root)
        ]
    alike = len({id(one.root) for one in moved}) < len(moved)
    assert alike == (name not in ("both ends", "with a place"))


def test_results_that_blocks_share_have_larger_ones(tmp_path: Path) -> None:
    root = opened(tmp_path, DATA)._expr
    assert (
        room_for(root, ())
        == room_for(root, (0, 1, 2))
        == room_for(root, (2,))
        == BlockRoom(1 << 13)
    )
    assert room_for(root, (0,)) == BlockRoom(1 << 16)
    assert cuts_results(root, (0,), BlockRoom(1 << 13))
    assert not cuts_results(root, (1, 2), BlockRoom(1 << 13))


@pytest.mark.parametrize(
    ("shape", "here"),
    [((9000,), (slice(10, 5000),)), ((300, 64), (slice(None), slice(3, 60))), ((70, 64, 3), ())],
)
def test_a_kernel_adds_bounded_sums_as_numpy_does(shape: Any, here: Any) -> None:
    rng = np.random.default_rng(4)

    def drawn(shape: Any) -> Bounded:
        parts = (rng.normal(size=shape) * 10.0 ** rng.integers(-9, 9, shape) for _ in range(3))
        return Bounded(*parts)

    mine = drawn(shape).at(here)
    more = drawn(mine.high.shape)
    more.high.flat[5], more.bound.flat[9], more.high.flat[12] = np.nan, np.inf, -mine.high.flat[12]
    wanted = mine + more
    assert can_add(mine)
    add(mine, more)
    for got, its in zip(
        (mine.high, mine.low, mine.bound), (wanted.high, wanted.low, wanted.bound), strict=True
    ):
        np.testing.assert_array_equal(got, its)
    assert not can_add(drawn((4, 4)))
    assert not can_add(drawn((300, 64)).at((slice(None), slice(None, None, 2))))


def test_a_first_thin_block_shares_results(tmp_path: Path) -> None:
    """Chunks that begin before a slice does: the first block is short, whatever the others are."""
    x, y = opened(tmp_path, DATA)[1:4], sc.asarray(DATA)[1:4]
    assert cuts_results(x._expr, (0,), BlockRoom(1 << 13))
    assert_same(x.sum(axis=0).compute(on="core"), y.sum(axis=0).compute())


def test_buffers_begin_where_pages_do() -> None:
    buffers = Buffers()
    one = buffers.take((3, 700), "float64")
    two = buffers.take((5,), "uint8")
    assert one.ctypes.data % 4096 == two.ctypes.data % 4096 == 0
    buffers.give(one)
    assert buffers.take((700,), "int64").ctypes.data == one.ctypes.data
    assert page_memory(10_000).size == 10_000
    assert from_page(np.empty(5000, np.uint8)).size == 904


class Slow:
    """Tiles that tell which thread reads, and raise at a place."""

    label, shape, chunks, decodes = "slow", DATA.shape, (2, 11, 37), False

    def __init__(self, wrong: int = -1) -> None:
        self.wrong, self.by = wrong, set[str]()

    def read(self, box: Box, out: Any) -> None:
        self.by.add(threading.current_thread().name)
        if box[0].start == self.wrong:
            raise OSError("the disk is gone")
        out[...] = DATA[box]


def test_who_reads() -> None:
    """One thread computes while another reads; where all compute, each reads its own."""
    tiles = Slow()
    x = read_by_tiles(tiles, np.dtype("float64"))
    x.sum().compute(on="core")
    assert tiles.by == {"speedcube-reader"}
    tiles.by.clear()
    x.sum().compute(on="cores:2")
    assert tiles.by
    assert "speedcube-reader" not in tiles.by


@pytest.mark.parametrize("on", ["core", "cores:2"])
def test_no_reader_stays_behind(on: str) -> None:
    with pytest.raises(OSError, match="the disk is gone"):
        read_by_tiles(Slow(wrong=40), np.dtype("float64")).sum().compute(on=on)
    assert "speedcube-reader" not in {one.name for one in threading.enumerate()}


def test_who_leaves_early_ends_the_reader() -> None:
    tiles = Slow()
    root = read_by_tiles(tiles, np.dtype("float64"))._expr
    for block, read in read_blocks(blocks_of(root, BlockRoom(1 << 13)), Stop(), busy=False):
        assert_same(next(iter(read.values())), DATA[block.reads[0].box])
        break
    del block, read
    assert "speedcube-reader" not in {one.name for one in threading.enumerate()}
    assert reading.AHEAD == 2


def test_carries_move_on_between_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limb of a record has no room for more elements than that."""
    moved: list[int] = []
    carry = records.carry

    def counted(limbs: Any) -> None:
        moved.append(len(limbs))
        carry(limbs)

    monkeypatch.setattr(records, "CARRY_AFTER", 5000)
    monkeypatch.setattr(records, "carry", counted)
    x = opened(tmp_path, DATA)
    assert_same(x.sum().compute(on="core"), sc.asarray(DATA).sum().compute(on="core"))
    assert len(moved) > 3


class Unread(Slow):
    """Tiles that are not to be read."""

    def read(self, box: Box, out: Any) -> None:
        pytest.fail("it was read")


EMPTY: dict[str, Any] = {
    "itself": lambda x: x[3:3] * 2,
    "sum": lambda x: x[3:3].sum(axis=0),
    "all": lambda x: (x[3:3] > 1).all(),
    "columns": lambda x: x[:, 4:4].sum(axis=1) + 1,
    "scan": lambda x: x[3:3].cumsum(axis=0),
    "product": lambda x: x[3:3].prod(axis=0),
    "sorted": lambda x: sc.sort(x[3:3], axis=0),
    "counts": lambda x: sc.histogram(x[3:3], bins=3, range=(0, 1))[0],
    "numbers": lambda x: sc.bincount(x[3:3].astype("i8").reshape(-1), minlength=4),
}


@pytest.mark.parametrize("name", EMPTY)
@pytest.mark.parametrize("on", ["core", "cores"])
def test_an_empty_slice_reads_nothing(name: str, on: str) -> None:
    y = EMPTY[name](read_by_tiles(Unread(), np.dtype("float64")))
    assert_same(y.compute(on=on), EMPTY[name](sc.asarray(DATA)).compute(on=on))
    plan = repr(y.plan(on=on))
    assert "reads 0 B of 293 kB of slow, 0 of 45 chunks" in plan or "reads" not in plan
