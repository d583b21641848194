"""Writes by way of a scratch file: the same bytes, each chunk decoded once, and nothing left."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import speedcube as sc
from speedcube.engine import machine
from speedcube.engine.writing import by_scratch as engine
from speedcube.engine.writing import write as writes
from speedcube.engine.writing.scratch import ScratchFiles
from speedcube.interop.readers.encoded_zarr import EncodedZarr
from speedcube.plan.cutting import scratch as plans
from speedcube.plan.cutting.within import lengths_of, within

zarr = pytest.importorskip("zarr", reason='needs pip install "speedcube[io]"')
DATA: Any = np.random.default_rng(6).normal(size=(512, 24, 20)).astype("f4")
SERIES: Any = {"chunks": (512, 8, 5), "codecs": ["zstd"], "on": "cores:2"}


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory for blocks of a few series, and files as of large arrays."""
    monkeypatch.setattr(writes, "_LEAST", 600_000)
    monkeypatch.setattr(writes, "MEMORY", 0)
    monkeypatch.setattr(plans, "_WORTH", 0)
    monkeypatch.setattr(plans, "_CALL", 0)
    monkeypatch.setattr(plans, "_PART", 1 << 10)
    monkeypatch.setattr(plans, "BLOCK", 1 << 10)


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The chunks that are decoded."""
    seen: list[Any] = []
    real = EncodedZarr._read

    def read(self: Any, place: Path, *args: Any) -> bool:
        seen.append(place)
        return real(self, place, *args)

    monkeypatch.setattr(EncodedZarr, "_read", read)
    return seen


def maps(tmp_path: Path, data: Any = DATA) -> Any:
    """The data, in chunks of all places at some times."""
    sc.asarray(data).to_zarr(tmp_path / "maps.zarr", chunks=(16, 24, 20), codecs=["zstd"])
    return sc.open(tmp_path / "maps.zarr")


def digests(place: Path) -> dict[str, str]:
    files = [one for one in place.rglob("*") if one.is_file()]
    return {str(f.relative_to(place)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def test_maps_become_series_and_each_chunk_is_decoded_once(
    tmp_path: Path, little: None, decoded: list[Any]
) -> None:
    x, place = maps(tmp_path), tmp_path / "series.zarr"
    plan = x.to_zarr(place, compute=False, memory=1, **SERIES).plan()
    assert plan.scratch is not None
    assert (plan.scratch.size, plan.times, plan.kept_bytes) == (DATA.nbytes, 1.0, 0)
    assert plan.grid.extents == (512, 8, 5)
    said = f"\n  by way of a scratch file of 983 kB in {tmp_path}\n  12 blocks of"
    assert said in str(plan)
    assert "reads 983 kB (each chunk once), writes 983 kB" in str(plan)
    x.to_zarr(place, memory=1, **SERIES)
    assert len(decoded) == len({*decoded}) == 32
    assert sc.open(place).compute().tobytes() == DATA.tobytes()
    x.to_zarr(tmp_path / "direct.zarr", memory="1 GB", **SERIES)
    assert digests(place) == digests(tmp_path / "direct.zarr")
    names = sorted(one.name for one in tmp_path.iterdir())
    assert names == ["direct.zarr", "maps.zarr", "series.zarr"]


lengths = st.tuples(*(st.integers(1, n) for n in (14, 9, 7)))


@given(shape=lengths, block=lengths, piece=lengths, begins=lengths, data=st.data())
def test_parts_come_back_as_the_block_they_are_of(
    tmp_path_factory: Any, shape: Any, block: Any, piece: Any, begins: Any, data: Any
) -> None:
    values = np.arange(np.prod(shape), dtype="i8").reshape(shape)
    corner = data.draw(lengths)
    outer = tuple(slice(c, c + n) for c, n in zip(corner, shape, strict=True))
    blocks, pieces = within(outer, block, (0, 0, 0)), within(outer, piece, begins)
    wanted = data.draw(st.lists(st.integers(0, blocks.grid.count - 1), min_size=1, unique=True))
    with engine.ExitStack() as stack:
        made = ScratchFiles("it", str(tmp_path_factory.getbasetemp()), blocks, pieces, values.dtype)
        made.open(wanted, stack)
        for number in range(pieces.grid.count):
            item = pieces.item(number)
            here = tuple(slice(s.start - c, s.stop - c) for s, c in zip(item, corner, strict=True))
            made.write(number, item, values[here])
        for number in wanted:
            item = blocks.item(number)
            here = tuple(slice(s.start - c, s.stop - c) for s, c in zip(item, corner, strict=True))
            out = np.empty(lengths_of(item), values.dtype)
            made.read(number, out)
            np.testing.assert_array_equal(out, values[here])
        assert not made.files


@pytest.mark.parametrize("cached", [1 << 30, 40_000])
def test_what_is_computed_of_slices_is_written_as_otherwise(
    tmp_path: Path, little: None, monkeypatch: pytest.MonkeyPatch, cached: int
) -> None:
    """Also group after group, where a file of all would not stay in the page cache."""
    monkeypatch.setattr(engine, "_SHARE", machine.free_memory() / cached)
    x = maps(tmp_path)
    pair = [sc.sqrt(abs(x[7:, 2:, 1:])) + x[7:, 2:, 1:].mean(axis=0), (x[7:, 2:, 1:] * 3) > 1]
    how: Any = {"memory": 1, "on": "cores:2"}
    targets = [
        zarr.create_array(
            tmp_path / f"{k}.zarr", shape=(600, 24, 20), chunks=(60, 4, 6), dtype=one.dtype
        )
        for k, one in enumerate(pair)
    ]
    box = (slice(95, 600), slice(1, 23), slice(1, 20))
    later = sc.store(pair, targets, regions=box, compute=False, **how)
    assert later.plan().scratch is not None
    groups = later.plan().scratch.groups.count
    assert (groups > 1) == (cached == 40_000)
    later.compute()
    for one, target in zip(pair, targets, strict=True):
        assert target[box].tobytes() == one.compute().tobytes()


def test_a_complex_array_and_a_file_of_numpy_go_the_same_way(tmp_path: Path, little: None) -> None:
    x = maps(tmp_path)
    z = x + 1j * x[::-1]
    ways = [
        z.to_zarr(tmp_path / "z.zarr", compute=False, memory=1, **SERIES),
        sc.save(tmp_path / "t.npy", x.T, compute=False, memory=1, on="cores:2"),
    ]
    for later in ways:
        assert later.plan().scratch is not None
        later.compute()
    assert sc.open(tmp_path / "z.zarr").compute().tobytes() == z.compute().tobytes()
    assert np.load(tmp_path / "t.npy").tobytes() == DATA.T.tobytes()


_KILLED = """
import os, signal, sys, speedcube as sc
from speedcube.engine.writing import write as writes
from speedcube.plan.cutting import scratch as plans
writes._LEAST, plans._WORTH, plans._CALL, plans.BLOCK = 600_000, 0, 0, 1 << 10
source, place, chunks = sys.argv[1], sys.argv[2], (512, 8, 5)
def told(progress):
    if progress.done and not progress.left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
