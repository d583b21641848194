"""The kernel cache: one file a kernel, checked before it is trusted, never a pickle.

    file ::= magic version key tag payload

A damaged entry is deleted and recompiled. Files are written beside their place and renamed there,
so a reader sees all of one or none. A directory that cannot be written is reported once and done
without. The directory is ``$SPEEDCUBE_CACHE_DIR``, else ``$XDG_CACHE_HOME/speedcube``, else
``~/.cache/speedcube``; it is created for its owner only, and refused if others may write to it or
put another in its place (`own_directory`).

The tag is BLAKE2b of version, key and payload, keyed by a secret: 32 random bytes that lie in the
directory for its owner only. It tells a process whether this user's speedcube wrote the entry, in
this directory and under this key: bits that flipped, entries that were copied from elsewhere or
moved, and what somebody wrote while the directory was open to him have no right tag, however well
formed. It does not keep out who can read the secret; but that is this user, or the administrator,
and either can run code anyhow. What has a right tag is checked as an object (`elf`) all the same.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import Final, TypeVar

from ..__about__ import __version__
from ..dataclass import dataclass
from ..late import hashlib
from ..shown import line
from .own_directory import OwnDirectory

MAGIC: Final = b"SPEEDCUBE-KERNEL"
VERSION: Final = 2
MOST: Final = 16 << 20  # bytes of an entry; a kernel of the longest formulas has 0.2 MB
SECRET: Final = ".secret"
_HEADER: Final = len(MAGIC) + 2 + 32 + 32
_SECRET_BYTES: Final = 32
_T = TypeVar("_T")


def content_key(*parts: object) -> bytes:
    """SHA-256 of everything that decides what a compiler will produce."""
    digest = hashlib.sha256()
    for part in parts:
        text = part if isinstance(part, bytes) else repr(part).encode()
        digest.update(len(text).to_bytes(8, "little"))
        digest.update(text)
    return digest.digest()


# The modules that make a kernel's text of its program, for both printers and for each; a test
# compares them with what the printers import. What makes the program (rules, functions, samplers)
# is left out: the program is part of each key.
_COMMON: Final = (
    "../dataclass ../dtypes ../expr/graph ../expr/nodes ../expr/sources/read ../expr/sources/tiled "
    "../expr/space ../expr/through/node ../philox builder folds ir legal many program "
    "math/arithmetic math/philox math/positions math/stream_coefficients math/streams math/variates"
)
_PRINTERS: Final = {
    "llvm": f"{_COMMON} llvm/accumulator llvm/compile llvm/elements llvm/emit "
    "llvm/exact_singles llvm/exact_sum llvm/files/pieces "
    "llvm/folded/columns llvm/folded/compared llvm/folded/counts llvm/folded/nest "
    "llvm/folded/rows llvm/folded/which llvm/folds llvm/function "
    "llvm/grouping/deal llvm/grouping/near llvm/grouping/places llvm/grouping/products "
    "llvm/grouping/program llvm/hooks llvm/loops "
    "llvm/many/adding "
    "llvm/many/blocks llvm/many/columns llvm/many/doubles "
    "llvm/many/finish llvm/many/integers llvm/many/nest llvm/many/onto llvm/many/quick "
    "llvm/many/rows llvm/many/short llvm/many/singles llvm/many/sums llvm/memory "
    "llvm/nests/columns llvm/nests/rows llvm/nests/together "
    "llvm/ordering/choose llvm/ordering/even llvm/ordering/packed llvm/ordering/part "
    "llvm/ordering/radix llvm/ordering/sieve llvm/ordering/slide llvm/ordering/table "
    "llvm/ordering/tally "
    "llvm/ordering/weigh llvm/pairs/emit llvm/pairs/frame llvm/pairs/packing llvm/pairs/results "
    "llvm/pairs/sizes llvm/random llvm/scratch llvm/simd llvm/sinks llvm/text orders "
    "llvm/scans/emit llvm/scans/frame "
    "llvm/scans/layout llvm/scans/limb_sums llvm/scans/products llvm/scans/several "
    "llvm/scans/split_sums llvm/scans/sums llvm/scans/tree llvm/scans/columns/frame "
    "llvm/scans/columns/layout llvm/scans/columns/products llvm/scans/columns/sums",
    "cuda": f"{_COMMON} cuda/compile cuda/emit cuda/exact_sum cuda/folds cuda/hooks cuda/loops "
    "cuda/many/batches cuda/many/finish cuda/many/folds cuda/many/near cuda/many/nest "
    "cuda/many/state cuda/many/teams cuda/ordering/distinct "
    "cuda/ordering/foremost cuda/ordering/keys cuda/ordering/lines cuda/ordering/rounding "
    "cuda/ordering/sieve exact/integers "
    "cuda/ordering/tally cuda/ordering/weigh cuda/ordering/words "
    "cuda/scans/columns cuda/scans/emit cuda/scans/fixed "
    "cuda/scans/layout cuda/scans/lines cuda/scans/products cuda/scans/range cuda/scans/trees "
    "cuda/prelude cuda/segments cuda/sinks cuda/text cuda/wide",
}


@cache
def generator(printer: str) -> bytes:
    """A key of the printer "llvm" or "cuda" itself: a change of it makes all its kernels anew.

    Of sizes and times of its files: reading them, or listing their folders, takes too long.
    """
    here = os.open(os.path.dirname(__file__), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        states = [os.stat(f"{name}.py", dir_fd=here) for name in _PRINTERS[printer].split()]
    finally:
        os.close(here)
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
    """Compiled kernels by content key; ``problem`` says why the directory cannot be used."""

    directory: Path
    usable: bool = field(init=False, default=True)
    problem: str = field(init=False, default="")
    hits: int = field(init=False, default=0)
    misses: int = field(init=False, default=0)
    _files: OwnDirectory | None = field(init=False, default=None, repr=False)
    _secret: bytes = field(init=False, default=b"", repr=False)

    def __post_init__(self) -> None:
        self._tried(self._open)

    def _open(self) -> None:
        self._files = OwnDirectory(self.directory)
        self._secret = _secret(self._files)

    def _tried(self, action: Callable[[], _T]) -> _T | None:
        """What ``action()`` returns; where the system refuses it, the cache is done without."""
        try:
            return action()
        except OSError as err:
            if self.usable:
                self.usable, self.problem = False, line(err.strerror or str(err))
                warnings.warn(self._advice(), RuntimeWarning, stacklevel=5)
        return None

    def _advice(self) -> str:
        return (
            f"the kernel cache {line(str(self.directory))} is not used: {self.problem}. Kernels "
            "are compiled anew in each process; set SPEEDCUBE_CACHE_DIR to a directory of yours "
            "that nobody else can write to"
        )

    def name(self, key: bytes) -> str:
        return f"{key.hex()[:40]}.kernel"

    def path(self, key: bytes) -> Path:
        return self.directory / self.name(key)

    def holds(self, key: bytes) -> bool:
        """Whether there is an entry, whole or damaged."""
        return self.usable and self._files is not None and self._files.holds(self.name(key))

    def get(self, key: bytes) -> bytes | None:
        """The payload stored under ``key``, or None; an entry that is not ours is removed."""
        files, name = self._files, self.name(key)
        if not self.usable or files is None:
            return None
        raw = self._tried(lambda: files.read(name, MOST))
        if raw is not None:
            payload = raw[_HEADER:]
            if raw[:_HEADER] == self._header(key, payload):
                self.hits += 1
                return payload
            self.discard(key)
        self.misses += 1
        return None

    def put(self, key: bytes, payload: bytes) -> None:
        """Store ``payload``; failing to is not an error."""
        files, name = self._files, self.name(key)
        if self.usable and files is not None and len(payload) <= MOST - _HEADER:
            content = self._header(key, payload) + payload
            self._tried(lambda: files.write(name, content))

    def discard(self, key: bytes) -> None:
        """Remove an entry."""
        files, name = self._files, self.name(key)
        if self.usable and files is not None:
            self._tried(lambda: files.remove(name))

    def _header(self, key: bytes, payload: bytes) -> bytes:
        start = MAGIC + VERSION.to_bytes(2, "little") + key
        tag = hashlib.blake2b(start, digest_size=32, key=self._secret)
        tag.update(payload)
        return start + tag.digest()


def _secret(files: OwnDirectory) -> bytes:
    """The secret of a cache's directory, made by the first who needs it."""
    known = files.read(SECRET, _SECRET_BYTES)
    if known is not None and len(known) == _SECRET_BYTES:
        return known
    with files.locked():
        known = files.read(SECRET, _SECRET_BYTES)  # somebody was faster
        if known is not None and len(known) == _SECRET_BYTES:
            return known
        files.write(SECRET, os.urandom(_SECRET_BYTES), durable=True)
    # Where there are no locks, another process may have written later: its secret is the one.
    return files.read(SECRET, _SECRET_BYTES) or b""


@cache
def kernel_cache() -> KernelCache:
    """The cache of this process."""
    return KernelCache(default_directory())
