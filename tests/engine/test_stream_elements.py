"""What is made of all elements of a file, which is read block after block: counts, medians."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import pytest

import speedcube as sc
from speedcube.api.files.opening import read_by_tiles
from speedcube.engine.ordering import selecting
from speedcube.engine.streams.elements import WalkedElements
from speedcube.expr.sources.tiled import Box
from speedcube.interop.readers.npy import NpyFile
from speedcube.plan import streams

from .test_streams import assert_same

DATA: Any = np.random.default_rng(3).normal(size=(90, 11, 37))


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "BLOCK", 1 << 15)
    monkeypatch.setattr(streams, "QUICK", 1 << 14)
    monkeypatch.setattr(selecting, "SHORT", 1 << 10)
    monkeypatch.setattr(NpyFile, "chunks", property(lambda self: (4, 11, 37)[-len(self.shape) :]))


class Tiles:
    """Tiles that are cut along two axes, and remember what was read of them."""

    label, chunks = "tiles", (20, 4, 37)

    def __init__(self, data: Any) -> None:
        self.data, self.boxes = data, list[Box]()

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.data.shape)

    def read(self, box: Box, out: Any) -> None:
        self.boxes.append(box)
        out[...] = self.data[box]


def opened(tmp_path: Path, data: Any, tiles: bool) -> Any:
    if tiles:
        return read_by_tiles(Tiles(data), data.dtype)
    np.save(tmp_path / "x.npy", data)
    return sc.open(tmp_path / "x.npy")


WALKS: dict[str, Any] = {
    "median": lambda x: sc.median(x),
    "quantiles": lambda x: sc.quantile(x * 2, [0.0, 0.25, 1.0]),
    "of lines": lambda x: sc.median(x, axis=2),
    "of planes": lambda x: sc.percentile(x, 30, axis=(1, 2)),
    "even bins": lambda x: sc.histogram(x, bins=20, range=(-2, 2))[0],
    "bins": lambda x: sc.histogram(x, bins=[-1.0, 0.0, 0.5, 2.0])[0],
    "own ends": lambda x: sc.histogram(x + 1, bins=7)[0],
    "numbers": lambda x: sc.bincount((sc.abs(x) * 3).astype("int64").reshape(-1)),
    "of long lines": lambda x: sc.median(x.reshape(9, -1), axis=1),
    "of a slice": lambda x: sc.median(x[5:80, ::2]),
    "of differences": lambda x: sc.median(x[1:] - x[:-1]),
}


@pytest.mark.parametrize("tiles", [False, True])
@pytest.mark.parametrize("on", ["core", "cores:2"])
@pytest.mark.parametrize("name", WALKS)
def test_what_is_walked_has_the_bits_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, on: str, tiles: bool
) -> None:
    walked: list[Any] = []
    blocks = WalkedElements.blocks
    monkeypatch.setattr(
        WalkedElements, "blocks", lambda self, *span: walked.append(span) or blocks(self, *span)
    )
    run = WALKS[name]
    assert_same(
        run(opened(tmp_path, DATA, tiles)).compute(on=on), run(sc.asarray(DATA)).compute(on=on)
    )
    assert walked


KINDS: dict[str, Any] = {
    "zeros of both signs": np.where(DATA > 0, 0.0, -0.0),
    "mostly NaN": np.where(DATA > 1, DATA, np.nan),
    "one value": np.full_like(DATA, 0.1),
    "sorted": np.sort(DATA.reshape(-1)).reshape(DATA.shape),
    "integers": (DATA * 1e6).astype("int64"),
    "bytes": (DATA * 20 + 100).astype("uint8"),
    "float32": DATA.astype("float32"),
    "float16": DATA.astype("float16"),
    "booleans": DATA > 0.5,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tiles", [False, True])
def test_kinds_of_data(tmp_path: Path, kind: str, tiles: bool) -> None:
    data = KINDS[kind]
    x, y = opened(tmp_path, data, tiles), sc.asarray(data)
    for run in (
        lambda a: sc.quantile(a.astype("float64"), [0.1, 0.5, 0.9]),
        lambda a: sc.median(a, axis=2),
        lambda a: sc.partition(a, 5, axis=2),
        lambda a: sc.histogram(a.astype("float64"), bins=5, range=(0, 200))[0],
    ):
        for on in ("core", "cores:2"):
            assert_same(run(x).compute(on=on), run(y).compute(on=on))


def test_a_chunk_is_read_once_for_counts() -> None:
    tiles = Tiles(DATA)
    x = read_by_tiles(tiles, np.dtype("float64"))
    sc.histogram(x, bins=9, range=(0, 1))[0].compute(on="core")
    assert sorted((box[0].start, box[1].start) for box in tiles.boxes) == [
        (k, j) for k in range(0, 90, 20) for j in (0, 4, 8)
    ]


def test_the_plan_promises_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = opened(tmp_path, np.zeros((4000, 11, 37)), False)
    y = sc.histogram(x, bins=9, range=(0, 1))[0]
    plan = y.plan(on="core")
    assert "reads 13.02 MB of 13.02 MB of x.npy, 1,000 of 1,000 chunks" in repr(plan)
    assert plan.peak_bytes < 52 << 20
    found = y.compute(on="core")
    monkeypatch.setattr(streams, "MOST_WALKED", 1 << 10)  # rows are too long
    again = sc.histogram(x + 0, bins=9, range=(0, 1))[0]
    assert again.plan(on="core").peak_bytes > plan.peak_bytes + 12_000_000
    assert_same(again.compute(on="core"), found)


def test_lines_across_all_chunks_lie_in_memory(tmp_path: Path) -> None:
    x, y = opened(tmp_path, DATA, True), sc.asarray(DATA)
    assert_same(sc.median(x, axis=0).compute(on="core"), sc.median(y, axis=0).compute(on="core"))
    assert_same(sc.sort(x, axis=None).compute(), sc.sort(y, axis=None).compute())


def test_what_a_reader_raises_is_the_users(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", DATA)
    x = sc.open(tmp_path / "x.npy")
    os.truncate(tmp_path / "x.npy", 200_000)
    for on in ("core", "cores:2"):
        with pytest.raises(sc.errors.DataFileError, match=r"x\.npy ends before its last element"):
            sc.median(x).compute(on=on)


GROWTH = """
import resource, sys
import speedcube as sc

