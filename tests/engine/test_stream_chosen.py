"""What masks choose of files, block after block: the bits of arrays in memory."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.api.indexing.places import mask_of
from speedcube.engine.streams.made import cells, chosen, scanned
from speedcube.errors import DataFileError
from speedcube.interop.readers.npy import NpyFile
from speedcube.plan import streams

DATA: Any = np.random.default_rng(12).normal(size=(90, 11, 37))


@pytest.fixture(autouse=True)
def _small_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (chosen, scanned):
        monkeypatch.setattr(module, "LEAST", 0)
    monkeypatch.setattr(cells, "BLOCK", 0)
    monkeypatch.setattr(streams, "BLOCK", 1 << 14)
    monkeypatch.setattr(NpyFile, "chunks", property(lambda self: (7, 4, 37)[-len(self.shape) :]))


def opened(tmp_path: Path, data: Any) -> Any:
    np.save(tmp_path / "x.npy", data)
    return sc.open(tmp_path / "x.npy")


def assert_same(a: Any, b: Any) -> None:
    a, b = np.asarray(a), np.asarray(b)
    assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())


def _of_running_sums(x: Any) -> Any:
    y = x.cumsum(axis=0)
    return y[y > 3]


MASK: Any = np.random.default_rng(13).random(90) < 0.3

PROGRAMS: dict[str, Any] = {
    "itself": lambda x: x[x > 1],
    "mean": lambda x: x[x > 1].mean(),
    "most": lambda x: x[x > 1].max(),
    "spread": lambda x: (x[x > 1] * 2).std(),
    "median": lambda x: sc.median(x[x > 1]),
    "running sum": lambda x: x[x > 1].cumsum(),
    "a slice": lambda x: x[x > 1][3:5000:7] + 1,
    "backwards": lambda x: x[x > 1][::-1],
    "above its mean": lambda x: x[x > x.mean()].mean(),
    "rows": lambda x: x[MASK].mean(axis=0),
    "rows by a column": lambda x: x[x[:, 0, 0] > 0].sum(axis=(0, 2)),
    "pairs": lambda x: x[x[:, :, 0] > 0].std(axis=0),
    "of running sums": _of_running_sums,
    "extract": lambda x: sc.extract(x < 0, x).min(),
    "none": lambda x: x[x > 100].sum(),
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("on", ["core", "cores"])
def test_what_is_chosen_has_the_bits_of_memory(tmp_path: Path, program: str, on: str) -> None:
    run = PROGRAMS[program]
    y = run(opened(tmp_path, DATA))
    assert_same(y.compute(on=on), run(sc.asarray(DATA)).compute(on=on))
    assert_same(y.compute(on=on), run(sc.asarray(DATA)).compute(on=on))


def test_the_plan_says_so(tmp_path: Path) -> None:
    x = opened(tmp_path, DATA)
    assert "what is chosen of x.npy" in str(x[x > 1].mean().plan())


def test_places_are_not_kept(tmp_path: Path) -> None:
    x = opened(tmp_path, DATA)
    mask = x > 1
    x[mask].mean().compute()
    assert mask_of(mask)._flat is None


def test_it_is_written(tmp_path: Path) -> None:
    x = opened(tmp_path, DATA)
    x[x > 0.5].to_zarr(tmp_path / "y.zarr", chunks=(1_000,))
    assert_same(sc.open(tmp_path / "y.zarr").compute(), DATA[DATA > 0.5])


def test_it_travels(tmp_path: Path) -> None:
    x = opened(tmp_path, DATA)
    y = x[x > 0.5]
    source = y._expr.source
    again = pickle.loads(pickle.dumps(source.tiles))
    out = np.empty(again.shape)
    again.read((slice(0, out.size, 1),), out)
    assert_same(out, DATA[DATA > 0.5])


@pytest.mark.parametrize("by", [-1, 1])
def test_a_file_that_changed_since_it_was_counted(tmp_path: Path, by: int) -> None:
    x = opened(tmp_path, DATA)
    y = x[x > 0].mean()
    np.save(tmp_path / "x.npy", DATA + by)
    with pytest.raises(DataFileError, match="changed while it was read"):
        y.compute()


def test_little_is_chosen_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chosen, "LEAST", 1 << 20)
    x = opened(tmp_path, DATA)
    assert "what is chosen" not in str(x[x > 1].mean().plan())
