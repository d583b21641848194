"""Writes that end too soon: killed, interrupted, out of room, told of what cannot be."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import random
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube import errors
from speedcube.interop.writers import npy
from speedcube.interop.writers.npy import DRAFT, JOURNAL
from speedcube.interop.writers.zarr import MARK
from speedcube.plan import writing

zarr = pytest.importorskip("zarr", reason='needs pip install "speedcube[io]"')
DATA: Any = np.random.default_rng(5).normal(size=(60, 44)).astype("f4")

_WRITES = """
import sys, time, numpy as np, speedcube as sc
from speedcube.interop.writers import npy
from speedcube.plan import writing
writing.BLOCK, npy._RUN = 1 << 10, 880
kind, source, place, seconds = sys.argv[1:]
x = sc.open(source)
y = (x - x.mean(axis=0)) * 2 + 1
def told(progress):
    print(progress.done, flush=True)
    time.sleep(float(seconds))
how = dict(resume=True, on="cores:2", progress=told)
if kind == "npy":
    sc.save(place, y, **how)
else:
    shards = (20, 8) if kind == "sharded" else None
    y.to_zarr(place, chunks=(5, 4), shards=shards, zarr_format=2 if kind == "v2" else 3, **how)
"""


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "BLOCK", 1 << 10)
    monkeypatch.setattr(npy, "_RUN", 5 * 44 * 4)  # five rows


def digests(place: Path) -> dict[str, str]:
    files = [place] if place.is_file() else [one for one in place.rglob("*") if one.is_file()]
    return {
        str(one.relative_to(place)): hashlib.sha256(one.read_bytes()).hexdigest() for one in files
    }


def begun(kind: str, source: Path, place: Path, seconds: float) -> subprocess.Popen[str]:
    arguments = [kind, str(source), str(place), str(seconds)]
    command = [sys.executable, "-c", _WRITES, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def ended(kind: str, source: Path, place: Path) -> None:
    with begun(kind, source, place, 0) as process:
        process.communicate()
    assert process.returncode == 0


def killed(kind: str, source: Path, place: Path, blocks: int, wait: float) -> list[int]:
    """The bytes that a process says are done until it is killed, ``blocks`` of them later.

    The last is -1 where it came to its end before.
    """
    with begun(kind, source, place, 0.02) as process:
        assert process.stdout is not None
        done = [int(process.stdout.readline() or -1) for _ in range(blocks)]
        time.sleep(wait)
        process.kill()
    return done if process.returncode else [*done, -1]


def finished_in_spite_of(kind: str, tmp_path: Path, kills: int, seed: int) -> None:
    """Killed so often at random moments, and gone on with each time: the same bytes."""
    rng, ends = random.Random(seed), ".npy" if kind == "npy" else ".zarr"
    source, near, far = tmp_path / "x.npy", tmp_path / f"near{ends}", tmp_path / f"far{ends}"
    np.save(source, DATA)
    ended(kind, source, near)
    last = 0
    for _ in range(kills):
        done = killed(kind, source, far, rng.randrange(1, 5), rng.random() * 0.03)
        if done[-1] < 0:
            break  # it came to its end before
        assert done[0] > last, "nothing that is there is written again"
        last = done[0] - 1
        whole = far.exists() if kind == "npy" else MARK not in zarr.open_array(far, mode="r").attrs
        if whole:  # killed between its last step and what it tells of it
            assert digests(far) == digests(near)
            break
        if kind != "npy":
            with pytest.raises(errors.DataFileError, match=r"resume=True\) writes the rest"):
                sc.open(far)
    ended(kind, source, far)
    assert digests(far) == digests(near)
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(
        [source.name, near.name, far.name]
    )


@pytest.mark.parametrize(
    ("kind", "kills"), [pytest.param("v3", 1, marks=pytest.mark.slow), ("npy", 1)]
)
def test_a_killed_write_is_gone_on_with(tmp_path: Path, kind: str, kills: int) -> None:
    finished_in_spite_of(kind, tmp_path, kills, 1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["v2", "v3", "sharded", "npy"])
def test_fifty_kills(tmp_path: Path, kind: str) -> None:
    for number in range(4):
        place = tmp_path / str(number)
        place.mkdir()
        finished_in_spite_of(kind, place, 4, number)


class Stops:
    """Data of which reading some rows ends in an error."""

    shape, dtype, chunks = DATA.shape, DATA.dtype, (5, 44)

    def __init__(self, error: BaseException | None) -> None:
        self.error = error
        self.reads: list[int] = []

    def __getitem__(self, key: Any) -> Any:
        if self.error is not None and key[0].start >= 30:
            raise self.error
        self.reads.append(key[0].start)
        return DATA[key]


def stopping(error: BaseException | None) -> tuple[Any, Stops]:
    source = Stops(error)
    return sc.api.files.opening.of_sliceable(source, label="rows") * 2, source


def test_a_write_that_failed_writes_what_is_missing(tmp_path: Path, small_blocks: None) -> None:
    place = tmp_path / "y.zarr"
    y, _ = stopping(OSError(errno.ENXIO, "the store went away"))
    with pytest.raises(OSError, match="the store went away") as caught:
        y.to_zarr(place, chunks=(5, 11), on="core")
    assert caught.value.__notes__ == [
        f"{place} is incomplete: [30:35, 0:44] could not be written; "
        "resume=True writes what is missing"
    ]
    with pytest.raises(FileExistsError, match="an unfinished Zarr array is there: resume=True"):
        y.to_zarr(place, chunks=(5, 11))
    y, source = stopping(None)
    y.to_zarr(place, chunks=(5, 11), resume=True)
    assert sorted(source.reads) == list(range(30, 60, 5))
    y.to_zarr(place, chunks=(5, 11), resume=True)  # whole: there is nothing to do
    assert len(source.reads) == 6
    y.to_zarr(tmp_path / "z.zarr", chunks=(5, 11))
    assert digests(place) == digests(tmp_path / "z.zarr")


def test_an_unfinished_array_is_refused_whoever_opened_it(
    tmp_path: Path, small_blocks: None
) -> None:
    place = tmp_path / "y.zarr"
    with pytest.raises(OSError, match="gone"):
        stopping(OSError(errno.ENXIO, "gone"))[0].to_zarr(place, chunks=(5, 11), on="core")
    theirs = zarr.open_array(place, mode="r")
    takes = sc.asarray, sc.array, sc.from_array, sc.from_zarr, lambda z: sc.ones(44) + z
    for take in takes:
        with pytest.raises(
            errors.DataFileError, match=r"zarr.* was not written to the end: .*rest"
        ):
            take(theirs)
    stopping(None)[0].to_zarr(place, chunks=(5, 11), resume=True)
    for take in takes[:-1]:
        assert np.array_equal(take(zarr.open_array(place, mode="r")).compute(), DATA * 2)


class StopsOnce:
    """What of a progress ends a write after a few blocks, the first time."""

    def __init__(self) -> None:
        self.left = 3

    def __call__(self, _: Any) -> None:
        self.left -= 1
        if not self.left:
            raise RuntimeError("stopped")


@pytest.mark.parametrize("kind", ["npy", "zarr"])
@pytest.mark.parametrize("target", ["y.zarr", "y.npy"])
def test_a_source_that_was_changed_is_no_part_of_the_same_write(
    tmp_path: Path, small_blocks: None, kind: str, target: str
) -> None:
    source = tmp_path / f"x.{kind}"

    def saved(data: Any) -> None:
        if kind == "zarr":
            zarr.create_array(source, data=data, chunks=(5, 44), overwrite=True)
        else:
            np.save(source, data)

    def written(**options: Any) -> None:
        x = sc.open(source)
        if target == "y.npy":
            sc.save(tmp_path / target, x, on="core", **options)
        else:
            x.to_zarr(tmp_path / target, chunks=(5, 11), on="core", **options)

    saved(DATA)
    with pytest.raises(RuntimeError, match="stopped"):
        written(progress=StopsOnce())
    saved(DATA + 1)
    with pytest.raises(errors.ParameterError, match=r"or of other data: .* without resume="):
        written(resume=True)
    written(**({} if target == "y.npy" else {"mode": "w"}))
    assert np.array_equal(sc.open(tmp_path / target).compute(), DATA + 1)


def test_a_whole_array_is_left_as_it_is_if_it_could_be_the_same(tmp_path: Path) -> None:
    z = zarr.create_array(tmp_path / "y.zarr", data=DATA, chunks=(5, 44))
    sc.ones((60, 44), "float32").to_zarr(tmp_path / "y.zarr", chunks=(5, 44), resume=True)
    assert np.array_equal(z[:], DATA)
    others: list[tuple[Any, Any, str]] = [
        (sc.ones((60, 45), "float32"), (5, 44), r"has shape \(60, 44\)"),
        (sc.ones((60, 44)), (5, 44), "holds float32, not float64"),
        (sc.ones((60, 44), "float32"), (6, 44), r"begun with chunks=\(5, 44\)"),
    ]
    for x, chunks, text in others:
        with pytest.raises((ValueError, TypeError), match=text):
            x.to_zarr(tmp_path / "y.zarr", chunks=chunks, resume=True)
    assert np.array_equal(z[:], DATA)


def test_who_goes_on_is_told_what_was_there(
    tmp_path: Path, small_blocks: None, capfd: pytest.CaptureFixture[str]
) -> None:
    place, how = tmp_path / "y.zarr", {"chunks": (5, 44), "resume": True, "on": "core"}
    with pytest.raises(OSError, match="gone"):
        stopping(OSError(errno.ENXIO, "gone"))[0].to_zarr(place, **how)
    assert capfd.readouterr().err == ""  # nothing was there
    y, found = stopping(None)[0], len(list((place / "c").iterdir()))
    assert 0 < found < 12
    y.to_zarr(place, **how)
    said = f"y.zarr: found {found} of 12 blocks, {12 - found} to write\n"
    assert capfd.readouterr().err.endswith(said)
    before, seen = digests(place), list[Any]()
    y.to_zarr(place, **how)
    said = "y.zarr: found 12 of 12 blocks, none to write: the array was whole, and is left as it is"
    assert said in capfd.readouterr().err
    y.to_zarr(place, **how, progress=seen.append)
    assert [(one.done, one.found, one.blocks) for one in seen] == [(DATA.nbytes, 12, 12)]
    y.to_zarr(place, **how, progress=False)
    assert capfd.readouterr().err == ""
    assert digests(place) == before
    y.to_zarr(tmp_path / "at once.zarr", chunks=(5, 44), on="core")
    assert digests(tmp_path / "at once.zarr") == before


LOST: dict[str, dict[str, Any]] = {
    "plain": {"codecs": []},
    "encoded": {},
    "v2": {"zarr_format": 2},
    "sharded": {"shards": (10, 22)},
}


@pytest.mark.parametrize("how", ["away", "short"])
@pytest.mark.parametrize("kind", LOST)
def test_chunks_that_were_lost_meanwhile_are_written_again(
    tmp_path: Path, small_blocks: None, kind: str, how: str
) -> None:
    """Not those that Zarr keeps no file of, since they are all fill value."""
    place, options = tmp_path / "y.zarr", {"chunks": (5, 11), "on": "core", **LOST[kind]}

    def half(error: BaseException | None) -> tuple[Any, Stops]:
        y, source = stopping(error)
        return sc.where(sc.arange(60)[:, None] < 10, 0.0, y).astype("float32"), source

    with pytest.raises(OSError, match="gone"):
        half(OSError(errno.ENXIO, "gone"))[0].to_zarr(place, **options)
    rows = 10 if kind == "sharded" else 5
    found = [one for one in place.rglob("*") if one.is_file() and one.name[-1].isdigit()]
    chunks = [one for one in found if "speedcube-write" not in str(one)]
    lost = max(chunks, key=lambda one: [*map(int, re.findall(r"\d+", str(one.relative_to(place))))])
    if how == "away":
        lost.unlink()
    else:
        lost.write_bytes(lost.read_bytes()[:-1])
    y, source = half(None)
    seen: list[Any] = []
    y.to_zarr(place, resume=True, progress=seen.append, **options)
    begun = 30 - rows  # the rows of the last block that had been written
    assert min(source.reads) == begun
    assert seen[0].found == seen[0].blocks * begun // 60
    y.to_zarr(tmp_path / "z.zarr", **options)
    assert digests(place) == digests(tmp_path / "z.zarr")
    assert np.array_equal(sc.open(place).compute()[10:], DATA[10:] * 2)


def test_a_file_that_failed_writes_what_is_missing(tmp_path: Path, small_blocks: None) -> None:
    place = tmp_path / "y.npy"
    place.write_bytes(b"as it was")
    with pytest.raises(OSError, match="gone"):
        sc.save(place, stopping(OSError(errno.ENXIO, "gone"))[0], on="core")
    assert place.read_bytes() == b"as it was"
    y, source = stopping(None)
    with pytest.raises(errors.ParameterError, match="blocks of another computation"):
        sc.save(place, y + 1, resume=True)
    sc.save(place, y, resume=True)
    assert 0 < len(source.reads) <= 8
    assert np.array_equal(np.load(place), DATA * 2)
    assert [one.name for one in tmp_path.iterdir()] == ["y.npy"]


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("ends", [DRAFT, JOURNAL])
def test_a_link_in_place_of_a_draft_is_not_followed(
    tmp_path: Path, ends: str, resume: bool
) -> None:
    """In a folder of many users somebody may have made it: the names are known."""
    precious = tmp_path / "precious"
    precious.write_bytes(b"as it was")
    (tmp_path / f"y.npy{ends}").symlink_to(precious)
    with pytest.raises(OSError, match="it is a link, where speedcube writes what is its own"):
        sc.save(tmp_path / "y.npy", sc.arange(9), resume=resume)
    assert precious.read_bytes() == b"as it was"
    (tmp_path / f"y.npy{ends}").unlink()
    os.mkfifo(tmp_path / f"y.npy{ends}")
    with pytest.raises(OSError, match="it is not a regular file"):
        sc.save(tmp_path / "y.npy", sc.arange(9))
    assert not (tmp_path / "y.npy").exists()


@pytest.mark.parametrize("ends", [DRAFT, JOURNAL])
def test_a_second_name_of_a_file_is_no_draft(tmp_path: Path, ends: str) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"as it was")
    (tmp_path / f"y.npy{ends}").hardlink_to(precious)
    with pytest.raises(OSError, match="it has a second name, under which it would change"):
        sc.save(tmp_path / "y.npy", sc.arange(9))
    assert precious.read_bytes() == b"as it was"
    assert not (tmp_path / "y.npy").exists()


@pytest.mark.parametrize("name", ["speedcube-write", "speedcube-write/all"])
def test_a_link_in_place_of_notes_is_not_followed(
    tmp_path: Path, small_blocks: None, name: str
) -> None:
    place, precious = tmp_path / "y.zarr", tmp_path / "outside" / "all" / "precious"
    with pytest.raises(OSError, match="gone"):
        stopping(OSError(errno.ENXIO, "gone"))[0].to_zarr(place, chunks=(5, 44), on="core")
    precious.parent.mkdir(parents=True)
    precious.write_bytes(b"as it was")
    shutil.rmtree(place / name)
    folder = precious.parent if name.endswith("all") else precious.parent.parent
    (place / name).symlink_to(folder)
    with pytest.raises(OSError, match="it is a link, where speedcube writes what is its own"):
        stopping(None)[0].to_zarr(place, chunks=(5, 44), resume=True)
    assert precious.read_bytes() == b"as it was"
    (place / name).unlink()
    stopping(None)[0].to_zarr(place, chunks=(5, 44), resume=True)
    assert np.array_equal(sc.open(place).compute(), DATA * 2)


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff" * 5000, b'{"extents": [0]}'.ljust(5000)])
def test_a_journal_that_was_changed_is_not_believed(
    tmp_path: Path, small_blocks: None, damage: bytes
) -> None:
    place = tmp_path / "y.npy"
    with pytest.raises(OSError, match="gone"):
        sc.save(place, stopping(OSError(errno.ENXIO, "gone"))[0], on="core")
    Path(f"{place}{JOURNAL}").write_bytes(damage)
    y, source = stopping(None)
    if len(damage) > 4096:
        with pytest.raises(errors.DataFileError, match="begin anew, without resume="):
            sc.save(place, y, resume=True)
    else:
        sc.save(place, y, resume=True)
        assert len(source.reads) == 12
    sc.save(place, y)
    assert np.array_equal(np.load(place), DATA * 2)


def test_a_note_that_comes_while_notes_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that was done without may write one, and its folder is not empty any more."""
    late: list[Path] = []
    remove = os.rmdir

    def rmdir(path: Any, **options: Any) -> None:
        if not late and os.fspath(path).endswith("speedcube-write/all"):
            late.append(tmp_path / "written.zarr" / "speedcube-write" / "all" / "7")
            late[0].write_bytes(b"1")
        remove(path, **options)

    monkeypatch.setattr(os, "rmdir", rmdir)
    sc.asarray(DATA).to_zarr(tmp_path / "written.zarr", chunks=(5, 4))
    assert late
    assert not (tmp_path / "written.zarr" / "speedcube-write").exists()
    found = zarr.open_array(tmp_path / "written.zarr", mode="r")
    assert MARK not in found.attrs
    assert found[:].tobytes() == DATA.tobytes()


