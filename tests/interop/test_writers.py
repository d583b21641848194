"""Arrays written block after block: the bytes, who writes them, and how much memory it takes."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest

import speedcube as sc
from speedcube.engine import machine
from speedcube.engine.writing import by_scratch, write
from speedcube.engine.writing.progress import Meter, WriteProgress
from speedcube.interop.writers import assigned
from speedcube.plan import writing

zarr = pytest.importorskip("zarr", reason='needs pip install "speedcube[io]"')
DATA: Any = np.random.default_rng(5).normal(size=(60, 44)).astype("f4")
KINDS: dict[str, dict[str, Any]] = {
    "v2": {"zarr_format": 2},
    "v3": {},
    "sharded": {"shards": (20, 16)},
    "raw": {"codecs": []},
    "gzip": {"codecs": ["bytes", {"name": "gzip", "configuration": {"level": 1}}, "crc32c"]},
    "v2 blosc": {"codecs": ["blosc"], "zarr_format": 2},
}


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "BLOCK", 1 << 10)


def opened(tmp_path: Path, data: Any = DATA, name: str = "x.npy") -> Any:
    np.save(tmp_path / name, data)
    return sc.open(tmp_path / name)


def program(x: Any) -> Any:
    return (x - x.mean(axis=0)) * 2 + 1


def digests(place: Path) -> dict[str, str]:
    files = [place] if place.is_file() else [one for one in place.rglob("*") if one.is_file()]
    return {
        str(one.relative_to(place)): hashlib.sha256(one.read_bytes()).hexdigest() for one in files
    }


# What is written ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("on", ["core", "cores:3"])
def test_zarr_of_every_kind(tmp_path: Path, kind: str, on: str) -> None:
    y = program(opened(tmp_path))
    place = tmp_path / "y.zarr"
    assert y.to_zarr(place, chunks=(10, 8), on=on, **KINDS[kind]) is None
    there = zarr.open_array(place, mode="r")
    assert (there.chunks, dict(there.attrs)) == ((10, 8), {})
    assert there[:].tobytes() == y.compute().tobytes()
    names = {one.split("/")[0] for one in digests(place)}
    assert not any("speedcube" in name for name in names)


PROGRAMS: dict[str, Any] = {
    "itself": lambda x: x,
    "turned": lambda x: x.T,
    "backwards": lambda x: x[::-1, ::3],
    "stencil": lambda x: x[1:] - x[:-1],
    "in another shape": lambda x: x.reshape(-1),
    "a map in another shape": lambda x: (x.T + 1).reshape(22, -1),
    "standardised": lambda x: (x - x.mean()) / x.std(axis=1, keepdims=True),
    "running": lambda x: x.cumsum(axis=1) + 1,
    "sorted": lambda x: sc.sort(x, axis=0),
    "taken": lambda x: sc.take(x, np.array([3, 1, 50]), axis=0),
    "padded": lambda x: sc.pad(x, 3, mode="reflect") * 2,
    "stacked": lambda x: sc.stack([x, x + 1]),
    "complex": lambda x: x * (1 + 2j),
    "a number": lambda x: x.sum(),
    "nothing": lambda x: x[:0],
    "whether": lambda x: x > 0,
    "drawn": lambda x: x + sc.random.default_rng(3).normal(size=x.shape),
    "half": lambda x: x.astype("f2"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_program_is_written_as_it_is_computed(tmp_path: Path, name: str) -> None:
    z = zarr.create_array(store=tmp_path / "x.zarr", data=DATA, chunks=(16, 9))
    for x in (opened(tmp_path), sc.from_zarr(z), sc.from_array(DATA)):
        y = PROGRAMS[name](x)
        right = np.asarray(y.compute(), order="C")
        y.to_zarr(tmp_path / "y.zarr", mode="w", chunks=7 if y.ndim else None)
        assert zarr.open_array(tmp_path / "y.zarr")[...].tobytes() == right.tobytes()
        expected = io.BytesIO()
        np.save(expected, right)
        np.save(tmp_path / "y.npy", y)
        assert (tmp_path / "y.npy").read_bytes() == expected.getvalue()
        memory = io.BytesIO()
        sc.save(memory, y)
        assert memory.getvalue() == expected.getvalue()
    assert not list(tmp_path.glob("*.speedcube-*"))


def test_an_open_file_goes_on_behind_the_array(tmp_path: Path) -> None:
    y = program(opened(tmp_path))
    with open(tmp_path / "two.npy", "wb") as file:
        file.write(b"before")
        np.save(file, y)
        np.save(file, y + 1)
    with open(tmp_path / "two.npy", "rb") as file:
        assert file.read(6) == b"before"
        assert np.array_equal(np.load(file), y.compute())
        assert np.array_equal(np.load(file), (y + 1).compute())
    with open(tmp_path / "two.npy", "ab") as file:
        np.save(file, y)
    read, written = os.pipe()
    with os.fdopen(written, "wb") as pipe:
        sc.save(pipe, sc.arange(5))
    assert np.load(io.BytesIO(os.read(read, 1 << 12))).tolist() == [0, 1, 2, 3, 4]
    os.close(read)


def test_a_region_is_written_and_nothing_beside_it(tmp_path: Path) -> None:
    place, x = tmp_path / "y.zarr", opened(tmp_path)
    (x * 0).to_zarr(place, chunks=(10, 8))
    box = np.s_[3:55, 5:40]
    x[box].to_zarr(place, region=box)
    right = np.zeros_like(DATA)
    right[box] = DATA[box]
    assert np.array_equal(zarr.open_array(place)[:], right)
    (x + 1).to_zarr(zarr.open_array(place))
    (x[:10] + 2).to_zarr(place, region=slice(0, 10), mode="r+")
    right = np.vstack([DATA[:10] + 2, DATA[10:] + 1])
    assert np.array_equal(zarr.open_array(place)[:], right)
    assert not any("speedcube" in name for name in digests(place))


def test_sources_are_stored_into_whatever_is_assigned_to(tmp_path: Path) -> None:
    x = opened(tmp_path)
    seen: list[Any] = []

    class Target:
        shape, chunks = (60, 44), (30, 11)

        def __setitem__(self, key: Any, values: Any) -> None:
            seen.append((key, values.copy()))

    mapped = np.lib.format.open_memmap(tmp_path / "m.npy", "w+", "f8", (64, 44))
    z = zarr.create_array(store={}, shape=(60, 44), dtype="f4", chunks=(7, 44))
    total = np.zeros(44, "f4")
    sc.store(
        [x + 1, x * 2, x - 1, x.sum(axis=0)],
        [Target(), mapped, z, total],
        regions=[None, (slice(2, 62), slice(None)), None, None],
    )
    whole = np.full((60, 44), np.nan, "f4")
    for (rows, columns), values in seen:
        assert (rows.start % 30, columns.start % 11) == (0, 0)
        assert np.isnan(whole[rows, columns]).all()
        whole[rows, columns] = values
    assert np.array_equal(whole, DATA + 1)
    assert np.array_equal(mapped[2:62], (DATA * 2).astype("f8"))
    assert np.array_equal(z[:], DATA - 1)
    assert np.array_equal(total, x.sum(axis=0).compute())


def test_what_several_share_is_read_once(tmp_path: Path) -> None:
    reads: list[Any] = []

    class Slow:
        shape, dtype, chunks = DATA.shape, DATA.dtype, (20, 44)

        def __getitem__(self, key: Any) -> Any:
            reads.append(key[0].start)
            return DATA[key]

    x = sc.api.files.opening.of_sliceable(Slow())
    targets = [np.zeros_like(DATA) for _ in range(3)]
    sc.store([x, x * 2, x[::-1][::-1] + 1], targets)
    assert sorted(reads) == [0, 20, 40]
    assert np.array_equal(targets[2], DATA + 1)


@pytest.mark.parametrize("how", ["tiles to rows", "rows to tiles"])
def test_other_chunks_read_each_chunk_once(tmp_path: Path, how: str) -> None:
    old, new = ((15, 11), (4, 44)) if how == "tiles to rows" else ((4, 44), (15, 11))
    reads: list[Any] = []

    class Counted:
        shape, dtype, chunks = DATA.shape, DATA.dtype, old

        def __getitem__(self, key: Any) -> Any:
            reads.append(
                np.prod([-(-s.stop // c) - s.start // c for s, c in zip(key, old, strict=True)])
            )
            return DATA[key]

    x = sc.api.files.opening.of_sliceable(Counted())
    x.to_zarr(tmp_path / "y.zarr", chunks=new, on="core")
    assert np.array_equal(zarr.open_array(tmp_path / "y.zarr")[:], DATA)
    assert sum(reads) == -(-60 // old[0]) * -(-44 // old[1])


def _store_by_workers(y: Any, folder: Path, client: Any) -> None:
    """Into open arrays of another dtype, and into a part of one, whose border chunks stay."""
    assigns = assigned.Assigned.write
    how = {"on": client}
    whole = zarr.create_array("whole.zarr", shape=y.shape, chunks=(10, 8), dtype="i2")
    part = zarr.create_array("part.zarr", shape=(70, 50), chunks=(10, 8), dtype="f8", fill_value=7)
    near = np.full((70, 50), 7.0)
    near[3:63, 5:49] = y.compute() + 1
    try:
        assigned.Assigned.write = None  # type: ignore[method-assign, assignment]
        sc.store([y * 100, y + 1], [whole, part], regions=[None, np.s_[3:63, 5:49]], **how)
    finally:
        assigned.Assigned.write = assigns  # type: ignore[method-assign]
    assert np.array_equal(whole[:], (y * 100).compute().astype("i2"))
    assert np.array_equal(part[:], near)
    alone = zarr.create_array({}, shape=y.shape, chunks=(10, 8), dtype="f4")
    sc.store(y, alone, **how)  # of this process's memory
    sc.store(y, whole, lock=threading.Lock(), **how)  # which is of this process
    assert np.array_equal(alone[:], y.compute())
    assert np.array_equal(whole[:], y.compute().astype("i2"))
    assert [name for name in digests(folder) if "speedcube" in name] == []


@pytest.mark.cluster
def test_workers_of_a_cluster_write_their_own_chunks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed")
    y = program(opened(tmp_path))
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        seen: list[WriteProgress] = []
        y.to_zarr(tmp_path / "far.zarr", chunks=(10, 8), on=client, progress=seen.append)
        sc.save(tmp_path / "far.npy", y, on=client)
        target = np.zeros_like(DATA)
        sc.store(y, target, on=client)
        with pytest.raises(FileExistsError, match="mode='w' begins anew"):
            y.to_zarr(tmp_path / "far.zarr", chunks=(10, 8), on=client)
        monkeypatch.chdir(tmp_path)  # where no worker is
        y.to_zarr("here.zarr", chunks=(10, 8), on=client)
        _store_by_workers(y, tmp_path, client)
    y.to_zarr(tmp_path / "near.zarr", chunks=(10, 8))
    assert digests(tmp_path / "far.zarr") == digests(tmp_path / "near.zarr")
    assert digests(tmp_path / "here.zarr") == digests(tmp_path / "near.zarr")
    assert np.array_equal(np.load(tmp_path / "far.npy"), y.compute())
    assert np.array_equal(target, y.compute())
    assert (len(seen) > 1, seen[-1].done) == (True, DATA.nbytes)


@pytest.mark.cluster
@pytest.mark.parametrize("is_part", [False, True])
def test_what_a_lost_worker_had_begun_is_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_part: bool
) -> None:
    """Zarr's drafts of chunks; not where another program may write another part."""
    distributed = pytest.importorskip("distributed")
    place, found, write_there = tmp_path / "y.zarr", list[bool](), write.write_on_client
    draft = place / "c" / "0" / f"1.{'0a' * 16}.partial"
    where = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **where) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):

        def losing(*given: Any) -> bool:
            worker = next(iter(client.scheduler_info(n_workers=-1)["workers"]))
            write_there(*given)
            draft.write_bytes(b"half a chunk")
            client.retire_workers([worker])
            found.append(write_there(*given))
            return found[-1]

        monkeypatch.setattr(write, "write_on_client", losing)
        if is_part:
            zarr.create_array(place, shape=DATA.shape, chunks=(10, 8), dtype=DATA.dtype)
        how = {"region": (slice(0, 60), slice(0, 40))} if is_part else {"chunks": (10, 8)}
        x = sc.asarray(DATA)[:, :40] if is_part else sc.asarray(DATA)
        x.to_zarr(place, on=client, **how)
    assert found == [True]
    assert draft.exists() == is_part
    assert np.array_equal(zarr.open_array(place)[:, :40], DATA[:, :40])


