"""A directory whose files only this user can have written, found out from what was opened.

Who may write a file that this process runs as code runs code as its user. So the directory, and
each directory and link on the way to it, is looked at: one that another user owns or may write to
lets that user put another in its place. (Of a sticky one, such as /tmp, nobody can remove what is
not his.) Files are opened inside the directory's own handle, no link is followed, no pipe waited
for, and it is the opened file that has to be regular, this user's alone, and small.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import grp
import os
import pwd
import stat
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ..files import write_whole

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH
_LINKS: Final = 40  # on one path, as the system counts
_EVERYBODY: Final = ["0", "0", "4294967295"]  # the map of users of a process in no namespace
# No advice to close it: what others put there would stay, and count as ours.
_OPEN: Final = "others may write to it, so what lies in it may be theirs (delete it)"


class NotOurs(OSError):
    """A directory that others own or may write to: what lies in it may be theirs."""


class OwnDirectory:
    """The directory ``path``, made (for its owner alone) where there is none.

    The way to it is looked at when this object is made, the directory itself each time it is used.

    Raises
    ------
    NotOurs
        Another user owns it or may write to it, or may replace it.
    OSError
        It cannot be made or opened.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        named = os.path.abspath(path)
        _make(named)
        self.path = Path(_checked(named))

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int]:
        """A handle of the directory, which is looked at anew: somebody may have let others in."""
        handle = os.open(self.path, _DIRECTORY)
        try:
            state = os.fstat(handle)
            if state.st_uid != os.geteuid():
                raise NotOurs(errno.EPERM, f"it belongs to another user (uid {state.st_uid})")
            if state.st_mode & _OTHERS:
                raise NotOurs(errno.EPERM, _OPEN)
            yield handle
        finally:
            os.close(handle)

    def read(self, name: str, most: int) -> bytes | None:
        """The bytes of a file; None where there is none that this user alone wrote.

        Anything else of that name, or one of more than ``most`` bytes, is removed.
        """
        with self._opened() as inside:
            content = _content(name, most, inside)
            if content is None:
                _remove(name, inside)
            return content or None

    def holds(self, name: str) -> bool:
        """Whether there is anything of that name."""
        return os.path.lexists(self.path / name)

    def write(self, name: str, content: bytes, *, durable: bool = False) -> None:
        """Write a file, whole, for this user alone."""
        with self._opened() as inside:
            write_whole(name, content, mode=0o600, durable=durable, inside=inside)

    def remove(self, name: str) -> None:
        """Remove what has that name, if anything has."""
        with self._opened() as inside:
            _remove(name, inside)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Have the directory to this block, among those that ask for it, where there are locks."""
        with self._opened() as inside:
            with contextlib.suppress(OSError):
                fcntl.flock(inside, fcntl.LOCK_EX)
            yield


def _content(name: str, most: int, inside: int) -> bytes | None:
    """The bytes of a file; none where there is no such file, None where it is not ours."""
    try:
        handle = os.open(name, _FILE, dir_fd=inside)
    except FileNotFoundError:
        return b""
    except OSError:  # a link, a socket, a file that was locked up
        return None
    try:
        state = os.fstat(handle)
        ours = stat.S_ISREG(state.st_mode) and state.st_uid == os.geteuid() and state.st_nlink == 1
        if not ours or state.st_mode & _OTHERS or not 0 < state.st_size <= most:
            return None
        content = os.read(handle, state.st_size)
        return content if len(content) == state.st_size else None
    finally:
        os.close(handle)


def _remove(name: str, inside: int) -> None:
    try:
        os.unlink(name, dir_fd=inside)
    except FileNotFoundError:
        pass
    except IsADirectoryError:
        os.rmdir(name, dir_fd=inside)


def _make(path: str) -> None:
    """Make a directory and the parents that it lacks, for their owner alone."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass
    except FileNotFoundError:
        _make(os.path.dirname(path))
        with contextlib.suppress(FileExistsError):
            os.mkdir(path, 0o700)


def _checked(path: str) -> str:
    """``path`` without links; `NotOurs` where somebody else could replace a part of it."""
    here, left, links = "/", deque(path.split("/")), 0
    _check_parent(here, os.lstat(here))
    while left:
        part = left.popleft()
        if part in ("", "."):
            continue
        there = os.path.dirname(here) if part == ".." else os.path.join(here, part)
        state = os.lstat(there)
        if not stat.S_ISLNK(state.st_mode):
            here = there
            if any(left):
                _check_parent(here, state)
            continue
        links += 1
        if links > _LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if not _trusted(state.st_uid):
            raise NotOurs(errno.EPERM, f"the link {there} belongs to another user")
        target = os.readlink(there)
        left.extendleft(reversed(target.split("/")))
        here = "/" if target.startswith("/") else here
    return here


def _check_parent(path: str, state: os.stat_result) -> None:
    """`NotOurs` where somebody else could rename what a directory holds."""
    if not _trusted(state.st_uid):
        raise NotOurs(
            errno.EPERM, f"{path}, on the way to it, belongs to another user (uid {state.st_uid})"
        )
    others = bool(state.st_mode & stat.S_IWOTH)
    if state.st_mode & stat.S_IWGRP and not others:
        others = not _private(state.st_gid)
    if others and not state.st_mode & stat.S_ISVTX:
        raise NotOurs(errno.EPERM, f"others may write to {path}, on the way to it")


def _trusted(uid: int) -> bool:
    """Whether a user may replace our files anyhow: we ourselves, or the administrator."""
    return uid in (0, os.geteuid()) or (uid == _nobody() and _in_namespace())


def _nobody() -> int:
    """Whom a namespace shows as the owner of what belongs to nobody inside it, such as /."""
    try:
        return int(Path("/proc/sys/kernel/overflowuid").read_text())
    except (OSError, ValueError):
        return 65534


def _in_namespace() -> bool:
    """Whether this process sees a part of the machine's users; who made it so can do anything."""
    try:
        return Path("/proc/self/uid_map").read_text().split() != _EVERYBODY
    except OSError:
        return False


def _private(gid: int) -> bool:
    """Whether a group has nobody but us and the administrator: as many systems give each user."""
    if gid == 0:
        return True
    try:
        group, me = grp.getgrgid(gid), pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    mine = group.gr_gid == me.pw_gid and group.gr_name == me.pw_name
    return mine and {*group.gr_mem} <= {me.pw_name}
