"""A file of a directory that one program at a time keeps something in."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from ...dataclass import dataclass
from ...errors import CheckpointError
from ...files import OWN_FILE


class DamagedError(Exception):
    """Why a file is not what was written, in words."""


@dataclass(eq=False)
class Claim:
    """The file for ``key`` in ``folder``, which is this thread's alone from `open` to `close`.

    Others are kept out by a lock of the system, which ends with the process however that ends.
    """

    folder: Path
    key: str
    _handle: int = -1
    SUFFIX: ClassVar[str] = ""

    @property
    def path(self) -> Path:
        return self.folder / f"speedcube-{self.key[:32]}{self.SUFFIX}"

    @property
    def _lock(self) -> Path:
        return self.path.with_suffix(".lock")

    def open(self) -> None:
        """Make it this thread's; `CheckpointError` where another one has it."""
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        while True:
            try:
                handle = os.open(self._lock, flags, OWN_FILE)
            except OSError as err:
                raise CheckpointError(
                    f"{self.folder} cannot keep this computation: {err.strerror}"
                ) from err
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as err:
                os.close(handle)
                raise CheckpointError(
                    f"another program, or another thread of this one, computes the same and keeps "
                    f"it in {self.folder}: wait for it, or give this one a directory of its own"
                ) from err
            if _is_at(handle, self._lock):
                self._handle = handle
                return
            os.close(handle)  # who had it has removed it meanwhile

    def close(self, done: bool) -> None:
        """Let others have it; what is kept goes if the computation is ``done``."""
        with suppress(OSError):
            if done:
                self.path.unlink(missing_ok=True)
            self._lock.unlink(missing_ok=True)
        os.close(self._handle)


def _is_at(handle: int, path: Path) -> bool:
    """Whether ``path`` is still the name of the file of ``handle``."""
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path, follow_symlinks=False))
    except OSError:
        return False


def check_own(handle: int) -> None:
    """`DamagedError` where the file is not this user's."""
    if os.fstat(handle).st_uid != os.geteuid():
        raise DamagedError("it is another user's")
