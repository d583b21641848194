"""The fork server of a worker: it has imported PyTorch and waits to become ranks.

A process of one thread that never touches CUDA, so that what it forks may. It serves requests on
one socket and ends, with everything it forked, when the other end (the Dask worker) is gone.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

PRELOADED: Final = (
    "numpy",
    "cloudpickle",
    "torch",
    "torch.distributed",
    "torch._dynamo",
    "distributed",
)
DESCRIPTORS: Final = 4  # sent with a request to fork: channel, output, stacks, rendezvous
_PR_SET_PDEATHSIG: Final = 1  # of sys/prctl.h


def serve(control: socket.socket) -> None:
    """Fork and report until the worker is gone."""
    children: set[int] = set()
    while True:
        request, descriptors, _, _ = socket.recv_fds(control, 4096, DESCRIPTORS)
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
    for pid in children:
        with suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)


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
    import_module("speedcube.train.rank_process").main(*descriptors)
    os._exit(0)


def _reap(pid: int, children: set[int]) -> int | None:
    """The wait status of a child that has ended, or None; what it left behind is killed."""
    try:
        found, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return 0
    if not found:
        return None
    children.discard(pid)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    return status


def main() -> None:
    """Load what ranks need, say so, serve."""
    control = socket.socket(fileno=int(sys.argv[1]))
    try:
        for name in (*PRELOADED, "speedcube.train.rank_process"):
            import_module(name)
    except ImportError as err:
        control.send(json.dumps({"error": str(err)}).encode())
        return
    control.send(json.dumps({"ready": os.getpid()}).encode())
    gc.freeze()  # pages that no collection touches stay shared with the children
    serve(control)


if __name__ == "__main__":
    main()
