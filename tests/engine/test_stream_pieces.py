"""Arrays of pieces of files, read box by box: the bits of memory, each chunk decoded once."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.streams.made import pieced, scanned
from speedcube.engine.streams.reading import Buffers
from speedcube.interop.readers import recent
from speedcube.interop.readers.encoded_zarr import EncodedZarr
from speedcube.interop.readers.npy import NpyFile
from speedcube.plan import streams

DATA: Any = np.random.default_rng(12).normal(size=(60, 11, 37))


@pytest.fixture(autouse=True)
def _small_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieced, "LEAST", 0)
    monkeypatch.setattr(scanned, "LEAST", 0)
    monkeypatch.setattr(streams, "BLOCK", 1 << 14)
    monkeypatch.setattr(streams, "QUICK", 1 << 13)
    monkeypatch.setattr(NpyFile, "chunks", property(lambda self: (7, 4, 37)[-len(self.shape) :]))


def assert_same(a: Any, b: Any) -> None:
    a, b = np.asarray(a), np.asarray(b)
    assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def _padded(x: Any, **how: Any) -> Any:
    return sc.pad(x, ((2, 1), (0, 3), (5, 0)), **how)


PROGRAMS: dict[str, Any] = {
    "gradient": lambda x: (sc.roll(x, -1, axis=2) - sc.roll(x, 1, axis=2)).mean(axis=0),
    "two means": lambda x: (sc.roll(x, 1, axis=0) - x).std(axis=0) + sc.roll(x, 2, axis=0).sum(0),
    "padded": lambda x: _padded(x).sum(axis=1),
    "padded with edges": lambda x: _padded(x, mode="edge") * 2,
    "padded with mirrors": lambda x: _padded(x, mode="reflect").max(axis=(0, 2)),
    "padded round": lambda x: _padded(x, mode="wrap")[1::3, ::-1].sum(axis=0),
    "joined": lambda x: sc.concatenate([x, -x[::-1], x[:9] * 3], axis=0).mean(axis=1),
    "joined with numbers": lambda x: sc.concatenate([x, sc.ones((5, 11, 37)), x], axis=0).sum(),
    "joined with what is drawn": lambda x: sc.concatenate(
        [x, sc.random.default_rng(3).normal(size=(5, 11, 37))]
    ).std(axis=0),
    "turned": lambda x: sc.roll(x.T, 3, axis=0).sum(axis=2),
    "of anomalies": lambda x: sc.roll(x - x.mean(axis=0), 3, axis=0)[:20].std(axis=1),
    "pieces of pieces": lambda x: sc.roll(sc.pad(x, 1), 5, axis=0).sum(axis=2),
    "running sums": lambda x: sc.roll(x, 7, axis=0).cumsum(axis=0),
    "running sums, rolled": lambda x: sc.roll(x.cumsum(axis=0), 7, axis=0).max(axis=1),
    "assigned": lambda x: sc.concatenate([x[:, :4], x[:, 4:] + 1], axis=1)[::5, ::2],
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("on", ["core", "cores:3"])
def test_pieces_of_files_have_the_bits_of_memory(tmp_path: Path, program: str, on: str) -> None:
    np.save(tmp_path / "x.npy", DATA)
    sc.asarray(DATA).to_zarr(tmp_path / "x.zarr", chunks=(9, 6, 37), codecs=["zstd"])
    run = PROGRAMS[program]
    want = run(sc.asarray(DATA)).compute(on=on)
    for name in ("x.npy", "x.zarr"):
        y = run(sc.open(tmp_path / name))
        assert " of x.npy" in str(y.plan(on=on)) or " of zarr" in str(y.plan(on=on))
        assert_same(y.compute(on=on), want)


def test_two_views_of_a_file_decode_each_chunk_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sc.asarray(DATA).to_zarr(tmp_path / "x.zarr", chunks=(6, 11, 37), codecs=["zstd"])
    decoded: list[Any] = []
    theirs = EncodedZarr._decoded

    def counted(self: EncodedZarr, *args: Any) -> bool:
        decoded.append(args[1])
        return theirs(self, *args)

    monkeypatch.setattr(EncodedZarr, "_decoded", counted)
    monkeypatch.setattr(recent, "_KEPT", {})
    x = sc.open(tmp_path / "x.zarr")
    y = (sc.roll(x, -1, axis=2) - sc.roll(x, 1, axis=2)).mean(axis=0)
    assert_same(y.compute(on="core"), PROGRAMS["gradient"](sc.asarray(DATA)).compute(on="core"))
    assert len(decoded) == 10


@pytest.mark.parametrize("name", ["x.npy", "x.raw", "x.zstd", "x.gzip"])
def test_pieces_are_read_where_they_belong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Not into memory of their own, to be copied from there."""
    monkeypatch.delattr(pieced, "Cells")
    np.save(tmp_path / "x.npy", DATA)
    for codec in ("zstd", "gzip", "raw"):
        codecs: Any = [] if codec == "raw" else [codec]
        sc.asarray(DATA).to_zarr(tmp_path / f"x.{codec}", chunks=(6, 4, 37), codecs=codecs)
    y = PROGRAMS["gradient"](sc.open(tmp_path / name))
    assert_same(y.compute(on="core"), PROGRAMS["gradient"](sc.asarray(DATA)).compute(on="core"))


def test_small_files_are_regions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieced, "LEAST", DATA.nbytes + 1)
    np.save(tmp_path / "x.npy", DATA)
    assert "regions" in str(sc.roll(sc.open(tmp_path / "x.npy"), 3, axis=0).sum().plan(on="core"))


def test_large_chunks_one_behind_the_other_are_regions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieced, "MOST_KEPT", 100)
    sc.asarray(DATA).to_zarr(tmp_path / "x.zarr", chunks=(9, 6, 37), codecs=["zstd"])
    x, a = sc.open(tmp_path / "x.zarr"), sc.asarray(DATA)
    for run, pieces in (
        (lambda x: sc.concatenate([x, x * 2]).sum(axis=1), "region"),
        (lambda x: sc.concatenate([x, x * 2]).cumsum(axis=0).max(axis=0), "blocks"),
        (lambda x: sc.roll(x, 1, axis=0).sum(axis=1), "blocks"),
    ):
        assert pieces in str(run(x).plan(on="core"))
        assert_same(run(x).compute(on="core"), run(a).compute(on="core"))


class _Slow(list[Any]):
    """A list whose ``pop`` takes so long that another thread comes between."""

    def pop(self, *args: Any) -> Any:
        time.sleep(0.02)
        return super().pop(*args)


def test_memory_is_given_to_one_thread_only() -> None:
    buffers = Buffers(_Slow())
    buffers.give(buffers.take((10,), "float64"))
    taken: list[Any] = []

    def take() -> None:
        taken.append(buffers.take((10,), "float64"))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len({one.__array_interface__["data"][0] for one in taken}) == 4
