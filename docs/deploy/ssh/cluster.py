"""A cluster over SSH, a program on it, and nothing left afterwards.

    python cluster.py --hosts one,two,three PROGRAM.py [ARGUMENTS ...]

The scheduler runs on the first host, a worker on each. All of them have this Python at the same
path, with the same packages, and let you in by a key (`ssh one true` asks for nothing). PROGRAM is
given --on and the scheduler's address. The certificates are copied to every host by scp, into
a folder of mode 0700, and removed at the end.
"""

import argparse
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# No pages; what is left of them, which is empty, is on each host's own loopback.
QUIET = {"protocol": "tls://", "dashboard": False, "dashboard_address": "127.0.0.1:0"}

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--hosts", required=True, help="names, with commas between them")
parser.add_argument("--ssh-config", help="instead of ~/.ssh/config")
parser.add_argument("--threads", type=int, help="of a worker; all cores of its host if left out")
parser.add_argument("--python", default=sys.executable, help="on the hosts")
parser.add_argument("program")
parser.add_argument("arguments", nargs=argparse.REMAINDER)


def over_ssh(options: list[str], host: str, command: str) -> subprocess.CompletedProcess[str]:
    """What ``command`` says on ``host``; it is not asked for a password."""
    words = ["ssh", *options, "-o", "BatchMode=yes", host, command]
    return subprocess.run(words, capture_output=True, text=True)


def run(asked: argparse.Namespace, folder: Path) -> int:
    """Start the cluster, run the program; its exit code."""
    hosts = list(dict.fromkeys(asked.hosts.split(",")))
    options = ["-F", asked.ssh_config] if asked.ssh_config else []
    certificates = Path(__file__).resolve().parents[1] / "certificates.py"
    subprocess.run([sys.executable, str(certificates), str(folder)], check=True)
    try:
        for host in hosts:
            there = over_ssh(options, host, f"mkdir -m 700 {folder}")
            if there.returncode == 0:
                files = [str(path) for path in folder.iterdir()]
                subprocess.run(["scp", *options, "-qpB", *files, f"{host}:{folder}/"], check=True)
            elif "exists" not in there.stderr:  # it is there on this host itself
                raise SystemExit(f"{host}: {there.stderr.strip() or 'ssh failed'}")
        os.environ["DASK_CONFIG"] = str(folder / "dask.yaml")  # read when Dask is imported
        return start(asked, hosts)
    finally:
        for host in hosts:
            over_ssh(options, host, f"rm -rf {folder}")
        shutil.rmtree(folder, ignore_errors=True)


def start(asked: argparse.Namespace, hosts: list[str]) -> int:
    """The cluster and the program, with the settings read."""
    from distributed import SSHCluster

    connect = {"config": [asked.ssh_config]} if asked.ssh_config else {}
    with SSHCluster(
        [hosts[0], *hosts],
        connect_options=connect,
        scheduler_options={**QUIET, "port": 0},
        # A worker that finds no scheduler ends by itself.
        worker_options={**QUIET, "nthreads": asked.threads, "death_timeout": 30},
        remote_python=asked.python,
    ) as cluster:
        where = cluster.scheduler_address
        command = [sys.executable, asked.program, "--on", where, *asked.arguments]
        return subprocess.run(command).returncode


if __name__ == "__main__":
    asked = parser.parse_args()
    folder = Path(tempfile.gettempdir(), f"speedcube-{secrets.token_hex(8)}")
    sys.exit(run(asked, folder))