x = sc.open(sys.argv[1])
make = {"median": lambda x: sc.median(x), "rows": lambda x: sc.median(x, axis=1),
    "histogram": lambda x: sc.histogram(x, bins=50)[0]}[sys.argv[2]]
make(sc.open(sys.argv[3])).compute(on=sys.argv[4])  # what the first kernel takes once
program = make(x)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
program.compute(on=sys.argv[4])
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
print(grown, program.plan(on=sys.argv[4]).peak_bytes)
"""


@pytest.mark.slow
@pytest.mark.parametrize("on", ["core", "cores"])
@pytest.mark.parametrize("program", ["median", "rows", "histogram"])
def test_a_gigabyte_takes_what_is_promised(tmp_path: Path, program: str, on: str) -> None:
    small, large = tmp_path / "small.npy", tmp_path / "large.npy"
    np.save(small, np.random.default_rng(1).normal(size=(60, 16000)))
    file = np.lib.format.open_memmap(large, "w+", np.float64, (8000, 16000))
    file[::1000] = 1.0
    del file
    run = [sys.executable, "-c", GROWTH, str(large), program, str(small), on]
    done = subprocess.run(run, capture_output=True, text=True, env=os.environ, check=True)
    grown, promised = map(int, done.stdout.split())
    assert grown < promised < 450 << 20


@pytest.mark.slow
def test_workers_of_a_cluster_have_the_same_bits(tmp_path: Path) -> None:
    """Their shares of a line may not be read block after block, though all of it could be."""
    data = np.random.default_rng(1).normal(size=(600, 500))
    np.save(tmp_path / "x.npy", data)
    x, y = sc.open(tmp_path / "x.npy"), sc.asarray(data)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        for name in ("median", "quantiles", "even bins", "bins", "numbers"):
            run = WALKS[name]
            assert_same(run(x).compute(on=client), run(y).compute(on="core"))
        assert_same(sc.median(x, axis=1).compute(on=client), sc.median(y, axis=1).compute())