def test_a_draft_has_one_writer(tmp_path: Path, small_blocks: None) -> None:
    import fcntl

    place = tmp_path / "y.npy"
    with open(f"{place}{DRAFT}", "wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(errors.ParameterError, match="is being written by another process"):
            sc.save(place, sc.arange(10))
    sc.save(place, sc.arange(10))
    assert np.load(place).tolist() == list(range(10))


_INTERRUPTED = """
import os, signal, sys, threading, time, speedcube as sc
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a script's background
x = sc.open(sys.argv[1])
from speedcube.plan import writing
writing.BLOCK = 1 << 10
sent = []
def told(progress):  # called by one thread at a time
    if progress.done > progress.total // 3 and not sent:
        sent.append(os.kill(os.getpid(), signal.SIGINT))
        time.sleep(0.3)
try:
    x.to_zarr(sys.argv[2], chunks=(5, 4), on="cores:2", progress=told)
except KeyboardInterrupt:
    print(threading.active_count(), flush=True)
x.to_zarr(sys.argv[2], chunks=(5, 4), resume=True)
"""


def test_ctrl_c_leaves_what_can_be_gone_on_with(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", DATA)
    arguments = [str(tmp_path / "x.npy"), str(tmp_path / "y.zarr")]
    out = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED, *arguments], check=True, capture_output=True, text=True
    ).stdout
    assert int(out) >= 1
    assert np.array_equal(zarr.open_array(tmp_path / "y.zarr")[:], DATA)


