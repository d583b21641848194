"""Files written whole: under another name beside their place, then renamed there; read with care.

A reader sees the old file or the new one, each from its first byte to its last. Where writing fails
or the process is killed, the old one stays. What is read is a regular file, and no larger than
such a file can be: a pipe would be waited for without end, a device or 8 GiB of nothing read.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from .late import shutil

# Modes of what a run keeps: nobody else's business, whatever the umask lets others read.
OWN_FILE: Final = 0o600
OWN_FOLDER: Final = 0o700


def own_file(path: str, flags: int) -> int:
    """``open``'s opener of files that only their user may read."""
    return os.open(path, flags, OWN_FILE)


def write_whole(
    path: str | os.PathLike[str],
    content: bytes,
    *,
    mode: int | None = None,
    durable: bool = False,
    inside: int | None = None,
) -> None:
    """Write ``content`` to ``path``: all of it or, if that fails, the file stays as it was.

    Parameters
    ----------
    path
        A file, or none yet, in a directory that exists. A symbolic link is replaced, not followed.
    content
        The whole file.
    mode
        Its permissions, less the umask. None: those of the file it replaces, or of any new one.
    durable
        Wait until the disk has the content before the name points to it. So a loss of power, too,
        leaves the old file or the new one.
    inside
        The handle of a directory that ``path``, a name, is in.

    Raises
    ------
    OSError
        The system cannot write there; nothing is left behind.
    """
    with written_whole(path, mode=mode, durable=durable, inside=inside) as file:
        file.write(content)


@contextlib.contextmanager
def written_whole(
    path: str | os.PathLike[str],
    *,
    mode: int | None = None,
    durable: bool = False,
    inside: int | None = None,
    draft: Path | None = None,
) -> Iterator[BinaryIO]:
    """The same of what is written inside the block; if that raises, the file stays as it was.

    ``draft`` is its name until it is whole, where the caller removes what a kill leaves of it.
    """
    draft = draft or Path(path).with_name(f".speedcube-{os.urandom(8).hex()}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    handle = os.open(draft, flags, mode or 0o666, dir_fd=inside)
    try:
        with open(handle, "wb") as file:
            yield file
            if durable:
                file.flush()
                os.fsync(handle)
        if mode is None and inside is None:
            with contextlib.suppress(FileNotFoundError):
                shutil.copymode(path, draft)
        os.replace(draft, path, src_dir_fd=inside, dst_dir_fd=inside)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=inside)
        raise


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """A regular file, to be read; `OSError` for anything else of that name."""
    handle = regular_handle(path)
    try:
        return open(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def regular_handle(path: str | os.PathLike[str]) -> int:
    """The same as a handle, which whoever asks closes."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        check_regular(handle, path)
    except BaseException:
        os.close(handle)
        raise
    return handle


def handle_to_write(path: str, flags: int) -> int:
    """A handle of the regular file ``path``, to be written; `OSError` for a link or anything else.

    Whoever can make a link of a name that we write to would have us write over what it leads to. So
    would a second name of a file.
    """
    check_no_link(path)
    handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    try:
        check_regular(handle, path)
        if os.fstat(handle).st_nlink > 1:
            raise OSError(errno.EMLINK, "it has a second name, under which it would change", path)
    except BaseException:
        os.close(handle)
        raise
    return handle


def check_no_link(path: str) -> None:
    """`OSError` where ``path`` is a link."""
    if os.path.islink(path):
        raise OSError(errno.ELOOP, "it is a link, where speedcube writes what is its own", path)


def read_regular(path: str | os.PathLike[str], most: int) -> bytes:
    """The bytes of a regular file; `OSError` where it has more than ``most``."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        content = file.read(min(size, most) + 1)  # memory for more would be given back: it is slow
        if size < len(content) <= most:
            content += file.read(most + 1 - len(content))
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", os.fspath(path))
    return content


def check_regular(handle: int, path: str | os.PathLike[str] | None = None) -> None:
    """`OSError` that names ``path`` unless ``handle`` is that of a regular file."""
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return
    name = None if path is None else os.fspath(path)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    raise OSError(errno.EINVAL, "it is not a regular file", name)


@contextlib.contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """A block in which an `OSError` of a handle, which knows no name, gets that of ``path``."""
    try:
        yield
    except OSError as err:
        if err.errno is not None and err.filename is None:
            err.filename = os.fspath(path)
        raise
