"""Zarr chunks that lie in files as they are: the bits that Zarr reads, without Zarr."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube import errors
from speedcube.interop.readers.raw_zarr import RawZarr, raw_zarr

zarr = pytest.importorskip("zarr")

DATA: Any = np.random.default_rng(3).normal(size=(45, 11, 37))


def stored(tmp_path: Path, data: Any = DATA, **options: Any) -> Any:
    options = {"chunks": (7, 4, 37), "compressors": None} | options
    place = str(tmp_path / "x.zarr")
    array = zarr.create_array(place, shape=data.shape, dtype=data.dtype, **options)
    array[...] = data
    return zarr.open(place, mode="r")


def reader_of(array: Any) -> Any:
    return sc.from_zarr(array)._expr.source.tiles


ITEMS: list[Any] = [
    ...,
    (slice(3, 40), slice(1, 9), slice(2, 30)),
    (slice(None, None, 5), slice(None, None, 3), slice(1, None, 4)),
    (slice(None, None, 9), 3),
    (slice(None, None, -1), slice(8, 2, -2)),
    (44, 10, 36),
]


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("chunks", [(7, 4, 37), (45, 11, 37), (1, 11, 5), (50, 3, 64)])
@pytest.mark.parametrize("dtype", ["float64", ">f8", "uint8", "bool", "float16", "int32"])
def test_boxes_have_zarrs_bits(
    tmp_path: Path, zarr_format: int, chunks: tuple[int, ...], dtype: str
) -> None:
    data = (DATA * 9).astype(dtype)
    array = stored(tmp_path, data, chunks=chunks, zarr_format=zarr_format)
    assert isinstance(reader_of(array), RawZarr)
    for item in ITEMS:
        got, wanted = np.asarray(sc.from_zarr(array)[item]), data[item]
        assert got.dtype == np.dtype(dtype).newbyteorder("=")
        assert got.tobytes() == wanted.astype(got.dtype).tobytes()
    total = sc.from_zarr(array).astype("float64").sum(axis=1).compute(on="cores:2")
    np.testing.assert_array_equal(total, sc.asarray(data.astype("=f8")).sum(axis=1).compute())


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("fill", [0, 2.5, np.nan])
def test_missing_chunks_are_filled(tmp_path: Path, zarr_format: int, fill: float) -> None:
    place = str(tmp_path / "x.zarr")
    options: Any = {"chunks": (10, 40), "compressors": None, "fill_value": fill}
    array = zarr.create_array(
        place, shape=(25, 100), dtype="f8", zarr_format=zarr_format, **options
    )
    array[10:20, 40:] = DATA[0, 0, 0]
    assert isinstance(reader_of(array), RawZarr)
    np.testing.assert_array_equal(np.asarray(sc.open(place)), array[...])


def test_arrays_of_groups_and_without_axes_or_elements(tmp_path: Path) -> None:
    group = zarr.open_group(str(tmp_path / "g.zarr"), mode="w")
    inner = group.create_array("a/b", shape=(9,), dtype="i4", chunks=(4,), compressors=None)
    inner[...] = np.arange(9)
    found = sc.open(tmp_path / "g.zarr" / "a", "b")
    assert isinstance(found._expr.source.tiles, RawZarr)
    assert found.sum().compute() == 36
    nothing = group.create_array("n", shape=(0, 3), dtype="i4", chunks=(4, 3), compressors=None)
    assert sc.from_zarr(nothing).shape == (0, 3)
    one = group.create_array("s", shape=(), dtype="f8", compressors=None)
    one[...] = 4.0
    assert sc.from_zarr(one).compute() == 4.0


@pytest.mark.parametrize(
    "options",
    [
        {"compressors": "auto"},
        {"shards": (14, 4, 37)},
        {"filters": [zarr.codecs.TransposeCodec(order=(2, 1, 0))]},
    ],
)
def test_what_is_encoded_is_zarrs(tmp_path: Path, options: Any) -> None:
    array = stored(tmp_path, **options)
    assert raw_zarr(array, "x") is None
    np.testing.assert_array_equal(np.asarray(sc.from_zarr(array)[3:30, ::2]), DATA[3:30, ::2])


def test_fortran_order_and_memory_are_zarrs(tmp_path: Path) -> None:
    array = stored(tmp_path, zarr_format=2, order="F")
    assert raw_zarr(array, "x") is None
    np.testing.assert_array_equal(np.asarray(sc.from_zarr(array)), DATA)
    assert raw_zarr(zarr.create_array({}, data=np.arange(4.0), compressors=None), "x") is None


def test_a_chunk_that_is_cut_short_is_named(tmp_path: Path) -> None:
    array = stored(tmp_path)
    chunk = tmp_path / "x.zarr" / "c" / "2" / "1" / "0"
    chunk.write_bytes(chunk.read_bytes()[:100])
    with pytest.raises(ValueError, match=r"c/2/1/0 ends before its last element"):
        sc.from_zarr(array).sum().compute()


@pytest.mark.parametrize("rung", ["core", "cores:2"])
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_chunk_with_bytes_too_many_is_named(tmp_path: Path, zarr_format: int, rung: str) -> None:
    data = np.ones((2_000, 1_000))  # enough for tiles that a kernel takes as they are read
    array = stored(tmp_path, data, chunks=(1_000, 1_000), zarr_format=zarr_format)
    name = "c/1/0" if zarr_format == 3 else "1.0"
    with (tmp_path / "x.zarr" / name).open("ab") as file:
        file.write(b"abc")
    x = sc.from_zarr(array)
    assert x[:1000].sum().compute(on=rung) == 1_000_000
    text = rf"chunk \(1, 0\), cannot be read: .*/{name} has 8,000,003 bytes, and.* are 8,000,000; "
    for asked in (x.sum(), x.sum(axis=0), x.sum(axis=1), x[1500:, 3] + 1):
        with pytest.raises(errors.DataFileError, match=text):
            asked.compute(on=rung)


def test_a_chunk_that_is_no_file_is_an_error(tmp_path: Path) -> None:
    array = stored(tmp_path)
    chunk = tmp_path / "x.zarr" / "c" / "2" / "1" / "0"
    chunk.unlink()
    chunk.mkdir()
    with pytest.raises(OSError, match="directory"):
        sc.from_zarr(array).sum().compute()
