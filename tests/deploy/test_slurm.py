"""The files for SLURM on a SLURM of this machine: a batch script, a requeue, jobs for workers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

import pytest
import slurm

DEPLOY: Final = Path(__file__).parents[2] / "docs" / "deploy"
SMALL: Final = ("--ntasks=2", "--cpus-per-task=1", "--time=00:05:00")
ROWS: Final = "20000"
STEPS: Final = "12"

pytestmark = [pytest.mark.slow, pytest.mark.cluster]


@pytest.fixture(scope="module")
def system() -> Iterator[slurm.Slurm]:
    """SLURM, as long as this module's tests run."""
    absent = slurm.missing()
    if absent:
        pytest.skip(f"SLURM is not installed: there is no {', '.join(absent)}")
    if os.geteuid():
        pytest.skip("SLURM's daemons start jobs as their users: they need root")
    folder = Path(tempfile.mkdtemp(prefix="speedcube-slurm-"))  # short: sockets lie in it
    try:
        with slurm.slurm(folder) as started:
            yield started
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The files as a user has them."""
    return Path(shutil.copytree(DEPLOY, tmp_path / "deploy"))


def submit(system: slurm.Slurm, files: Path, *words: str) -> str:
    """The number of the job that runs ``words`` by the batch script."""
    output = f"--output={files / 'job.out'}"
    environment = {**system.environment, "SPEEDCUBE_PYTHON": sys.executable}
    environment["SPEEDCUBE_INTERFACE"] = "lo"
    command = ["sbatch", "--parsable", output, *SMALL, "slurm/cluster.sbatch", *words]
    done = subprocess.run(command, cwd=files, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def digest(text: str) -> str:
    """The hash that a program has printed."""
    (found,) = re.findall(r"(?:rows|steps): ([0-9a-f]{64})$", text, re.MULTILINE)
    return str(found)


@cache
def on_this_machine(*words: str) -> str:
    """What a program of the folder prints without a cluster."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(DEPLOY / words[0]), *words[1:]]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return digest(done.stdout)


def left(files: Path) -> list[str]:
    """What a job has left of its cluster: its folder, and processes that know of it."""
    folders = [path.name for path in files.glob(".speedcube-*")]
    listed = subprocess.run(["ps", "-wweo", "pid,args"], capture_output=True, text=True).stdout
    return folders + [line for line in listed.splitlines() if f"{files}/.speedcube-" in line]


def soon(happened: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_an_array_program_in_a_job(system: slurm.Slurm, files: Path) -> None:
    job = submit(system, files, "arrays.py", "--rows", ROWS)
    assert system.wait(job) == "COMPLETED", (files / "job.out").read_text()
    text = (files / "job.out").read_text()
    assert digest(text) == on_this_machine("arrays.py", "--on", "core", "--rows", ROWS)
    assert "tls://127.0.0.1" in text
    assert left(files) == []


def test_a_job_that_is_killed_is_queued_again_and_goes_on(system: slurm.Slurm, files: Path) -> None:
    """The training's bits are those of one that nothing happened to."""
    run = files / "run"
    words = ("training.py", "--steps", STEPS)
    job = submit(system, files, *words, "--out", str(run), "--pause", "0.4")
    checkpoints = run / "checkpoints"
    soon(lambda: len([*run.glob("checkpoints/*/manifest.json")]) >= 2)
    mine = f"{files}/training.py --on"
    listed = subprocess.run(["ps", "-wweo", "pid,args"], capture_output=True, text=True).stdout
    (program,) = [line.split()[0] for line in listed.splitlines() if mine in line]
    os.kill(int(program), 9)
    assert system.until(job, ("PENDING", "FAILED")) == "PENDING"
    # It starts ten seconds later. With StartTime=now it failed at times, within two seconds of the
    # kill; perhaps the node refused a credential of the second in which the first was revoked.
    assert system.wait(job) == "COMPLETED", (files / "job.out").read_text() + system.logs()
    text = (files / "job.out").read_text()
    assert "the program was ended by signal 9: queued again" in text
    assert digest(text) == on_this_machine(*words)
    assert checkpoints.exists()
    assert left(files) == []


def test_a_job_that_is_cancelled_stays_so(system: slurm.Slurm, files: Path) -> None:
    words = ("--steps", "500", "--out", str(files / "run"), "--pause", "0.5")
    job = submit(system, files, "training.py", *words)
    soon(lambda: any((files / "run").glob("checkpoints/*/manifest.json")))
    system.say("scancel", job)
    assert system.wait(job) == "CANCELLED", (files / "job.out").read_text()
    time.sleep(1)
    assert system.state(job) == "CANCELLED"
    soon(lambda: left(files) == [])


def test_a_job_for_each_worker(system: slurm.Slurm, files: Path) -> None:
    """`SLURMCluster` of dask-jobqueue."""
    pytest.importorskip("dask_jobqueue")
    command = [sys.executable, "slurm/jobqueue.py", "--shared", str(files / "shared")]
    command += ["--cores=1", "--memory=1 GB", "--interface=lo", "--rows", ROWS]
    environment = {**system.environment, "HOME": str(files)}  # it writes settings there
    done = subprocess.run(
        command, cwd=files, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    alone = "import speedcube as sc; x = sc.random.default_rng(0).normal(size=({}, 1000)); "
    alone += "print(float(x.mean().compute(on='core')).hex())"
    core = subprocess.run(
        [sys.executable, "-c", alone.format(ROWS)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip().splitlines()[-1] == f"{ROWS} rows: {core.stdout.strip()}"
    soon(lambda: system.say("squeue", "--noheader") == "")
