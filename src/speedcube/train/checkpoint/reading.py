"""Which checkpoint is the newest that is valid, and what it holds."""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
from collections.abc import Iterator
from dataclasses import field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import psutil

from ...dataclass import dataclass
from ...errors import CheckpointError
from . import disk, manifest, names, tensorfile
from .manifest import Manifest, RankFile
from .names import Name

_SCANS: Final = 100  # of a directory in which checkpoints come and go
_NAMED: Final = 3  # damaged checkpoints that an error names


class Skipped(NamedTuple):
    """A checkpoint that was not taken, and why."""

    path: Path
    reason: str


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A checkpoint on disk, as one rank sees it.

    What it holds is read at the first use, and then stays: ``value``, or ``state["model"]``,
    ``in``, ``get`` and ``keys`` where the value is a dict. Every byte that is read is checked
    against the SHA-256 in the manifest.

    Attributes
    ----------
    path
        Its directory.
    manifest
        Step, world size, files, metrics, versions, time.
    skipped
        Newer ones that `newest` did not take, with the reasons.
    rank
        Whose value it gives, where each rank has saved its own.
    map_location
        Where its tensors come to be, as in ``torch.load``.
    """

    path: Path
    manifest: Manifest
    skipped: tuple[Skipped, ...] = ()
    rank: int = 0
    map_location: Any = "cpu"
    # What was read, by file and place: shared by the views of one checkpoint that `of` makes.
    _read: dict[tuple[int, str], dict[str, Any]] = field(default_factory=dict)

    @property
    def step(self) -> int:
        """The step after which it was saved."""
        return self.manifest.step

    @property
    def world_size(self) -> int:
        """The number of ranks of the job that saved it."""
        return self.manifest.world_size

    @property
    def metrics(self) -> dict[str, Any]:
        """The metrics that were reported with it."""
        return self.manifest.metrics

    def of(self, rank: int, map_location: Any = "cpu") -> Checkpoint:
        """Return the same checkpoint as another rank sees it, on a device of its own."""
        if len(self.manifest.files) > 1 and not 0 <= rank < self.world_size:
            raise CheckpointError(f"{self.path} has ranks 0 to {self.world_size - 1}, not {rank}")
        return replace(self, rank=rank, map_location=map_location)

    @property
    def value(self) -> Any:
        """What was saved: this rank's where each rank saved its own, else rank 0's."""
        return self._contents["checkpoint"]

    def rng(self, rank: int | None = None) -> Any:
        """Return the states of a rank's random generators, or None; this rank's by default."""
        wanted = self.rank if rank is None else rank
        return self.of(wanted, self.map_location)._contents["rng"].get(wanted)

    def check(self) -> None:
        """Read every file to its end; `CheckpointError` where one is not what was written."""
        for file in self.manifest.files:
            with _reading(self.path, file) as source:
                tensorfile.check(source, file.bytes)

    def __getitem__(self, key: Any) -> Any:
        return self.value[key]

    def __contains__(self, key: object) -> bool:
        return key in self.value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value)

    def get(self, key: Any, default: Any = None) -> Any:
        """Return the value of a key, or the default."""
        return self.value.get(key, default)

    def keys(self) -> Any:
        """Return the keys of the value."""
        return self.value.keys()

    def __repr__(self) -> str:
        return (
            f"Checkpoint(step={self.step}, world_size={self.world_size}, path={str(self.path)!r})"
        )

    @property
    def _file(self) -> RankFile:
        files = self.manifest.files
        return files[self.rank if len(files) > 1 else 0]

    @property
    def _contents(self) -> dict[str, Any]:
        key = self._file.rank, str(self.map_location)
        if key not in self._read:
            self._read[key] = self._load()
        return self._read[key]

    def _load(self) -> dict[str, Any]:
        needed, free = self._file.bytes, psutil.virtual_memory().available
        if needed > free:
            raise CheckpointError(
                f"{self.path} needs {needed} bytes of memory, and {free} are free"
            )
        with _reading(self.path, self._file) as source:
            contents = tensorfile.load(source, needed, self.map_location)
        if contents.keys() != {"checkpoint", "rng"} or type(contents["rng"]) is not dict:
            raise CheckpointError(f"{self.path / self._file.name} is not a file of a checkpoint")
        return contents


def load(path: str | Path) -> Checkpoint:
    """Return the checkpoint in a directory; its files are read, and checked, when they are used.

    Raises
    ------
    CheckpointError
        Where ``path`` is no checkpoint, by its name and its manifest.
    """
    path = Path(path).absolute()
    name = Name.parse(path.name)
    if name is None:
        raise CheckpointError(f"{path} is not named as a checkpoint is, such as {Name(12)}")
    with _explaining(path), _opened(path, manifest.NAME) as (handle, size):
        if size > manifest.LIMIT:
            raise CheckpointError(f"{manifest.NAME} has {size} bytes")
        with io.FileIO(handle, "rb", closefd=False) as stream:
            text = bytearray(size)
            tensorfile.fill(stream, memoryview(text))
        about = Manifest.loads(bytes(text))
        if about.step != name.step:
            raise CheckpointError(f"{manifest.NAME} belongs to step {about.step}")
    return Checkpoint(path, about)


def newest(root: str | Path, world_size: int | None = None) -> Checkpoint | None:
    """Return the newest valid checkpoint in a directory, None where there is no checkpoint.

    Each file of those that are looked at is read to its end, in little memory. Checkpoints may
    be written and removed meanwhile.

    Parameters
    ----------
    root
        The directory of the checkpoints; it need not exist.
    world_size
        The ranks of the job that will go on. Checkpoints that hold a value of each of another
        number of ranks are not taken.

    Returns
    -------
    Checkpoint or None
        As rank 0 sees it; ``skipped`` says which newer ones are not valid, and why.

    Raises
    ------
    CheckpointError
        Where there are checkpoints and none can be taken: to start anew is the user's decision.
    """
    root = Path(root).absolute()
    for _ in range(_SCANS):
        with contextlib.suppress(_Changed):
            return _scan(root, world_size)
    raise CheckpointError(f"{root} changes faster than it can be read")


class _Changed(Exception):
    """Checkpoints went away while they were looked at."""


def _scan(root: Path, world_size: int | None) -> Checkpoint | None:
    with _explaining(root):
        listed = names.listing(root)
    skipped: list[Skipped] = []
    for name in listed:
        path = root / str(name)
        try:
            checkpoint = load(path)
            _require_ranks(checkpoint, world_size)
            checkpoint.check()
        except CheckpointError as error:
            if not os.path.lexists(path):
                raise _Changed from None
            skipped.append(Skipped(path, str(error)))
        else:
            return replace(checkpoint, skipped=tuple(skipped))
    with _explaining(root):
        if names.listing(root) != listed:
            raise _Changed
    if not skipped:
        return None
    reasons = "; ".join(skip.reason for skip in skipped[:_NAMED])
    more = f"; and {len(skipped) - _NAMED} more" if len(skipped) > _NAMED else ""
    raise CheckpointError(
        f"none of the {len(skipped)} checkpoints in {root} can be taken: {reasons}{more}. "
        "Repair them, or move them away to start anew"
    )


def _require_ranks(checkpoint: Checkpoint, world_size: int | None) -> None:
    wrote = checkpoint.world_size
    if world_size not in (None, wrote) and len(checkpoint.manifest.files) > 1:
        raise CheckpointError(
            f"{checkpoint.path} holds a value of each of {wrote} ranks, and this job "
            f"has {world_size}"
        )


class _Hashed:
    """A file that is hashed as it is read."""

    def __init__(self, stream: io.FileIO) -> None:
        self.stream = stream
        self.digest = hashlib.sha256()

    def readinto(self, buffer: memoryview, /) -> int | None:
        got = self.stream.readinto(buffer)
        if got:
            self.digest.update(buffer[:got])
        return got


@contextlib.contextmanager
def _reading(path: Path, file: RankFile) -> Iterator[_Hashed]:
    """Open a file of a checkpoint; at the end its SHA-256 must be the manifest's."""
    with _explaining(path), _opened(path, file.name) as (handle, size):
        if size != file.bytes:
            raise CheckpointError(f"{file.name} has {size} bytes instead of {file.bytes}")
        with io.FileIO(handle, "rb", closefd=False) as stream:
            source = _Hashed(stream)
            yield source
        if source.digest.hexdigest() != file.sha256:
            raise CheckpointError(f"{file.name} is damaged: its SHA-256 does not match")


@contextlib.contextmanager
def _opened(path: Path, name: str) -> Iterator[tuple[int, int]]:
    """Open a regular file of a checkpoint's directory, which is no link either: handle, size."""
    with contextlib.ExitStack() as stack:
        root = disk.open_directory(path.parent)
        stack.callback(os.close, root)
        directory = disk.open_directory(path.name, inside=root)
        stack.callback(os.close, directory)
        handle, size = disk.open_file(name, inside=directory)
        stack.callback(os.close, handle)
        yield handle, size


@contextlib.contextmanager
def _explaining(path: Path) -> Iterator[None]:
    """Name the checkpoint in every error of reading it."""
    try:
        yield
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror or error}") from error
    except MemoryError as error:
        raise CheckpointError(f"{path} does not fit in memory") from error
    except CheckpointError as error:
        raise CheckpointError(f"{path} is not valid: {error}") from None