how = dict(chunks=chunks, codecs=["zstd"], memory=1, on="cores:2", progress=told)
sc.open(source).to_zarr(place, **how)
"""


def test_a_kill_leaves_no_file_and_what_can_be_gone_on_with(
    tmp_path: Path, little: None, decoded: list[Any]
) -> None:
    x, place = maps(tmp_path), tmp_path / "series.zarr"
    x.to_zarr(tmp_path / "whole.zarr", memory=1, **SERIES)
    command = [sys.executable, "-c", _KILLED, str(tmp_path / "maps.zarr"), str(place)]
    assert subprocess.run(command, check=False).returncode == -9
    assert {one.name for one in place.iterdir()} <= {"zarr.json", "c", "speedcube-write"}
    assert sorted(f.name for f in tmp_path.iterdir()) == ["maps.zarr", "series.zarr", "whole.zarr"]
    decoded.clear()
    found: list[Any] = []
    x.to_zarr(place, memory=1, resume=True, progress=found.append, **SERIES)
    assert found[0].found > 0
    assert len(decoded) == 32
    assert digests(place) == digests(tmp_path / "whole.zarr")


def test_a_disk_that_is_full_says_so_and_what_to_do(
    tmp_path: Path, little: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, place = maps(tmp_path), tmp_path / "series.zarr"

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", full)
        with pytest.raises(OSError, match="No space left on device; ") as caught:
            x.to_zarr(place, memory=1, **SERIES)
    assert caught.value.errno == errno.ENOSPC
    text = str(caught.value)
    assert f"{place}, by way of a scratch file of 983 kB in {place}, is incomplete: [" in text
    assert "resume=True writes what is missing" in text
    monkeypatch.setattr(engine, "_free_bytes", lambda folder: DATA.nbytes)
    later = x.to_zarr(place, memory=1, resume=True, compute=False, **SERIES)
    assert later.plan().scratch is None  # where there is no room for it, it is done without
    later.compute()
    assert sc.open(place).compute().tobytes() == DATA.tobytes()


def planned(tmp_path: Path, memory: str = "512 MB", days: int = 60_000, **how: Any) -> Any:
    codec = zarr.codecs.ZstdCodec()
    place = tmp_path / f"{days}.zarr"
    if not place.exists():
        kept: Any = {"dtype": "f4", "chunks": (256, 64, 64), "compressors": codec}
        zarr.create_array(place, shape=(days, 64, 64), **kept)
    how = {"chunks": (days, 16, 16), "memory": memory, "on": "cores:2", "compute": False} | how
    return sc.open(place).to_zarr(tmp_path / "never.zarr", **how).plan()


def test_what_is_cheaper_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "free_memory", lambda: 1 << 36)
    monkeypatch.setattr(engine, "_free_bytes", lambda folder: 1 << 50)
    plan = planned(tmp_path)
    assert (plan.at_once, plan.scratch.size) == (2, 60_000 * 64 * 64 * 4)
    assert plan.peak_bytes <= 512_000_000
    assert planned(tmp_path, memory="3 GB").scratch is None  # all chunks are kept in memory
    assert planned(tmp_path, days=2_000).scratch is None  # few bytes
    assert planned(tmp_path, chunks=(256, 64, 64)).scratch is None
    assert planned(tmp_path, chunks=(512, 32, 64)).scratch is None  # blocks of whole chunks
    assert planned(tmp_path, chunks=(60_000, 1, 1)).scratch.pieces[0] >= 256
    long = planned(tmp_path, days=120_000)  # a chunk of 123 MB, which is held twice
    assert long.at_once == 1
    assert long.peak_bytes <= 512_000_000
    sharded = planned(tmp_path, chunks=(6_000, 16, 16), shards=(60_000, 16, 16))
    assert sharded.block_bytes == 4 * 60_000 * 16 * 16 * 4  # Zarr puts shards together first
    monkeypatch.setattr(machine, "free_memory", lambda: 3 << 30)  # no file stays in the cache
    assert planned(tmp_path).scratch is not None  # 16 times
    halves = {"chunks": (60_000, 32, 64)}
    assert planned(tmp_path, **halves).scratch is None  # twice is less than to a disk and back
    monkeypatch.setattr(machine, "free_memory", lambda: 1 << 36)
    monkeypatch.setattr(engine, "_free_bytes", lambda folder: 1_900_000_000)
    assert planned(tmp_path).scratch is None  # the file and the array


def test_a_scratch_file_in_memory_has_a_part_of_what_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"disk / ext4 rw 0 0\nit {os.path.realpath(tmp_path)} tmpfs rw 0 0\n")
    monkeypatch.setattr(engine, "_MOUNTS", mounts)
    monkeypatch.setattr(machine, "free_memory", lambda: 400)
    assert engine._free_bytes(str(tmp_path)) == 100
    mounts.write_text("disk / ext4 rw 0 0\n")
    assert engine._free_bytes(str(tmp_path)) > 100
    assert engine._free_bytes(str(tmp_path / "none")) == 0


_GROWS = """
import sys, speedcube as sc
def now(key):
    return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith(key)) * 1024
