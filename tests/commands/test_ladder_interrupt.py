"""Ctrl-C while climbing, sent to real processes: what is finished is kept, nothing is left behind.

Each process says on its standard error when the moment has come.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

# On rung {slow} it computes 2 TB instead, having said that it begins.
SLOW_RUNG = """
from speedcube import cli
from speedcube.commands.ladder import command
from speedcube.commands.ladder.presets import PRESETS
real = command.measure
def measure(array, rung, *rest):
    if rung.name == {slow!r}:
        print("now", file=sys.stderr, flush=True)
        array = PRESETS["rocklin"].ours()
    return real(array, rung, *rest)
command.measure = measure
"""
# Plain Dask stays in one task for an hour, in C code that does not listen.
SLOW_DASK = """
import ctypes, dask
from speedcube import cli
from speedcube.commands.ladder import dask_time as dask_rung
def compute(collection):
    print("now", file=sys.stderr, flush=True)
    sleep = ctypes.CDLL(None).sleep
    scheduler = "threads" if {slow!r} == "cores:2" else "single-threaded"
    both = [dask.delayed(sleep)(3600), dask.delayed(sleep)(3600)]
    return dask.delayed(sum)(both).compute(scheduler=scheduler, num_workers=2)
place_of = dask_rung.place_of
def slow_place(rung):
    place = place_of(rung)
    slow = rung.name == {slow!r}
    return dask_rung.replace(place, compute=compute) if slow else place
dask_rung.place_of = slow_place
"""
# A run of the tests in the background of a script ignores SIGINT, and so would its children.
BEGIN = "import signal, sys\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
END = "\nsys.argv = ['speedcube', *{args!r}]\ncli.main()\n"


def interrupted(script: str, slow: str, args: list[str]) -> tuple[int, str, str]:
    """Exit code, output and errors; the end comes long before the work would be done."""
    code = BEGIN + script.format(slow=slow) + END.format(args=args)
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stderr is not None
    try:
        while (line := process.stderr.readline()) != "now\n":
            assert line, "the process ended too early"
        time.sleep(0.5)  # into the computation
        children = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
        assert not [child for child in children if child.is_running()]
        return process.returncode, output, errors
    finally:
        process.kill()
        process.wait()


SMALL = ["--shape", "300,400", "--repeat", "1"]


@pytest.mark.parametrize(
    ("script", "slow"),
    [
        pytest.param(SLOW_RUNG, "core", id="our rung-core"),
        pytest.param(SLOW_DASK, "cores:2", id="plain Dask-cores:2"),
        pytest.param(SLOW_RUNG, "cores:2", id="our rung-cores:2", marks=pytest.mark.slow),
        pytest.param(SLOW_DASK, "core", id="plain Dask-core", marks=pytest.mark.slow),
    ],
)
def test_finished_rungs_are_kept(script: str, slow: str, tmp_path: Path) -> None:
    file, picture = tmp_path / "l.json", tmp_path / "l.svg"
    on = ["cores:3", slow, "cores:4"]
    code, output, errors = interrupted(
        script, slow,
        ["ladder", *SMALL, "--on", ",".join(on), "--json", str(file), "--plot", str(picture)],
    )  # fmt: skip
    assert code == 130
    assert errors == ""
    document: dict[str, Any] = json.loads(file.read_text())
    finished = on[:1] if script == SLOW_RUNG else on[:2]  # ours was finished, Dask's was not
    assert [rung["rung"] for rung in document["rungs"]] == finished
    assert document["rungs"][0]["dask_seconds"] > 0
    if script == SLOW_DASK:
        assert document["rungs"][1]["dask_seconds"] is None
    assert document["equal_bits"] is True
    assert "cores:3" in output
    assert document["rungs"][0]["bits"] in output
    assert output.endswith(f"Interrupted: {len(finished)} of 3 rungs finished.\n")
    assert picture.read_text().startswith("<?xml")


def test_before_any_rung_is_finished(tmp_path: Path) -> None:
    file, picture = tmp_path / "l.json", tmp_path / "l.svg"
    code, output, errors = interrupted(
        SLOW_RUNG, "core",
        ["ladder", *SMALL, "--on", "core", "--json", str(file), "--plot", str(picture)],
    )  # fmt: skip
    assert (code, errors) == (130, "")
    assert output == "No rung was finished.\nInterrupted: 0 of 1 rungs finished.\n"
    assert json.loads(file.read_text())["rungs"] == []
    assert not picture.exists()
