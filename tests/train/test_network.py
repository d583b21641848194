"""Jobs across a network: encrypted connections, and ranks on two hosts (network namespaces)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from speedcube import train

pytestmark = pytest.mark.cluster
pytest.importorskip("torch", reason="training needs speedcube[train]")

HOSTS = {"a": "10.213.7.1", "b": "10.213.7.2"}


def test_a_job_on_a_cluster_with_tls(tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="temporary certificates need cryptography")
    import dask.array as da
    from distributed import Client, LocalCluster, Security

    security = Security.temporary()
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            host="127.0.0.1",
            protocol="tls",
            security=security,
            dashboard_address="127.0.0.1:0",
        ) as cluster,
        Client(cluster, security=security, set_as_default=False) as client,
    ):
        assert cluster.scheduler_address.startswith("tls://")
        held = client.persist(da.arange(10, chunks=5))

        def fit(lazy: Any) -> tuple[int, int]:
            train.report({"rank": train.rank()}, checkpoint={})
            return train.rank(), int(lazy.sum().compute())

        job = train.run(fit, held, on=client, out=tmp_path / "run", progress=False)
        assert job.results() == [(0, 45), (1, 45)]


@contextmanager
def hosts() -> Iterator[dict[str, list[str]]]:
    """Two network namespaces joined by a wire; the words before a command that runs in each."""

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)

    names = {host: f"speedcube-{os.getpid()}-{host}" for host in HOSTS}
    with ExitStack() as stack:
        try:
            for name in names.values():
                ip("netns", "add", name)
                stack.callback(ip, "netns", "del", name)
            ends = {host: f"sc{os.getpid() % 10**6}{host}" for host in HOSTS}
            ip("link", "add", ends["a"], "type", "veth", "peer", "name", ends["b"])
            for host, end in ends.items():
                ip("link", "set", end, "netns", names[host])
                inside = ("-n", names[host])
                ip(*inside, "addr", "add", f"{HOSTS[host]}/24", "dev", end)
                ip(*inside, "link", "set", end, "up")
                ip(*inside, "link", "set", "lo", "up")
        except (OSError, subprocess.CalledProcessError) as err:
            pytest.skip(f"making network namespaces needs root and iproute2: {err}")
        yield {host: ["ip", "netns", "exec", name] for host, name in names.items()}


PROGRAM = """
import json, sys
from speedcube import train

def fit():
    import os
    import psutil
    import torch
    from torch import distributed as dist

    total = torch.tensor([dist.get_rank() + 1.0])
    dist.all_reduce(total)
    train.report({"total": total.item()}, checkpoint={"total": total})
    listening = {
        found.laddr.ip
        for found in psutil.Process().net_connections("inet")
        if found.status == psutil.CONN_LISTEN
    }
    mine = {a.address for found in psutil.net_if_addrs().values() for a in found}
    names = ("RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR")
    return float(total), [os.environ[name] for name in names], sorted(listening), sorted(mine)

if __name__ == "__main__":
    job = train.run(fit, on=sys.argv[1], out=sys.argv[2], progress=False)
    print(json.dumps(job.results()))
"""


def test_ranks_on_two_hosts(tmp_path: Path) -> None:
    if shutil.which("ip") is None:
        pytest.skip("two hosts on one machine need iproute2")
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(PROGRAM))
    address = f"tcp://{HOSTS['a']}:8786"
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    dask += ["--host", HOSTS["a"], "--no-dashboard", "--no-show"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-dashboard"]
    worker += ["--nthreads", "1", "--local-directory", str(tmp_path)]
    with hosts() as inside:
        started = [subprocess.Popen([*inside["a"], *dask], stderr=subprocess.DEVNULL)]
        started += [
            subprocess.Popen(
                [*inside[host], *worker, "--host", HOSTS[host]], stderr=subprocess.DEVNULL
            )
            for host in ("a", "b")
        ]
        try:
            ready = f"import distributed; distributed.Client({address!r}).wait_for_workers(2)"
            subprocess.run([*inside["a"], sys.executable, "-c", ready], check=True, timeout=120)
            command = [sys.executable, str(program), address, str(tmp_path / "run")]
            done = subprocess.run(
                [*inside["a"], *command], capture_output=True, text=True, timeout=200, check=False
            )
        finally:
            for process in reversed(started):
                process.terminate()
                process.wait()
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert [total for total, *_ in facts] == [3.0, 3.0]
    assert [environment for _, environment, *_ in facts] == [
        ["0", "0", "1", HOSTS["a"]],
        ["1", "0", "1", HOSTS["a"]],
    ]
    for (_, _, listening, mine), host in zip(facts, ("a", "b"), strict=True):
        assert HOSTS[host] in mine
        assert set(listening) <= {HOSTS[host]}, "the chosen interface only"
