"""Tiles of files that a kernel takes as they are read: the bits of memory, and nothing twice."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube import errors
from speedcube.engine.boxes import Stop
from speedcube.engine.streams import fed, worker
from speedcube.interop.readers import npy
from speedcube.plan import streams

from .test_streams import assert_same

DATA: Any = np.random.default_rng(3).normal(size=(90, 11, 37))
WILD: Any = DATA.copy()
WILD[38:44] = np.where(np.arange(37) % 12 == 5, DATA * 1e300, DATA)[38:44]
WILD[7, 3, 5], WILD[7, 3, 17] = 3e300, -3e300
WILD[50] = np.nan
WILD[60, 2, 1] = np.inf
LEFT: list[Any] = []  # what each part left


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    def spied(*args: Any) -> Any:
        LEFT.append(fed.left_of(*args))
        return LEFT[-1]

    LEFT.clear()
    monkeypatch.setattr(worker, "left_of", spied)
    monkeypatch.setattr(streams, "BLOCK", 1 << 16)
    monkeypatch.setattr(streams, "QUICK", 1 << 13)
    monkeypatch.setattr(fed, "TILE", 1 << 12)
    monkeypatch.setattr(fed, "_MOST", 8)
    monkeypatch.setattr(npy, "_AT_ONCE", 1 << 11)


def opened(tmp_path: Path, form: str, data: Any) -> Any:
    if form == "npy":
        np.save(tmp_path / "x.npy", data)
        return sc.open(tmp_path / "x.npy")
    sc.asarray(data).to_zarr(tmp_path / "x.zarr", chunks=(16, 11, 37), codecs=[], fill_value=2)
    return sc.open(tmp_path / "x.zarr")


PROGRAMS: dict[str, Any] = {
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(),
    "rows": lambda x: x.sum(axis=2),
    "middle": lambda x: x.mean(axis=1),
    "planes": lambda x: x.sum(axis=(1, 2)),
    "largest": lambda x: x.max(axis=1),
    "a slice": lambda x: x[3:80].sum(axis=2),
    "a map": lambda x: (x * 2 + 1).sum(axis=2),
    "with a place": lambda x: (x + sc.arange(37)).mean(),
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("form", ["npy", "zarr"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i2"])
def test_their_bits_are_those_of_memory(
    tmp_path: Path, program: str, form: str, dtype: str
) -> None:
    data = (DATA * 1000).astype(dtype)
    run, x = PROGRAMS[program], opened(tmp_path, form, data)
    assert_same(run(x).compute(on="cores"), run(sc.asarray(data)).compute(on="cores"))
    if dtype == "f8" and form == "npy" and len(os.sched_getaffinity(0)) > 1:
        # A plane's sum is a single result of a tile, which no kernel finishes.
        assert all(one == (None if program == "planes" else []) for one in LEFT)
        assert len(LEFT) == 2


@pytest.mark.parametrize("program", PROGRAMS)
def test_results_that_the_kernel_leaves_are_made_again(tmp_path: Path, program: str) -> None:
    run = PROGRAMS[program]
    with np.errstate(all="ignore"):
        wanted = run(sc.asarray(WILD)).compute(on="cores")
    assert_same(run(opened(tmp_path, "npy", WILD)).compute(on="cores"), wanted)
    if program == "rows" and len(os.sched_getaffinity(0)) > 1:
        assert 0 < sum(map(len, LEFT)) < 30


@pytest.mark.parametrize("program", ["sum", "rows", "spread", "columns"])
def test_what_is_not_fed_is_read_as_ever(tmp_path: Path, program: str) -> None:
    more = {"spread": lambda x: x.std(), "columns": lambda x: x.sum(axis=0)}
    run, turned = {**PROGRAMS, **more}[program], DATA.transpose(0, 2, 1)[::2, ::-1]
    x = opened(tmp_path, "npy", DATA).transpose(0, 2, 1)[::2, ::-1]
    assert_same(run(x).compute(on="cores"), run(sc.asarray(turned)).compute(on="cores"))


def test_a_chunk_that_is_missing_has_the_fill_value(tmp_path: Path) -> None:
    x, wanted = opened(tmp_path, "zarr", DATA), DATA.copy()
    (tmp_path / "x.zarr/c/1/0/0").unlink()
    wanted[16:32] = 2
    for run in (PROGRAMS["sum"], PROGRAMS["rows"]):
        assert_same(run(x).compute(on="cores"), run(sc.asarray(wanted)).compute())


@pytest.mark.parametrize("program", ["sum", "rows"])
def test_a_file_that_is_cut_short_says_so(tmp_path: Path, program: str) -> None:
    x = opened(tmp_path, "npy", DATA)
    os.truncate(tmp_path / "x.npy", (tmp_path / "x.npy").stat().st_size - 5)
    with pytest.raises(errors.DataFileError, match="cut short"):
        PROGRAMS[program](x).compute(on="cores")
    os.unlink(tmp_path / "x.npy")
    with pytest.raises(OSError, match="No such file"):
        PROGRAMS[program](x).compute(on="cores")


def test_who_is_stopped_reads_no_more(tmp_path: Path) -> None:
    root = opened(tmp_path, "npy", DATA)._expr
    stop, given = Stop(), list[int]()

    class Taker:
        feeds = True

        def fed(self, feed: fed.Feed) -> list[int]:
            given.append(feed.count)
            stop.set()
            return []

    assert fed.left_of([Taker()], root, {}, stop) == []
    assert given == [8]
