"""How the ranks of a job make one checkpoint, and take one: what they tell each other.

Through the store that all of them share, under names that end in the number of the checkpoint:

    rank k  part/k   its step and its generators' states
    rank 0  begun    the directory that is being written               (with per_rank)
    rank k  file/k   size and SHA-256 of the file it wrote there       (with per_rank)
    rank 0  kept     that the checkpoint is durable
    rank 0  taken    the name of the checkpoint that the job goes on from

Each tells of success or of an error; a rank that hears of an error raises it. So no rank waits for
one that gave up, and a function that goes on after a `CheckpointError` goes on in every rank.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

from ...errors import CheckpointError
from .. import checkpoint as checkpoints
from ..checkpoint import Checkpoint, RankFile
from . import rng

PEER_SECONDS: Final = 600  # for the other ranks to reach a checkpoint
WRITE_SECONDS: Final = 3600  # for a rank to write its file
_DONE: Final = b"+"
_FAILED: Final = b"-"
_CALL: Final = (
    "every rank has to call report(..., checkpoint=...) at the same steps, with the same per_rank, "
    "and latest() where rank 0 does"
)


@dataclass
class Saver:
    """One rank's part in the checkpoints of an attempt."""

    store: Any  # of torch.distributed, made for this attempt
    root: Path
    rank: int
    world_size: int
    keep: int
    count: int = 0  # of checkpoints that this rank began to save

    def save(
        self, step: int, value: Any, per_rank: bool, metrics: Mapping[str, Any]
    ) -> Checkpoint | None:
        """Save a checkpoint together with the other ranks; return when it is durable.

        Rank 0 gets it. Raises `CheckpointError` in every rank where one of them cannot.
        """
        self.count += 1
        if self.rank:
            self._follow(step, value, per_rank)
            return None
        with self._telling("kept"):
            checkpoint = self._lead(step, value, per_rank, metrics)
        checkpoints.prune(checkpoint, self.keep)
        return checkpoint

    def newest(self) -> Checkpoint | None:
        """The newest valid checkpoint, None where there is none: rank 0's choice in every rank.

        Raises
        ------
        CheckpointError
            Where there are some and none is valid, or this rank cannot read the one rank 0 takes.
        """
        if self.rank == 0:
            with self._telling("taken") as words:
                newest = checkpoints.newest(self.root, self.world_size)
                words.append(newest.path.name if newest else "")
            return newest
        name = os.fsdecode(self._heard("taken", 0, WRITE_SECONDS))
        return self._same(name) if name else None

    def _same(self, name: str) -> Checkpoint:
        try:
            checkpoint = checkpoints.load(self.root / name)
            checkpoint.check()
        except CheckpointError as err:
            raise CheckpointError(
                f"rank 0 goes on from {name}, rank {self.rank} cannot: {err}; all hosts of a job "
                "that goes on from checkpoints need to share its directory"
            ) from err
        return checkpoint.of(self.rank)

    def _follow(self, step: int, value: Any, per_rank: bool) -> None:
        """The part of every rank but rank 0."""
        state = rng.capture()
        part = {"step": step, "per_rank": per_rank, "rng": None if per_rank else state}
        self._tell(f"part/{self.rank}", checkpoints.pack(part))
        if per_rank:
            pending = os.fsdecode(self._heard("begun", 0, PEER_SECONDS))
            with self._telling(f"file/{self.rank}") as words:
                file = checkpoints.write_rank(pending, self.rank, value, {self.rank: state})
                words.append(json.dumps(asdict(file)))
        self._heard("kept", 0, PEER_SECONDS + WRITE_SECONDS)

    def _lead(
        self, step: int, value: Any, per_rank: bool, metrics: Mapping[str, Any]
    ) -> Checkpoint:
        """Rank 0's part: write its value, wait for the others' parts, make it a checkpoint."""
        with self._telling("begun") as words:
            states = {0: rng.capture()} | self._states(step, per_rank)
            pending = checkpoints.begin(self.root, step)
            words.append(str(pending.path))
        writing = [partial(checkpoints.write_rank, pending.path, 0, value, states)]
        if per_rank:
            writing += [partial(self._file, rank) for rank in self._others]
        try:
            files = _all(writing)
        except BaseException:
            pending.close()
            raise
        return checkpoints.commit(pending, self.world_size, files, metrics)

    @property
    def _others(self) -> range:
        return range(1, self.world_size)

    def _states(self, step: int, per_rank: bool) -> dict[int, Any]:
        """The states of the other ranks' generators that belong in rank 0's file."""
        parts = {}
        for rank in self._others:
            packed = self._fetched(f"part/{rank}", rank, PEER_SECONDS)
            parts[rank] = part = checkpoints.unpack(packed)
            if (part["step"], part["per_rank"]) != (step, per_rank):
                raise CheckpointError(
                    f"rank 0 saves a checkpoint at step {step} with per_rank={per_rank}, rank "
                    f"{rank} at step {part['step']} with per_rank={part['per_rank']}: {_CALL}"
                )
        for name in ("begun", "kept", "taken"):  # of the one before, which all ranks have left
            self.store.delete_key(f"{name}/{self.count - 1}")
        return {} if per_rank else {rank: part["rng"] for rank, part in parts.items()}

    def _file(self, rank: int) -> RankFile:
        return RankFile(**json.loads(self._fetched(f"file/{rank}", rank, WRITE_SECONDS)))

    def _fetched(self, name: str, rank: int, seconds: float) -> bytes:
        """What only this rank wants to hear."""
        answer = self._heard(name, rank, seconds)
        self.store.delete_key(self._key(name))
        return answer

    def _heard(self, name: str, rank: int, seconds: float) -> bytes:
        """What another rank has told, or will have soon."""
        from torch.distributed import DistStoreError

        key = self._key(name)
        try:
            self.store.wait([key], timedelta(seconds=seconds))
        except DistStoreError as err:
            raise CheckpointError(
                f"rank {rank} was not heard of within {seconds:g} s: {_CALL}"
            ) from err
        answer: bytes = self.store.get(key)
        if answer.startswith(_FAILED):
            raise CheckpointError(f"rank {rank}: {answer[1:].decode()}")
        return answer[1:]

    def _tell(self, name: str, what: bytes) -> None:
        self.store.set(self._key(name), _DONE + what)

    @contextmanager
    def _telling(self, name: str) -> Iterator[list[str]]:
        """Tell the others under ``name`` what the body has listed, or the error it ended with."""
        words: list[str] = []
        try:
            yield words
        except Exception as err:
            text = str(err).encode(errors="backslashreplace")
            self.store.set(self._key(name), _FAILED + text)
            raise
        self._tell(name, os.fsencode("".join(words)))

    def _key(self, name: str) -> str:
        return f"{name}/{self.count}"


def _all(writing: Iterable[Callable[[], RankFile]]) -> list[RankFile]:
    """Every file, or the first error, when no rank writes any more."""
    files, errors = [], []
    for written in writing:
        try:
            files.append(written())
        except CheckpointError as err:
            errors.append(err)
    if errors:
        raise errors[0]
    return files
