"""A worker's children: the fork server's other end, and a handle on each rank it forked."""

from __future__ import annotations

import codecs
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from typing import Any, Final

from ...errors import TrainError
from ..messages import Channel, FromRank, ToRank
from ..patience import ANY, LOOK_SECONDS, Silence

FORK_SERVER: Final = "speedcube.train.worker.fork_server"
ANSWER_SECONDS: Final = 10
_SIGNALS: Final = {number.value: number.name for number in signal.Signals}


class ForkServer:
    """The fork server of this process, to be used when `ready`; it answers one at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control = ours
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", FORK_SERVER, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C in a terminal is the driver's to handle
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
            # Until it listens, our end is a SIGIO to it, which ends it: to import PyTorch takes
            # seconds, in which it would outlive us.
            fcntl.fcntl(theirs, fcntl.F_SETOWN, self._process.pid)
            fcntl.fcntl(theirs, fcntl.F_SETFL, fcntl.fcntl(theirs, fcntl.F_GETFL) | os.O_ASYNC)
        self._ready = False

    def ready(self, seconds: float) -> bool:
        """Whether it has imported what ranks need, waiting at most ``seconds`` for that."""
        with self._lock:
            if self._ready:
                return True
            self._control.settimeout(seconds)
            try:
                answer = json.loads(self._control.recv(4096) or b'{"error": "it ended"}')
            except TimeoutError:
                return False
            except OSError as err:
                answer = {"error": str(err)}
            if "error" in answer:
                self.close()
                raise TrainError(
                    f"the fork server of this worker cannot start: {answer['error']}; every worker "
                    "needs PyTorch (pip install speedcube[train])"
                )
            self._control.settimeout(LOOK_SECONDS)
            self._ready = True
            return True

    def _ask(self, request: dict[str, Any], descriptors: list[int]) -> Any:
        with self._lock:
            try:
                socket.send_fds(self._control, [json.dumps(request).encode()], descriptors)
                answer = self._answer()
            except OSError as err:
                self.close()
                raise TrainError(f"the fork server of this worker does not answer: {err}") from err
        if not answer:
            self.close()
            raise TrainError("the fork server of this worker was killed")
        return json.loads(answer)

    def _answer(self) -> bytes:
        """What it says next; `TimeoutError` where it is stopped, or does nothing."""
        silence = Silence(self._process.pid, ANY)
        while True:
            try:
                return self._control.recv(4096)
            except TimeoutError:
                if silence.seconds() > ANSWER_SECONDS:
                    raise

    def fork(self, descriptors: list[int]) -> int:
        """The process id of a new child with copies of ``descriptors``."""
        return int(self._ask({"do": "fork"}, descriptors)["pid"])

    def status(self, pid: int) -> int | None:
        """The wait status of a child that has ended."""
        status = self._ask({"do": "poll", "pid": pid}, [])["status"]
        return None if status is None else int(status)

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """End it; its children end with it."""
        self._control.close()
        self._process.kill()
        self._process.wait()


_server: ForkServer | None = None
_starting: Final = threading.Lock()


def fork_server() -> ForkServer:
    """The fork server of this process, started where there is none."""
    global _server
    with _starting:
        if _server is None or not _server.running:
            _server = ForkServer()
        return _server


class Child:
    """A forked rank: its channel, its output, its stacks, its end."""

    def __init__(self, server: ForkServer, rendezvous: socket.socket | None) -> None:
        ours, theirs = socket.socketpair()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed in close()
        self._stacks = tempfile.TemporaryFile()  # noqa: SIM115
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._read = 0
        self._stacks_read = 0
        descriptors = [theirs.fileno(), self._output.fileno(), self._stacks.fileno()]
        descriptors += [rendezvous.fileno()] if rendezvous is not None else []
        self._server = server
        with theirs:
            self.pid = self._server.fork(descriptors)
        self.channel: Channel[ToRank, FromRank] = Channel(ours.detach())
        self._status: int | None = None
        self._dropping: threading.Thread | None = None

    def status(self) -> int | None:
        """The wait status, or None while it runs."""
        if self._status is None:
            try:
                self._status = self._server.status(self.pid)
            except TrainError:  # the fork server is gone, and takes its children along
                self.kill()
                self._status = signal.SIGKILL
        return self._status

    def end(self) -> str:
        """How it ended, in words."""
        status = self.status() or 0
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            return f"was killed by {_SIGNALS.get(number, f'signal {number}')}"
        return f"ended with exit code {os.WEXITSTATUS(status)}"

    def kill(self) -> None:
        """SIGKILL for it and for what it started."""
        for send in (os.killpg, os.kill):
            with suppress(ProcessLookupError):
                send(self.pid, signal.SIGKILL)

    def kill_and_wait(self, seconds: float = 5.0) -> None:
        """Kill it; return when it is gone, its GPU memory with it."""
        self.kill()
        deadline = time.monotonic() + seconds
        while self.status() is None and time.monotonic() < deadline:
            time.sleep(0.01)

    def output(self, limit: int = 1 << 16) -> str:
        """What it printed since the last call, at most ``limit`` bytes."""
        printed = os.pread(self._output.fileno(), limit, self._read)
        self._read += len(printed)
        return self._decoder.decode(printed)

    def last_output(self, limit: int = 1 << 13) -> str:
        """The end of what it printed, whether that was read before or dropped."""
        size = os.fstat(self._output.fileno()).st_size
        raw = os.pread(self._output.fileno(), limit, max(0, size - limit))
        return raw.lstrip(b"\0").decode(errors="replace")

    def drop_output(self) -> None:
        """Give back the disk space of what it printed, which nobody will read.

        On a thread of its own: the file system lets nobody cut a file while a process is in the
        middle of one long write to it.
        """
        if self._dropping is None or not self._dropping.is_alive():
            handle = os.dup(self._output.fileno())
            self._dropping = threading.Thread(target=_empty, args=(handle,), daemon=True)
            self._dropping.start()

    def stacks(self) -> str:
        """What `ask_for_stacks` made it write since the last call."""
        text = os.pread(self._stacks.fileno(), 1 << 20, self._stacks_read)
        self._stacks_read += len(text)
        return text.decode(errors="replace")

    def ask_for_stacks(self) -> None:
        """Make it write the stack of every thread; a stopped process writes none."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGUSR1)

    def close(self) -> None:
        self.channel.close()
        self._output.close()
        self._stacks.close()


def _empty(handle: int) -> None:
    try:
        os.ftruncate(handle, 0)
    finally:
        os.close(handle)
