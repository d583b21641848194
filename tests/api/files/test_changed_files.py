"""Files that are written again after they were opened: new elements are read, others are errors."""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import cloudpickle
import numpy as np
import pytest

import speedcube as sc
from speedcube import errors

zarr = pytest.importorskip("zarr", reason='needs pip install "speedcube[io]"')
DATA: Any = np.random.default_rng(0).normal(size=(400, 500))
LONG_AGO: Final = 1_000_000_000  # seconds

OTHERS: dict[str, tuple[Any, str]] = {
    "order": (np.asfortranarray(DATA), "order was C and is F"),
    "bytes": (DATA.astype(">f8"), "dtype was <f8 and is >f8"),
    "dtype": (DATA.view("i8"), "dtype was <f8 and is <i8"),
    "shape": (DATA.reshape(500, 400), r"shape was \(400, 500\) and is \(500, 400\)"),
    "less": (DATA[:9], r"shape was \(400, 500\) and is \(9, 500\)"),
}
SAVE: dict[str, Callable[[Path, Any], None]] = {
    "npy": lambda path, data: np.save(path, data),
    "npz": lambda path, data: np.savez(path, x=data),
    "packed.npz": lambda path, data: np.savez_compressed(path, x=data),
}
ASKED: dict[str, Callable[[Any], Any]] = {
    "itself": lambda x: x.compute(),
    "sum": lambda x: x.sum(axis=0).compute(on="core"),
    "cores": lambda x: x.sum(axis=1).compute(on="cores:2"),
    "slice": lambda x: x[3, ::7].compute(),
    "worker": lambda x: pickle.loads(cloudpickle.dumps(x)).compute(),
}


def opened_long_ago(path: Path) -> sc.Array:
    """The array in ``path``, whose times tell it from what is written now."""
    header = next((one for one in (path / "zarr.json", path / ".zarray") if one.exists()), path)
    os.utime(header, (LONG_AGO, LONG_AGO))
    return sc.open(path)


@pytest.mark.parametrize("form", SAVE)
@pytest.mark.parametrize("other", OTHERS)
@pytest.mark.parametrize("asked", ASKED)
def test_files_of_numpy(tmp_path: Path, form: str, other: str, asked: str) -> None:
    path = tmp_path / f"x.{form}"
    data, told = OTHERS[other]
    for begin in (sc.open, opened_long_ago):
        SAVE[form](path, DATA)
        x: Any = begin(path)
        assert np.array_equal(x.compute(), DATA)
        SAVE[form](path, DATA + 1)
        assert np.array_equal(x.compute(), DATA + 1)
        SAVE[form](path, data)
        text = rf"x\.{form} was changed since it was opened: .*{told}.*; open it again"
        with pytest.raises(errors.DataFileError, match=text):
            ASKED[asked](x)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("codecs", [[], ["zstd"], ["gzip"]], ids=str)
@pytest.mark.parametrize("asked", ASKED)
def test_chunks_of_zarr(tmp_path: Path, zarr_format: int, codecs: Any, asked: str) -> None:
    path, options = tmp_path / "x.zarr", {"zarr_format": zarr_format, "codecs": codecs, "mode": "w"}
    for begin in (sc.open, opened_long_ago):
        sc.asarray(DATA).to_zarr(path, chunks=(100, 50), **options)
        x: Any = begin(path)
        assert np.array_equal(x.compute(), DATA)
        sc.asarray(DATA + 1).to_zarr(path, chunks=(100, 50), **options)
        assert np.array_equal(x.compute(), DATA + 1)
        sc.asarray(DATA).to_zarr(path, chunks=(50, 100), **options)
        name = "zarr.json was changed.*chunk_grid" if zarr_format == 3 else ".zarray was.*chunks"
        text = rf"x\.zarr/{name} was .*\(100, 50\).* and is .*\(50, 100\).*; open it again"
        with pytest.raises(errors.DataFileError, match=text):
            ASKED[asked](x)
    shutil.rmtree(path)
    with pytest.raises(FileNotFoundError, match=r"it was removed since it was opened: .*zarr"):
        ASKED[asked](x)


def test_codecs_shards_and_fill_values(tmp_path: Path) -> None:
    path = tmp_path / "x.zarr"
    plain: Any = {"chunks": (100, 50), "compressors": None, "fill_value": 0.0}
    for change, told in (
        ({"compressors": zarr.codecs.GzipCodec()}, "codecs was .*bytes.* and is .*gzip"),
        ({"shards": (200, 100)}, "codecs was .*sharding_indexed"),
        ({"fill_value": 7.0}, r"fill_value was 0\.0 and is 7\.0"),
        (
            {"serializer": zarr.codecs.BytesCodec(endian="big")},
            "codecs was .*little.* and is .*big",
        ),
    ):
        shape = {"store": path, "shape": DATA.shape, "dtype": "<f8", "overwrite": True}
        zarr.create_array(**shape, **plain)[...] = DATA
        x = sc.open(path)
        zarr.create_array(**(shape | plain | change))[...] = DATA
        with pytest.raises(errors.DataFileError, match=f"was changed since it was .*{told}"):
            x.sum().compute()


def test_attributes_are_no_layout(tmp_path: Path) -> None:
    array = zarr.create_array(store=tmp_path / "x.zarr", data=DATA, fill_value=np.nan)
    x = opened_long_ago(tmp_path / "x.zarr")
    array.attrs["seen"] = True
    assert np.array_equal(x.compute(), DATA)


def test_a_header_is_read_again_only_where_its_file_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from speedcube.interop.readers.as_opened import AsOpened

    looked: list[str] = []
    compare = AsOpened._compare
    monkeypatch.setattr(AsOpened, "_compare", lambda self: looked.append("") or compare(self))
    np.save(tmp_path / "x.npy", DATA)
    zarr.create_array(store=tmp_path / "x.zarr", data=DATA, chunks=(10, 10))
    for name in ("x.npy", "x.zarr"):
        x = opened_long_ago(tmp_path / name)
        for on in ("core", "cores:2"):
            assert np.array_equal(x.compute(on=on), DATA)
        assert not looked
    np.save(tmp_path / "x.npy", DATA)
    x = opened_long_ago(tmp_path / "x.npy")
    os.utime(tmp_path / "x.npy", (LONG_AGO, LONG_AGO + 1))
    for _ in range(3):
        assert np.array_equal(x.compute(on="core"), DATA)
    assert len(looked) == 1


def test_a_file_that_is_no_array_any_more(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", DATA)
    x = sc.open(tmp_path / "x.npy")
    (tmp_path / "x.npy").write_bytes(b"something else")
    with pytest.raises(errors.DataFileError, match=r"x\.npy was changed or cut short since it was"):
        x.compute()


@pytest.mark.cluster
def test_workers_see_it_by_themselves(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    np.save(tmp_path / "x.npy", DATA)
    x = sc.open(tmp_path / "x.npy")
    where: Any = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, **where) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        np.save(tmp_path / "x.npy", DATA + 1)
        wanted = sc.asarray(DATA + 1).sum(axis=0).compute()
        assert np.array_equal(x.sum(axis=0).compute(on=client), wanted)
        np.save(tmp_path / "x.npy", np.asfortranarray(DATA))
        with pytest.raises(errors.DataFileError, match=r"x\.npy was changed since it was opened"):
            x.sum(axis=0).compute(on=client)
