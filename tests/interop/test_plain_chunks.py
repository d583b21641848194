"""Chunks that are written without Zarr: the files are those that Zarr would write."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zarr

import speedcube as sc
from speedcube.interop.writers import plain_chunks

DATA: Any = np.random.default_rng(5).normal(size=(11, 9))
EMPTY: Any = np.where(np.arange(11)[:, None] < 4, 0.0, DATA)
SIGNED: Any = np.where(np.arange(11)[:, None] < 4, -0.0, DATA)
ZSTD: Any = [{"name": "zstd", "configuration": {"level": 3, "checksum": True}}]
UNKNOWN: Any = np.where(np.arange(11)[:, None] < 4, np.nan, DATA)


def bytes_of(folder: Path) -> dict[str, bytes]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


@pytest.mark.parametrize("data", [DATA, EMPTY, SIGNED, UNKNOWN, DATA.astype("i2")])
@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("fill", [0, 7])
@pytest.mark.parametrize("codecs", [[], ZSTD])
def test_files_are_those_that_zarr_writes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    data: Any,
    zarr_format: int,
    fill: Any,
    codecs: Any,
) -> None:
    if codecs and zarr_format == 2:
        codecs = [{"id": "zstd", "level": 3, "checksum": True}]
    how = {"chunks": (4, 5), "codecs": codecs, "zarr_format": zarr_format, "fill_value": fill}
    sc.asarray(data).to_zarr(tmp_path / "ours", **how)
    monkeypatch.setattr(plain_chunks.PlainChunks, "write", lambda *_: False)
    sc.asarray(data).to_zarr(tmp_path / "theirs", **how)
    ours, theirs = bytes_of(tmp_path / "ours"), bytes_of(tmp_path / "theirs")
    assert ours == theirs
    chunks = [name for name in ours if not name.startswith(".z") and name != "zarr.json"]
    assert len(chunks) == (4 if data is EMPTY and not fill else 6)
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "ours")[:], data)


def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the chunks that are written without Zarr from now on."""
    names, write = list[str](), plain_chunks._write

    def named(place: Path, chunk: Any) -> None:
        names.append(place.name)
        write(place, chunk)

    monkeypatch.setattr(plain_chunks, "_write", named)
    return names


def test_which_chunks_are_left_to_zarr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = written(monkeypatch)
    sc.asarray(DATA).to_zarr(tmp_path / "x", chunks=(4, 5), codecs=[])
    assert len(names) == 6
    names.clear()
    # A part of a chunk keeps the rest of it, and of a fill value there is no file.
    part = sc.asarray(DATA[:3])
    part.to_zarr(tmp_path / "x", region=(slice(2, 5), slice(0, 9)), mode="r+")
    assert not names
    wanted = DATA.copy()
    wanted[2:5] = DATA[:3]
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "x")[:], wanted)
    for codecs in (
        ["gzip"],
        ["zstd", "crc32c"],
        [{"name": "transpose", "configuration": {"order": [1, 0]}}],
    ):
        sc.asarray(DATA).to_zarr(tmp_path / "y", chunks=(4, 5), codecs=codecs, mode="w")
    sc.asarray(DATA).to_zarr(tmp_path / "s", chunks=(4, 3), shards=(8, 9), codecs=[])
    assert not names
    sc.asarray(DATA).to_zarr(tmp_path / "z", chunks=(4, 5), codecs=["zstd"])
    assert len(names) == 6
    names.clear()
    wide = zarr.create_array(
        tmp_path / "big", shape=(11, 9), chunks=(4, 5), dtype=">f8", compressors=None
    )
    sc.asarray(DATA).to_zarr(wide, mode="r+")
    assert len(names) == 6
    np.testing.assert_array_equal(wide[:], DATA)


def test_a_full_disk_leaves_no_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write

    def full(handle: int, view: Any) -> int:
        if len(view) < 100:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(handle, view[:99])

    monkeypatch.setattr(plain_chunks.os, "write", full)
    with pytest.raises(OSError, match=r"No space left.*incomplete"):
        sc.asarray(DATA).to_zarr(tmp_path / "x", chunks=(4, 5), codecs=[], on="core")
    monkeypatch.undo()
    assert not [name for name in bytes_of(tmp_path) if "partial" in name or name.startswith("x/c/")]
    sc.asarray(DATA).to_zarr(tmp_path / "x", chunks=(4, 5), codecs=[], resume=True)
    np.testing.assert_array_equal(zarr.open_array(tmp_path / "x")[:], DATA)
