"""The Dask task beside each rank: it forks the rank, relays what it says, and ends it.

One agent for each rank, on the rank's worker. It lives as long as the rank; when its task is
cancelled (by the driver, or by the scheduler because the driver is gone), the rank is killed.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import tempfile
import threading
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import field, replace
from importlib import metadata
from typing import Any, Final, assert_never

from ...__about__ import __version__
from ...dataclass import dataclass
from ...engine import machine as hardware
from ...errors import TrainError
from ..events import JobEvent, to_event
from ..messages import (
    Alive,
    Beat,
    Cause,
    Channel,
    Chunk,
    Done,
    Down,
    Failed,
    FromAgent,
    FromRank,
    Heard,
    Launch,
    Log,
    Outcome,
    Ready,
    Reported,
    Returned,
    Saved,
    Saving,
    Started,
    StopRequest,
    ToRank,
)
from ..patience import ANY, Silence, machine
from .fork_client import Child, fork_server

POLL_SECONDS: Final = 0.1
ALIVE_SECONDS: Final = 1.0  # between two signs of life to the driver
SILENT_SECONDS: Final = 5.0  # without a heartbeat, and without CPU time used, a rank is stopped
LOG_LIMIT: Final = 16 << 20  # bytes of output that travel to the driver
STACK_SECONDS: Final = 3.0  # for a process to write its stacks; busy machines take long


@dataclass
class _Worker:
    """What a worker's process keeps for training."""

    rendezvous: dict[tuple[str, int], socket.socket] = field(default_factory=dict)
    store: tempfile.TemporaryDirectory[str] | None = None  # the last one's directory; one job runs
    running: dict[str, Child] = field(default_factory=dict)  # by job and rank
    devices: defaultdict[str, threading.Lock] = field(  # by worker: threads can be workers, too
        default_factory=lambda: defaultdict(threading.Lock)
    )


_here: Final = _Worker()


def topic(job: str) -> str:
    """The name of a job's Dask events."""
    return f"speedcube-train-{job}"


def inspect() -> dict[str, Any]:
    """What a driver must know of a worker before it starts a rank there."""

    def version(name: str) -> str:
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            return "missing"

    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return {
        "python": f"{sys.version_info[0]}.{sys.version_info[1]}",
        "versions": {name: version(name) for name in ("torch", "cloudpickle", "safetensors")}
        | {"speedcube": __version__},
        "devices": visible.split(",") if visible else None,
        "cores": hardware.cores(),
        "gpus": hardware.gpu_count(),
        "one_gpu": "dask_cuda" in sys.modules,
        "process": (machine(), os.getpid()),
    }


def warm() -> None:
    """Start the fork server, which imports PyTorch, without waiting for it."""
    fork_server()


def open_rendezvous(
    job: str, attempt: int, host: str, ours: bool, dask_worker: Any = None
) -> tuple[int, str]:
    """Make what the ranks' store will be kept in; a port for it, and a file where it is one.

    On our own cluster it is a file: only this user's processes may enter its directory. Else rank
    0 serves the store on the socket that is bound here. Nothing listens where it is a file; the
    port is one for the user's own use.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.bind((host, 0))
    port = int(listening.getsockname()[1])
    if ours:
        listening.close()
        _here.store = tempfile.TemporaryDirectory(dir=dask_worker.local_directory)
        return port, f"{_here.store.name}/store"
    listening.listen(1024)
    _here.rendezvous[job, attempt] = listening
    return port, ""


async def stacks(job: str) -> dict[int, str]:
    """The stacks of the ranks that this worker runs for ``job``, by rank."""
    children = {k: c for k, c in _here.running.items() if k.rpartition("/")[0] == job}
    for child in children.values():
        child.ask_for_stacks()
    texts = dict.fromkeys(children, "")
    deadline = time.monotonic() + STACK_SECONDS
    more = True
    while time.monotonic() < deadline and (more or not all(texts.values())):
        await asyncio.sleep(STACK_SECONDS / 20)
        written = {key: child.stacks() for key, child in children.items()}
        more = any(written.values())  # it may be in the middle of them
        texts = {key: texts[key] + written[key] for key in texts}
    return {int(key.rpartition("/")[2]): text for key, text in texts.items()}


def tell(job: str, rank: int, message: StopRequest) -> None:
    """Pass a message on to the agent's rank."""
    child = _here.running.get(f"{job}/{rank}")
    if child is not None:
        child.channel.send(message)


def run_rank(launch: Launch, call: bytes) -> Outcome:
    """Task: a rank from its fork to its end."""
    from distributed import get_worker, secede

    worker = get_worker()
    job, rank = launch.settings.job, launch.rank
    task = worker.state.tasks[worker.get_current_task()]
    secede()  # other tasks, such as those that compute this rank's data, may use the thread
    rendezvous = _here.rendezvous.pop((job, launch.attempt), None) if rank == 0 else None
    with _here.devices[worker.address]:  # the rank before has left the device
        agent = _Agent(launch, call, worker, task)
        try:
            return agent.run(rendezvous)
        except TrainError as err:
            agent.say(Failed(Cause.START, 0, str(err)))
            return Outcome(rank, None, str(err))
        finally:
            if rendezvous is not None:
                rendezvous.close()
            agent.say(Down())