# Plans, progress, memory -------------------------------------------------------------------------


def test_a_plan_writes_nothing_and_a_delayed_does(tmp_path: Path) -> None:
    y = program(opened(tmp_path))
    place = tmp_path / "y.zarr"
    later = y.to_zarr(place, chunks=(10, 8), compute=False, on="cores:2")
    plan = later.plan()
    assert (plan.result_bytes, plan.held_bytes, plan.grid.count) == (DATA.nbytes, 176, 6)
    assert "6 blocks of at most (10, 44), 3 at a time; reads 10.56 kB" in repr(plan)
    assert not place.exists()
    dask.compute(later)
    assert zarr.open_array(place)[:].tobytes() == y.compute().tobytes()
    z = y.to_zarr(tmp_path / "z.zarr", return_stored=True)
    assert np.array_equal(z.compute(), y.compute())


@pytest.mark.parametrize(("compressors", "at_once"), [(None, 2), ("auto", 1)])
def test_blocks_of_raw_chunks_have_fewer_copies(
    tmp_path: Path, compressors: Any, at_once: int
) -> None:
    """Rows to tiles: blocks of 32 MB of which two fit, unless a reader decodes into more memory."""
    given = {"shape": (15_625, 8_192), "chunks": (128, 8_192), "dtype": "f4"}
    zarr.create_array(tmp_path / "x.zarr", **given, compressors=compressors)
    to = {"chunks": (1_024, 1_024), "codecs": [], "compute": False, "on": "cores:2"}
    plan = sc.open(tmp_path / "x.zarr").to_zarr(tmp_path / "y.zarr", **to).plan()
    assert (plan.grid.extents, plan.at_once) == ((1_024, 8_192), at_once)
    assert plan.peak_bytes <= 512_000_000


