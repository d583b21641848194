"""Boxes of ``.npy`` files: any of them, in few readings."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import speedcube as sc
from speedcube.engine.streams import along
from speedcube.interop.readers import npy
from speedcube.interop.readers.npy import open_npy
from speedcube.numbers import bytes_text

WIDE = np.arange(30 * 40 * 50, dtype="int32").reshape(30, 40, 50)


@st.composite
def _boxes(draw: Any) -> tuple[slice, ...]:
    box = []
    for extent in WIDE.shape:
        start = draw(st.integers(0, extent - 1))
        stop = draw(st.integers(start + 1, extent))
        box.append(slice(start, stop, draw(st.sampled_from([1, 1, 2, 7]))))
    return tuple(box)


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The same numbers in files of each order of bytes."""
    folder = tmp_path_factory.mktemp("wide")
    for kind in ("<i4", ">i4"):
        np.save(folder / f"{kind[0] == '<'}.npy", WIDE.astype(kind))
    return {kind: open_npy(folder / f"{kind[0] == '<'}.npy")[0] for kind in ("<i4", ">i4")}


@given(box=_boxes(), limits=st.sampled_from([(1 << 20, 1 << 13), (600, 40), (4000, 0)]))
@pytest.mark.parametrize("kind", ["<i4", ">i4"])
def test_any_box(wide: dict[str, Any], kind: str, box: Any, limits: tuple[int, int]) -> None:
    """However much is read at once, and however near it has to be for that."""
    out = np.full(WIDE[box].shape, -1, "int32")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(npy, "_AT_ONCE", limits[0])
        patch.setattr(npy, "_NEAR", limits[1])
        wide[kind].read(box, out)
    np.testing.assert_array_equal(out, WIDE[box])


def test_one_number_and_an_array_without_axes(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.float64(3.5))
    out = np.zeros(())
    open_npy(tmp_path / "x.npy")[0].read((), out)
    assert out == 3.5
    np.save(tmp_path / "x.npy", np.arange(3.0))
    out = np.zeros(1)
    open_npy(tmp_path / "x.npy")[0].read((slice(1, 2, 1),), out)
    assert out == [1.0]


def test_a_column_is_read_with_its_neighbours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One reading for each number took 16 seconds for three million of them."""
    x = np.random.default_rng(0).random((200_000, 10))
    np.save(tmp_path / "x.npy", x)
    sizes: list[int] = []
    read = os.preadv

    def counted(handle: int, views: Any, start: int) -> int:
        sizes.append(views[0].nbytes)
        return read(handle, views, start)

    monkeypatch.setattr(os, "preadv", counted)
    for item in ((slice(None), 3), (slice(None, None, 7), slice(2, 4)), (slice(None, None, -1), 9)):
        sizes.clear()
        found = sc.open(tmp_path / "x.npy")[item].compute(on="core")
        np.testing.assert_array_equal(found, x[item])
        assert len(sizes) < 30
        assert max(sizes) <= 1 << 20


def test_numbers_far_apart_are_read_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By one compiled loop: what lies between would take longer."""
    x = np.random.default_rng(0).random((300, 5000))
    np.save(tmp_path / "x.npy", x)
    asked: list[tuple[int, int]] = []
    read = npy.read_pieces

    def noted(handle: int, start: int, step: int, size: int, out: Any) -> int:
        asked.append((step, size))
        return read(handle, start, step, size, out)

    monkeypatch.setattr(npy, "read_pieces", noted)
    np.testing.assert_array_equal(sc.open(tmp_path / "x.npy")[:, 77].compute(on="core"), x[:, 77])
    assert set(asked) == {(40_000, 8)}


@pytest.mark.parametrize("on", ["core", "cores:2"])
@pytest.mark.parametrize("op", ["sum", "mean"])
def test_sums_that_are_known_and_ties_are_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on: str, op: str
) -> None:
    """Six results of 16,384 were ties, for which half a gigabyte was read once more."""
    x = np.ones((4096, 20_000), "float32")
    x[-1] += np.float32(2.0**-12)  # sums end between two float32
    x[:, 5] = 1 + np.arange(4096) % 2 * 2.0**-23
    np.save(tmp_path / "x.npy", x)
    monkeypatch.setattr(along, "_by_records", None)  # calling it would fail
    found = getattr(sc.open(tmp_path / "x.npy"), op)(axis=0).compute(on=on)
    wanted = x.sum(axis=0, dtype="float64") / (4096 if op == "mean" else 1)  # exact
    np.testing.assert_array_equal(found, wanted.astype("float32"))


