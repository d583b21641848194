"""A SLURM of one node on this machine: munge, the controller and the node, gone afterwards."""

from __future__ import annotations

import getpass
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "scancel", "scontrol", "squeue")
CPUS = 4

# Requeued jobs wait for twice the life of a credential, two minutes unless said otherwise.
CONF = """
ClusterName=speedcube
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,sched_min_interval=0,bf_interval=1
ReturnToService=2
SlurmdParameters=config_overrides
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SwitchType=switch/none
MpiDefault=none
KillWait=5
MinJobAge=60
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=4000 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> list[str]:
    """The programs of SLURM that are not installed here."""
    return [name for name in PROGRAMS if shutil.which(name, path=search_path()) is None]


def search_path() -> str:
    """Where programs are looked for: daemons are not on every user's path."""
    return os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def free_port() -> int:
    """A port of this host at which nobody listens."""
    with socket.socket() as ours:
        ours.bind(("127.0.0.1", 0))
        return int(ours.getsockname()[1])


@dataclass(frozen=True)
class Slurm:
    """What runs, and how jobs are given to it."""

    folder: Path
    environment: dict[str, str]

    def say(self, *words: str, **options: object) -> str:
        """The output of one of SLURM's commands."""
        done = subprocess.run(
            words, env=self.environment, capture_output=True, text=True, timeout=60, **options
        )  # type: ignore[call-overload]
        assert done.returncode == 0, f"{words}: {done.stderr}"
        return str(done.stdout).strip()

    def state(self, job: str) -> str:
        """A job's state in capitals, like PENDING; empty where it is forgotten."""
        lines = self.say("squeue", "--noheader", "--states=all", "--jobs", job, "--format=%T")
        return lines.splitlines()[0].strip() if lines else ""

    def logs(self) -> str:
        """What the daemons have logged of jobs."""
        names = ("slurmctld.log", "slurmd.log")
        lines = [line for name in names for line in (self.folder / name).read_text().splitlines()]
        return "\n".join(line for line in lines if "ob" in line)

    def wait(self, job: str, seconds: float = 150) -> str:
        """The state in which a job ends."""
        return self.until(job, ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", ""), seconds)

    def until(self, job: str, states: tuple[str, ...], seconds: float = 60) -> str:
        """Wait for one of some states."""
        deadline = time.monotonic() + seconds
        while (state := self.state(job)) not in states:
            assert time.monotonic() < deadline, f"job {job} is {state} after {seconds} s"
            time.sleep(0.3)
        return state


@contextmanager
def slurm(folder: Path) -> Iterator[Slurm]:
    """Start it below ``folder``, which must be short (it holds a socket); stop it at the end."""
    host = socket.gethostname().split(".")[0]
    for name in ("munge", "state", "spool"):
        (folder / name).mkdir(mode=0o755)
    key = folder / "munge" / "key"
    key.touch(mode=0o600)
    key.write_bytes(secrets.token_bytes(128))
    conf = folder / "slurm.conf"
    conf.write_text(
        CONF.format(
            host=host,
            folder=folder,
            user=getpass.getuser(),
            cpus=CPUS,
            controller=free_port(),
            node=free_port(),
        )
    )
    environment = {**os.environ, "SLURM_CONF": str(conf), "PATH": search_path()}
    munge = ["munged", "--force", "--foreground", f"--key-file={key}"]
    for name in ("socket", "pid-file", "log-file", "seed-file"):
        munge.append(f"--{name}={folder}/munge/{name.removesuffix('-file')}")
    with ExitStack() as stack:
        stack.enter_context(daemon(munge, environment))
        wait_for(folder / "munge" / "socket")
        stack.enter_context(daemon(["slurmctld", "-D"], environment))
        stack.enter_context(daemon(["slurmd", "-D"], environment))
        system = Slurm(folder, environment)
        ready(system)
        yield system
        for job in system.say("squeue", "--noheader", "--format=%A").split():
            system.say("scancel", job)
        deadline = time.monotonic() + 20
        while system.say("squeue", "--noheader") and time.monotonic() < deadline:
            time.sleep(0.2)


@contextmanager
def daemon(command: list[str], environment: dict[str, str]) -> Iterator[None]:
    """One that stays in the foreground, and is ended with all that it started."""
    process = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_for(path: Path, seconds: float = 10) -> None:
    """Until ``path`` is there."""
    deadline = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < deadline, f"no {path} after {seconds} s"
        time.sleep(0.05)


def ready(system: Slurm) -> None:
    """Until the node takes jobs."""
    deadline = time.monotonic() + 30
    while True:
        done = subprocess.run(
            ["sinfo", "--noheader", "--format=%T"],
            env=system.environment,
            capture_output=True,
            text=True,
        )
        if done.stdout.strip() == "idle":
            return
        assert time.monotonic() < deadline, f"no idle node: {done.stdout}{done.stderr}"
        time.sleep(0.2)