class _Agent:
    def __init__(self, launch: Launch, call: bytes, worker: Any, task: Any) -> None:
        self.launch, self.call, self.worker, self.task = launch, call, worker, task
        self.name = topic(launch.settings.job)
        self.step = 0
        self.ended: Outcome | None = None  # how the function ended; its process may wait for peers
        self.sent = 0  # bytes of output

    def say(self, message: FromAgent) -> None:
        """One of the job's Dask events."""
        event = JobEvent(self.launch.rank, self.launch.attempt, time.time(), message)
        self.worker.log_event(self.name, to_event(event))

    def run(self, rendezvous: socket.socket | None) -> Outcome:
        server = fork_server()
        while not self.cancelled() and not server.ready(ALIVE_SECONDS):
            self.say(Alive())
        if self.cancelled():
            return Outcome(self.launch.rank, None, "cancelled")
        child = Child(server, rendezvous)
        key = f"{self.launch.settings.job}/{self.launch.rank}"
        _here.running[key] = child
        try:
            self.say(Started(child.pid))
            child.channel.send(_with_call(self.launch, self.call))
            return self._watch(child)
        finally:
            child.kill_and_wait()
            del _here.running[key]
            self._relay_output(child)
            if self.sent >= LOG_LIMIT and (self.ended is None or self.ended.value is None):
                self.say(Log(f"[its last lines:]\n{child.last_output()}"))
            child.close()

    def cancelled(self) -> bool:
        """Whether nobody wants this task any more, or the worker is closing."""
        return bool(self.task.state == "cancelled" or self.worker.status.name != "running")

    def _watch(self, child: Child) -> Outcome:
        """Relay until the rank has ended, is silent, or nobody wants it any more."""
        rank = self.launch.rank
        beat = time.monotonic()
        silence = Silence(child.pid, ANY)
        while not self.cancelled():
            message = _next(child.channel, POLL_SECONDS)
            ended = message is None and child.status() is not None
            if ended:  # to ask for its status took time, in which it may have said its last
                message = _next(child.channel, 0)
            if message is not None:
                silence.heard()
                outcome = self._handle(child, message)
                if outcome is not None:
                    return outcome
            elif ended:
                if self.ended is not None:
                    return self.ended
                self.say(Failed(Cause.DEATH, self.step, child.end()))
                return Outcome(rank, None, child.end())
            if time.monotonic() - beat > ALIVE_SECONDS:
                beat = time.monotonic()
                self.say(Alive())
                self._relay_output(child)
            if silence.seconds() > SILENT_SECONDS:
                text = f"no heartbeat for {SILENT_SECONDS:g} s and no CPU time used: stopped"
                self.say(Failed(Cause.SILENT, self.step, text))
                return Outcome(rank, None, text)
        return Outcome(rank, None, "cancelled")

    def _handle(self, child: Child, message: FromRank) -> Outcome | None:
        """One message of the rank; the outcome where it is the last."""
        rank = self.launch.rank
        match message:
            case Beat(step):
                self.step = step
                with suppress(OSError):  # it has ended; its status will say how
                    child.channel.send(Heard())
            case Returned(value):
                self.ended = Outcome(rank, value)
                self.say(Done(len(value)))
            case Failed(cause, _, text):
                self.say(message)
                outcome = Outcome(rank, None, text)
                if cause is Cause.EXCEPTION:
                    return outcome
                self.ended = outcome
            case Reported(row):
                self.step = row["step"]
                self.say(message)
            case Ready() | Saving() | Saved() | Chunk():
                self.say(message)
            case _:
                assert_never(message)
        return None

    def _relay_output(self, child: Child) -> None:
        """What the rank printed, up to a limit: events are kept in the scheduler's memory."""
        while self.sent < LOG_LIMIT and (text := child.output()):
            self.sent += len(text)
            self.say(Log(text))
            if self.sent >= LOG_LIMIT:
                self.say(Log(f"\n[output beyond {LOG_LIMIT >> 20} MB is not kept]\n"))
        if self.sent >= LOG_LIMIT:
            child.drop_output()


def _next(channel: Channel[ToRank, FromRank], seconds: float) -> FromRank | None:
    """The next message of a rank, None after ``seconds`` or when there will be none."""
    try:
        return channel.receive(seconds)
    except (EOFError, OSError):
        time.sleep(seconds)
        return None


def _with_call(launch: Launch, call: bytes) -> Launch:
    return replace(launch, call=call, path=(*sys.path, *launch.path))
