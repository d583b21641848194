"""One job at a time in a run's directory."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
from pathlib import Path

from ...errors import ParameterError
from ...files import OWN_FILE


class RunLock:
    """Has the directory ``out`` to itself, until `release` or this process's end.

    Two jobs that write to one directory would go on from each other's checkpoints. A file system
    without locks keeps nobody out.

    Raises
    ------
    ParameterError
        Another job, of this process or another, has the directory, or it cannot be written.
    """

    def __init__(self, out: Path) -> None:
        try:
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._file = os.fdopen(os.open(out / ".lock", flags, OWN_FILE), "r+", errors="replace")
        except OSError as err:
            raise ParameterError(f"out={str(out)!r} cannot be written: {err.strerror}") from err
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as err:
            if err.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                return
            holder = self._file.readline(200).strip()
            self._file.close()
            raise ParameterError(
                f"out={str(out)!r} is in use by a job of {holder or 'another process'}: give each "
                "job a directory of its own, or wait until that one has ended"
            ) from None
        with contextlib.suppress(OSError):  # a full disk
            self._file.truncate(0)
            self._file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
            self._file.flush()

    def release(self) -> None:
        """Let others have the directory; once."""
        with contextlib.suppress(OSError):
            fcntl.flock(self._file, fcntl.LOCK_UN)  # a forked child may have the file open, too
        self._file.close()
