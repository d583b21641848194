"""Ctrl-C and SIGTERM, sent to the real commands and all they started, as a terminal and `kill` do.

One line, the documented exit code, and nothing is left: no process, no temporary file.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

import speedcube_command
from speedcube import exit_codes
from speedcube.petnames.names import source

COMMAND = Path(sysconfig.get_path("scripts"), "speedcube")
LEFT_SECONDS = 3 * 5  # three where the machine is not shared
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
TRAIN = ("petnames", "train", "--on", "cores:2", "--data", "pets.csv", "--epochs", "9999")
SWEEP = ("petnames", "sweep", "--on", "cores:2", "--data", "pets.csv", "--epochs", "9999")
COMMANDS = {
    "rng": ("rng",),
    "ladder": ("ladder", "--on", "core,cores", "--no-dask"),
    "train": TRAIN,
    "sweep": SWEEP,
}
# Python prepares signals after some milliseconds, and reads what is installed with them on.
FIRST = 0.05

When = Callable[[psutil.Process, Path], bool]


def loading(process: psutil.Process, where: Path) -> bool:
    """The package is being imported: the handlers of the command are there."""
    time.sleep(FIRST)
    return True


def starting(process: psutil.Process, where: Path) -> bool:
    """A worker's process is there, which has not registered yet."""
    for child in process.children():
        with suppress(psutil.Error):  # it has just ended
            if "spawn_main" in " ".join(child.cmdline()):
                return True
    return False


def training(process: psutil.Process, where: Path) -> bool:
    """A rank has reported."""
    return any(p.stat().st_size > 500 for p in where.glob("petnames-runs/**/metrics.jsonl"))


def interrupted(
    command: tuple[str, ...], number: signal.Signals, when: When | float, where: Path
) -> tuple[int, list[str], list[str]]:
    """Exit code, lines of errors, and what is left after some seconds."""
    temporary = where / "tmp"
    temporary.mkdir()
    names = [name.capitalize() for name in source.sample().names[:400]]
    (where / "pets.csv").write_text("\n".join(["Animal's Name", *names, ""]))
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=where,
        env={
            **os.environ,
            "TMPDIR": str(temporary),
            "MARK": str(where),
            "SPEEDCUBE_CACHE_DIR": str(where / "kernels"),
        },
        start_new_session=True,
        # Tests in the background of a script ignore SIGINT, and so would their children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    try:
        if isinstance(when, float):
            time.sleep(when)
        else:
            there = psutil.Process(process.pid)
            while not when(there, where):
                assert process.poll() is None, process.communicate()
                time.sleep(0.02)
        os.killpg(process.pid, number)
        began = time.monotonic()
        _, errors = process.communicate(timeout=60)
        while (left := remains(where, temporary)) and time.monotonic() - began < LEFT_SECONDS:
            time.sleep(0.05)
        return process.returncode, errors.splitlines(), left
    finally:
        process.kill()
        process.wait()


def remains(where: Path, temporary: Path) -> list[str]:
    """Processes and temporary files that are left; PyTorch keeps a cache."""
    left = [path.name for path in temporary.iterdir() if "torchinductor" not in path.name]
    for process in psutil.process_iter():
        try:
            if process.environ().get("MARK") == str(where) and process.status() != "zombie":
                left.append(" ".join(process.cmdline()[:4]))
        except psutil.Error:
            continue
    return left


def check(number: signal.Signals, found: tuple[int, list[str], list[str]]) -> None:
    code, lines, left = found
    assert (code, left) == (CODES[number], []), lines
    said = [line for line in lines if not line.startswith(("trial ", "epoch ", "core"))]
    assert len(said) <= 1, lines
    assert all("nterrupted" in line or "terminated" in line for line in said)


def test_the_codes_are_those_of_the_table() -> None:
    codes = [code for code, _ in speedcube_command.ENDS.values()]
    assert codes == [exit_codes.INTERRUPTED, exit_codes.TERMINATED]


@pytest.mark.parametrize(
    ("name", "number", "when"),
    [
        ("rng", signal.SIGINT, loading),
        ("ladder", signal.SIGTERM, loading),
        ("rng", signal.SIGTERM, 3.0),
        pytest.param("train", signal.SIGINT, starting, marks=pytest.mark.cluster),
        pytest.param("sweep", signal.SIGTERM, starting, marks=pytest.mark.cluster),
        pytest.param(
            "sweep", signal.SIGINT, training, marks=[pytest.mark.cluster, pytest.mark.slow]
        ),
        pytest.param("train", signal.SIGTERM, training, marks=pytest.mark.cluster),
    ],
)
def test_a_signal_ends_a_command(
    name: str, number: signal.Signals, when: When | float, tmp_path: Path
) -> None:
    command = (str(COMMAND), *COMMANDS[name])
    check(number, interrupted(command, number, when, tmp_path))


def test_python_m_speedcube_does_the_same(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "speedcube", "rng")
    check(signal.SIGINT, interrupted(command, signal.SIGINT, 0.3, tmp_path))


NATIVE = """
import os, signal, sys, time
from speedcube.commands import interrupts

sent = []

def hook(event, arguments):
    if event == "object.__setattr__" and arguments[-1] == "pybind11_builtins" and not sent:
        sent.append(event)
        os.kill(os.getpid(), signal.SIGTERM)

def app():
    sys.addaudithook(hook)
    import contourpy._contourpy
    time.sleep(9)  # a wait that the signal ends

interrupts.run(app)
"""
DELETED = """
import os, signal, time
from speedcube.commands import interrupts

class Held:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.001)

def app():
    Held()
    time.sleep(9)

interrupts.run(app)
"""


@pytest.mark.parametrize("program", [NATIVE, DELETED])
def test_a_signal_comes_again_where_none_can_be_raised(program: str) -> None:
    """pybind11 ends the process when an exception reaches it; Python ignores one of `__del__`."""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (143, "", "speedcube: terminated\n")


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("number", CODES)
def test_a_signal_at_any_moment(name: str, number: signal.Signals, tmp_path: Path) -> None:
    last, moments = (12, 8) if name in ("train", "sweep") else (4, 16)
    for k in range(moments):
        where = tmp_path / str(k)
        where.mkdir()
        command = (str(COMMAND), *COMMANDS[name])
        check(
            number, interrupted(command, number, FIRST + (last - FIRST) * k / (moments - 1), where)
        )


PROGRAM = """
import time
from speedcube import train

def forever():
    for k in range(10**6):
        train.report({"loss": 1.0})
        time.sleep(0.1)

if __name__ == "__main__":
    train.run(forever, on="cores:2", progress=False, out="petnames-runs/run").results()
"""


@pytest.mark.cluster
@pytest.mark.parametrize("when", [starting, pytest.param(training, marks=pytest.mark.slow)])
def test_a_users_program_gets_one_keyboard_interrupt(when: When, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = (sys.executable, "program.py")
    code, lines, left = interrupted(command, signal.SIGINT, when, tmp_path)
    assert (code, left) == (-signal.SIGINT, [])
    assert [line for line in lines if "Traceback" in line] == lines[:1], "\n".join(lines)
    assert lines[-1] == "KeyboardInterrupt"