def test_spreads_of_bools_are_those_of_numbers(tmp_path: Path) -> None:
    """Records of many results took a hundred times as long as NumPy."""
    x = np.random.default_rng(0).random((120, 90)) < 0.3
    np.save(tmp_path / "x.npy", x)
    for op in ("mean", "var", "std"):
        for axis in (0, 1):
            of_file = getattr(sc.open(tmp_path / "x.npy"), op)(axis=axis)
            (stage,) = of_file.plan(on="core").stages
            assert stage.root.dtype == "uint8"
            of_numbers = getattr(sc.asarray(x.astype("uint8")), op)(axis=axis)
            np.testing.assert_array_equal(of_file.compute(), of_numbers.compute())
            np.testing.assert_allclose(of_file.compute(), getattr(x, op)(axis=axis))
        assert (
            getattr(sc.open(tmp_path / "x.npy"), op)().plan(on="core").stages[0].root.dtype
            == "bool"
        )


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0, 2)])
def test_arrays_of_no_elements(tmp_path: Path, shape: tuple[int, ...]) -> None:
    """As files of their own, and in an archive."""
    nothing = np.zeros(shape, ">f4")
    np.save(tmp_path / "x.npy", nothing)
    np.savez(tmp_path / "x.npz", nothing)
    for found in (sc.open(tmp_path / "x.npy"), sc.open(tmp_path / "x.npz")):
        assert found.compute().shape == shape
        np.testing.assert_array_equal(found.sum(axis=0).compute(), nothing.sum(axis=0))
        np.testing.assert_array_equal((found[::-1] + 1).compute(), nothing)


def test_a_plan_says_what_is_read_of_pieces_that_lie_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[int] = []
    read_pieces = npy.read_pieces

    def pieces(handle: int, start: int, step: int, size: int, out: Any) -> int:
        counted.append(out.size)
        return read_pieces(handle, start, step, size, out)

    monkeypatch.setattr(npy, "read_pieces", pieces)
    data = np.arange(2_000_000.0).reshape(2000, 1000)
    np.save(tmp_path / "x.npy", data)
    np.savez_compressed(tmp_path / "y.npz", y=data)
    x, packed = sc.open(tmp_path / "x.npy"), sc.open(tmp_path / "y.npz")
    apart: Any = ((np.s_[::100, 5], 160, 15), (np.s_[::500], 32_000, 4))
    for item, size, chunks in apart:
        counted.clear()
        assert np.array_equal(x[item].compute(on="core"), data[item])
        assert sum(counted) == size
        assert f"reads {bytes_text(size)} of 16 MB of x.npy, {chunks} of 16" in repr(x[item].plan())
    assert "reads 16 kB of 16 MB of x.npy, 1 of 16 chunks" in repr(x[3:5].plan())
    assert "reads 16 MB of 16 MB of x.npy, 16 of 16 chunks" in repr(x[:, ::2].plan())
    assert "reads 15.72 MB of 16 MB of y.npz:y, 15 of 16 chunks" in repr(packed[::100, 5].plan())


def test_headers_are_parsed_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.11's parser raises a SystemError where another thread is in the middle of it."""
    np.save(tmp_path / "x.npy", np.arange(12.0).reshape(3, 4))
    parse, at_once, most = npy._HEADERS[1, 0], list[int](), list[int]()

    def slowly(file: Any) -> Any:
        at_once.append(1)
        most.append(len(at_once))
        time.sleep(0.01)
        at_once.pop()
        return parse(file)

    monkeypatch.setattr(npy, "_HEADERS", {(1, 0): slowly})
    with ThreadPoolExecutor(8) as pool:
        opened = list(pool.map(lambda _: sc.open(tmp_path / "x.npy"), range(16)))
    assert all(one.shape == (3, 4) for one in opened)
    assert max(most) == 1
    assert len(most) >= 16
