"""A disk that is full in the middle of a write: said so, and gone on with to the same bytes."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedcube as sc

ROWS, COLUMNS = 96, 20_000  # 15 MB


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 10 MB that this test alone has."""
    place = tmp_path / "disk"
    place.mkdir()
    asked = ["mount", "-t", "tmpfs", "-o", "size=10m", "tmpfs", str(place)]
    try:
        done = subprocess.run(asked, capture_output=True, timeout=30, check=False)
    except FileNotFoundError:
        pytest.skip("there is no mount")
    if done.returncode:
        pytest.skip(f"mounting is not allowed: {done.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True, timeout=30)


def array() -> Any:
    return sc.sqrt(sc.arange(ROWS * COLUMNS).astype("f8")).reshape(ROWS, COLUMNS)


def bytes_of(place: Path) -> dict[str, str]:
    """What each file holds."""
    files = [place] if place.is_file() else sorted(p for p in place.rglob("*") if p.is_file())
    return {p.name if p == place else str(p.relative_to(place)): _sum(p) for p in files}


def _sum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def written(form: str, place: Path, resume: bool) -> None:
    if form == "npy":
        sc.save(place, array(), resume=resume, on="cores:2")
    else:
        shards = {"shards": (8, COLUMNS)} if form == "shards" else {}
        chunks = (4, COLUMNS)
        array().to_zarr(place, chunks=chunks, codecs=[], resume=resume, on="cores:2", **shards)


@pytest.mark.parametrize("form", ["npy", "zarr", "shards"])
def test_a_full_disk(disk: Path, tmp_path: Path, form: str) -> None:
    if form != "npy":
        pytest.importorskip("zarr")
    name = "x.npy" if form == "npy" else "x.zarr"
    written(form, tmp_path / name, resume=False)
    with pytest.raises(OSError, match=name.replace(".", r"\.")) as caught:
        written(form, disk / name, resume=False)
    assert caught.value.errno == errno.ENOSPC
    with pytest.raises((OSError, ValueError)):
        sc.open(disk / name)  # what is not whole is not read
    subprocess.run(["mount", "-o", "remount,size=40m", str(disk)], check=True, timeout=30)
    written(form, disk / name, resume=True)
    assert bytes_of(disk / name) == bytes_of(tmp_path / name)
    assert np.array_equal(sc.open(disk / name)[::7, ::99].compute(), array()[::7, ::99].compute())
    assert [p for p in os.listdir(disk) if p != name] == []


COMPUTED = """
import warnings
import numpy as np, speedcube as sc
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    x = sc.asarray(np.arange(100_000.0))
    for k in range(3):
        want = float(((np.arange(100_000) + k) ** 2).sum())
        assert ((x + k) ** 2).sum().compute(on="core") == want
print(len(said), said[0].message if said else "")
"""


def _fill(place: Path) -> None:
    """Write until there is no room."""
    with place.open("wb") as file:
        while file.write(bytes(4096)):
            file.flush()


@pytest.mark.parametrize("room", [0, 4096, 12_288])
def test_a_full_disk_under_the_kernel_cache(disk: Path, room: int) -> None:
    with pytest.raises(OSError, match="No space"):
        _fill(disk / "filled")
    os.truncate(disk / "filled", (disk / "filled").stat().st_size - room)
    where = {**os.environ, "SPEEDCUBE_CACHE_DIR": str(disk / "kernels")}
    command = [sys.executable, "-c", COMPUTED]
    done = subprocess.run(command, env=where, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 the kernel cache ")
    assert "No space left on device" in done.stdout
    (disk / "filled").unlink()  # what was left there is used by nobody, and nothing is half written
    assert not list(disk.rglob("*.part"))
    done = subprocess.run(command, env=where, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "0 \n"), done.stderr
