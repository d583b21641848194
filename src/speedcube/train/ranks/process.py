"""The life of a rank: from the fork to its last message. Runs in a child of the fork server."""

from __future__ import annotations

import faulthandler
import os
import pickle
import random
import signal
import sys
import threading
import time
import traceback
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final, NoReturn

import cloudpickle
import psutil

from ...engine import rungs
from ...errors import TrainError
from ..messages import (
    BEAT_SECONDS,
    Beat,
    Cause,
    Channel,
    Failed,
    Launch,
    Ready,
    Returned,
)
from ..patience import BUSY, Silence
from ..pickling import dumps
from . import context, group
from .context import Context, Link, Stopped
from .peers import Peers
from .store import RENDEZVOUS_SECONDS, Steps

SILENT_SECONDS: Final = 6.0  # without an answer from the agent a rank ends itself
PEERS_DONE: Final = timedelta(days=30)  # a rank may be done long before the others
TEXT_LIMIT: Final = 1 << 16  # characters of an exception's text, and of its traceback
BLOB_LIMIT: Final = 1 << 24  # bytes of an exception that is sent home as itself
LEAVE_SECONDS: Final = 10.0  # for a group to be destroyed


def main(channel: int, output: int, stacks: int, rendezvous: int | None = None) -> NoReturn:
    """Become the rank that the first message on ``channel`` describes."""
    _redirect(output, stacks)
    link: Link = Channel(channel)
    code = 1
    try:
        message = link.receive(RENDEZVOUS_SECONDS)
        assert isinstance(message, Launch)
        code = _run(message, link, rendezvous)
    except (EOFError, OSError):
        pass  # the agent is gone: nobody is left to tell
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _redirect(output: int, stacks: int) -> None:
    with open(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    sys.stdout = open(1, "w", buffering=1, closefd=False, errors="backslashreplace")  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, closefd=False, errors="backslashreplace")  # noqa: SIM115
    faulthandler.enable(file=2)
    faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=True)


def _run(launch: Launch, link: Link, rendezvous: int | None) -> int:
    """Set up, call, tell; the exit code."""
    here = Context(launch, link)
    threading.Thread(target=_beat, args=(here,), name="heartbeat", daemon=True).start()
    try:
        _prepare(launch)
        here.device = _device(launch)
        here.store = group.join(launch, here.device, rendezvous)
        here.steps = Steps(launch, here.store)
        here.peers = Peers(here.store.clone(), launch.rank)
        if launch.settings.world_size > 1:
            here.peers.start()
        function, args, kwargs = _call(launch)
        context.enter(here)
        link.send(Ready(time.time()))
        here.started = time.monotonic()
        with rungs.running_on(_rung(launch)):
            value = function(*args, **kwargs)
        here.peers.leave()
        link.send(Returned(_packed(value)))
    except Stopped as stop:
        link.send(Failed(stop.cause, here.step, stop.text))
    except BaseException as err:
        _tell(link, err, here.step)
        return 1
    _leave(here)
    return 0


def _prepare(launch: Launch) -> None:
    """The environment and the generators a new process would have."""
    import numpy as np
    import torch

    place, host = launch.place, launch.master
    if launch.settings.environment is not None:
        launch.settings.environment.enter()
    os.environ.update(
        RANK=str(place.rank),
        LOCAL_RANK=str(place.local_rank),
        WORLD_SIZE=str(launch.settings.world_size),
        LOCAL_WORLD_SIZE=str(place.local_world_size),
        MASTER_ADDR=host[0],
        MASTER_PORT=str(host[1]),
    )
    if launch.devices:
        os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(launch.devices)
    name = _interface(place.host)
    for variable in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"):
        if name:
            os.environ.setdefault(variable, name)
    sys.path[:] = dict.fromkeys([*launch.path, *sys.path])
    random.seed()  # the fork server's state would be the same in every rank
    np.random.seed()
    if place.device is None:
        torch.set_num_threads(place.threads)


