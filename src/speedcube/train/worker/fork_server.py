"""The fork server of a worker: it has imported PyTorch and waits to become ranks.

A process of one thread that never touches CUDA, so that what it forks may. It serves requests on
one socket and ends, with everything it forked, when the other end (the Dask worker) is gone.
"""

from __future__ import annotations

import ctypes
import fcntl
import gc
import json
import os
import signal
import socket
import sys
import time
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

import psutil

PRELOADED: Final = (
    "numpy",
    "cloudpickle",
    "torch",
    "torch.distributed",
    "torch._dynamo",
    "distributed",
)
RANK_PROCESS: Final = "speedcube.train.ranks.process"
DESCRIPTORS: Final = 4  # sent with a request to fork: channel, output, stacks, rendezvous
_PR_SET_PDEATHSIG: Final = 1  # of sys/prctl.h
_PR_SET_CHILD_SUBREAPER: Final = 36
_SWEEPS: Final = 100
_SWEEP_SECONDS: Final = 0.01


def serve(control: socket.socket) -> None:
    """Fork and report until the worker is gone."""
    children: set[int] = set()
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)  # orphans of its ranks become its own
    while True:
        request, descriptors = _next(control)
        if not request:
            break
        asked = json.loads(request)
        if asked["do"] == "fork":
            pid = _fork(control, descriptors)
            children.add(pid)
            answer: dict[str, Any] = {"pid": pid}
        else:
            answer = {"status": _reap(asked["pid"], children)}
        control.send(json.dumps(answer).encode())
    _sweep()


def _next(control: socket.socket) -> tuple[bytes, list[int]]:
    """The next request with its descriptors; b"" where the worker is gone."""
    try:
        request, descriptors, _, _ = socket.recv_fds(control, 4096, DESCRIPTORS)
    except ConnectionResetError:  # it left an answer unread
        return b"", []
    return request, descriptors


def _fork(control: socket.socket, descriptors: list[int]) -> int:
    parent = os.getpid()
    pid = os.fork()
    if pid:
        for descriptor in descriptors:
            os.close(descriptor)
        with suppress(OSError):  # also done by the child: whoever is first
            os.setpgid(pid, pid)
        return pid
    control.close()
    with suppress(OSError):
        os.setsid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    import_module(RANK_PROCESS).main(*descriptors)
    os._exit(0)


def _reap(pid: int, children: set[int]) -> int | None:
    """The wait status of a child that has ended, or None; what it left behind is killed."""
    try:
        ended, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return 0
    if not ended:
        return None
    children.discard(pid)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    if not children:  # another rank's are its own business
        _sweep()
    return status


def _sweep() -> None:
    """Kill all descendants: ranks, and what they started in sessions of their own."""
    for _ in range(_SWEEPS):
        left = psutil.Process().children(recursive=True)
        if not left:
            return
        for process in left:
            with suppress(psutil.Error):
                process.kill()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        time.sleep(_SWEEP_SECONDS)


def main() -> None:
    """Load what ranks need, say so, serve.

    While it loads, the end of the worker is a signal that ends it (`fork_client.ForkServer`).
    """
    control = socket.socket(fileno=int(sys.argv[1]))
    try:
        for name in (*PRELOADED, RANK_PROCESS):
            import_module(name)
    except ImportError as err:
        control.send(json.dumps({"error": str(err)}).encode())
        return
    fcntl.fcntl(control, fcntl.F_SETFL, fcntl.fcntl(control, fcntl.F_GETFL) & ~os.O_ASYNC)
    try:
        control.send(json.dumps({"ready": os.getpid()}).encode())
    except BrokenPipeError:  # the worker has ended meanwhile
        return
    gc.freeze()  # pages that no collection touches stay shared with the children
    serve(control)


if __name__ == "__main__":
    main()
