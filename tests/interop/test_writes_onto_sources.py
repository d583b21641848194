"""Writes onto what the written array reads: refused, unless each block reads itself alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube import errors
from speedcube.interop.writers import npy
from speedcube.plan import writing

zarr = pytest.importorskip("zarr", reason='needs pip install "speedcube[io]"')
DATA: Any = np.random.default_rng(7).normal(size=(60, 40))
GONE = "mode='w' takes it away before it is read: write to another path, and rename that"
LATE = "some of it would be read after it was written over: write to another path"


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "BLOCK", 1 << 10)
    monkeypatch.setattr(npy, "_RUN", 1 << 11)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    sc.asarray(DATA).to_zarr(tmp_path / "x.zarr", chunks=(10, 10))
    return tmp_path / "x.zarr"


def held(place: Path) -> Any:
    return zarr.open_array(place, mode="r")[:]


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x,
        lambda x: x - x.mean(axis=0),
        lambda x: sc.sort(x, axis=0),
        lambda x: sc.concatenate([x[30:], x[:30]]),
        lambda x: x.map_blocks(np.sin),
    ],
)
def test_what_is_read_is_not_taken_away(place: Path, make: Callable[[Any], Any]) -> None:
    with pytest.raises(errors.ParameterError, match=GONE):
        make(sc.open(place)).to_zarr(place, mode="w", chunks=(10, 10))
    assert np.array_equal(held(place), DATA)


def test_links_and_dask_arrays_and_groups_are_seen(place: Path, tmp_path: Path) -> None:
    import dask.array as da

    (tmp_path / "link").symlink_to(place)
    with pytest.raises(errors.ParameterError, match=GONE):
        sc.open(place).to_zarr(tmp_path / "link", mode="w")
    with pytest.raises(errors.ParameterError, match=GONE):
        sc.asarray(da.from_zarr(str(place))).to_zarr(place, mode="w")
    group = zarr.open_group(tmp_path / "g", mode="w")
    group.create_array("x", data=DATA, chunks=(10, 10))
    group.create_array("y", data=DATA, chunks=(10, 10))
    x = sc.open(tmp_path / "g", "x")
    for component in ("x", None):
        with pytest.raises(errors.ParameterError, match=GONE):
            x.to_zarr(tmp_path / "g", component, mode="w")
    (x + 1).to_zarr(tmp_path / "g", "y", mode="w", chunks=(10, 10))
    assert np.array_equal(group["x"][:], DATA)
    assert np.array_equal(group["y"][:], DATA + 1)
    memory: dict[str, Any] = {}
    sc.asarray(DATA).to_zarr(memory, chunks=(10, 10))
    with pytest.raises(errors.ParameterError, match=GONE):
        sc.from_zarr(memory).to_zarr(memory, mode="w")


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x[::-1],
        lambda x: sc.roll(x, 7, axis=0),
        lambda x: sc.concatenate([x[30:], x[:30]]) + x,
    ],
)
def test_blocks_do_not_read_what_others_wrote(place: Path, make: Callable[[Any], Any]) -> None:
    for target in (place, zarr.open_array(place, mode="r+")):
        with pytest.raises(errors.ParameterError, match=LATE):
            make(sc.open(place)).to_zarr(target, mode="r+")
        assert np.array_equal(held(place), DATA)
    assert dict(zarr.open_array(place).attrs) == {}


def test_what_each_block_reads_of_itself_is_written_in_place(place: Path) -> None:
    (sc.open(place) * 2).to_zarr(place, mode="r+")
    assert np.array_equal(held(place), DATA * 2)
    x = sc.open(place)
    (x - x.max()).to_zarr(place, mode="r+")  # the maximum is known before the first block
    assert np.array_equal(held(place), DATA * 2 - (DATA * 2).max())
    x = sc.open(place)
    x[5:25, 3:38] = 0
    x.to_zarr(place, mode="r+")
    now = DATA * 2 - (DATA * 2).max()
    now[5:25, 3:38] = 0
    assert np.array_equal(held(place), now)
    (sc.open(place)[:30] + 1).to_zarr(place, region=np.s_[30:])
    assert np.array_equal(held(place)[30:], now[:30] + 1)
    with pytest.raises(errors.ParameterError, match=LATE):
        sc.open(place)[:30].to_zarr(place, region=np.s_[15:45])


@pytest.mark.parametrize(
    "make",
    [lambda x: x[np.arange(60)[::-1]] + x, lambda x: x.reshape(40, 60).T + x],
)
def test_what_is_read_whole_before_the_first_block_is(
    place: Path, make: Callable[[Any], Any]
) -> None:
    make(sc.open(place)).to_zarr(place, mode="r+")
    assert np.array_equal(held(place), make(DATA))


def test_complex_arrays_are_written_in_place(tmp_path: Path) -> None:
    place, data = tmp_path / "c.zarr", DATA + 1j * DATA[::-1]
    sc.asarray(data).to_zarr(place, chunks=(10, 10))
    with pytest.raises(errors.ParameterError, match=LATE):
        sc.open(place)[::-1].to_zarr(place, mode="r+")
    (sc.open(place) * 2).to_zarr(place, mode="r+")
    assert np.array_equal(held(place), data * 2)
    sc.store(sc.asarray(data) * 2, data)
    assert np.array_equal(data, held(place))


def test_a_write_onto_its_source_is_not_gone_on_with(place: Path) -> None:
    with pytest.raises(errors.ParameterError, match="resume=True cannot tell what of it"):
        (sc.open(place) * 2).to_zarr(place, chunks=(10, 10), resume=True)


def test_memory_and_files_that_are_memory(tmp_path: Path) -> None:
    place = tmp_path / "m.npy"
    np.save(place, DATA)
    memory = np.load(place, mmap_mode="r+")
    for x in (sc.open(place), sc.asarray(memory), sc.asarray(np.load(place, mmap_mode="r"))):
        with pytest.raises(errors.ParameterError, match=f"memmap is .*{LATE}"):
            sc.store(x[::-1], memory)
    with open(place, "r+b") as file, pytest.raises(errors.ParameterError, match=LATE):
        sc.save(file, sc.open(place)[::-1])
    assert np.array_equal(np.load(place), DATA)
    sc.store(sc.open(place) * 2, memory)
    sc.store(sc.asarray(memory) + 1, memory)
    assert np.array_equal(np.load(place), DATA * 2 + 1)
    sc.store(sc.asarray(memory[:, :20]) * 3, memory[:, 20:])
    assert np.array_equal(memory[:, 20:], memory[:, :20] * 3)
    sc.save(place, sc.open(place)[::-1])  # gets its name at the end
    assert np.array_equal(np.load(place)[::-1, :20], DATA[:, :20] * 2 + 1)
    own = DATA.copy()
    with pytest.raises(errors.ParameterError, match="written over: write to other memory"):
        sc.store(sc.asarray(own)[::-1], own)
    assert np.array_equal(own, DATA)


def test_a_file_in_fortran_order_is_not_taken_for_its_transpose(tmp_path: Path) -> None:
    square = DATA[:40].copy(order="F")
    np.save(tmp_path / "f.npy", square)
    memory = np.load(tmp_path / "f.npy", mmap_mode="r+")
    with pytest.raises(errors.ParameterError, match=LATE):
        sc.store(sc.open(tmp_path / "f.npy").T, memory)
    assert np.array_equal(np.load(tmp_path / "f.npy"), square)


def test_a_later_write_does_not_read_an_earlier_one() -> None:
    own, other = DATA.copy(), np.zeros((30, 40))
    x = sc.asarray(own)
    with pytest.raises(errors.ParameterError, match=r"ndarray is .* read after it was written"):
        sc.store([x + 1, x[:30]], [own, other])


def test_other_arrays_of_a_file_of_hdf5(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "x.h5", "w") as file:
        x = file.create_dataset("x", data=DATA, chunks=(10, 40))
        y = file.create_dataset("y", data=DATA * 0, chunks=(10, 40))
        sc.store(sc.from_array(x)[::-1], y)
        with pytest.raises(errors.ParameterError, match=f"Dataset is .*{LATE}"):
            sc.store(sc.from_array(x)[::-1], x)
        sc.store(sc.from_array(x) * 2, x)
        assert np.array_equal(y[:], DATA[::-1])
        assert np.array_equal(x[:], DATA * 2)
