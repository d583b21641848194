"""Files and directories that outlast the process and the machine's power, and their errors."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import shutil
import stat
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Final

from ...errors import CheckpointError
from ...files import OWN_FILE, OWN_FOLDER

_LOCK_WAIT: Final = 10.0  # seconds; a killed process that is still in a write holds its lock
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextlib.contextmanager
def writing(path: Path, needed: int) -> Iterator[None]:
    """Make `CheckpointError` of every ``OSError``: the path, the bytes needed and those free."""
    try:
        yield
    except OSError as error:
        what = "the disk is full" if error.errno in _FULL else str(error.strerror or error)
        raise CheckpointError(
            f"cannot write the checkpoint {path}: {what} ({needed} bytes are needed, "
            f"{_free(path)} are free); the older checkpoints are as they were"
        ) from error


def require_space(directory: Path, needed: int) -> None:
    """Raise ``OSError`` where the disk has fewer bytes free than ``needed``."""
    free = _free(directory)
    if free is not None and free < needed:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(directory))


def _free(path: Path) -> int | None:
    for place in (path, *path.parents):
        with contextlib.suppress(OSError):
            system = os.statvfs(place)
            return system.f_bavail * system.f_frsize
    return None


def write_file(path: Path, blocks: Iterable[bytes | memoryview]) -> tuple[int, str]:
    """Write a new file and wait until the disk has it; return its size and SHA-256."""
    digest = hashlib.sha256()
    size = 0
    hashed: list[Future[None]] = []
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, OWN_FILE)
    try:
        with ThreadPoolExecutor(1, "checkpoint") as pool:  # hashes while the disk is busy
            for block in blocks:
                wait(hashed)  # so that two blocks at most are in memory
                hashed = [pool.submit(digest.update, block)]
                size += len(block)
                left = memoryview(block)
                while left:
                    left = left[os.write(handle, left) :]
            os.fsync(handle)
    finally:
        os.close(handle)
    return size, digest.hexdigest()


def sync_directory(path: Path) -> None:
    """Wait until the disk has the names that a directory holds."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_directories(path: Path) -> None:
    """Make a directory and the parents that it lacks, all durable; those only their user may enter.

    What was there before keeps its mode.
    """
    if path.is_dir():
        return
    make_directories(path.parent)
    try:
        os.mkdir(path, OWN_FOLDER)
    except FileExistsError:  # somebody was faster
        if not path.is_dir():
            raise
    sync_directory(path.parent)


def remove(path: Path) -> None:
    """Remove a directory with its files; what cannot be removed stays for `writing.collect`."""
    shutil.rmtree(path, ignore_errors=True)


def open_directory(path: str | Path, inside: int | None = None) -> int:
    """Return a handle of a directory; of the one named ``path`` in ``inside``, which is no link."""
    follow = 0 if inside is None else os.O_NOFOLLOW
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | follow, dir_fd=inside)


def open_file(name: str, inside: int) -> tuple[int, int]:
    """Return a handle and the size of a regular file in a directory; links and pipes are refused.

    A pipe without a writer would hold up a plain ``open`` for ever.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    handle = os.open(name, flags, dir_fd=inside)
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise CheckpointError(f"{name} is not a regular file")
    return handle, status.st_size


def lock(root: Path, wait: float = _LOCK_WAIT) -> int | None:
    """Return the handle of the lock of those who write to ``root``; None where it is held.

    The system lets go of it when its process ends, however that ends; a child made by fork does
    not inherit it. A file system without locks gives a handle that excludes nobody.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    handle = os.open(root / ".lock", flags, OWN_FILE)
    end = time.monotonic() + wait
    while True:
        try:
            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EAGAIN):
                return handle
        if time.monotonic() >= end:
            os.close(handle)
            return None
        time.sleep(0.02)
