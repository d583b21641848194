"""Files and arrays of others that are opened: complex ones, of ``.npz``, of h5py, NetCDF, TIFF."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube import errors
from speedcube.api.files import parquet

zarr = pytest.importorskip("zarr", reason='needs pip install "speedcube[io]"')
DATA: Any = np.arange(60.0).reshape(5, 12)
COMPLEX: Any = DATA + 1j * DATA[::-1]

PROGRAMS: dict[str, Any] = {
    "itself": lambda x: x,
    "slices": lambda x: x[1:, ::3] * 2j,
    "turned": lambda x: x.T[3],
    "real": lambda x: x.real[::2],
    "imag": lambda x: x.imag.sum(0),
    "sum": lambda x: x.sum(0),
    "mean": lambda x: x.mean(),
    "size": lambda x: abs(x).max(),
    "power": lambda x: (x * x.conj()).real.mean(1),
}


def assert_same(a: Any, b: Any) -> None:
    a, b = np.asarray(a), np.asarray(b)
    assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("kind", ["<c16", "<c8", ">c16"])
@pytest.mark.parametrize("form", ["npy", "fortran", "zarr"])
def test_complex_files(tmp_path: Path, program: str, kind: str, form: str) -> None:
    data, run = COMPLEX.astype(kind), PROGRAMS[program]
    if form == "zarr":
        x = sc.from_zarr(zarr.create_array(store={}, data=data, chunks=(2, 5)))
        assert x.chunks == ((2, 2, 1), (5, 5, 2))
    else:
        np.save(tmp_path / "x.npy", np.asfortranarray(data) if form == "fortran" else data)
        x = sc.from_npy(tmp_path / "x.npy")
    assert_same(run(x).compute(), run(sc.asarray(data.astype(kind[1:]))).compute())


@pytest.mark.parametrize("packed", [False, True])
def test_npz_files(tmp_path: Path, packed: bool) -> None:
    path, save = tmp_path / "x.npz", np.savez_compressed if packed else np.savez
    arrays = {"a": DATA, "b": np.asfortranarray(DATA), "c": COMPLEX, "d": DATA > 3}
    save(path, **arrays)
    for name, want in arrays.items():
        x = sc.open(path, name)
        assert_same(x.compute(), want)
        assert_same(x[::-2, 1:].compute(), want[::-2, 1:])
        assert_same(x.max(axis=0).compute(), sc.asarray(want).max(axis=0).compute())
        assert_same(pickle.loads(pickle.dumps(x)).compute(), want)
    with pytest.raises(errors.DataFileError, match=r"name one of its arrays: \['a', 'b', 'c', 'd'"):
        sc.open(path)
    with pytest.raises(errors.DataFileError, match="it has no array 'z'"):
        sc.open(path, "z")
    save(path, DATA)
    assert_same(sc.open(path).compute(), DATA)


def test_a_packed_array_is_unpacked_once_a_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from speedcube.interop.readers.npy import NpyFile
    from speedcube.plan import streams

    monkeypatch.setattr(streams, "BLOCK", 1 << 12)
    monkeypatch.setattr(NpyFile, "chunks", property(lambda self: (8, 100)))
    data = np.random.default_rng(0).normal(size=(200, 100))
    np.savez_compressed(tmp_path / "x.npz", x=data)
    x = sc.open(tmp_path / "x.npz")
    for _ in range(2):
        assert_same(x.sum(axis=0).compute(on="core"), sc.asarray(data).sum(axis=0).compute())
    assert_same(x.std(axis=1).compute(on="cores"), sc.asarray(data).std(axis=1).compute())


def test_the_plan_says_what_is_read() -> None:
    z = zarr.create_array(store={}, shape=(1000, 2000), chunks=(100, 100), dtype="f8")
    x = sc.from_zarr(z)
    for array, line in (
        (x[::10, 5].mean(), "reads 800 kB of 16 MB of zarr /, 10 of 200 chunks"),
        (x.sum(), "reads 16 MB of 16 MB of zarr /, 200 of 200 chunks"),
        (x[::250, ::500].sum(), "reads 1.28 MB of 16 MB of zarr /, 16 of 200 chunks"),
        (x[950:, -1], "reads 80 kB of 16 MB of zarr /, 1 of 200 chunks"),
        ((x[1:] - x[:-1]).std(0), "reads 16 MB of 16 MB of zarr /, 200 of 200 chunks"),
        ((x - x.mean(0)).std(0), "reads 32 MB of 16 MB of zarr /, 400 of 200 chunks"),
        (sc.roll(x, 3, axis=0).sum(), "of roll of zarr /, 220 of 220 blocks"),
        (sc.sort(x, axis=0), "reads 16 MB of 16 MB of zarr /, 200 of 200 chunks"),
    ):
        assert line in repr(array.plan())
    assert "chunks" not in repr(sc.arange(9.0).sum().plan())


def test_h5py(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file.create_dataset("x", data=DATA, chunks=(2, 5), compression="gzip")
    with h5py.File(tmp_path / "x.h5") as file:
        x = sc.from_array(file["x"])
        assert_same(x.compute(), DATA)
        assert_same(x[1:, ::3].sum(axis=0).compute(), DATA[1:, ::3].sum(axis=0))
        assert "30 of 15 chunks" not in repr(x.sum().plan())
        assert "9 of 9 chunks" in repr(x.sum().plan())


def test_netcdf4(tmp_path: Path) -> None:
    netcdf4 = pytest.importorskip("netCDF4")
    with netcdf4.Dataset(tmp_path / "x.nc", "w") as file:
        file.createDimension("y", 5)
        file.createDimension("x", 12)
        file.createVariable("v", "f8", ("y", "x"))[:] = DATA
    with netcdf4.Dataset(tmp_path / "x.nc") as file:
        variable = file["v"]
        variable.set_auto_maskandscale(False)  # the numbers as they are stored
        x = sc.from_array(variable)
        assert_same(x.compute(), DATA)
        assert_same(x[1:, ::3].max(axis=0).compute(), DATA[1:, ::3].max(axis=0))


def test_netcdf4_variables_are_read_by_one_thread_chunk_by_chunk(tmp_path: Path) -> None:
    """Its C library ends the process where two threads read; it masks and scales, too."""
    netcdf4 = pytest.importorskip("netCDF4")
    data = np.arange(400 * 5000, dtype="f4").reshape(400, 5000) % 9
    with netcdf4.Dataset(tmp_path / "x.nc", "w") as file:
        file.createDimension("y", 400)
        file.createDimension("x", 5000)
        file.createVariable("v", "f4", ("y", "x"), chunksizes=(20, 5000), zlib=True)[:] = data
        holes = file.createVariable("h", "f8", ("x",), fill_value=-1.0)
        holes[:] = np.ma.masked_equal(data[0], 3)
        whole = file.createVariable("i", "i4", ("x",), fill_value=-1)
        whole[:] = np.ma.masked_equal(data[0].astype("i4"), 3)
        scaled = file.createVariable("s", "i2", ("x",))
        scaled.scale_factor = 0.5
        scaled[:] = data[0]
    with netcdf4.Dataset(tmp_path / "x.nc") as file:
        x = sc.from_array(file["v"])
        assert x.chunks[0][:2] == (20, 20)
        for _ in range(5):
            assert_same(x.sum(axis=1).compute(on="cores:2"), data.sum(axis=1))
        holes = np.where(data[0] == 3, np.nan, data[0]).astype("f8")
        assert_same(sc.from_array(file["h"]).compute(), holes)
        with pytest.raises(errors.DataFileError, match=r"masked\), for which int32 has no number"):
            sc.from_array(file["i"]).sum().compute()
        assert_same(sc.from_array(file["s"]).compute(), data[0].astype("f8"))


def test_tifffile(tmp_path: Path) -> None:
    tifffile = pytest.importorskip("tifffile")
    stack = np.arange(3 * 32 * 48, dtype="uint16").reshape(3, 32, 48)
    tifffile.imwrite(tmp_path / "x.tif", stack, tile=(16, 16), photometric="minisblack")
    with tifffile.imread(tmp_path / "x.tif", aszarr=True) as store:
        x = sc.from_zarr(zarr.open(store, mode="r"))
        assert x.chunks[1:] == ((16, 16), (16, 16, 16))
        assert_same(x.max(axis=0).compute(), stack.max(axis=0))
        assert_same(x[1, ::5].compute(), stack[1, ::5])


def test_obstore(tmp_path: Path) -> None:
    obstore = pytest.importorskip("obstore")
    store = zarr.storage.ObjectStore(obstore.store.LocalStore(tmp_path, mkdir=True))
    zarr.create_array(store=store, name="x", data=DATA, chunks=(2, 5))
    assert_same(sc.from_zarr(store, "x").compute(), DATA)


def test_a_zarr_array_is_opened_without_a_look_at_its_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were searched for Parquet files: of a million chunks that took half a minute."""
    zarr.create_array(tmp_path / "x", shape=(40,), chunks=(1,), dtype="f8")[...] = np.arange(40.0)
    monkeypatch.setattr(parquet, "_inside", None)  # calling it would fail
    assert sc.open(tmp_path / "x").sum().compute() == 780
