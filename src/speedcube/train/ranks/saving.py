"""How the ranks of a job make one checkpoint, and take one: what they tell each other.

Through the store that all of them share, under names that end in the step of the checkpoint:

    rank k  part/k   its generators' states
    rank 0  begun    the directory that is being written               (with per_rank)
    rank k  file/k   size and SHA-256 of the file it wrote there       (with per_rank)
    rank 0  kept     that the checkpoint is durable
    rank 0  taken    the name of the checkpoint that the job goes on from (the n-th time it asks)

Each tells of success or of an error; a rank that hears of an error raises it. So no rank waits for
one that gave up, and a function that goes on after a `CheckpointError` goes on in every rank.

Rank 0's value is all that a checkpoint needs without per_rank. A rank that does not come to it,
which `peers` finds out, is left out with its generators' states, and no longer waited for until it
comes to one. With per_rank it is an error.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

from ...dataclass import dataclass
from ...errors import CheckpointError
from .. import checkpoint as checkpoints
from ..checkpoint import Checkpoint, RankFile
from . import rng
from .peers import Absent, Peers, Wait

PEER_SECONDS: Final = 600  # for the other ranks to reach a checkpoint
ALONE_SECONDS: Final = 30  # for one of which rank 0 has never heard, and which it can do without
WRITE_SECONDS: Final = 3600  # for a rank to write its file
_DONE: Final = b"+"
_FAILED: Final = b"-"
_CALL: Final = (
    "every rank has to call report(..., checkpoint=..., per_rank=True) at the same steps; rank 0 "
    "alone may call report(..., checkpoint=...) where its state is everybody's"
)
_CALL_LATEST: Final = "every rank that calls latest() gets rank 0's choice: call it there, too"


@dataclass
class Saver:
    """One rank's part in the checkpoints of an attempt."""

    store: Any  # of torch.distributed, made for this attempt
    root: Path
    rank: int
    world_size: int
    keep: int
    peers: Peers
    asked: int = 0  # how often this rank has asked for the newest
    told: list[str] = field(default_factory=list)  # keys of rank 0's words that are still there
    without: dict[int, int] = field(default_factory=dict)  # how many were joined by who is left out

    def save(
        self, step: int, value: Any, per_rank: bool, metrics: Mapping[str, Any]
    ) -> Checkpoint | None:
        """Save a checkpoint together with the ranks that come; return when it is durable.

        Rank 0 gets it. Raises `CheckpointError` in every rank where one of them cannot.
        """
        if self.rank:
            self._follow(step, value, per_rank)
            return None
        with self._telling(f"kept/{step}"):
            checkpoint = self._lead(step, value, per_rank, metrics)
        self.peers.saved = step
        checkpoints.prune(checkpoint, self.keep)
        return checkpoint

    def newest(self, step: int = 0) -> Checkpoint | None:
        """The newest valid checkpoint, None where there is none: rank 0's choice in every rank.

        ``step`` is where this rank is.

        Raises
        ------
        CheckpointError
            Where there are some and none is valid, or this rank cannot read the one rank 0 takes.
        """
        self.asked += 1
        key = f"taken/{self.asked}"
        if self.rank == 0:
            with self._telling(key) as words:
                newest = checkpoints.newest(self.root, self.world_size)
                words.append(newest.path.name if newest else "")
            return newest
        try:
            wait = Wait("latest()", step + 1, {0: key}, key)
            name = os.fsdecode(self._answer(wait, WRITE_SECONDS))
        except Absent as err:
            raise CheckpointError(
                f"rank {self.rank} waits in latest(), but {err}: {_CALL_LATEST}"
            ) from None
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
        part = {"per_rank": per_rank, "rng": None if per_rank else state}
        self.peers.joined += 1
        self._tell(f"part/{self.rank}/{step}", checkpoints.pack(part))
        try:
            if per_rank:
                pending = os.fsdecode(self._heard(f"begun/{step}", 0, step, PEER_SECONDS))
                with self._telling(f"file/{self.rank}/{step}") as words:
                    file = checkpoints.write_rank(pending, self.rank, value, {self.rank: state})
                    words.append(json.dumps(asdict(file)))
            self._heard(f"kept/{step}", 0, step, PEER_SECONDS + WRITE_SECONDS)
        except Absent as err:
            self.store.delete_key(f"part/{self.rank}/{step}")
            if per_rank or self.peers.where(0).saved < step:
                raise CheckpointError(
                    f"rank {self.rank} saves a checkpoint at step {step}, but {err}: {_CALL}"
                ) from None

    def _lead(
        self, step: int, value: Any, per_rank: bool, metrics: Mapping[str, Any]
    ) -> Checkpoint:
        """Rank 0's part: write its value, wait for the others' parts, make it a checkpoint."""
        with self._telling(f"begun/{step}") as words:
            states = {0: rng.capture()} | self._states(step, per_rank)
            pending = checkpoints.begin(self.root, step)
            words.append(str(pending.path))
        writing = [partial(checkpoints.write_rank, pending.path, 0, value, states)]
        if per_rank:
            writing += [partial(self._file, rank, step) for rank in self._others]
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
        parts = {rank: self._part(rank, step, per_rank) for rank in self._others}
        for key in self.told:  # of the one before, which all who came to this one have left
            self.store.delete_key(key)
        self.told = [f"begun/{step}", f"kept/{step}", f"taken/{self.asked}"]
        return {rank: part["rng"] for rank, part in parts.items() if part and not per_rank}

    def _part(self, rank: int, step: int, per_rank: bool) -> dict[str, Any] | None:
        """What a rank adds to a checkpoint; None where it is made without that rank."""
        key = f"part/{rank}/{step}"
        joined = self.peers.where(rank).joined
        if not per_rank and self.without.get(rank) == joined and not self.store.check([key]):
            return None
        seconds = PEER_SECONDS if per_rank or joined else ALONE_SECONDS
        try:
            packed = self._fetched(key, rank, step, seconds)
        except Absent as err:
            if per_rank:
                raise CheckpointError(
                    f"rank 0 saves a checkpoint at step {step} with per_rank=True, but {err}: "
                    f"{_CALL}"
                ) from None
            self.without[rank] = joined
            return None
        self.without.pop(rank, None)
        part: dict[str, Any] = checkpoints.unpack(packed)
        if part["per_rank"] != per_rank:
            raise CheckpointError(
                f"rank 0 saves a checkpoint at step {step} with per_rank={per_rank}, rank "
                f"{rank} with per_rank={part['per_rank']}: {_CALL}"
            )
        return part

    def _file(self, rank: int, step: int) -> RankFile:
        try:
            told = self._fetched(f"file/{rank}/{step}", rank, step, WRITE_SECONDS)
        except Absent as err:
            raise CheckpointError(f"{err}, and did not write its file") from None
        return RankFile(**json.loads(told))

    def _fetched(self, key: str, rank: int, step: int, seconds: float) -> bytes:
        """What only this rank wants to hear."""
        try:
            return self._heard(key, rank, step, seconds)
        finally:
            self.store.delete_key(key)

    def _heard(self, key: str, rank: int, step: int, seconds: float) -> bytes:
        """What another rank has told, or will have soon; `Absent` where it will not."""
        return self._answer(Wait(f"its report {step}", step, {rank: key}, key), seconds)

    def _answer(self, wait: Wait, seconds: float) -> bytes:
        from torch.distributed import DistStoreError

        (rank,) = wait.words
        try:
            answer = self.peers.answer(self.store, wait, timedelta(seconds=seconds))
        except DistStoreError as err:
            if seconds == ALONE_SECONDS:  # who is not needed
                raise Absent(rank, f"was not heard of within {seconds:g} s") from None
            raise CheckpointError(
                f"rank {rank} was not heard of within {seconds:g} s: {_CALL}"
            ) from err
        if answer.startswith(_FAILED):
            raise CheckpointError(f"rank {rank}: {answer[1:].decode()}")
        return answer[1:]

    def _tell(self, key: str, what: bytes) -> None:
        self.store.set(key, _DONE + what)

    @contextmanager
    def _telling(self, key: str) -> Iterator[list[str]]:
        """Tell the others under ``key`` what the body has listed, or the error it ended with."""
        words: list[str] = []
        try:
            yield words
        except Exception as err:
            text = str(err).encode(errors="backslashreplace")
            self.store.set(key, _FAILED + text)
            raise
        self._tell(key, os.fsencode("".join(words)))


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
