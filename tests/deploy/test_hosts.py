"""Two and three hosts far apart, with TLS: what is delayed, lost and cut changes no bit."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest
import wire

DEPLOY: Final = Path(__file__).parents[2] / "docs" / "deploy"
DELAY: Final = 0.05  # seconds, each way
DROP: Final = 0.02
CUT: Final = 20.0

pytestmark = [pytest.mark.slow, pytest.mark.cluster]


class Cluster:
    """A scheduler on the first host, a worker on each, and programs on the last."""

    def __init__(self, hosts: wire.Hosts, folder: Path) -> None:
        self.hosts, self.folder = hosts, folder
        self.environment = {**os.environ, "DASK_CONFIG": str(folder / "tls" / "dask.yaml")}
        self.address = f"tls://{hosts.addresses['one']}:8786"
        self.log = folder / "log"

    def start(self, host: str, *words: str) -> subprocess.Popen[str]:
        """A program of Python on a host."""
        with self.log.open("a") as log:
            return subprocess.Popen(
                [*self.hosts.inside[host], sys.executable, *words],
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=self.folder,
            )

    def digest(self, *words: str, cut: bool = False, after: Path | None = None) -> str:
        """The hash that a program of docs/deploy prints, run on the last host.

        With ``cut`` nothing passes for a while from when it has just reached the scheduler, or has
        written the file ``after``.
        """
        known = self.clients()
        last = [*self.hosts.inside][-1]
        program = self.start(last, str(DEPLOY / words[0]), "--on", self.address, *words[1:])
        while cut and not (after.exists() if after else self.clients() > known):
            assert program.poll() is None, "it ended before anything was cut"
            time.sleep(0.05)
        if cut:
            self.hosts.cut()
        printed, _ = program.communicate(timeout=200)
        assert program.returncode == 0, self.log.read_text()[-4000:]
        return digest_in(printed)

    def clients(self) -> int:
        """How many clients the scheduler has seen."""
        return self.log.read_text().count("Receive client connection") if self.log.exists() else 0


def digest_in(text: str) -> str:
    (found,) = re.findall(r"(?:rows|steps): ([0-9a-f]{64})$", text, re.MULTILINE)
    return str(found)


def here(*words: str) -> str:
    """The same of this machine."""
    command = [sys.executable, str(DEPLOY / words[0]), *words[1:]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return digest_in(done.stdout)


@contextmanager
def cluster(count: int, folder: Path, drop: float) -> Iterator[Cluster]:
    """Hosts, and Dask on them."""
    subprocess.run([sys.executable, DEPLOY / "certificates.py", folder / "tls"], check=True)
    quiet = ["--protocol", "tls", "--no-dashboard", "--dashboard-address", "127.0.0.1:0"]
    with ExitStack() as stack:
        ours = Cluster(stack.enter_context(wire.hosts(count, DELAY, drop, CUT)), folder)
        running: list[subprocess.Popen[str]] = []
        stack.callback(end, running)
        first = ["-m", "distributed.cli.dask_scheduler", "--host", ours.hosts.addresses["one"]]
        running.append(ours.start("one", *first, "--port", "8786", *quiet))
        for host, address in ours.hosts.addresses.items():
            words = ["-m", "distributed.cli.dask_worker", ours.address, "--host", address, *quiet]
            words += ["--nthreads", "1", "--local-directory", str(folder / host)]
            running.append(ours.start(host, *words))
        ready = "import sys, distributed as d; "
        ready += "d.Client(sys.argv[1], timeout=60).wait_for_workers(int(sys.argv[2]), 100)"
        waiting = ours.start("one", "-c", ready, ours.address, str(count))
        waiting.communicate(timeout=120)
        assert waiting.returncode == 0, ours.log.read_text()[-4000:]
        yield ours


def end(running: list[subprocess.Popen[str]]) -> None:
    for process in reversed(running):
        process.terminate()
    for process in running:
        try:
            process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


@pytest.fixture(autouse=True)
def possible() -> None:
    why = wire.why_not()
    if why:
        pytest.skip(f"no hosts of our own: {why}")


def test_three_hosts_far_apart(tmp_path: Path) -> None:
    """Arrays while 2 % of the frames are lost, and what the doctor says of the hosts."""
    words = ("arrays.py", "--rows", "20000")
    with cluster(3, tmp_path, DROP) as ours:
        assert ours.digest(*words) == here(*words, "--on", "core")
        doctor = ours.start("three", "-m", "speedcube", "doctor", "--on", ours.address, "--json")
        report = json.loads(doctor.communicate(timeout=100)[0])
        assert doctor.returncode == 0
    assert [worker["host"] for worker in report["workers"]] == ["one", "three", "two"]
    for worker in report["workers"]:
        assert abs(worker["clock"]) <= worker["clock_error"]  # one clock, seen from afar
    by_host = {worker["host"]: worker["clock_error"] for worker in report["workers"]}
    assert by_host["two"] >= DELAY  # to the scheduler and to the worker, there and back
    assert {finding["code"] for finding in report["findings"]} <= {"memory-limits", "threads"}


def test_twenty_seconds_without_a_word(tmp_path: Path) -> None:
    """Nothing passes in the middle of a computation, and then all goes on."""
    words = ("arrays.py", "--rows", "100000")
    with cluster(2, tmp_path, 0.0) as ours:
        began = time.monotonic()
        found = ours.digest(*words, cut=True)
        assert time.monotonic() - began >= CUT  # it was in the middle
    assert found == here(*words)


def test_training_on_two_hosts_far_apart(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    words = ("training.py", "--steps", "5")
    with cluster(2, tmp_path, DROP) as ours:
        found = ours.digest(*words, "--out", str(tmp_path / "run"))
    assert found == here(*words, "--out", str(tmp_path / "alone"))


def test_training_after_twenty_seconds_without_a_word(tmp_path: Path) -> None:
    """In the middle of its steps a job waits for its scheduler, and goes on."""
    pytest.importorskip("torch")
    words = ("training.py", "--steps", "20", "--pause", "0.3")
    out = ("--out", str(tmp_path / "run"))
    with cluster(2, tmp_path, 0.0) as ours:
        began = tmp_path / "run" / "checkpoints" / "step-00000003"
        found = ours.digest(*words, *out, cut=True, after=began)
    rows = (tmp_path / "run" / "metrics.jsonl").read_text()
    assert rows.count('"event":"started"') + rows.count('"event": "started"') == 2
    assert found == here(*words, "--out", str(tmp_path / "alone"))
