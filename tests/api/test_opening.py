"""`open`, `from_npy` and `from_zarr`: what they take, and what they say to what they do not."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube import errors

zarr = pytest.importorskip("zarr", reason='needs pip install "speedcube[io]"')
DATA: Any = np.arange(60.0).reshape(5, 12)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["<f8", ">f8", "<i2", ">u4", "?", "<f2"])
@pytest.mark.parametrize(
    "key", [..., np.s_[1:4, ::3], np.s_[::-2], np.s_[:, 3], np.s_[4, 11], np.s_[2:2]]
)
def test_npy_files_of_every_layout(tmp_path: Path, order: Any, kind: str, key: Any) -> None:
    data = np.asarray(DATA.astype(kind), order=order)
    np.save(tmp_path / "x.npy", data)
    got = sc.open(tmp_path / "x.npy")[key].compute()
    assert got.dtype == data.dtype.newbyteorder("=")
    assert np.array_equal(got, data[key])


@pytest.mark.parametrize("version", [2, 3])
def test_zarr_arrays(tmp_path: Path, version: Any) -> None:
    place = tmp_path / "x.zarr"
    z = zarr.create_array(store=place, data=DATA, chunks=(2, 5), zarr_format=version)
    for x in (sc.open(place), sc.from_zarr(z), sc.from_zarr(str(place))):
        assert x.chunks == ((2, 2, 1), (5, 5, 2))
        assert np.array_equal(x[1:, ::2].compute(), DATA[1:, ::2])
        assert np.array_equal(x.sum(axis=0).compute(), DATA.sum(axis=0))


def test_zarr_groups(tmp_path: Path) -> None:
    group = zarr.open_group(tmp_path / "g.zarr", mode="w")
    group.create_array("a", data=DATA)
    group.create_array("b", data=DATA + 1)
    assert np.array_equal(sc.open(tmp_path / "g.zarr", "b").compute(), DATA + 1)
    with pytest.raises(errors.DataFileError, match=r"name one of its arrays: \['a', 'b'\]"):
        sc.open(tmp_path / "g.zarr")
    with pytest.raises(errors.DataFileError, match=r"has no array 'c'; it has \['a', 'b'\]"):
        sc.from_zarr(group, "c")


def test_zarr_arrays_with_shards_and_codecs(tmp_path: Path) -> None:
    for k, codec in enumerate([zarr.codecs.ZstdCodec(), zarr.codecs.BloscCodec()]):
        place = tmp_path / f"{k}.zarr"
        zarr.create_array(store=place, data=DATA, chunks=(1, 4), shards=(2, 8), compressors=[codec])
        assert np.array_equal(sc.open(place).compute(), DATA)


def test_several_files_are_one_array(tmp_path: Path) -> None:
    for k in range(3):
        np.save(tmp_path / f"run-{k}.npy", DATA + k)
    stacked = np.stack([DATA, DATA + 1, DATA + 2])
    for place in (tmp_path, tmp_path / "run-*.npy", [tmp_path / f"run-{k}.npy" for k in range(3)]):
        x = sc.open(place)
        assert np.array_equal(x.compute(), stacked)
        assert x.mean(axis=0).compute().tobytes() == stacked.mean(axis=0).tobytes()
    np.save(tmp_path / "run-3.npy", DATA[1:])
    with pytest.raises(errors.ShapeError, match=r"run-3\.npy holds float64 of shape \(4, 12\)"):
        sc.open(tmp_path)


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda p: None, FileNotFoundError, "x"),
        (lambda p: p.mkdir(), errors.DataFileError, "a folder without .npy files"),
        (lambda p: os.mkfifo(p), OSError, "not a regular file"),
        (
            lambda p: p.write_bytes(b"\x93NUMPY\x01\x00\x10\x00{'descr': [[[["),
            ValueError,
            "read",
        ),
    ],
    ids=["absent", "empty-folder", "pipe", "header-that-lies"],
)
def test_what_is_no_array(tmp_path: Path, make: Any, kind: Any, message: str) -> None:
    make(tmp_path / "x")
    with pytest.raises(kind, match=message):
        sc.open(tmp_path / "x")


def test_a_pattern_that_nothing_matches(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none-\*"):
        sc.open(tmp_path / "none-*.npy")


def test_a_file_that_is_cut_short_meanwhile(tmp_path: Path) -> None:
    file = tmp_path / "x.npy"
    np.save(file, np.ones((100, 1000)))
    x = sc.open(file)
    os.truncate(file, 4000)
    with pytest.raises(errors.DataFileError, match="ends before its last element"):
        x.sum().compute()


def test_shapes_that_lie(tmp_path: Path) -> None:
    file = tmp_path / "x.npy"
    np.save(file, np.ones(4))
    good = file.read_bytes()
    for shape in (b"(-4,)", b"(9,)", b"(2**9,)", b"('a',)", b"(1e3,)"):
        file.write_bytes(good.replace(b"(4,), }" + b" " * (len(shape) - 4), shape + b", }"))
        with pytest.raises(ValueError, match=r"x\.npy"):
            sc.open(file)