source, place = sys.argv[1:]
x = sc.open(source)
sc.ones((64, 64)).to_zarr(place + "-first.zarr", chunks=32)
how = dict(chunks=(8192, 32, 32), memory="210 MB", on="cores:2", compute=False, codecs=["zstd"])
later = x.to_zarr(place, **how)
before = now("VmRSS")
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
plan = later.plan()
assert plan.scratch is not None and plan.at_once == 1, str(plan)
later.compute()
print(now("VmHWM") - before, plan.peak_bytes, plan.block_bytes)
"""


@pytest.mark.skipif(
    not os.access("/proc/self/clear_refs", os.W_OK), reason="peaks are forgotten on Linux only"
)
def test_memory_stays_below_the_promise(tmp_path: Path) -> None:
    """Numbers that no codec makes smaller, in chunks of 33 MB."""
    draw = sc.random.default_rng(1).integers(0, 1 << 32, size=(8192, 64, 64), dtype="uint32")
    draw.to_zarr(tmp_path / "x.zarr", chunks=(256, 64, 64), codecs=["zstd"])
    command = [sys.executable, "-c", _GROWS, str(tmp_path / "x.zarr"), str(tmp_path / "y.zarr")]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    grown, promised, block = map(int, out.split())
    assert promised <= 210_000_000
    assert block // 4 < grown <= promised
    want = sc.open(tmp_path / "x.zarr").compute()
    assert sc.open(tmp_path / "y.zarr").compute().tobytes() == want.tobytes()
