"""Zarr chunks that one codec encodes: decoded without Zarr, with Zarr's bits and Zarr's errors."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube import errors
from speedcube.engine.machine import cores
from speedcube.interop.readers import encoded_zarr
from speedcube.interop.readers.decoding import all_done
from speedcube.interop.readers.encoded_zarr import EncodedZarr, _zstd_size
from speedcube.interop.readers.sliceable import Sliceable
from speedcube.plan import streams

zarr = pytest.importorskip("zarr")
numcodecs = pytest.importorskip("numcodecs")

DATA: Any = np.random.default_rng(3).integers(0, 50, (45, 11, 37)).astype("float64")
ITEMS: list[Any] = [
    ...,
    (slice(3, 40), slice(1, 9), slice(2, 30)),
    (slice(None, None, 9), 3),
    (slice(None, None, -1), slice(8, 2, -2)),
    (44, 10, 36),
]
CODECS: dict[str, tuple[int, Any]] = {
    "zstd": (3, zarr.codecs.ZstdCodec()),
    "zstd with checksums": (3, zarr.codecs.ZstdCodec(level=9, checksum=True)),
    "blosc": (3, zarr.codecs.BloscCodec(cname="lz4")),
    "zstd of format 2": (2, numcodecs.Zstd()),
    "blosc of format 2": (2, numcodecs.Blosc("zstd", shuffle=2)),
    "lz4 of format 2": (2, numcodecs.LZ4()),
}


def stored(place: Path, codec: Any, version: int = 3, data: Any = DATA, **options: Any) -> Any:
    options = {"chunks": (7, 4, 37), "compressors": codec, "zarr_format": version} | options
    array = zarr.create_array(place, shape=data.shape, dtype=data.dtype, **options)
    array[...] = data
    return zarr.open(place, mode="r")


def reader_of(array: Any) -> Any:
    return array._expr.source.tiles


@pytest.mark.parametrize("name", CODECS)
@pytest.mark.parametrize("chunks", [(7, 4, 37), (45, 11, 37), (50, 3, 64)])
@pytest.mark.parametrize("dtype", ["float64", ">f8", "uint8", "bool"])
def test_boxes_have_zarrs_bits(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    chunks: tuple[int, ...],
    dtype: str,
) -> None:
    version, codec = CODECS[name]
    data = DATA.astype(dtype)
    array = stored(tmp_path / "x.zarr", codec, version, data, chunks=chunks)
    x = sc.from_zarr(array)
    assert isinstance(reader_of(x), EncodedZarr)
    monkeypatch.setattr(Sliceable, "read", lambda *_: pytest.fail("Zarr was asked"))
    for item in ITEMS:
        got, wanted = np.asarray(x[item]), data[item]
        assert got.dtype == np.dtype(dtype).newbyteorder("=")
        assert got.tobytes() == wanted.astype(got.dtype).tobytes()
    total = x.astype("float64").sum(axis=1).compute(on="cores:2")
    np.testing.assert_array_equal(total, sc.asarray(data.astype("=f8")).sum(axis=1).compute())


def test_threads_decode_chunks_of_a_box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoded_zarr, "_LEAST", 0)
    x = sc.from_zarr(stored(tmp_path / "x.zarr", *reversed(CODECS["zstd"])))
    by = set()
    placed = EncodedZarr._placed

    def seen(self: Any, *args: Any) -> bool:
        by.add(threading.current_thread().name)
        return placed(self, *args)

    monkeypatch.setattr(EncodedZarr, "_placed", seen)
    assert np.array_equal(np.asarray(x[3:40, 1:9]), DATA[3:40, 1:9])
    assert by
    assert all(name.startswith("speedcube-decoder") for name in by)
    (tmp_path / "x.zarr" / "c/2/1/0").write_bytes(b"nothing")
    with pytest.raises(errors.DataFileError, match=r"chunk \(2, 1, 0\), cannot be read"):
        x.compute()


def test_chunks_that_two_boxes_need_are_decoded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = stored(tmp_path / "x.zarr", zarr.codecs.ZstdCodec())
    monkeypatch.setattr(streams, "BLOCK", 1)  # a box for each chunk
    counted = []
    sizes = encoded_zarr._SIZES
    how = {"Zstd": lambda encoded: counted.append(len(encoded)) or sizes["Zstd"](encoded)}
    monkeypatch.setattr(encoded_zarr, "_SIZES", {**sizes, "ZstdCodec": how["Zstd"], **how})
    x, y = sc.from_zarr(array), sc.asarray(DATA)
    for program in (lambda a: (a[1:] - a[:-1]).sum(), lambda a: (a[2:] - a[:-2]).max()):
        counted.clear()
        assert program(x).compute(on="core") == program(y).compute()
        assert 0 < len(counted) <= 8 * 3  # the first box needs no part of another
    (tmp_path / "x.zarr" / "c/2/1/0").unlink()  # what was written anew is read anew
    array = stored(tmp_path / "y.zarr", zarr.codecs.ZstdCodec(), data=DATA + 1)
    (tmp_path / "y.zarr" / "c/2/1/0").rename(tmp_path / "x.zarr" / "c/2/1/0")
    changed = DATA.copy()
    changed[14:21, 4:8] += 1
    assert sc.from_zarr(zarr.open(tmp_path / "x.zarr"))[1:].max(axis=0).compute().tobytes() == (
        changed[1:].max(axis=0).tobytes()
    )


@pytest.mark.parametrize("name", CODECS)
def test_missing_chunks_are_filled(tmp_path: Path, name: str) -> None:
    version, codec = CODECS[name]
    options: Any = {"chunks": (10, 40), "compressors": codec, "fill_value": 2.5}
    place = tmp_path / "x.zarr"
    array = zarr.create_array(place, shape=(25, 100), dtype="f8", zarr_format=version, **options)
    array[10:20, 40:] = 7.0
    assert isinstance(reader_of(sc.open(place)), EncodedZarr)
    np.testing.assert_array_equal(np.asarray(sc.open(place)), array[...])


@pytest.mark.parametrize("name", CODECS)
def test_chunks_that_lie_are_zarrs_errors(tmp_path: Path, name: str) -> None:
    version, codec = CODECS[name]
    stored(tmp_path / "x.zarr", codec, version)
    chunk = tmp_path / "x.zarr" / ("c/2/1/0" if version == 3 else "2.1.0")
    whole = chunk.read_bytes()
    other = tmp_path / "other.zarr"
    stored(other, codec, version, DATA[:4, :4], chunks=(4, 4, 37))  # fewer elements than promised
    fewer = (other / ("c/0/0/0" if version == 3 else "0.0.0")).read_bytes()
    for wrong in (whole[:40], whole[:2], b"", b"\0" * 300, fewer):
        chunk.write_bytes(wrong)
        x = sc.open(tmp_path / "x.zarr")
        assert isinstance(reader_of(x), EncodedZarr)
        with pytest.raises(errors.DataFileError, match=r"zarr /, chunk \(2, 1, 0\), cannot be"):
            x.sum().compute()
        np.testing.assert_array_equal(x[:7].compute(), DATA[:7])
    chunk.unlink()
    os.mkfifo(chunk)
    with pytest.raises(OSError, match="not a regular file"):
        sc.open(tmp_path / "x.zarr").sum().compute()


@pytest.mark.parametrize(
    "options",
    [
        {"compressors": [zarr.codecs.ZstdCodec(), zarr.codecs.Crc32cCodec()]},
        {"compressors": zarr.codecs.GzipCodec()},
        {"shards": (14, 4, 37)},
        {"filters": [zarr.codecs.TransposeCodec(order=(2, 1, 0))]},
    ],
)
def test_what_is_unusual_is_zarrs(tmp_path: Path, options: Any) -> None:
    x = sc.from_zarr(stored(tmp_path / "x.zarr", "auto", **options))
    assert isinstance(reader_of(x), Sliceable)
    np.testing.assert_array_equal(np.asarray(x[3:30, ::2]), DATA[3:30, ::2])


@pytest.mark.parametrize("size", [10, 200, 256, 300, 65_791, 65_792, 100_000])
@pytest.mark.parametrize("checksum", [False, True])
def test_a_frames_header_tells_its_size(size: int, checksum: bool) -> None:
    encoded = numcodecs.Zstd(checksum=checksum).encode(np.random.default_rng(0).bytes(size))
    assert _zstd_size(bytes(encoded)) == size
    assert _zstd_size(b"") is _zstd_size(b"\0" * 30) is None


def test_threads_that_decode_are_as_many_as_cores_however_often_boxes_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoded_zarr, "_LEAST", 0)
    data = np.random.default_rng(5).normal(size=(40, 30))
    sc.asarray(data).to_zarr(tmp_path / "x.zarr", chunks=(4, 30), codecs=["zstd"])
    x = sc.open(tmp_path / "x.zarr")
    for _ in range(20):
        assert np.array_equal(x.compute(), data)
    named = [one for one in threading.enumerate() if one.name.startswith("speedcube-decoder")]
    assert 0 < len(named) <= cores()


def test_a_chunk_that_does_not_decode_is_waited_for_by_all(tmp_path: Path) -> None:
    done: list[int] = []

    def work(k: int) -> bool:
        if k == 0:
            raise ValueError("this one is wrong")
        time.sleep(0.05)
        done.append(k)
        return True

    with pytest.raises(ValueError, match="this one is wrong"):
        all_done(work, range(5))
    known = len(done)
    time.sleep(0.2)
    assert len(done) == known


def test_a_process_that_was_forked_has_threads_of_its_own() -> None:
    assert all_done(lambda k: True, range(3))
    child = os.fork()
    if not child:
        os._exit(0 if all_done(lambda k: k < 3, range(3)) else 1)
    assert os.waitpid(child, 0)[1] == 0
