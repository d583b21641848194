"""A killed writer, a full disk, two writers: the last checkpoint that was told of stays whole."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from speedcube.errors import CheckpointError
from speedcube.train import checkpoint
from speedcube.train.checkpoint import disk

PROGRAM = Path(__file__).parents[1] / "support" / "checkpoint_writer.py"
CHANGES = ("open", "mkdir", "write", "fsync", "rename")
ALONE = ["unshare", "--user", "--map-root-user", "--mount"]


def program(*args: object, before: list[str] | None = None) -> dict[str, Any]:
    command = [*(before or []), sys.executable, str(PROGRAM), *map(str, args)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert run.returncode == 0, run.stderr
    facts: dict[str, Any] = json.loads(run.stdout)
    return facts


@pytest.mark.parametrize("count", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_killed_at_any_time_what_was_told_is_there(tmp_path: Path, count: int) -> None:
    facts = program("kills", count, tmp_path)
    assert facts["faults"] == []
    assert facts["kills"] == count
    assert facts["saved"] >= count / 4  # else the kills hit the start of the process alone
    assert facts["litter"] > 0  # else none hit a write
    assert facts["left"] == [".lock"]


def test_killed_at_any_call_what_was_told_is_there(tmp_path: Path) -> None:
    facts = program("points", 0, tmp_path)
    assert facts["faults"] == []
    assert facts["points"] > 40


def test_a_full_disk_leaves_the_older_checkpoint(tmp_path: Path) -> None:
    if subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system lets no user mount a file system of its own")
    facts = program("full", 0, tmp_path, before=ALONE)
    assert facts["faults"] == []
    assert len(facts["said"]) == 2
    for message in facts["said"]:
        assert message.startswith(f"cannot write the checkpoint {tmp_path}/disk/checkpoints/.step-")
        assert "the disk is full (4005" in message
        assert " bytes are needed, " in message
    assert facts["names"] == [".lock", "step-00000002"]


def test_what_is_renamed_is_on_the_disk_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log: list[str] = []
    plain = {name: getattr(os, name) for name in ("fsync", "rename", "unlink")}

    def fsync(handle: int) -> None:
        log.append("fsync " + Path(os.readlink(f"/proc/self/fd/{handle}")).name.split(".")[-1])
        plain["fsync"](handle)

    def rename(old: Path, new: Path) -> None:
        log.append(f"rename {new.name.split('.')[0]}")
        plain["rename"](old, new)

    def unlink(path: str, **kwargs: Any) -> None:
        log.append(f"unlink {path}")
        plain["unlink"](path, **kwargs)

    checkpoint.save(tmp_path / "root", 1, 1)
    monkeypatch.setattr("speedcube.train.checkpoint.names.secrets.token_hex", lambda n: "0" * 16)
    for function in (fsync, rename, unlink):
        monkeypatch.setattr(os, function.__name__, function)
    checkpoint.save(tmp_path / "root", 2, 2, keep=1)
    assert log[:-2] == [
        *("fsync safetensors", "fsync json", f"fsync {'0' * 16}"),
        *("rename step-00000002", "fsync root", "rename "),
    ]
    assert sorted(log[-2:]) == ["unlink manifest.json", "unlink rank-0.safetensors"]


class Failing:
    """``os`` functions of which the n-th call fails, as on a full disk."""

    def __init__(self, patch: pytest.MonkeyPatch, code: int) -> None:
        self.code, self.left = code, -1
        for name in CHANGES:
            patch.setattr(os, name, self.wrapped(getattr(os, name)))

    def wrapped(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.left -= 1
            if self.left == 0:
                raise OSError(self.code, os.strerror(self.code))
            return plain(*args, **kwargs)

        return call


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EROFS])
def test_each_call_that_fails_leaves_a_checkpoint_and_no_litter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    says = "the disk is full" if code == errno.ENOSPC else re.escape(os.strerror(code))
    message = rf"cannot write the checkpoint {tmp_path}.*: {says} \(\d+ bytes are needed, \d+ are"
    failing = Failing(monkeypatch, code)
    explained = []  # whether each failure was told as it should
    for call in range(1, 100):
        place = tmp_path / str(call)
        checkpoint.save(place, 1, torch.zeros(9))
        failing.left = call
        error: CheckpointError | None = None
        try:
            checkpoint.save(place, 2, torch.ones(9), keep=1)
        except CheckpointError as raised:
            error = raised
        ended, failing.left = failing.left > 0, -1
        newest = checkpoint.newest(place)
        assert newest is not None
        assert bool(newest.value.all()) == (newest.step == 2)
        if error is not None:
            explained.append(re.match(message, str(error)) is not None)
            assert not list(place.glob(".step-*"))
        else:  # an older one that cannot be removed is no fault of the new one
            assert newest.step == 2
        if ended:
            break
    assert all(explained)
    assert len(explained) > 10


def test_a_rank_that_does_not_see_the_directory_says_so(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="No such file or directory"):
        checkpoint.write_rank(tmp_path / ".step-00000001.0123456789abcdef", 1, 0, {})


def test_only_dead_writers_leave_litter(tmp_path: Path) -> None:
    code = (
        "import sys; from speedcube.train import checkpoint; "
        "pending = checkpoint.begin(sys.argv[1], 4); print(pending.path.name, flush=True); input()"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with writer:
        assert writer.stdout is not None
        pending = tmp_path / writer.stdout.readline().decode().strip()
        checkpoint.collect(tmp_path)
        assert pending.is_dir()
        assert disk.lock(tmp_path, wait=0.1) is None
        writer.kill()
    assert pending.is_dir()
    checkpoint.collect(tmp_path)
    assert not pending.exists()
    assert checkpoint.newest(tmp_path) is None


def test_a_second_writer_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "lock", lambda root: None)
    with pytest.raises(CheckpointError, match="another process is writing a checkpoint to"):
        checkpoint.save(tmp_path, 1, 1)


def test_readers_meet_a_writer_that_keeps_one(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, 1, torch.ones(10_000))
    done = threading.Event()

    def write() -> None:
        for step in range(2, 40):
            checkpoint.save(tmp_path, step, torch.full((10_000,), float(step)), keep=1)
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    last = 1
    while not done.is_set():
        newest = checkpoint.newest(tmp_path)
        assert newest is not None
        assert newest.step >= last
        last = newest.step
    thread.join()
    assert checkpoint.newest(tmp_path).value[0] == 39  # type: ignore[union-attr]
