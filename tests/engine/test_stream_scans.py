"""Running sums and products of files, made box by box: the bits of arrays in memory."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine import machine
from speedcube.engine.streams.made import scanned
from speedcube.engine.streams.made.following import Following
from speedcube.errors import DataFileError
from speedcube.interop.readers.encoded_zarr import EncodedZarr
from speedcube.interop.readers.npy import NpyFile
from speedcube.plan import streams

RNG = np.random.default_rng(11)
DATA: Any = RNG.normal(size=(120, 11, 37))


@pytest.fixture(autouse=True)
def _small_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanned, "LEAST", 0)
    monkeypatch.setattr(streams, "BLOCK", 1 << 14)
    monkeypatch.setattr(NpyFile, "chunks", property(lambda self: (7, 4, 37)[-len(self.shape) :]))


def opened(tmp_path: Path, data: Any) -> Any:
    np.save(tmp_path / "x.npy", data)
    return sc.open(tmp_path / "x.npy")


def assert_same(a: Any, b: Any) -> None:
    a, b = np.asarray(a), np.asarray(b)
    assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def _differences(x: Any) -> Any:
    y = x.cumsum(axis=0)
    return (y[5:] - y[:-5]).std()


def _twice(x: Any) -> Any:
    y = x.cumsum(axis=0)
    return (y - y.mean(axis=0)).cumsum(axis=0).sum()


PROGRAMS: dict[str, Any] = {
    "first": lambda x: x.cumsum(axis=0),
    "middle": lambda x: x.cumsum(axis=1),
    "last": lambda x: x.cumsum(axis=2),
    "all": lambda x: x.cumsum(),
    "products": lambda x: (1 + x / 100).cumprod(axis=0),
    "products of all": lambda x: (1 + x / 1000).cumprod(),
    "one line": lambda x: x[:, 3, 5].cumsum(),
    "products of one": lambda x: x[:, 3, 5].cumprod(),
    "most": lambda x: x.cumsum(axis=0).max(),
    "mean": lambda x: (x * 2).cumsum(axis=2).mean(axis=0),
    "backwards": lambda x: x.cumsum(axis=0)[::-1] * 2,
    "differences": _differences,
    "with itself": lambda x: (x.cumsum(axis=0) - x).sum(),
    "of a scan": lambda x: x.cumsum(axis=0).cumsum(axis=2).sum(axis=1),
    "of a slice": lambda x: x[3:100:2, 1:].cumsum(axis=0)[30:40].sum(),
    "of anomalies": lambda x: (x - x.mean(axis=0)).cumsum(axis=0),
    "twice": _twice,
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("on", ["core", "cores"])
def test_scans_of_files_have_the_bits_of_memory(tmp_path: Path, program: str, on: str) -> None:
    run = PROGRAMS[program]
    y = run(opened(tmp_path, DATA))
    assert "cumsum of" in str(y.plan()) or "cumprod of" in str(y.plan())
    assert_same(y.compute(on=on), run(sc.asarray(DATA)).compute(on=on))
    assert_same(y.compute(on=on), run(sc.asarray(DATA)).compute(on=on))  # and begun again


KINDS: dict[str, Any] = {
    "wide": DATA * 10.0 ** RNG.integers(-200, 200, size=DATA.shape),
    "nan": np.where(RNG.random(DATA.shape) < 0.001, np.nan, DATA),
    "infinite": np.where(RNG.random(DATA.shape) < 0.001, np.inf * np.sign(DATA), DATA),
    "float32": DATA.astype("float32"),
    "float16": DATA.astype("float16"),
    "integers": (DATA * 100).astype("int32"),
    "bytes": (DATA * 10).astype("uint8"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("axis", [0, 2, None])
@pytest.mark.parametrize("op", ["cumsum", "cumprod"])
def test_any_numbers(tmp_path: Path, kind: str, axis: Any, op: str) -> None:
    with np.errstate(all="ignore"):
        have = getattr(opened(tmp_path, KINDS[kind]), op)(axis=axis)
        want = getattr(sc.asarray(KINDS[kind]), op)(axis=axis)
        assert_same(have.compute(), want.compute())
        assert_same(have[::-3].compute(), want[::-3].compute())


def test_what_is_kept_is_thinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanned, "KEPT", 1)  # two places to begin from
    x = opened(tmp_path, DATA)
    assert_same(x.cumsum(axis=0)[::-1].compute(), sc.asarray(DATA).cumsum(axis=0)[::-1].compute())


@pytest.mark.parametrize("target", ["zarr", "npy"])
def test_scans_are_written(tmp_path: Path, target: str) -> None:
    x = opened(tmp_path, DATA)
    y = (x - x.mean()).cumsum(axis=0) + 1
    want = (sc.asarray(DATA) - sc.asarray(DATA).mean()).cumsum(axis=0) + 1
    if target == "zarr":
        y.to_zarr(tmp_path / "y.zarr", chunks=(13, 4, 37))
        assert_same(sc.open(tmp_path / "y.zarr").compute(), want.compute())
    else:
        sc.save(tmp_path / "y.npy", y)
        assert_same(np.load(tmp_path / "y.npy"), want.compute())


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    y = (lambda x: (x - x.mean()).cumsum(axis=0).max())(opened(tmp_path, DATA))
    y.compute()
    np.save(tmp_path / "x.npy", DATA * 3)
    three = sc.asarray(DATA * 3)
    assert_same(y.compute(), (three - three.mean()).cumsum(axis=0).max().compute())


def test_small_scans_lie_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanned, "LEAST", 1 << 20)
    assert "cumsum of" not in str(opened(tmp_path, DATA).cumsum(axis=0).max().plan())


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the threads that decode chunks, where there is a core for them."""
    names, decode = set[str](), EncodedZarr._decoded

    def told(self: Any, *args: Any) -> bool:
        names.add(threading.current_thread().name)
        return decode(self, *args)

    monkeypatch.setattr(EncodedZarr, "_decoded", told)
    monkeypatch.setattr(machine, "cores", lambda: 2)
    return names


