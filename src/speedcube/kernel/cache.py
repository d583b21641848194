"""The kernel cache: one file a kernel, checked before it is trusted, never a pickle.

    file ::= magic version key sha256(payload) payload

A damaged entry is deleted and recompiled. Files are written beside their place and renamed there,
so a reader sees all of one or none. A directory that cannot be written is reported once and done
without. The directory is ``$SPEEDCUBE_CACHE_DIR``, else ``$XDG_CACHE_HOME/speedcube``, else
``~/.cache/speedcube``; it is created for its owner only and refused if others may write to it.
"""

from __future__ import annotations

import hashlib
import os
import stat
import warnings
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final

from ..__about__ import __version__
from ..files import write_whole

MAGIC: Final = b"SPEEDCUBE-KERNEL"
VERSION: Final = 1
_HEADER: Final = len(MAGIC) + 2 + 32 + 32


def content_key(*parts: object) -> bytes:
    """SHA-256 of everything that decides what a compiler will produce."""
    digest = hashlib.sha256()
    for part in parts:
        text = part if isinstance(part, bytes) else repr(part).encode()
        digest.update(len(text).to_bytes(8, "little"))
        digest.update(text)
    return digest.digest()


# What makes a kernel's text of its program: the modules of these folders, and a few others. What
# makes the program (rules, functions, samplers) is left out: the program is part of each key.
_PRINTERS: Final = ("", "llvm", "llvm/scans", "cuda", "math")
_ALSO: Final = ("../dtypes.py", "../philox.py", "../expr/nodes.py", "../expr/space.py")


@cache
def generator() -> bytes:
    """A key of the printers themselves: a change of theirs makes every kernel anew.

    Of sizes and times of their files: reading them takes as long as loading a kernel.
    """
    here = os.path.dirname(__file__)
    files = [os.path.join(here, name) for name in _ALSO]
    for folder in _PRINTERS:
        with os.scandir(os.path.join(here, folder)) as entries:
            files += [entry.path for entry in entries if entry.name.endswith(".py")]
    states = [os.stat(file) for file in sorted(files)]
    return content_key(__version__, [(state.st_size, state.st_mtime_ns) for state in states])


def default_directory() -> Path:
    """Where kernels are kept unless a directory is named."""
    named = os.environ.get("SPEEDCUBE_CACHE_DIR")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "speedcube"


@dataclass
class KernelCache:
    """Compiled kernels by content key."""

    directory: Path
    usable: bool = field(init=False, default=True)
    hits: int = field(init=False, default=0)
    misses: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            problem = self._unsafe()
        except OSError as err:
            problem = err.strerror or str(err)
        if problem:
            self._give_up(problem)

    def _unsafe(self) -> str | None:
        state = self.directory.stat()
        if hasattr(os, "getuid") and state.st_uid != os.getuid():
            return "it belongs to another user"
        if state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return "others may write to it (chmod 700 it)"
        return None

    def _give_up(self, problem: str) -> None:
        if self.usable:
            self.usable = False
            warnings.warn(
                f"the kernel cache {self.directory} is not used: {problem}. Kernels are compiled "
                "anew in each process; set SPEEDCUBE_CACHE_DIR to a directory of yours",
                RuntimeWarning,
                stacklevel=4,
            )

    def path(self, key: bytes) -> Path:
        return self.directory / f"{key.hex()[:40]}.kernel"

    def holds(self, key: bytes) -> bool:
        """Whether there is an entry, whole or damaged."""
        return self.usable and self.path(key).exists()

    def get(self, key: bytes) -> bytes | None:
        """The payload stored under ``key``, or None; a damaged entry is removed."""
        if not self.usable:
            return None
        try:
            raw = self.path(key).read_bytes()
        except OSError:
            self.misses += 1
            return None
        payload = raw[_HEADER:]
        if raw[:_HEADER] != self._header(key, payload):
            self.discard(key)
            self.misses += 1
            return None
        self.hits += 1
        return payload

    def put(self, key: bytes, payload: bytes) -> None:
        """Store ``payload``; failing to is not an error."""
        if not self.usable:
            return
        try:
            write_whole(self.path(key), self._header(key, payload) + payload, mode=0o600)
        except OSError as err:
            self._give_up(err.strerror or str(err))

    def discard(self, key: bytes) -> None:
        """Remove an entry."""
        try:
            self.path(key).unlink(missing_ok=True)
        except OSError as err:
            self._give_up(err.strerror or str(err))

    @staticmethod
    def _header(key: bytes, payload: bytes) -> bytes:
        return MAGIC + VERSION.to_bytes(2, "little") + key + hashlib.sha256(payload).digest()


@cache
def kernel_cache() -> KernelCache:
    """The cache of this process."""
    return KernelCache(default_directory())
