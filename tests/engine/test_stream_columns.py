"""Sums down a file's rows: blocks of a few columns, read in pieces that lie apart."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube import errors
from speedcube.engine.streams import fed
from speedcube.interop.readers import npy
from speedcube.plan import reads, streams
from speedcube.plan.reads import BlockRoom
from speedcube.plan.streams import block_bytes, blocks_of, room_for, shared_room

from .test_streams import assert_same

DATA: Any = np.random.default_rng(3).normal(size=(90, 11, 37))
PIECE = 2 * 37 * 8  # two lines of a row


@pytest.fixture(autouse=True)
def _short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BLOCK", 30 * PIECE)
    monkeypatch.setattr(streams, "QUICK", 1 << 12)
    monkeypatch.setattr(streams, "FEW_RESULTS", 50)
    monkeypatch.setattr(reads, "PIECE", PIECE)
    monkeypatch.setattr(npy, "_LEAST_PIECE", 1 << 8)
    monkeypatch.setattr(npy, "_AT_ONCE", 1 << 13)


def opened(tmp_path: Path, form: str) -> Any:
    if form == "npy":
        np.save(tmp_path / "x.npy", DATA)
        return sc.open(tmp_path / "x.npy")
    sc.asarray(DATA).to_zarr(tmp_path / "x.zarr", chunks=(16, 11, 37), codecs=[])
    return sc.open(tmp_path / "x.zarr")


@pytest.mark.parametrize("form", ["npy", "zarr"])
def test_blocks_grow_down_the_rows(tmp_path: Path, form: str) -> None:
    root = opened(tmp_path, form)._expr
    room = room_for(root, (0,))
    assert room == BlockRoom(block_bytes(root), 0)
    shapes = [block.root.shape for block in blocks_of(root, room)]
    assert shapes[:2] == [(22, 2, 37)] * 2
    assert shapes[5] == (22, 1, 37)
    assert sum(map(np.prod, shapes)) == DATA.size
    assert all(8 * np.prod(shape) <= block_bytes(root) for shape in shapes)
    # Results that no two blocks share, or few, or pieces that lie nowhere: rows, as ever.
    assert room_for(root, (1, 2)).down == room_for(root, (0, 1)).down == -1
    assert room_for(sc.open(next(tmp_path.iterdir())).transpose(2, 1, 0)._expr, (2,)).down == -1
    assert shared_room([room, BlockRoom(9)]) == BlockRoom(room.size)
    assert shared_room([room, room]) == room


PROGRAMS: dict[str, Any] = {
    "sum": lambda x: x.sum(axis=0),
    "mean of a slice": lambda x: x[3:, 1:9].mean(axis=0),
    "every third": lambda x: x[1::3].sum(axis=0),
    "spread": lambda x: x.std(axis=0),
    "largest": lambda x: x.max(axis=0),
    "middle": lambda x: (x * 2 + 1).sum(axis=(0, 2)),
    "with a row": lambda x: (x - sc.arange(37)).sum(axis=0),
    "beside itself": lambda x: (x[1:] * x[:-1]).sum(axis=0),
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("form", ["npy", "zarr"])
@pytest.mark.parametrize("on", ["core", "cores"])
def test_their_bits_are_those_of_memory(tmp_path: Path, program: str, form: str, on: str) -> None:
    run = PROGRAMS[program]
    assert_same(run(opened(tmp_path, form)).compute(on=on), run(sc.asarray(DATA)).compute(on=on))


def test_sums_of_several_axes_share_a_reading(tmp_path: Path) -> None:
    x, y = opened(tmp_path, "npy"), sc.asarray(DATA)
    for got, wanted in zip(
        sc.compute(x.sum(axis=0), x.sum(axis=2), x.std()),
        sc.compute(y.sum(axis=0), y.sum(axis=2), y.std()),
        strict=True,
    ):
        assert_same(got, wanted)


def test_a_file_that_is_cut_short_says_so(tmp_path: Path) -> None:
    x = opened(tmp_path, "npy")
    os.truncate(tmp_path / "x.npy", (tmp_path / "x.npy").stat().st_size - 5)
    with pytest.raises(errors.DataFileError, match="cut short"):
        x.sum(axis=0).compute(on="core")


def test_pieces_are_read_where_they_lie(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(bytes(range(200)))
    handle = os.open(tmp_path / "bytes", os.O_RDONLY)
    out = np.zeros(12, np.uint8)
    assert fed.read_pieces(handle, 10, 50, 3, out) == 4
    assert out.tolist() == [10, 11, 12, 60, 61, 62, 110, 111, 112, 160, 161, 162]
    assert fed.read_pieces(handle, 99, 50, 3, out) == 2  # the third ends behind the file
    os.close(handle)
    assert fed.read_pieces(handle, 10, 50, 3, out) == 0


def test_threads_that_come_first_together_have_one_kernel_each(tmp_path: Path) -> None:
    """One of them is in no cache: its code stays as long as it runs."""
    (tmp_path / "bytes").write_bytes(bytes(1 << 16))
    handle, found = os.open(tmp_path / "bytes", os.O_RDONLY), list[int]()

    def run() -> None:
        barrier.wait()
        found.append(fed.read_pieces(handle, 0, 16, 8, np.zeros(1 << 14, np.uint8)))

    for _ in range(10):
        fed._kernel.cache_clear()
        barrier = threading.Barrier(4)
        threads = [threading.Thread(target=run) for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    os.close(handle)
    assert found == [2048] * 40
