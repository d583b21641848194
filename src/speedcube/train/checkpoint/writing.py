"""How a checkpoint comes to be: a fresh directory, fsynced file by file, renamed when whole.

    pending = begin(root, step)                        rank 0
    file = write_rank(pending.path, rank, value, rng)  rank 0, or each rank
    checkpoint = commit(pending, world_size, files)    rank 0, when all have written

A process that is killed at any instant leaves either a checkpoint under its name or a directory
that no reader looks at. Nothing is replaced or changed; older ones are removed when a newer one
is durable.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...dataclass import dataclass
from ...errors import CheckpointError
from ...files import OWN_FOLDER
from . import disk, manifest, names, tensorfile
from .manifest import Manifest, RankFile
from .names import Name
from .reading import Checkpoint


@dataclass(frozen=True)
class Pending:
    """A checkpoint that is being written, and the lock of the one process that may."""

    root: Path
    step: int
    path: Path
    lock: int

    def close(self) -> None:
        """Let go of the lock, and remove what was not committed."""
        disk.remove(self.path)
        os.close(self.lock)


def begin(root: str | Path, step: int) -> Pending:
    """Make the directory that ranks write their files into.

    Parameters
    ----------
    root
        Where the checkpoints are; made if it does not exist.
    step
        The step that will be in the checkpoint's name.

    Raises
    ------
    CheckpointError
        For a step that is no integer from 0 to 10**18 - 1; where the directory cannot be made, or
        another process writes checkpoints to ``root``.
    """
    root = Path(root).absolute()
    step = Name.of_step(step).step
    path = root / names.pending(step)
    with disk.writing(path, 0):
        disk.make_directories(root)
        held = disk.lock(root)
        if held is None:
            raise CheckpointError(
                f"another process is writing a checkpoint to {root}: give each job a directory"
            )
        try:
            os.mkdir(path, OWN_FOLDER)
        except BaseException:
            os.close(held)
            raise
    return Pending(root, step, path, held)


def write_rank(pending: str | Path, rank: int, value: Any, rng: Mapping[int, Any]) -> RankFile:
    """Write one rank's file and wait until the disk has it.

    Parameters
    ----------
    pending
        The ``path`` of `begin`'s result, which other ranks get from rank 0.
    rank
        The rank that writes.
    value
        What the user passed: see `save`.
    rng
        The states of the random generators that belong in this file, by rank: every rank's in
        rank 0's file where only that is written, else the writer's own.

    Returns
    -------
    RankFile
        What `commit` needs to know of the file; a few numbers.

    Raises
    ------
    CheckpointError
        For a value that cannot be saved or a file that cannot be written.
    """
    contents = tensorfile.contents({"checkpoint": value, "rng": dict(rng)})
    directory = Path(pending)
    path = directory / RankFile(rank, 0, "").name
    with disk.writing(path, contents.nbytes):
        disk.require_space(directory, contents.nbytes)
        return RankFile(rank, *disk.write_file(path, contents.blocks()))


def commit(
    pending: Pending,
    world_size: int,
    files: Sequence[RankFile],
    metrics: Mapping[str, Any] | None = None,
) -> Checkpoint:
    """Make a checkpoint of what has been written; when this returns it is durable.

    Parameters
    ----------
    pending
        `begin`'s result, which is closed whether this succeeds or not.
    world_size
        The ranks of the job.
    files
        `write_rank`'s results: rank 0's alone, or every rank's in rank order.
    metrics
        Numbers and strings by name that describe the checkpoint, or None.

    Raises
    ------
    CheckpointError
        Where files are missing or the disk is full; older checkpoints are as they were.
    """
    try:
        if [file.rank for file in files] not in ([0], list(range(world_size))):
            raise CheckpointError(
                f"a checkpoint of {world_size} ranks needs the file of rank 0 or of each, in order"
            )
        about = Manifest(pending.step, world_size, tuple(files), dict(metrics or {}))
        text = about.dumps()
        with disk.writing(pending.path, len(text)):
            for file in files:
                _require(pending.path, file)
            disk.write_file(pending.path / manifest.NAME, [text])
            disk.sync_directory(pending.path)
            same = [
                name.generation for name in names.listing(pending.root) if name.step == about.step
            ]
            path = pending.root / str(Name(about.step, max(same, default=0) + 1))
            os.rename(pending.path, path)
            disk.sync_directory(pending.root)
    finally:
        pending.close()
    return Checkpoint(path, about)


def _require(directory: Path, file: RankFile) -> None:
    """Raise where this process does not see the file that a rank has written."""
    try:
        size = os.stat(directory / file.name).st_size
    except FileNotFoundError:
        size = None
    if size != file.bytes:
        raise CheckpointError(
            f"rank {file.rank} wrote {file.bytes} bytes to {directory / file.name}, here are "
            f"{size}: all hosts of a job that saves per rank need to share this directory"
        )


def save(
    root: str | Path,
    step: int,
    value: Any,
    rng_by_rank: Mapping[int, Any] | None = None,
    world_size: int = 1,
    keep: int | None = None,
    metrics: Mapping[str, Any] | None = None,
) -> Checkpoint:
    """Save one value for all ranks; when this returns it is durable.

    Parameters
    ----------
    root
        The directory of the checkpoints.
    step
        The step the value belongs to. A step that was saved before is saved beside that one,
        which is removed after.
    value
        Any nesting of dicts (keys: strings, numbers, None), lists, tuples, tensors, NumPy arrays
        and scalars, strings, bytes, numbers and None. Tensors come back dense and contiguous,
        without gradients; equal views of one memory, as tied weights are, come back as one.
        ``OrderedDict``, ``defaultdict`` and ``torch.Size`` come back as dict and tuple.
    rng_by_rank
        Each rank's ``rng.capture()``.
    world_size
        The ranks of the job.
    keep
        How many checkpoints to keep, this one among them; None keeps all.
    metrics
        Numbers and strings by name that describe the checkpoint.

    Raises
    ------
    CheckpointError
        For a value that cannot be saved, with the place in it; for a disk that is full, with the
        path, the bytes needed and free. Older checkpoints are as they were.
    """
    _require_keep(keep)
    pending = begin(root, step)
    try:
        file = write_rank(pending.path, 0, value, rng_by_rank or {})
    except BaseException:
        pending.close()
        raise
    checkpoint = commit(pending, world_size, [file], metrics)
    if keep is not None:
        prune(checkpoint, keep)
    return checkpoint


def prune(newest: Checkpoint, keep: int) -> None:
    """Remove all before ``newest`` but the last ``keep - 1``, and the older ones of its step.

    ``newest`` was just written, so a valid one is left at every instant. Later ones, which a job
    that went on from an older one may have before it, are left alone.
    """
    _require_keep(keep)
    root, last = newest.path.parent, Name.parse(newest.path.name)
    assert last is not None
    older = [name for name in names.listing(root) if name < last]
    again = [name for name in older if name.step == last.step]
    before = [name for name in older if name.step < last.step]
    for name in (*again, *before[keep - 1 :]):
        gone = root / names.pending(name.step)
        try:
            os.rename(root / str(name), gone)
        except OSError:
            continue  # another reader of the same rule was faster, or it stays
        disk.remove(gone)


def _require_keep(keep: int | None) -> None:
    if keep is not None and keep < 1:
        raise CheckpointError(f"keep={keep}: at least one checkpoint is kept")


def collect(root: str | Path) -> None:
    """Remove what killed processes left; nothing where a process is writing now.

    To be called before a job starts: a process does not see its own writing as another's.
    """
    root = Path(root)
    if not root.is_dir():
        return
    with disk.writing(root, 0):
        held = disk.lock(root, wait=0)
        if held is None:
            return
        try:
            for path in names.litter(root):
                disk.remove(path)
        finally:
            os.close(held)
