"""Loops that are kept: killed after any step they go on, with the same bits."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import dask.array as da
import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc
from speedcube.api.files import loops
from speedcube.engine.keeping import aside, states
from speedcube.errors import CheckpointError, ParameterError, ParameterTypeError

EACH: Final = loops.EACH
SHARE: Final = loops._SHARE


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    """The state is written whenever it can be, before the next step is taken."""
    monkeypatch.setattr(loops, "EACH", 0.0)
    monkeypatch.setattr(loops, "_SHARE", 1e9)
    monkeypatch.setattr(aside, "COPIED", -1)


class Clock:
    """What tells the time to a loop and to its writes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.began = self.now = 1024.0  # the same roundings on every machine, however long it is up
        self.used = 0.0
        told = {"monotonic": lambda: self.now, "thread_time": lambda: self.used}
        for module in (loops, aside):
            monkeypatch.setattr(module, "time", SimpleNamespace(**told))


class Stopped(Exception):
    """What a step raises where a program would be killed."""


def _heat(u: Any) -> Any:
    return u + 0.1 * (sc.roll(u, 1) - 2 * u + sc.roll(u, -1))


def _start() -> Any:
    return sc.random.default_rng(3).normal(size=500)


def _stopping(step: Callable[[Any], Any], count: int) -> Callable[[Any], Any]:
    """``step``, which can be taken so many times."""
    left = [count]

    def stepped(state: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise Stopped
        return step(state)

    return stepped


@pytest.mark.parametrize("every", [1, 3])
def test_it_goes_on_with_the_same_bits(every: int, tmp_path: Path) -> None:
    wanted = _start()
    for k in range(1, 21):
        wanted = _heat(wanted).persist() if k % every == 0 else _heat(wanted)
    for count in (1, 2, 5, 11, 20):
        if count < 20:
            with pytest.raises(Stopped):
                sc.checkpointed(_stopping(_heat, count), _start(), 20, tmp_path, every=every)
        # The first step is taken again, and those since the last state that was kept.
        steps = 1 + 20 - max(1, (count - 1) // every * every) if count < 20 else 20
        found = sc.checkpointed(_stopping(_heat, steps), _start(), 20, tmp_path, every=every)
        assert isinstance(found, sc.Array)
        assert_same_bits(found.compute(), wanted.compute())
        assert not list(tmp_path.iterdir())


def _many(state: Any) -> Any:
    x, (count, share, z, name, flag, nothing), more = state
    more = {"a": [more["a"][0] * 2, np.float32(more["a"][1] + 1)]}
    return x @ x, (count + 3**40, share / 3, z * 1j, name + "x", not flag, nothing), more


def test_a_state_of_many_kinds(tmp_path: Path) -> None:
    def start() -> Any:
        x = sc.asarray(np.asfortranarray(np.random.default_rng(1).normal(size=(3, 3)) + 1j))
        numbers = (1, float("nan"), 1 - 0.5j, "é", True, None)
        return x, numbers, {"a": [np.arange(3), np.float32(2)]}

    def told(state: Any) -> str:
        x, numbers, more = state
        assert isinstance(x, sc.Array)
        assert type(more["a"][0]) is np.ndarray
        assert type(more["a"][1]) is np.float32
        return repr((np.asarray(x).tobytes(), numbers, more))

    wanted = told(sc.checkpointed(_many, start(), 6, tmp_path))
    with pytest.raises(Stopped):
        sc.checkpointed(_stopping(_many, 4), start(), 6, tmp_path)
    assert told(sc.checkpointed(_stopping(_many, 4), start(), 6, tmp_path)) == wanted
    assert told(sc.checkpointed(_many, start(), 0, tmp_path / "none")) == told(start())
    assert not list(tmp_path.iterdir())


def test_other_loops_have_files_of_their_own(tmp_path: Path) -> None:
    def warmer(u: Any) -> Any:
        return _heat(u) + 1

    cases: list[tuple[Any, Any, int]] = [
        (_heat, _start(), 1),
        (_heat, _start(), 2),
        (_heat, _start() * 2, 1),
        (_heat, sc.asarray(np.arange(500.0)), 1),
        (warmer, _start(), 1),
    ]
    for number, (step, state, every) in enumerate(cases):
        with pytest.raises(Stopped):
            sc.checkpointed(_stopping(step, 5), state, 9, tmp_path, every=every)
        assert len(list(tmp_path.glob("*.npz"))) == number + 1
    for step, state, every in cases:
        wanted = state
        for _ in range(9):
            wanted = step(wanted)
        found = sc.checkpointed(step, state, 9, tmp_path, every=every)
        assert_same_bits(found.compute(), wanted.compute())
    assert not list(tmp_path.iterdir())


class Planted:
    """Runs code where it is unpickled."""

    def __reduce__(self) -> Any:
        return os.system, ("touch planted",)


def _flipped(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    raw[200] ^= 1  # among the elements
    path.write_bytes(raw)


def _rewritten(path: Path, change: Callable[[dict[str, bytes]], None], pack: int = 0) -> None:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w", pack) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def _told(members: dict[str, bytes], **new: Any) -> None:
    told = json.loads(members["record.json"].partition(b"\n")[2])
    body = json.dumps(told | new).encode()
    members["record.json"] = hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def _with_objects(members: dict[str, bytes]) -> None:
    import io

    file = io.BytesIO()
    np.save(file, np.array([Planted()], dtype=object))
    members["0.npy"] = file.getvalue()


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "nothing": lambda path: path.write_bytes(b""),
    "cut short": lambda path: path.write_bytes(path.read_bytes()[:-300]),
    "flipped": _flipped,
    "a pickle": lambda path: path.write_bytes(pickle.dumps(Planted())),
    "objects": lambda path: _rewritten(path, _with_objects),
    "packed": lambda path: _rewritten(path, lambda _: None, zipfile.ZIP_DEFLATED),
    "not a record": lambda path: _rewritten(path, lambda all_: all_.pop("record.json")),
    "no array": lambda path: _rewritten(path, lambda all_: all_.pop("0.npy")),
    "another step": lambda path: _rewritten(path, lambda all_: _told(all_, step="4")),
    "another loop": lambda path: _rewritten(path, lambda all_: _told(all_, key="0" * 64)),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_is_damaged_is_no_file(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Stopped):
        sc.checkpointed(_stopping(_heat, 5), _start(), 9, tmp_path)
    (path,) = tmp_path.iterdir()
    DAMAGES[damage](path)
    found = sc.checkpointed(_stopping(_heat, 9), _start(), 9, tmp_path)
    wanted = sc.checkpointed(_heat, _start(), 9, tmp_path)
    assert_same_bits(found.compute(), wanted.compute())
    assert f"{path} is not used: " in capfd.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_full_disk_and_two_loops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    wanted = sc.checkpointed(_heat, _start(), 9, tmp_path).compute()

    def inside(u: Any) -> Any:
        with pytest.raises(CheckpointError, match="computes the same and keeps it in"):
            sc.checkpointed(_heat, _start(), 9, tmp_path)
        return _heat(u)

    calls = [_heat, inside]  # the first step is taken before the directory is this loop's
    step = lambda u: (calls.pop(0) if calls else _heat)(u)  # noqa: E731
    assert_same_bits(sc.checkpointed(step, _start(), 9, tmp_path).compute(), wanted)

    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(states, "written_whole", full)
    assert_same_bits(sc.checkpointed(_heat, _start(), 9, tmp_path).compute(), wanted)
    assert capfd.readouterr().err.count("cannot be written (No space left on device)") == 1
    assert not list(tmp_path.iterdir())


def test_the_loop_goes_on_while_a_state_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what is written is the state as it was, though the steps write over it."""
    monkeypatch.setattr(aside, "COPIED", 1 << 20)
    write, taken, kept = states.StateFile.write, [0], list[tuple[int, float]]()
    far = threading.Event()

    def slowly(file: states.StateFile, state: states.KeptState) -> None:
        kept.append((state.step, taken[0]))
        assert far.wait(60), "it waits for the disk"
        write(file, state)

    def step(u: Any) -> Any:
        u += 1
        taken[0] += 1
        if taken[0] == 7:
            far.set()
        if taken[0] == 9:
            raise Stopped
        return u

    monkeypatch.setattr(states.StateFile, "write", slowly)
    with pytest.raises(Stopped):
        sc.checkpointed(step, np.zeros(3), 20, tmp_path)
    assert kept[0] == (1, 1)
    (path,) = tmp_path.glob("*.npz")  # what was being written is there
    with zipfile.ZipFile(path) as archive:
        told = json.loads(archive.read("record.json").partition(b"\n")[2])
    assert told["step"] == kept[-1][0]
    with np.load(path) as arrays:
        assert arrays["0"].tolist() == [kept[-1][0]] * 3


def test_a_full_disk_while_the_loop_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(aside, "COPIED", 1 << 20)

    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(states, "written_whole", full)
    sc.checkpointed(_heat, _start(), 9, tmp_path)
    assert capfd.readouterr().err.count("cannot be written (No space left on device)") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("cost", "most"), [(0.0, 0.3), (0.015, 0.6), (0.045, 1.6)])
@pytest.mark.parametrize("copied", [-1, 1 << 20])
def test_how_often_a_state_is_written(
    cost: float, most: float, copied: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four times a second where a write costs little; at most 3 % of the time."""
    for module, name, value in ((loops, "EACH", EACH), (loops, "_SHARE", SHARE)):
        monkeypatch.setattr(module, name, value)
    monkeypatch.setattr(aside, "COPIED", copied)
    clock, write, at = Clock(monkeypatch), states.StateFile.write, list[float]()

    def noted(file: states.StateFile, state: states.KeptState) -> None:
        at.append(clock.now)
        write(file, state)
        if copied < 0:
            clock.now += cost
        clock.used += cost

    def step(u: Any) -> Any:
        clock.now += 0.1
        return u + 1

    given = aside.StateWriter.write

    def at_once(writer: aside.StateWriter, *told: Any) -> None:
        given(writer, *told)
        if writer._running is not None:
            writer._running.exception()  # waits

    monkeypatch.setattr(states.StateFile, "write", noted)
    monkeypatch.setattr(aside.StateWriter, "write", at_once)
    sc.checkpointed(step, sc.arange(3.0), 100, tmp_path)
    between = np.diff([clock.began, *at])
    assert between.max() <= most + cost + 1e-6
    assert between[1:].min() >= max(0.25, cost / 0.06) - 1e-6
    assert between[2:].min() >= max(0.25, cost / 0.03) - 1e-6


def test_one_write_that_takes_long_is_none_to_go_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of 16 MB took 0.2 s of a processor for 0.03: the next one came after 6 s, not one."""
    clock = Clock(monkeypatch)
    costs = iter((0.04, 0.03, 0.2, 0.03, 0.2, 0.2))

    def write(_: Any) -> None:
        clock.used += next(costs)

    monkeypatch.setattr(aside, "COPIED", 1 << 20)
    file = SimpleNamespace(write=write)
    writer, found = aside.StateWriter(file, pytest.fail), list[float]()  # type: ignore[arg-type]
    for _ in range(6):
        writer.write(1, [], [np.zeros(3)], clock.now)
        writer._running.exception()
        assert writer.is_free()
        found.append(round(writer.cost, 6))
    writer.finish()
    assert found == [0.02, 0.03, 0.03, 0.03, 0.03, 0.2]


def test_bad_input(tmp_path: Path) -> None:
    for n, every in ((-1, 1), (1.5, 1), (True, 1), (3, 0)):
        with pytest.raises(ParameterError, match="checkpointed takes a number of steps as"):
            sc.checkpointed(_heat, _start(), n, tmp_path, every=every)  # type: ignore[arg-type]
    with pytest.raises(ParameterTypeError, match="a function of the state"):
        sc.checkpointed(3, _start(), 3, tmp_path)  # type: ignore[arg-type]
    for state in ({1: 2}, object(), np.array([None])):
        with pytest.raises(ParameterTypeError, match="checkpointed"):
            sc.checkpointed(lambda one: one, state, 3, tmp_path)
    with pytest.raises(ParameterError, match=r"reads an array of dask.*; compute it first"):
        sc.checkpointed(_heat, sc.asarray(da.ones(3)), 3, tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match="cannot keep computations"):
        sc.checkpointed(_heat, _start(), 3, tmp_path / "file")


_KILLED = """
import sys
import time
import speedcube as sc
from speedcube.api.files import loops
loops.EACH = 0.0
def step(u):
    time.sleep(0.01)
    return u + sc.sin(u)
print(sc.checkpointed(step, sc.arange(5.0), 40, sys.argv[1]).compute().tobytes().hex())
"""


def test_a_state_that_was_written_when_the_program_was_killed_is_taken(tmp_path: Path) -> None:
    """The disk may take a second to have it; a kill does not take what the system has."""
    slow = """
import os, signal
syncs = []
def fsync(handle):
    syncs.append(handle)
    if len(syncs) > 2:
        os.kill(os.getpid(), signal.SIGKILL)
os.fsync = fsync
"""
    command = [sys.executable, "-c", slow + _KILLED, str(tmp_path)]
    first = subprocess.run(command, capture_output=True, text=True)
    assert first.returncode == -signal.SIGKILL
    (kept,), (draft,) = tmp_path.glob("*.npz"), tmp_path.glob("*.part")

    def step_of(path: Path) -> int:
        with zipfile.ZipFile(path) as archive:
            told = json.loads(archive.read("record.json").partition(b"\n")[2])
        return int(told["step"])

    before, whole = step_of(kept), step_of(draft)
    assert whole > before
    command[2] = _KILLED
    copy = tmp_path / "copy"
    for damage, wanted in ((b"", whole), (b"half", before)):
        shutil.copytree(tmp_path, copy, ignore=shutil.ignore_patterns("copy", "*.lock"))
        if damage:
            (copy / draft.name).write_bytes(damage)
        again = subprocess.run(
            [*command[:3], str(copy)], capture_output=True, text=True, check=True
        )
        assert f"goes on with step {wanted:,} of 40" in again.stderr
        assert not list(copy.iterdir())
        copy.rmdir()


def test_a_program_that_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _KILLED, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as first:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("*.npz")) and first.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        first.send_signal(signal.SIGKILL)
    (kept,) = tmp_path.glob("*.npz")
    kept.with_suffix(".part").write_bytes(b"half")  # it was killed in the middle of a write
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "goes on with step" in again.stderr
    u = sc.arange(5.0)
    for _ in range(40):
        u = u + sc.sin(u)
    assert again.stdout.strip() == u.compute().tobytes().hex()
    assert not list(tmp_path.iterdir())
