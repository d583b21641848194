"""Dask's classes as our own clusters need them: they serve no pages, heal, and end quickly.

Loads distributed at its top, so `own.start` imports it late.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import multiprocessing.resource_tracker
import os
import shutil
import signal
import tempfile
from contextlib import suppress
from functools import cache
from typing import Any, Final

import dask
from distributed import Nanny, Scheduler, Worker
from distributed.core import Status
from distributed.deploy.spec import SpecCluster
from distributed.utils import silence_logging_cmgr
from tornado.ioloop import PeriodicCallback

from ...files import OWN_FILE
from .ignore_terminal import NUMBERS

CRITICAL: Final = 50  # of logging
HEAL_MILLISECONDS: Final = 300
END_SECONDS: Final = 5  # for the processes of a cluster that did not come up to be gone
PREFIX: Final = "speedcube-cluster-"
_LOCK: Final = "lock"  # held by the process whose cluster it is
_POLL_SECONDS: Final = 0.01
_GONE: Final = (Status.closed, Status.failed)


def claimed(folder: str) -> int:
    """The handle of a lock on ``folder``, which ends with this process however that ends."""
    draft = os.path.join(folder, "draft")
    handle = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, OWN_FILE)
    fcntl.flock(handle, fcntl.LOCK_EX)
    os.rename(draft, os.path.join(folder, _LOCK))  # so there is none that nobody holds yet
    return handle


def remove_stale() -> None:
    """Remove the folders of this user's clusters whose process was killed."""
    with suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and entry.is_dir(follow_symlinks=False):
                _remove_if_stale(entry)


def _remove_if_stale(folder: os.DirEntry[str]) -> None:
    if folder.stat(follow_symlinks=False).st_uid != os.geteuid():
        return
    try:
        lock = os.path.join(folder.path, _LOCK)
        handle = os.open(lock, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:  # it begins, or ends, or is none of ours
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder.path, ignore_errors=True)
    except OSError:
        pass  # its process lives
    finally:
        os.close(handle)


class PrivateScheduler(Scheduler):
    """Serves pages only where a dashboard was asked for; its scratch space is in ``folder``."""

    def __init__(self, *args: Any, folder: str, **options: Any) -> None:
        with dask.config.set(temporary_directory=folder):
            super().__init__(*args, **options)

    def start_http_server(self, routes: Any, dashboard_address: Any, **options: Any) -> None:
        """Dask's, or nothing: the pages know no certificates."""
        if dashboard_address is not None:
            super().start_http_server(routes, dashboard_address, **options)

    async def remove_worker(self, address: str, **options: Any) -> Any:
        """Dask's, whose table of tasks that were moved keeps workers that have gone, and so theirs.

        An array of this process's that a task reads would stay with it.
        """
        gone = self.workers.get(address)
        try:
            return await super().remove_worker(address, **options)
        finally:
            if gone is not None:
                gone.executing = {}


class PrivateWorker(Worker):
    """Serves no pages, and leaves no temporary file where it is killed: a key may be in one."""

    def __init__(self, *args: Any, local_directory: str | None = None, **options: Any) -> None:
        tempfile.tempdir = local_directory  # the cluster removes it
        logging.getLogger("distributed").setLevel(CRITICAL)
        super().__init__(*args, local_directory=local_directory, **options)

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Nothing."""


class PrivateNanny(Nanny):
    """Kills its worker's process where Dask's asks it to end and waits, four seconds and more.

    A worker of ours has nothing to finish: its ranks and what forks them end with it.
    """

    def __init__(self, *args: Any, worker_class: Any = None, **options: Any) -> None:
        super().__init__(*args, worker_class=worker_class or PrivateWorker, **options)
        self.exit_codes: list[int] = []  # of its worker's processes

    def _on_worker_exit_sync(self, exitcode: int) -> None:
        self.exit_codes.append(exitcode)
        super()._on_worker_exit_sync(exitcode)

    async def kill(self, timeout: float = 5, reason: str = "nanny-kill") -> None:
        """End the worker's process at once, in whatever state it is."""
        worker = self.process
        if worker is None or worker.status is Status.init:  # there is none yet, or no more
            return
        # One whose start has failed gets no process any more.
        while worker.status is Status.starting and not worker.running.is_set():
            if worker.process.pid is not None:
                break
            await asyncio.sleep(_POLL_SECONDS)
        if worker.is_alive():
            await worker.process.kill()
        elif worker.status is Status.starting and worker.process.pid is None:
            return
        await super().kill(timeout, reason)