_NO_ROOM = """
import resource, signal, sys, speedcube as sc
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
x = sc.open(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (6000, resource.RLIM_INFINITY))
for write in (lambda: sc.save(sys.argv[2] + ".npy", x), lambda: x.to_zarr(
    sys.argv[2] + ".zarr", chunks=(60, 44), codecs=[])):
    try:
        write()
    except OSError as err:
        print(err.errno, err)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
sc.save(sys.argv[2] + ".npy", x, resume=True)
x.to_zarr(sys.argv[2] + ".zarr", chunks=(60, 44), codecs=[], resume=True)
"""


def test_a_disk_that_is_full_says_so(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", DATA)
    arguments = [str(tmp_path / "x.npy"), str(tmp_path / "y")]
    out = subprocess.run(
        [sys.executable, "-c", _NO_ROOM, *arguments], check=True, capture_output=True, text=True
    ).stdout
    first, second = out.splitlines()
    for line, name in ((first, "y.npy"), (second, "y.zarr")):
        assert line.startswith(f"{errno.EFBIG} [Errno {errno.EFBIG}]")
        assert f"{name} is incomplete" in line
        assert "resume=True writes what is missing" in line
    assert np.array_equal(np.load(tmp_path / "y.npy"), DATA)
    assert np.array_equal(zarr.open_array(tmp_path / "y.zarr")[:], DATA)


def test_a_target_that_raises_is_named(tmp_path: Path) -> None:
    class Refuses:
        def __setitem__(self, key: Any, values: Any) -> None:
            raise RuntimeError("the tape is full")

    with pytest.raises(RuntimeError, match="the tape is full") as caught:
        sc.store(sc.arange(10), Refuses())
    assert caught.value.__notes__ == ["Refuses is incomplete: [0:10] could not be written"]


BAD: dict[str, tuple[Any, type[Exception], str]] = {
    "there": (lambda x, p: x.to_zarr(p), FileExistsError, "mode='w' begins anew"),
    "w-": (lambda x, p: x.to_zarr(p, mode="w-"), FileExistsError, "mode='w' begins anew"),
    "not there": (lambda x, p: x.to_zarr(f"{p}2", mode="r+"), FileNotFoundError, "no Zarr array"),
    "mode": (lambda x, p: x.to_zarr(p, mode="x"), ValueError, "mode= takes r"),
    "group": (lambda x, p: x.to_zarr(f"{p}-group"), FileExistsError, "name an array in it"),
    "region outside": (
        lambda x, p: x.to_zarr(p, region=np.s_[1:61, :]),
        ValueError,
        r"does not fit into .*, whose shape is \(60, 44\)",
    ),
    "region of another shape": (
        lambda x, p: x.to_zarr(p, region=np.s_[1:50, :]),
        ValueError,
        r"region= has shape \(49, 44\), and the array to write has shape \(60, 44\)",
    ),
    "region with steps": (lambda x, p: x[::2].to_zarr(p, region=np.s_[::2]), ValueError, "step 1"),
    "no region": (lambda x, p: x.to_zarr(p, region=3), ValueError, "a tuple of slices"),
    "region of nothing": (
        lambda x, p: x.to_zarr(f"{p}2", region=np.s_[:, :]),
        FileNotFoundError,
        "no Zarr array to write into",
    ),
    "dtype": (lambda x, p: x.astype(int).to_zarr(p, mode="r+"), TypeError, "float32, not int64"),
    "shape": (lambda x, p: x[1:].to_zarr(p, mode="r+"), ValueError, r"has shape \(60, 44\)"),
    "axes": (lambda x, p: x[1].to_zarr(p, mode="r+"), ValueError, r"has shape \(60, 44\)"),
    "codec": (lambda x, p: x.to_zarr(f"{p}2", codecs=["zip"]), ValueError, "no codec 'zip'"),
    "codec of 2": (
        lambda x, p: x.to_zarr(f"{p}2", codecs=["zip"], zarr_format=2),
        ValueError,
        "no codec 'zip'",
    ),
    "codec set up": (
        lambda x, p: x.to_zarr(f"{p}2", codecs={"name": "gzip", "configuration": {"level": "x"}}),
        ValueError,
        "the codec 'gzip' cannot be set up like this",
    ),
    "chunks": (lambda x, p: x.to_zarr(f"{p}2", chunks=0), ValueError, "whole number of at least 1"),
    "chunks of an axis": (lambda x, p: x.to_zarr(f"{p}2", chunks=(3,)), ValueError, "each of 2"),
    "shards": (
        lambda x, p: x.to_zarr(f"{p}2", chunks=7, shards=10),
        ValueError,
        "Zarr cannot make .* divisible",
    ),
    "keyword": (lambda x, p: x.to_zarr(f"{p}2", colour=3), ValueError, "keyword argument 'colour'"),
    "memory": (lambda x, p: x.to_zarr(f"{p}2", memory="much"), ValueError, "a number of bytes"),
    "progress": (lambda x, p: x.to_zarr(f"{p}2", progress=3), TypeError, "progress= takes True"),
    "folder": (lambda x, p: sc.save(f"{p}2/x.npy", x), FileNotFoundError, "no such folder"),
    "a folder": (lambda x, p: sc.save(f"{p}.npy", x), IsADirectoryError, "directory"),
    "resumed stream": (
        lambda x, p: sc.save(io.BytesIO(), x, resume=True),
        ValueError,
        "the name of a file",
    ),
    "no target": (lambda x, p: sc.store(x, 5), TypeError, "int has no __setitem__"),
    "targets": (lambda x, p: sc.store([x, x], [np.ones(3)]), ValueError, "one for each"),
    "a small target": (lambda x, p: sc.store(x, np.ones(3)), ValueError, r"target has shape \(3,"),
    "other chunks": (
        lambda x, p: x.to_zarr(p, chunks=9, resume=True),
        ValueError,
        r"begun with chunks=\(10, 10\) and shards=None",
    ),
}


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
@pytest.mark.parametrize("name", BAD)
def test_bad_input(tmp_path: Path, name: str) -> None:
    call, error, text = BAD[name]
    x, place = sc.from_array(DATA), tmp_path / "y.zarr"
    x.to_zarr(place, chunks=10)
    zarr.open_group(f"{place}-group", mode="w")
    os.mkdir(f"{place}.npy")
    before = digests(place)
    with pytest.raises(error, match=text):
        call(x, str(place))
    assert digests(place) == before


def test_a_chunk_that_no_memory_holds_is_refused(tmp_path: Path) -> None:
    y = sc.zeros((1 << 40, 8))
    with pytest.raises(errors.MemoryLimitError, match="give smaller chunks or shards"):
        y.to_zarr(tmp_path / "y.zarr", chunks=-1)
    assert not (tmp_path / "y.zarr").exists()
