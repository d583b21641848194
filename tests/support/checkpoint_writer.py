"""Processes that write checkpoints and are killed, and what is left then.

Run as a program: ``python checkpoint_writer.py kills 40 DIRECTORY`` prints one JSON object. A fresh
interpreter with one thread forks the writers, which therefore start in milliseconds.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from speedcube.train import checkpoint

STATE = {0: {"torch": torch.get_rng_state().numpy()}}
CALLS = ("open", "mkdir", "write", "fsync", "rename", "unlink", "rmdir")
KEEP = 2


def value(step: int) -> dict[str, Any]:
    """What is saved at a step: every bit follows from the step."""
    return {
        "model": {"w": torch.full((200, 200), float(step)), "step": torch.tensor(step)},
        "history": [step, [step / 7, None]],
        "numpy": np.arange(step, step + 100),
    }


def fault(root: Path, acknowledged: int) -> str | None:
    """What is wrong with the newest checkpoint, of a writer that told of ``acknowledged``."""
    saved = checkpoint.newest(root, 1)
    if saved is None:
        return f"step {acknowledged} is gone" if acknowledged else None
    wanted = value(saved.step)
    if saved.step < acknowledged:
        return f"step {acknowledged} was told, {saved.step} is there"
    if saved.skipped:
        return f"not valid: {saved.skipped}"
    got = saved.value
    same = torch.equal(got["model"]["w"], wanted["model"]["w"])
    same &= got["history"] == wanted["history"] and int(got["model"]["step"]) == saved.step
    same &= got["numpy"].tobytes() == wanted["numpy"].tobytes()
    same &= saved.rng()["torch"].tobytes() == STATE[0]["torch"].tobytes()
    return None if same else f"step {saved.step} holds other bits"


def forked(work: Callable[[], object]) -> int:
    """Start a process that does ``work`` and ends, with status 0 unless it raised."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def duration(place: Path) -> float:
    """Seconds that saving takes; what is imported late is imported then."""
    start = time.perf_counter()
    checkpoint.save(place, 1, value(1), STATE, keep=KEEP)
    seconds = time.perf_counter() - start
    assert fault(place, 1) is None
    return seconds


def kills(count: int, root: Path) -> dict[str, Any]:
    """Kill a process that saves without end, at random times."""
    chance = random.Random(20)
    faults, acknowledged, steps, litter = [], 0, 0, 0
    duration(root / "warm")
    usual = max(duration(root / "warm") for _ in range(3))
    for _ in range(count):
        reader, writer = os.pipe()
        # Every third writer saves the last step again, as a job that was restarted does.
        first = max(1, acknowledged + chance.choice([0, 1, 1]))

        def work(writer: int = writer, first: int = first) -> None:
            checkpoint.collect(root)
            for step in range(first, first + 10_000):
                checkpoint.save(root, step, value(step), STATE, keep=KEEP)
                os.write(writer, b"%d\n" % step)

        child = forked(work)
        os.close(writer)
        with open(reader, "rb") as pipe:
            # So many are waited for, however slow the machine is: else a slow one is killed before.
            lines = [pipe.readline() for _ in range(chance.choice([0, 0, 1, 2]))]
            time.sleep(chance.uniform(0.0, 2 * usual))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            lines += pipe.read().split()
        steps += len(lines)
        acknowledged = int(lines[-1]) if lines else acknowledged
        litter += len(list(root.glob(".step-*")))
        wrong = fault(root, acknowledged)
        if wrong:
            faults.append(wrong)
    checkpoint.collect(root)
    left = sorted(path.name for path in root.glob(".*"))
    return {"kills": count, "saved": steps, "litter": litter, "left": left, "faults": faults}


class Fuse:
    """Counts this process's calls of ``os``, and ends it before one or in the middle of a write."""

    def __init__(self, last: int, torn: bool) -> None:
        self.last, self.torn, self.calls = last, torn, 0
        for name in CALLS:
            setattr(os, name, self.wrapped(name, getattr(os, name)))

    def wrapped(self, name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls += name == "write" or not self.torn
            if self.calls == self.last:
                if self.torn:
                    plain(args[0], args[1][: len(args[1]) // 2])
                os.kill(os.getpid(), signal.SIGKILL)
            return plain(*args, **kwargs)

        return call


def points(count: int, root: Path) -> dict[str, Any]:
    """Kill a process before each of its calls that change a disk, and in the middle of a write.

    It saves step 3 and then that step again, beside steps 1 and 2, keeping two.
    """
    faults: list[str] = []
    done = 0
    for step in (1, 2):
        checkpoint.save(root / "start", step, value(step), STATE)
    for torn in (False, True):
        for last in range(1, 10_000):
            place = root / f"{torn}-{last}"
            shutil.copytree(root / "start", place)
            reader, writer = os.pipe()

            def work(
                place: Path = place, writer: int = writer, last: int = last, torn: bool = torn
            ) -> None:
                tell = os.write
                Fuse(last, torn)
                for _ in range(2):
                    checkpoint.save(place, 3, value(3), STATE, keep=KEEP)
                    tell(writer, b"3")

            status = os.waitpid(forked(work), 0)[1]
            os.close(writer)
            with open(reader, "rb") as pipe:
                wrong = fault(place, 3 if pipe.read() else 2)
            checkpoint.collect(place)
            checkpoint.save(place, 4, value(4), STATE, keep=KEEP)
            names = sorted(path.name for path in place.iterdir())
            if wrong or names[0] != ".lock" or not 2 <= len(names[1:]) <= KEEP + 1:
                faults.append(f"call {last}, torn={torn}: {wrong}, {names}")
            done += 1
            if os.WIFEXITED(status):
                if os.WEXITSTATUS(status):
                    faults.append(f"call {last}: an exception")
                break
    return {"points": done, "faults": faults}


def full(count: int, root: Path) -> dict[str, Any]:
    """Fill a small disk of our own: a tmpfs that only this process sees."""
    said = []
    disk = root / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(disk)]
    subprocess.run(mount, check=True, capture_output=True)
    place = disk / "checkpoints"
    checkpoint.save(place, 1, value(1), STATE)
    plain = checkpoint.writing.disk.require_space
    for require in (plain, lambda *_: None):  # told by the free space, then by the disk itself
        checkpoint.writing.disk.require_space = require
        try:
            checkpoint.save(place, 2, torch.ones(1_000_000), STATE, keep=1)
        except checkpoint.CheckpointError as error:
            said.append(str(error))
        if wrong := fault(place, 1):
            said.append(wrong)
    checkpoint.save(place, 2, value(2), STATE, keep=1)
    names = sorted(path.name for path in place.iterdir())
    return {"said": said, "names": names, "faults": [wrong] if (wrong := fault(place, 2)) else []}


if __name__ == "__main__":
    torch.set_num_threads(1)
    program = {"kills": kills, "points": points, "full": full}[sys.argv[1]]
    print(json.dumps(program(int(sys.argv[2]), Path(sys.argv[3]))))