class StartError(Exception):
    """A cluster whose workers did not start; the exit codes of their processes."""

    def __init__(self, text: str, exit_codes: frozenset[int]) -> None:
        super().__init__(text)
        self.exit_codes = exit_codes


class PrivateCluster(SpecCluster):
    """What our own clusters add to a cluster class of Dask's.

    A worker whose nanny gave up is replaced, by another of the same name. What interrupts the start
    leaves no process behind.
    """

    status: Any

    def __init__(self, *args: Any, **options: Any) -> None:
        remove_stale()
        self._folder = tempfile.TemporaryDirectory(prefix=PREFIX)
        self._claim: int | None = claimed(self._folder.name)
        options["local_directory"] = self._folder.name
        try:
            super().__init__(*args, worker_class=PrivateNanny, **options)
        except BaseException as err:
            codes = frozenset(code for nanny in self._created for code in nanny.exit_codes)
            self._give_up()
            if isinstance(err, RuntimeError | OSError):
                raise StartError(str(err), codes) from err
            raise

    async def _start(self) -> None:
        # Ctrl-C at a terminal reaches workers while they still import: threads, and the processes
        # that they start, inherit what is blocked. To start the tracker would unblock it again.
        multiprocessing.resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, NUMBERS)
        self.scheduler_spec["cls"] = PrivateScheduler
        self.scheduler_spec["options"]["folder"] = self._folder.name
        heal = PeriodicCallback(self._heal, HEAL_MILLISECONDS)
        self.periodic_callbacks["heal"] = heal
        await super()._start()

    def _update_worker_status(self, op: str, msg: Any) -> None:
        """Dask's, which ends a nanny whose new worker takes longer than 15 s, left out."""
        super(SpecCluster, self)._update_worker_status(op, msg)

    async def _heal(self) -> None:
        """Start a worker in the place of each that is gone for good."""
        for name, nanny in list(self.workers.items()):
            if nanny.status in _GONE:
                del self.workers[name]
        if self.status is Status.running and set(self.worker_spec) - set(self.workers):
            with suppress(Exception):  # the next one may come up
                await self._correct_state()

    def end_worker(self, address: str) -> None:
        """Kill the process of the worker at ``address``; its nanny starts another."""
        for nanny in list(self.workers.values()):
            if nanny.worker_address == address and nanny.pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(nanny.pid, signal.SIGKILL)

    def close(self, timeout: float | None = None) -> Any:
        """Dask's; connections that break meanwhile are no news."""
        with silence_logging_cmgr(CRITICAL):
            return super().close(timeout)

    async def _close(self) -> None:
        """End the processes first, so that there is nobody for Dask to ask and to wait for."""
        if self.status is not Status.closed:
            self.worker_spec.clear()
            await asyncio.gather(*(nanny.close() for nanny in list(self._created)))
            self.workers.clear()
        await super()._close()
        self._folder.cleanup()
        if self._claim is not None:
            os.close(self._claim)
            self._claim = None

    def _give_up(self) -> None:
        """End what has been started."""
        with suppress(Exception), silence_logging_cmgr(CRITICAL):
            self.sync(self._abandon, callback_timeout=END_SECONDS)
        self._loop_runner.stop()

    async def _abandon(self) -> None:
        if self.status is Status.starting:
            self.status = Status.failed
        for task in asyncio.all_tasks():  # of a start that nobody waits for any more
            task.add_done_callback(_forget)
        await self._close()


def _forget(task: asyncio.Task[Any]) -> None:
    """Keep asyncio from logging that nobody asked how ``task`` has ended."""
    if not task.cancelled():
        task.exception()


@cache
def private(base: type) -> type:
    """The class ``base`` of Dask's or dask-cuda's with all of this."""
    return type(base.__name__, (PrivateCluster, base), {})