@pytest.mark.parametrize("chunks", [(1000, 1000), (100, 1 << 20), (1, 1 << 20)])
@pytest.mark.parametrize("workers", [1, 3, 129])
def test_no_size_promises_more_than_512_megabytes(chunks: Any, workers: int) -> None:
    class Endless:
        shape, dtype = (1 << 22, 1 << 20), np.dtype("f4")

        def __init__(self, chunks: Any) -> None:
            self.chunks = chunks

    x = sc.api.files.opening.of_sliceable(Endless((1000, 1000)))
    later = (x * 2).to_zarr("never", chunks=chunks, compute=False, on=f"cores:{workers}")
    few = chunks == (100, 1 << 20)  # 419 MB of values have copies
    assert (later.plan().peak_bytes <= 512_000_000) is not few
    assert later.plan().at_once <= workers + 1


def test_a_plan_says_how_often_chunks_are_decoded_and_more_memory_keeps_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Maps become series whose chunks are long: each block needs a part of every chunk."""
    monkeypatch.setattr(machine, "free_memory", lambda: 1 << 36)
    how: Any = {"dtype": "f4", "chunks": (256, 64, 64), "compressors": zarr.codecs.ZstdCodec()}
    zarr.create_array(tmp_path / "maps.zarr", shape=(60_000, 64, 64), **how)
    maps = sc.open(tmp_path / "maps.zarr")

    def plan(memory: str) -> Any:
        chunks = (60_000, 16, 16)
        how = {"chunks": chunks, "compute": False, "on": "cores:2"}
        return maps.to_zarr("never", memory=memory, **how).plan()

    monkeypatch.setattr(by_scratch, "_free_bytes", lambda folder: 0)
    few, more = plan("512MB"), plan("3GB")
    assert (few.grid.count, few.times, few.kept_bytes) == (16, 16.0, 0)
    assert "; reads 983 MB (each chunk 16 times), writes 983 MB;" in str(few)
    assert (more.times, more.kept_bytes) == (1.0, maps.nbytes)
    assert more.peak_bytes <= 3_000_000_000
    assert "; reads 983 MB, writes 983 MB; keeps 983 MB decoded;" in str(more)


def test_progress_is_told_to_who_asks(tmp_path: Path, capfd: Any, monkeypatch: Any) -> None:
    x = opened(tmp_path)
    seen: list[WriteProgress] = []
    x.to_zarr(tmp_path / "a.zarr", chunks=(10, 8), progress=seen.append)
    assert [one.done for one in seen] == sorted({one.done for one in seen})
    assert (seen[-1].done, seen[-1].total, seen[-1].left) == (DATA.nbytes, DATA.nbytes, 0)
    x.to_zarr(tmp_path / "b.zarr", chunks=(10, 8))
    assert capfd.readouterr().err == ""
    x.to_zarr(tmp_path / "c.zarr", chunks=(10, 8), progress=True)
    assert "c.zarr: 100% of 10.56 kB" in capfd.readouterr().err
    half = WriteProgress("y.zarr", 3_000_000, 5_000_000, 1_000_000, 4.0)
    assert str(half) == "y.zarr: 60% of 5 MB, 500 kB/s, 4.0 s left"
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    meter = Meter("y.zarr", 10, began=time.monotonic() - 5)
    meter.add(5)
    meter.add(1)  # too soon
    meter.add(4)
    shown = capfd.readouterr().err
    assert (shown.count("\r"), shown.count("\n")) == (2, 1)


_GROWS = """
import sys, threading, numpy as np, speedcube as sc, zarr
def now(key):
    return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith(key)) * 1024