def encoded(tmp_path: Path, data: Any) -> Any:
    sc.asarray(data).to_zarr(tmp_path / "x.zarr", chunks=(5, 11, 37), codecs=["zstd"], mode="w")
    return sc.open(tmp_path / "x.zarr")


AHEAD: Final = ("first", "most", "all", "backwards", "differences")


@pytest.mark.parametrize("program", AHEAD)
def test_the_next_box_is_decoded_meanwhile(tmp_path: Path, readers: set[str], program: str) -> None:
    run = PROGRAMS[program]
    y = run(encoded(tmp_path, DATA))
    for _ in range(2):  # and begun again
        assert_same(y.compute(), run(sc.asarray(DATA)).compute())
    assert "speedcube-following" in readers


def test_a_first_box_alone_begins_no_other(tmp_path: Path, readers: set[str]) -> None:
    y = encoded(tmp_path, DATA).cumsum(axis=0)[:2].sum()
    assert_same(y.compute(), sc.asarray(DATA).cumsum(axis=0)[:2].sum().compute())
    assert "speedcube-following" not in readers


def test_what_was_decoded_before_a_file_changed_is_dropped(
    tmp_path: Path, readers: set[str]
) -> None:
    y = encoded(tmp_path, DATA).cumsum(axis=0)[:60].max()  # the box behind is begun, too
    y.compute()
    encoded(tmp_path, DATA * 3)
    assert_same(y.compute(), sc.asarray(DATA * 3).cumsum(axis=0)[:60].max().compute())


def test_a_chunk_that_does_not_decode_is_an_error_of_its_own(
    tmp_path: Path, readers: set[str]
) -> None:
    y = encoded(tmp_path, DATA).cumsum(axis=0).max()
    chunk = tmp_path / "x.zarr" / "c" / "9" / "0" / "0"
    whole = chunk.read_bytes()
    chunk.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataFileError, match=r"chunk \(9, 0, 0\)"):
        y.compute()
    chunk.write_bytes(whole)
    assert_same(y.compute(), sc.asarray(DATA).cumsum(axis=0).max().compute())
    assert not [one for one in threading.enumerate() if one.name == "speedcube-following"]


def test_another_box_than_the_one_begun_is_made() -> None:
    made = list[Any]()
    following = Following(lambda item: np.asarray(made.append(item) or len(made)))
    following.begin((slice(0, 2),))
    assert following.taken((slice(4, 6),)) == 2
    following.begin((slice(0, 2),))
    assert following.taken((slice(0, 2),)) == 3
    assert following.taken((slice(0, 2),)) == 4
    assert made == [(slice(0, 2),), (slice(4, 6),), (slice(0, 2),), (slice(0, 2),)]