def _interface(host: str) -> str | None:
    """The network interface that has the address ``host``."""
    for name, addresses in psutil.net_if_addrs().items():
        if any(known.address.split("%")[0] == host for known in addresses):
            return str(name)
    return None


def _device(launch: Launch) -> Any:
    import torch

    if launch.place.device is None:
        return torch.device("cpu")
    device = torch.device("cuda", _gpu(launch.place.device))
    torch.cuda.set_device(device)
    return device


def _gpu(name: str) -> int:
    """The number that CUDA gives the GPU ``name`` in this process."""
    seen = os.environ.get("CUDA_VISIBLE_DEVICES")
    return seen.split(",").index(name) if seen else int(name)


def _rung(launch: Launch) -> str:
    """Where speedcube arrays are computed inside this rank."""
    if launch.place.device is None or rungs.cupy_problem():
        return "core" if launch.place.local_world_size > 1 else "cores"
    return f"gpu:{_gpu(launch.place.device)}"


def _call(launch: Launch) -> Any:
    """The function and its arguments; futures among them find their scheduler."""
    if launch.scheduler is not None:
        from distributed import Client

        address, security = launch.scheduler
        Client(address, security=security, timeout=30)
    return cloudpickle.loads(launch.call)


def _beat(here: Context) -> None:
    """Tell the agent that this process lives; end it where the agent does not."""
    silence = Silence(_worker(), BUSY)
    with suppress(OSError, EOFError):
        while silence.seconds() <= SILENT_SECONDS:
            here.link.send(Beat(here.step))
            wake = time.monotonic() + BEAT_SECONDS
            while (left := wake - time.monotonic()) > 0:
                message = here.link.receive(left)
                if message is not None:
                    silence.heard()
                    here.hear(message)
    os.killpg(os.getpgid(0), signal.SIGKILL)


def _worker() -> int | None:
    """The process of the agent: the parent of the fork server, which is the parent of this one."""
    with suppress(psutil.Error):
        return int(psutil.Process(os.getppid()).ppid())
    return None


def _packed(value: Any) -> bytes:
    try:
        return dumps(value)
    except Exception as err:
        raise TrainError(
            f"what the function returned, of type {type(value).__name__}, cannot be sent home: "
            f"{err}; return numbers, text, arrays, tensors or containers of these"
        ) from err


def _tell(link: Link, err: BaseException, step: int) -> None:
    """Send an exception home: itself where it can be pickled and is no cargo, its text always."""
    text = _shortened("".join(traceback.format_exception(err)))
    print(text, file=sys.stderr)
    try:
        blob = dumps(err)
        pickle.loads(blob)
    except Exception:
        blob = b""
    try:
        message = _shortened(str(err))
    except Exception as other:
        message = f"(its text cannot be had: {type(other).__name__})"
    name = f"{type(err).__module__}.{type(err).__qualname__}"
    sent = blob if 0 < len(blob) <= BLOB_LIMIT else None
    link.send(Failed(Cause.EXCEPTION, step, message, name, text, sent))


def _shortened(text: str) -> str:
    """``text`` without its middle where it is too long for a message."""
    half = TEXT_LIMIT // 2
    if len(text) <= TEXT_LIMIT:
        return text
    return f"{text[:half]}\n[... {len(text) - TEXT_LIMIT} characters ...]\n{text[-half:]}"


def _leave(here: Context) -> None:
    """Leave the group when every rank is done: until then some peer may still need this one."""
    from torch import distributed as dist

    with suppress(Exception):  # rank 0, which serves the store, may be gone first
        if here.store.add("done", 1) == here.launch.settings.world_size:
            here.store.set("all done", "1")
        here.store.wait(["all done"], PEERS_DONE)
    threading.Timer(LEAVE_SECONDS, os._exit, [0]).start()
    with suppress(Exception):
        dist.destroy_process_group()
