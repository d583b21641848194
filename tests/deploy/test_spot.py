"""A worker that is told to go moves what lies on it to another, and leaves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

import speedcube as sc

DEPLOY: Final = Path(__file__).parents[2] / "docs" / "deploy"

pytestmark = [pytest.mark.cluster, pytest.mark.slow]


def soon(happened: Callable[[], Any], seconds: float = 60) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := happened()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def test_what_lies_on_a_worker_outlives_it(tmp_path: Path) -> None:
    """With the certificates and the scripts of the page, to the same bits."""
    folder, file = tmp_path / "tls", tmp_path / "scheduler.json"
    subprocess.run([sys.executable, str(DEPLOY / "certificates.py"), str(folder)], check=True)
    environment = {**os.environ, "DASK_CONFIG": str(folder / "dask.yaml")}
    environment["SPEEDCUBE_PYTHON"] = sys.executable
    quiet = ["--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--protocol", "tls"]
    command += ["--interface", "lo", "--port", "0", "--scheduler-file", str(file), *quiet]
    log = (tmp_path / "log").open("w")
    started = [subprocess.Popen(command, env=environment, stderr=log)]
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    try:
        soon(lambda: file.exists() and file.read_text().rstrip().endswith("}"))
        address = json.loads(file.read_text())["address"]
        assert address.startswith("tls://127.0.0.1:")
        spot = [str(DEPLOY / "spot" / "worker.sh"), address, str(folder)]
        stays = [sys.executable, "-m", "distributed.cli.dask_worker", address, *quiet]
        stays += ["--protocol", "tls", "--interface", "lo", "--nthreads", "1"]
        stays += ["--local-directory", str(tmp_path)]
        first = subprocess.Popen(
            spot, env=environment, stdout=subprocess.PIPE, stderr=log, text=True, cwd=tmp_path
        )
        started.append(first)
        assert first.stdout is not None
        assert first.stdout.readline().startswith("works as tls://")
        words = [sys.executable, str(program), str(file), str(first.pid), *stays]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
        assert first.wait(30) == 0
        assert first.stdout.read() == "left, and nothing is lost\n"
        first.stdout.close()
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(30)
        log.close()
    x = sc.random.default_rng(3).normal(size=(200, 300)) + 1
    assert done.stdout.strip() == float(x.sum().compute(on="core")).hex()


# Keeps a result on the first worker, starts a second one, has the first one told to go.
PROGRAM: Final = """
import os, signal, subprocess, sys, time
import speedcube as sc
from distributed import Client, wait

file, pid, stays = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
with Client(scheduler_file=file) as client:
    client.wait_for_workers(1, timeout=60)
    (first,) = client.scheduler_info()["workers"]
    held = client.submit(pow, 7, 3)
    wait(held)
    x = sc.random.default_rng(3).normal(size=(200, 300)) + 1
    second = subprocess.Popen(stays, stderr=subprocess.DEVNULL)
    try:
        client.wait_for_workers(2, timeout=60)
        assert client.who_has([held]) == {held.key: (first,)}
        os.kill(pid, signal.SIGTERM)
        while first in client.scheduler_info()["workers"]:
            time.sleep(0.05)
        assert client.who_has([held])[held.key] not in ((), (first,))
        assert held.result() == 343
        print(float(x.sum().compute(on=client)).hex())
    finally:
        second.terminate()
        second.wait()
"""
