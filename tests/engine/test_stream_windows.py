"""Reductions of windows of files, made box by box: the bits of arrays in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dask.array import overlap
from numpy.lib.stride_tricks import sliding_window_view

import speedcube as sc
from speedcube.engine.streams.made import pieced, reduced
from speedcube.interop.readers.npy import NpyFile
from speedcube.plan import streams

DATA: Any = np.random.default_rng(13).normal(size=(60, 11, 37))


@pytest.fixture(autouse=True)
def _small_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieced, "LEAST", 0)
    monkeypatch.setattr(reduced, "LEAST", 0)
    monkeypatch.setattr(reduced, "MOST_KEPT", 0)
    monkeypatch.setattr(streams, "BLOCK", 1 << 14)
    monkeypatch.setattr(streams, "QUICK", 1 << 13)
    monkeypatch.setattr(NpyFile, "chunks", property(lambda self: (7, 4, 37)[-len(self.shape) :]))


def assert_same(a: Any, b: Any) -> None:
    a, b = np.asarray(a), np.asarray(b)
    assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def windows(x: Any, *how: Any) -> Any:
    return sc.overlap.sliding_window_view(x, *how)


PROGRAMS: dict[str, Any] = {
    "moving mean, its greatest": lambda x: windows(x, 7, 0).mean(axis=-1).max(axis=0),
    "moving mean": lambda x: windows(x, 7, 0).mean(axis=-1),
    "of every third": lambda x: windows(x, 7, 0).mean(axis=-1)[1:50:3, ::-1, 5],
    "moving spread": lambda x: windows(x, 5, 2).std(axis=-1).sum(axis=1),
    "moving extremes": lambda x: windows(x, (3, 4), (0, 2)).max(axis=(-1, -2)).mean(axis=0),
    "padded": lambda x: (
        windows(sc.pad(x, ((3, 3), (0, 0), (0, 0)), mode="edge"), 7, 0).mean(axis=-1) - x
    ),
    "of a map": lambda x: windows(x * 2 + 1, 4, 1).sum(axis=-1).mean(),
    "of counts": lambda x: windows(x > 0, 9, 0).sum(axis=-1).max(axis=0),
    "of anomalies": lambda x: windows(x - x.mean(axis=0), 7, 0).min(axis=-1).std(axis=0),
    "of moving means": lambda x: windows(windows(x, 7, 0).mean(axis=-1), 3, 0).max(axis=-1).sum(),
    "coarse": lambda x: x.reshape(30, 2, 11, 37).mean(axis=1).std(axis=0),
    "kept as 1": lambda x: (x - x.mean(axis=2, keepdims=True)).std(axis=0),
    "running sums": lambda x: windows(x, 7, 0).mean(axis=-1).cumsum(axis=0),
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("on", ["core", "cores:3"])
def test_windows_of_files_have_the_bits_of_memory(tmp_path: Path, program: str, on: str) -> None:
    np.save(tmp_path / "x.npy", DATA)
    sc.asarray(DATA).to_zarr(tmp_path / "x.zarr", chunks=(9, 6, 37), codecs=["zstd"])
    run = PROGRAMS[program]
    want = run(sc.asarray(DATA)).compute(on=on)
    for name in ("x.npy", "x.zarr"):
        y = run(sc.open(tmp_path / name))
        assert "blocks" in str(y.plan(on=on))
        assert_same(y.compute(on=on), want)


def test_moving_means_of_much_keep_to_the_promise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # boxes as they are
    shape = (40_000, 96, 192)
    with (tmp_path / "x.npy").open("wb") as file:  # whose elements are holes of the file
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f4", "fortran_order": False, "shape": shape}
        )
        file.truncate(file.tell() + 4 * int(np.prod(shape)))
    x = sc.open(tmp_path / "x.npy")
    padded = sc.pad(x, ((6, 0), (0, 0), (0, 0)), constant_values=np.nan)
    plan = windows(padded, 7, 0).mean(axis=-1).max(axis=0).plan(on="cores:2")
    assert plan.peak_bytes < 512e6
    assert "blocks" in str(plan)


def test_a_mean_of_windows_around_nan_reads_each_chunk_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = np.where(DATA > 1, np.nan, DATA)
    np.save(tmp_path / "x.npy", data)
    read: list[Any] = []

    def counted(self: Any, box: Any, out: Any, plain: Any = NpyFile.read) -> None:
        read.append(out.nbytes)
        plain(self, box, out)

    monkeypatch.setattr(NpyFile, "read", counted)

    def coarse(x: Any) -> Any:
        return sc.nanmean(x.reshape(30, 2, 11, 37), axis=1) * 2

    want = coarse(sc.asarray(data)).compute(on="core")
    for on in ("core", "cores:2"):
        read.clear()
        assert_same(coarse(sc.open(tmp_path / "x.npy")).compute(on=on), want)
        assert sum(read) <= data.nbytes


@pytest.mark.parametrize(
    ("size", "axis"),
    [((2, 3, 4), None), (3, 1), ((2, 2), (1, 1)), (11, 1), ((2, 3), (2, 0)), (0, 1)],
)
@pytest.mark.parametrize("kind", ["stored", "map", "turned", "padded", "complex", "drawn"])
def test_windows_are_numpys(kind: str, size: Any, axis: Any) -> None:
    x: Any = sc.asarray(DATA)
    x = {
        "stored": lambda: x,
        "map": lambda: x * 2,
        "turned": lambda: x.swapaxes(0, 2)[:, :, ::-1].swapaxes(0, 2),
        "padded": lambda: sc.pad(x, 1)[1:-1, 1:-1, 1:-1],
        "complex": lambda: x * 1j,
        "drawn": lambda: sc.random.default_rng(0).normal(size=DATA.shape),
    }[kind]()
    want = sliding_window_view(np.asarray(x.compute()), size, axis)
    assert_same(windows(x, size, axis).compute(), want)
    assert windows(x, size, axis).shape == want.shape
    assert_same(np.lib.stride_tricks.sliding_window_view(x, size, axis).compute(), want)


@pytest.mark.parametrize(
    ("size", "axis", "says"),
    [
        (12, 1, "a window of 12 does not fit into axis 1 of 11 elements"),
        ((1, 2), 0, "2 sizes for 1 axes"),
        (-1, 0, "must not be negative"),
        (2, None, "1 sizes for 3 axes"),
    ],
)
def test_windows_that_are_none(size: Any, axis: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        windows(sc.asarray(DATA), size, axis)


def test_windows_have_the_grid_that_dask_gives() -> None:
    x = sc.asarray(DATA, chunks=(20, 11, 37))
    theirs = overlap.sliding_window_view(x.to_dask_array(), 7, 0)
    assert windows(x, 7, 0).chunks == theirs.chunks
