"""`speedcube doctor --on`: workers that are as they should be, that differ, that are not there."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import dask
import pytest
from distributed import Client, LocalCluster
from distributed.security import Security
from typer.testing import CliRunner

import speedcube as sc
from speedcube import cli
from speedcube.commands.doctor.cluster import reach
from speedcube.commands.doctor.cluster.ask import ClusterFacts, WorkerFacts, gather_cluster
from speedcube.commands.doctor.cluster.command import examine_cluster
from speedcube.commands.doctor.cluster.judge import Ours, cluster_findings, ours
from speedcube.engine.clusters import client as clients
from speedcube.engine.clusters.fingerprint import Fingerprint
from speedcube.errors import SchedulerError

pytestmark = pytest.mark.cluster

RUN: Final = CliRunner()
CERTIFICATES: Final = Path(__file__).parents[2] / "docs" / "deploy" / "certificates.py"


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Clients that speedcube keeps end with each test, and nobody is waited for for long."""
    monkeypatch.setattr(clients, "CONNECT_SECONDS", 2.0)
    yield
    while clients._clients:
        clients._clients.popitem()[1].close(timeout=1)


def local(**options: Any) -> LocalCluster:
    return LocalCluster(
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        memory_limit="1 GB",
        **options,
    )


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Two workers, each a process of its own."""
    with local(n_workers=2) as started:
        yield started


def doctor(*words: str) -> tuple[int, str, str]:
    """The exit code and the output of the command."""
    done = RUN.invoke(cli.app, ["doctor", *words])
    return done.exit_code, done.stdout, done.stderr


# ---------------------------------------------------------------- workers that are there


def test_a_cluster_in_order(cluster: LocalCluster) -> None:
    code, printed, errors = doctor("--on", cluster.scheduler_address, "--json")
    assert (code, errors) == (0, "")
    report = json.loads(printed)
    assert report["schema"] == 1
    assert report["healthy"] is True
    assert report["scheduler"]["address"] == cluster.scheduler_address
    assert report["silent"] == []
    pids = {worker.pid for worker in cluster.workers.values()}
    assert {worker["pid"] for worker in report["workers"]} == pids
    for worker in report["workers"]:
        assert worker["host"] == socket.gethostname()
        assert worker["user"] == os.getuid()
        assert worker["packages"] == dict(ours().packages)
        assert worker["fingerprint"]["kernel"] == ours().fingerprint.kernel
        assert worker["memory_limit"] == 10**9
        assert worker["threads"] == 1
        assert abs(worker["clock"]) <= worker["clock_error"] + 0.01  # one clock
    assert [f["code"] for f in report["findings"] if f["level"] != "note"] == []


def test_it_is_printed(cluster: LocalCluster) -> None:
    code, printed, _ = doctor("--on", cluster.scheduler_address)
    assert code == 0
    first, *_, last = printed.strip().splitlines()
    assert first == f"{cluster.scheduler_address}: 2 workers on 1 host"
    assert last == "Nothing is broken."
    assert socket.gethostname() in printed


def test_a_worker_that_is_stopped_is_named(cluster: LocalCluster) -> None:
    stopped, other = cluster.workers.values()
    os.kill(stopped.pid, signal.SIGSTOP)
    try:
        with Client(cluster, set_as_default=False) as client:
            facts = gather_cluster(client, "here", patience=2.0)
    finally:
        os.kill(stopped.pid, signal.SIGCONT)
    assert [worker.pid for worker in facts.workers] == [other.pid]
    assert facts.silent == ((stopped.worker_address, "it says nothing for 2 s"),)
    (finding,) = [f for f in cluster_findings(facts, ours()) if f.level == "broken"]
    assert finding.code == "silent-worker"
    assert stopped.worker_address in finding.text


def test_a_cluster_without_workers(tmp_path: Path) -> None:
    with local(n_workers=0) as empty:
        code, printed, _ = doctor("--on", empty.scheduler_address)
    assert code == 1
    assert f"broken: the scheduler {empty.scheduler_address} has no workers" in printed
    assert printed.strip().endswith("Broken: 1.")


# ---------------------------------------------------------------- workers that differ


def simulated(**changes: Any) -> WorkerFacts:
    here = ours()
    facts = WorkerFacts(
        address="tls://10.0.0.1:1", name="0", host="one", pid=1, user=0, python=here.python,
        platform="Linux x86_64", packages=dict(here.packages), fingerprint=here.fingerprint,
        differing={}, simd="avx512", cores=8, threads=8, memory=10**10, memory_limit=10**10,
        gpus=(), clock=0.001, clock_error=0.002,
    )  # fmt: skip
    return replace(facts, **changes)


def judged(*workers: WorkerFacts, here: Ours | None = None) -> dict[str, tuple[str, str]]:
    """Level and text of each finding, by its code."""
    facts = ClusterFacts("here", "tls://10.0.0.9:8786", "Scheduler-1", workers)
    found = cluster_findings(facts, here or ours())
    assert len({f.code for f in found}) == len(found)
    return {f.code: (f.level, f.text) for f in found}


def test_workers_that_are_alike_have_no_findings() -> None:
    two = simulated(address="tls://10.0.0.2:1", host="two")
    assert judged(simulated(), two) == {}


def packages(**versions: str) -> dict[str, str]:
    return {**ours().packages, **versions}


@pytest.mark.parametrize(
    ("changes", "code", "level", "words"),
    [
        ({"fingerprint": Fingerprint()}, "other-speedcube", "broken", "does not have speedcube"),
        (
            {"fingerprint": Fingerprint("0.0.1")},
            "other-speedcube",
            "broken",
            "has speedcube 0.0.1; this process has",
        ),
        (
            {"fingerprint": replace(ours().fingerprint, kernel="0x1p+0")},
            "other-speedcube",
            "broken",
            "computes other bits with the same files",
        ),
        (
            {
                "fingerprint": replace(ours().fingerprint, sources="1" * 64),
                "differing": {"ops.py": "2" * 64},
            },
            "other-speedcube",
            "broken",
            "other files: their hash is 111111111111 there",
        ),
        ({"python": "3.9.1"}, "other-python", "broken", "Python 3.9.1 on worker tls://10.0.0.1:1"),
        (
            {"packages": packages(distributed="2020.1")},
            "other-distributed",
            "broken",
            "messages of one may not be read by the other",
        ),
        ({"packages": packages(numpy="1.0")}, "other-numpy", "warning", "numpy 1.0 on worker"),
        ({"clock": 3600.0}, "other-time", "warning", "one is 3600.0 s ahead of this one"),
        ({"clock": -90.0}, "other-time", "warning", "one is 90.0 s behind this one"),
        ({"memory_limit": None}, "no-memory-limit", "warning", "1 workers on one have no memory"),
        ({"memory": 10**9}, "memory-limits", "warning", "may use 10.0 GB together, and it has 1.0"),
        ({"threads": 16}, "threads", "note", "16 threads for 8 cores: give each --nthreads 8"),
        (
            {"address": "tcp://10.0.0.1:1"},
            "no-tls",
            "warning",
            "whoever reaches that port can run code",
        ),
    ],
)
def test_a_worker_that_differs(changes: dict[str, Any], code: str, level: str, words: str) -> None:
    found = judged(simulated(**changes))
    assert list(found) == [code]
    assert found[code][0] == level
    assert words in found[code][1]


def test_a_slow_answer_is_no_wrong_clock() -> None:
    assert judged(simulated(clock=3.0, clock_error=2.5)) == {}


def test_workers_that_differ_among_themselves() -> None:
    other = simulated(address="tls://10.0.0.2:1", host="two", simd="avx2", gpus=("NVIDIA H200",))
    found = judged(simulated(), other)
    assert set(found) == {"other-cpu", "some-gpus"}
    assert (
        "avx512 on worker tls://10.0.0.1:1 (one); avx2 on worker tls://10.0.0.2:1"
        in (found["other-cpu"][1])
    )
    assert "1 of 2 workers have GPUs" in found["some-gpus"][1]


def test_many_workers_are_one_finding() -> None:
    """The broken come first, and a few are named."""
    many = [simulated(address=f"tls://10.0.1.{n}:1", host=f"h{n}", python="3.9.1",
                      packages=packages(numpy="1.0")) for n in range(9)]  # fmt: skip
    found = judged(*many)
    assert list(found) == ["other-python", "other-numpy"]
    assert "tls://10.0.1.2:1 (h2) and 6 more" in found["other-python"][1]


def test_what_a_worker_says_cannot_steer_a_terminal() -> None:
    named = simulated(fingerprint=Fingerprint("\x1b[2J"))
    facts = ClusterFacts("here", "tls://10.0.0.9:8786", "Scheduler-1", (named,))
    from rich.console import Console

    from speedcube.commands.doctor.cluster.show import ClusterDiagnosis, show_cluster

    console = Console(width=200, record=True, file=io.StringIO())
    show_cluster(ClusterDiagnosis(facts, cluster_findings(facts, ours())), console)
    assert "\x1b[2J" not in console.export_text()


# ---------------------------------------------------------------- clusters that are not there


@pytest.mark.parametrize("on", ["", " ", "core", "gpus:0,2", "cuda-cluster"])
def test_what_names_no_cluster(on: str) -> None:
    code, printed, errors = doctor("--on", on)
    assert (code, printed) == (2, "")
    assert f"--on {on!r} does not name a cluster: give tcp://host:port" in errors


@pytest.mark.parametrize(
    "on", ["tcp://127.0.0.1", "http://127.0.0.1:80", "tcp://127.0.0.1:99999999"]
)
def test_what_is_no_address(on: str) -> None:
    code, _, errors = doctor("--on", on)
    assert code == 2
    assert f"'{on}' is not the address of a scheduler: that is tcp://host:port" in errors


def nobody() -> int:
    with socket.socket() as ours:
        ours.bind(("127.0.0.1", 0))
        return int(ours.getsockname()[1])


def test_nobody_listens() -> None:
    on = f"tcp://127.0.0.1:{nobody()}"
    code, printed, errors = doctor("--on", on)
    assert (code, printed) == (2, "")
    assert f"no Dask scheduler answers at '{on}'" in errors
    assert "Connection refused" in errors


def test_who_listens_is_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reach, "_GREETING", 0.2)
    monkeypatch.setattr(reach, "SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        threading.Thread(target=lambda: [silent.accept() for _ in range(9)], daemon=True)
        code, _, errors = doctor("--on", f"tcp://127.0.0.1:{port}")
    assert code == 2
    assert f"the program at 127.0.0.1:{port} does not answer as a Dask scheduler does" in errors


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "is empty: wait until the scheduler has written it"),
        ('{"type": "Sched', "is half written or something else"),
        ("[1]", "is half written or something else"),
        ('{"address": 7}', "is half written or something else"),
        ('{"address": "tcp://127.0.0.1:%d"}', "written "),
    ],
)
def test_a_scheduler_file_that_leads_nowhere(tmp_path: Path, content: str, says: str) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text(content.replace("%d", str(nobody())))
    code, printed, errors = doctor("--on", str(file))
    assert (code, printed) == (2, "")
    assert says in errors
    assert str(file) in errors
    if says == "written ":
        assert "leads nowhere: no Dask scheduler answers at tcp://127.0.0.1:" in errors
        assert "remove the file and start another" in errors


def test_an_absent_scheduler_file(tmp_path: Path) -> None:
    code, _, errors = doctor("--on", str(tmp_path / "absent.json"))
    assert code == 2
    assert "no such scheduler file" in errors


def test_a_scheduler_file_of_another_scheduler_or_user(
    cluster: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps({"address": cluster.scheduler_address, "id": "Scheduler-old"}))
    monkeypatch.setattr(reach.os, "getuid", lambda: 4711)
    if os.stat(file).st_uid == 0:
        os.chown(file, 4712, -1)
    found = {finding.code: finding for finding in examine_cluster(str(file)).findings}
    assert found["stale-file"].level == found["file-of-another"].level == "warning"
    assert "is of another scheduler (Scheduler-old) than the one" in found["stale-file"].text
    assert "not to you (4711)" in found["file-of-another"].text


def test_the_scheduler_file_of_the_scheduler(cluster: LocalCluster, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps(cluster.scheduler.identity()))
    assert {"stale-file", "file-of-another"}.isdisjoint(
        finding.code for finding in examine_cluster(str(file)).findings
    )


# ---------------------------------------------------------------- certificates


@contextmanager
def told(settings: dict[str, Any]) -> Iterator[None]:
    """Dask with what its file of settings says."""
    with dask.config.set(dask.config.merge(dask.config.global_config, settings)):
        yield


def certificates(folder: Path) -> dict[str, Any]:
    """Dask's settings of a new cluster."""
    import yaml

    subprocess.run([sys.executable, str(CERTIFICATES), str(folder)], check=True)
    return dict(yaml.safe_load((folder / "dask.yaml").read_text()))


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, Any]]]:
    """A scheduler with TLS, and the settings that its clients need."""
    settings = certificates(tmp_path_factory.mktemp("tls") / "ours")
    with told(settings):
        security = Security()
    with local(n_workers=0, protocol="tls", security=security) as started:
        yield started.scheduler_address, settings


