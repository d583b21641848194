"""Lists of indices taken of files, read box by box: the bits of memory, and little of the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.writing.settling import digest
from speedcube.expr.sources import taken
from speedcube.interop.readers.encoded_zarr import EncodedZarr
from speedcube.plan import streams

DATA: Any = np.random.default_rng(0).normal(size=(60, 22, 37))
MANY: Any = np.sort(np.random.default_rng(1).integers(0, 60, 500))


@pytest.fixture(autouse=True)
def _small_boxes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(taken, "LEAST", 0)
    monkeypatch.setattr(taken, "_ROOM", 1 << 12)
    monkeypatch.setattr(streams, "BLOCK", 1 << 14)
    monkeypatch.setattr(streams, "QUICK", 1 << 13)


PROGRAMS: dict[str, Any] = {
    "some columns": lambda x: x[:, [3, 20, 7]],
    "some rows, one twice": lambda x: x[[-1, 0, 5, -1]],
    "two axes of indices": lambda x: x[::3, [[3, 20], [7, 7]], ::-2].sum(axis=0),
    "after another list": lambda x: x[[1, 5, 8, 40, 41]][:, :, [0, 36, 5]],
    "of a view": lambda x: x[5:50:2, ::-1][:, [1, 2, 10]].mean(axis=2),
    "of what is turned": lambda x: x.T[[3, 1, 30]].sum(axis=1),
    "of anomalies": lambda x: (x - x.mean(axis=0))[[0, 9, 10, 11, 59]].sum(axis=(1, 2)),
    "backwards": lambda x: sc.take(x, list(range(59, -1, -1)), axis=0).cumsum(axis=0),
    "many": lambda x: sc.take(x, MANY, axis=0).mean(axis=1),
    "by a mask": lambda x: x[:, np.arange(22) % 3 == 0].max(axis=(0, 2)),
    "spread": lambda x: sc.nanstd(x[:, [3, 20, 7]], axis=0),
}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("on", ["core", "cores:3"])
def test_what_is_taken_of_files_has_the_bits_of_memory(
    tmp_path: Path, program: str, on: str
) -> None:
    np.save(tmp_path / "x.npy", DATA)
    for name, chunks in (("x.zarr", (9, 6, 37)), ("y.zarr", (7, 5, 8))):
        sc.asarray(DATA).to_zarr(tmp_path / name, chunks=chunks, codecs=["zstd"])
    run = PROGRAMS[program]
    want = run(sc.asarray(DATA)).compute(on=on)
    for name in ("x.npy", "x.zarr", "y.zarr"):
        y = run(sc.open(tmp_path / name))
        assert "what is taken of" in str(y.plan(on=on))
        assert y.compute(on=on).tobytes() == want.tobytes()
    sc.save(tmp_path / "y.npy", y, on=on)
    assert np.load(tmp_path / "y.npy").tobytes() == want.tobytes()


def test_only_chunks_with_something_chosen_are_read(tmp_path: Path) -> None:
    sc.asarray(DATA).to_zarr(tmp_path / "x.zarr", chunks=(10, 11, 37))
    x = sc.open(tmp_path / "x.zarr")
    for k in range(2):
        for place in (0, 1, 3, 5):
            (tmp_path / f"x.zarr/c/{place}/{k}/0").write_bytes(b"broken")
    y = x[[25, 41, 22]]
    assert "4 of 4 blocks" in str(y.plan(on="core"))
    assert y.compute().tobytes() == DATA[[25, 41, 22]].tobytes()


def test_an_order_that_reads_chunks_again_and_again_is_taken_in_memory(tmp_path: Path) -> None:
    sc.asarray(DATA).to_zarr(tmp_path / "x.zarr", chunks=(6, 22, 37))
    mixed = np.random.default_rng(3).permutation(60)
    y = sc.take(sc.open(tmp_path / "x.zarr"), mixed, axis=0)
    assert "what is taken" not in str(y.plan())
    assert y.compute().tobytes() == DATA[mixed].tobytes()


def test_another_list_is_another_computation_to_go_on_with(tmp_path: Path) -> None:
    sc.asarray(DATA).to_zarr(tmp_path / "x.zarr", chunks=(6, 22, 37))
    x = sc.open(tmp_path / "x.zarr")
    first, same, other = (digest([x[:, some]._expr]) for some in ([1, 2], [1, 2], [1, 3]))
    assert first == same
    assert first != other


def test_borders_of_neighbours_are_read_with_their_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sc.asarray(DATA).to_zarr(tmp_path / "x.zarr", chunks=(1, 22, 37), codecs=["zstd"])
    decoded: list[Any] = []
    own = EncodedZarr._decoded

    def counted(self: Any, *args: Any) -> bool:
        decoded.append(args)
        return own(self, *args)

    monkeypatch.setattr(EncodedZarr, "_decoded", counted)
    x = sc.open(tmp_path / "x.zarr")
    y = sc.map_overlap(lambda block: block * 2, x, depth={0: 1}, boundary="reflect")
    assert y.compute().tobytes() == (DATA * 2).tobytes()
    assert len(decoded) <= 3 * 60  # each block by itself, and never all for one