source, place, chunks = sys.argv[1], sys.argv[2], eval(sys.argv[3])
x = sc.open(source)
z = sc.ones((64, 64)).to_zarr(place + "-first.zarr", chunks=32)
y = (x - 0.5) * 2 + x[::-1]
later = y.to_zarr(place, chunks=chunks, compute=False, memory="200 MB", on="cores:2")
before = now("VmRSS")
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
plan = later.plan()
later.compute()
print(now("VmHWM") - before, plan.peak_bytes)
"""


@pytest.mark.parametrize("chunks", ["(512, 512)", "(128, 4096)"])
@pytest.mark.skipif(
    not os.access("/proc/self/clear_refs", os.W_OK), reason="peaks are forgotten on Linux only"
)
def test_memory_stays_below_the_promise(tmp_path: Path, chunks: str) -> None:
    zarr.create_array(store=tmp_path / "x.zarr", shape=(16384, 4096), dtype="f4", chunks=(512, 512))
    sc.random.default_rng(1).uniform(size=(16384, 4096), dtype="f4").to_zarr(
        tmp_path / "x.zarr", mode="r+"
    )
    arguments = [str(tmp_path / "x.zarr"), str(tmp_path / "y.zarr"), chunks]
    out = subprocess.run(
        [sys.executable, "-c", _GROWS, *arguments], check=True, capture_output=True, text=True
    ).stdout
    grown, promised = map(int, out.split())
    assert promised <= 200_000_000
    assert 1 << 24 < grown <= promised


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("shards", [None, (20, 20)])
def test_gzip_tells_no_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int, shards: Any
) -> None:
    if version == 2 and shards:
        pytest.skip("format 2 has no shards")
    data = np.random.default_rng(3).normal(size=(40, 40))
    files = []
    for hour, name in enumerate(("a.zarr", "b.zarr")):
        monkeypatch.setattr("gzip.time.time", lambda hour=hour: 1e9 + 3600.0 * hour)
        place = tmp_path / name
        sc.asarray(data).to_zarr(
            place, chunks=10, shards=shards, codecs=["gzip"], zarr_format=version
        )
        found = (one for one in place.rglob("*") if one.is_file())
        files.append({str(one.relative_to(place)): one.read_bytes() for one in found})
        theirs = zarr.open_array(place, mode="r")
        assert np.array_equal(theirs[:], data)
        assert "gzip" in repr(theirs.metadata.to_dict()).lower()
    assert files[0] == files[1]
    assert len(files[0]) >= (5 if shards else 17)
