"""Chunks that several passes read are decoded once, as far as memory holds them; and then freed."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine import machine
from speedcube.engine.streams import decoded
from speedcube.interop.readers import recent
from speedcube.interop.readers.encoded_zarr import EncodedZarr
from speedcube.plan.writing import OVERHEAD

DATA: Any = np.random.default_rng(5).normal(size=(48, 16, 40))
CHUNK = 8 * 16 * 40 * 8  # bytes; six chunks


@pytest.fixture
def chunks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A list that grows with each chunk that is decoded."""
    found: list[Any] = []
    own = EncodedZarr._decoded

    def counted(self: Any, *args: Any) -> bool:
        found.append(args)
        return own(self, *args)

    monkeypatch.setattr(EncodedZarr, "_decoded", counted)
    monkeypatch.setattr(recent, "MOST", 0)
    return found


def _opened(folder: Path) -> Any:
    sc.asarray(DATA).to_zarr(folder / "x.zarr", chunks=(8, 16, 40), codecs=["zstd"])
    return sc.open(folder / "x.zarr")


def _raw(folder: Path) -> Any:
    sc.asarray(DATA).to_zarr(folder / "raw.zarr", chunks=(8, 16, 40), codecs=[])
    return sc.open(folder / "raw.zarr")


def _anomaly(x: Any) -> Any:
    return sc.nanstd(x - x.mean(axis=0), axis=0)


@pytest.mark.parametrize("on", ["core", "cores:2"])
def test_three_passes_decode_each_chunk_once(tmp_path: Path, chunks: list[Any], on: str) -> None:
    x = _opened(tmp_path)
    want = _anomaly(sc.asarray(DATA)).compute(on=on)
    plan = _anomaly(x).plan(on=on)
    assert f"keeps {DATA.nbytes / 1e3:,.1f} kB of decoded chunks" in str(plan)
    assert plan.kept_bytes == DATA.nbytes
    assert _anomaly(x).compute(on=on).tobytes() == want.tobytes()
    assert len(chunks) == 6
    assert not decoded._CHUNKS
    assert not decoded.is_open()