def test_the_certificates_of_the_cluster(encrypted: tuple[str, dict[str, Any]]) -> None:
    address, settings = encrypted
    with told(settings):
        assert [f.code for f in examine_cluster(address).findings] == ["no-workers"]


def refused(on: str) -> str:
    code, printed, errors = doctor("--on", on)
    assert (code, printed) == (2, "")
    return errors


@pytest.mark.parametrize("whose", ["none", "of another cluster"])
def test_a_computation_whose_certificates_do_not_match(
    encrypted: tuple[str, dict[str, Any]], tmp_path: Path, whose: str
) -> None:
    """It fails at once, and names who can tell why."""
    address, _ = encrypted
    settings = {} if whose == "none" else certificates(tmp_path / "others")
    cause = "TLS configuration" if whose == "none" else "certificate verify failed"
    with told(settings), pytest.raises(SchedulerError, match=cause) as caught:
        sc.ones(3).sum().compute(on=address)
    assert f"no Dask scheduler answers at {address!r}" in str(caught.value)
    assert str(caught.value).endswith(f"speedcube doctor --on {address} says more")


def test_certificates_that_do_not_match(
    encrypted: tuple[str, dict[str, Any]], cluster: LocalCluster, tmp_path: Path
) -> None:
    address, settings = encrypted
    there = address.removeprefix("tls://")
    wants = f"the program at {there} wants TLS: give tls://{there}"
    assert wants in refused(f"tcp://{there}")
    assert "Dask has been told no ca_file: export DASK_CONFIG" in refused(address)
    with told(certificates(tmp_path / "others")):
        assert f"your CA file does not vouch for the certificate of {there}" in (refused(address))
    comm = settings["distributed"]["comm"]
    other = tmp_path / "others"
    pair = {"cert": str(other / "cert.pem"), "key": str(other / "key.pem")}
    with told(settings), dask.config.set({"distributed.comm.tls.client": pair}):
        assert f"{there} refuses your certificate" in refused(address)
    mixed = {"cert": str(other / "cert.pem"), "key": comm["tls"]["client"]["key"]}
    with told(settings), dask.config.set({"distributed.comm.tls.client": mixed}):
        assert "are not a certificate and its key" in refused(address)
    gone = {"cert": str(other / "gone.pem"), "key": pair["key"]}
    with told(settings), dask.config.set({"distributed.comm.tls.client": gone}):
        assert "gone.pem', cannot be read" in refused(address)
    plain = cluster.scheduler_address.removeprefix("tcp://")
    with told(settings):
        assert f"the program at {plain} does not encrypt: its address is tcp://{plain}" in (
            refused(f"tls://{plain}")
        )