def test_what_does_not_fit_is_decoded_again(
    tmp_path: Path, chunks: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = _opened(tmp_path)
    want = sc.nanstd(x, axis=0).compute(on="core")
    once = len(chunks)
    monkeypatch.setattr(decoded, "MOST", 0)
    none = sc.nanstd(x, axis=0).plan(on="core")
    assert (none.kept_bytes, "keeps" in str(none)) == (0, False)
    monkeypatch.setattr(decoded, "MOST", none.peak_bytes + 2 * CHUNK + 100)
    assert decoded.room_for_passes(none, 1 << 40) == 2 * CHUNK + 100
    chunks.clear()
    assert sc.nanstd(x, axis=0).compute(on="core").tobytes() == want.tobytes()
    assert (once, len(chunks)) == (6, 10)  # two of six are there in the second pass


def test_one_pass_keeps_nothing(tmp_path: Path, chunks: list[Any]) -> None:
    x = _opened(tmp_path)
    assert x.mean(axis=0).plan().kept_bytes == 0
    assert sc.nanstd(_raw(tmp_path), axis=0).plan().kept_bytes == 0
    x.mean(axis=0).compute()
    assert len(chunks) == 6


def test_little_memory_keeps_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = _opened(tmp_path)
    peak = x.mean(axis=0).plan(on="core").peak_bytes
    monkeypatch.setattr(machine, "free_memory", lambda: 2 * peak)
    plan = sc.nanstd(x, axis=0).plan(on="core")
    assert plan.peak_bytes <= 2 * peak
    monkeypatch.setattr(machine, "free_memory", lambda: plan.peak_bytes - plan.kept_bytes)
    assert sc.nanstd(x, axis=0).plan(on="core").kept_bytes == 0  # and it is not refused


def test_a_file_that_was_written_anew_is_read_anew(tmp_path: Path) -> None:
    x = _opened(tmp_path)
    with decoded.keeping(1 << 20):
        assert float(x[0, 0, 0]) == DATA[0, 0, 0]
        sc.asarray(DATA + 1).to_zarr(tmp_path / "x.zarr", chunks=(8, 16, 40), mode="w")
        assert float(sc.open(tmp_path / "x.zarr")[0, 0, 0]) == DATA[0, 0, 0] + 1


def test_a_write_finds_what_its_means_decoded(tmp_path: Path, chunks: list[Any]) -> None:
    x = _opened(tmp_path)
    y = (x - x.mean(axis=0)) / x.std(axis=0)
    plan = y.to_zarr(tmp_path / "y.zarr", chunks=(8, 16, 40), compute=False).plan()
    assert plan.kept_bytes == DATA.nbytes
    assert "keeps" in str(plan)
    y.to_zarr(tmp_path / "y.zarr", chunks=(8, 16, 40))
    assert len(chunks) == 6
    want = ((m := sc.asarray(DATA)) - m.mean(axis=0)) / m.std(axis=0)
    assert sc.open(tmp_path / "y.zarr").compute().tobytes() == want.compute().tobytes()
    small = y.to_zarr(tmp_path / "z.zarr", chunks=(8, 16, 40), memory="80MB", compute=False).plan()
    assert small.kept_bytes == 0


def test_a_write_whose_blocks_share_chunks_decodes_each_once(
    tmp_path: Path, chunks: list[Any]
) -> None:
    data: Any = np.random.default_rng(6).normal(size=(4096, 24, 24)).astype("f4")
    sc.asarray(data).to_zarr(tmp_path / "maps.zarr", chunks=(64, 24, 24), codecs=["zstd"])
    maps = sc.open(tmp_path / "maps.zarr")
    how: Any = {"chunks": (4096, 6, 6), "codecs": ["zstd"], "on": "cores:2"}
    how["memory"] = OVERHEAD + 100_000_000
    plan = maps.to_zarr(tmp_path / "series.zarr", compute=False, **how).plan()
    assert plan.grid.counts == (1, 4, 1)
    assert (plan.at_once, plan.kept_bytes) == (2, data.nbytes)
    assert plan.peak_bytes <= how["memory"]
    maps.to_zarr(tmp_path / "series.zarr", **how)
    assert len(chunks) == 64
    assert not decoded._CHUNKS
    assert sc.open(tmp_path / "series.zarr").compute().tobytes() == data.tobytes()


@pytest.mark.parametrize("late", [0, 0.1], ids=["at once", "while it is decoded"])
def test_threads_that_need_one_chunk_at_once_decode_it_once(
    late: float, tmp_path: Path, chunks: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    sc.asarray(DATA).to_zarr(tmp_path / "x.zarr", chunks=DATA.shape, codecs=["zstd"])
    x, counted = sc.open(tmp_path / "x.zarr"), EncodedZarr._decoded
    both = threading.Barrier(2)

    def slow(*args: Any) -> bool:
        time.sleep(0.3)  # the other thread asks meanwhile
        return bool(counted(*args))

    def read(part: slice) -> Any:
        both.wait()
        time.sleep(late * bool(part.start))
        return x[part].compute(on="core")

    monkeypatch.setattr(EncodedZarr, "_decoded", slow)
    parts = (slice(0, 20), slice(4, 30))
    with decoded.keeping(DATA.nbytes), ThreadPoolExecutor(2) as threads:
        found = list(threads.map(read, parts))
    assert len(chunks) == 1
    for part, got in zip(parts, found, strict=True):
        np.testing.assert_array_equal(got, DATA[part])


def test_what_is_computed_before_a_write_is_counted_once_for_all_threads(tmp_path: Path) -> None:
    x = _opened(tmp_path)
    made = (x - x.mean(axis=0)).to_zarr(tmp_path / "y.zarr", compute=False, on="cores:2").plan()
    assert made.kept_bytes == DATA.nbytes
    assert made.before_bytes == x.mean(axis=0).plan(on="cores:2").peak_bytes
