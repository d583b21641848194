"""Where the other ranks are, so that no rank waits for one that will not come.

Each rank has a witness, a thread with a connection of its own to the store. While a rank waits
for a word of another, its witness asks all where they are, a few times a second, and theirs post
it. Whoever has returned, is past the step, or has gone on to an operation that waits for this
rank, does not come: then the witness writes so where the word would stand, and the waiting ends.
A store in a file keeps all that is ever written, so nothing is posted unasked.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, field
from pathlib import Path
from typing import Any, Final

from ...dataclass import dataclass

PERIOD: Final = 0.15  # seconds between two looks
ASKED: Final = "asked"  # the key of the newest question, a new value each time
IDLE_SHARE: Final = 0.05  # of the time: a main thread that runs for less waits for something
ABSENT: Final = b"?"  # begins what a witness writes


@dataclass(frozen=True)
class Where:
    """How far a rank is."""

    posts: int = 0  # how often it has said so
    passed: int = 0  # its reports that are over
    joined: int = 0  # checkpoints that it has begun to make with others
    saved: int = 0  # the step of the newest one that is durable; rank 0's
    returned: bool = False
    idle: bool = False  # its main thread waits, for whatever
    begun: Mapping[str, int] = field(default_factory=dict)  # operations, by group and device
    waits: str = ""  # in what it waits for another rank


@dataclass(frozen=True)
class Wait:
    """A rank waits for ``answer``, a key, which is told when ranks have said their ``words``.

    Who is past report ``step`` will not; ``place`` says in which call it waits.
    """

    place: str
    step: int
    words: Mapping[int, str]  # the key of what a rank has to say
    answer: str
    store: Any = None  # where the keys are, if not in the store of `Peers`


class Absent(Exception):
    """A rank that is waited for will not come; ``why`` says how that is known."""

    def __init__(self, rank: int, why: str) -> None:
        super().__init__(f"rank {rank} {why}")
        self.rank, self.why = rank, why


class Peers:
    """A rank's place among the others; ``store`` is a connection that nobody else uses."""

    def __init__(self, store: Any, rank: int) -> None:
        self.passed = self.joined = self.saved = 0
        self.returned = False
        self._store, self._rank = store, rank
        self._wait: Wait | None = None
        self._looked: tuple[Wait, dict[int, list[int]]] | None = None  # posts of others since
        self._asked = b""  # the newest question that was answered
        self._wake = threading.Event()

    def start(self) -> None:
        """Begin to post and to look."""
        threading.Thread(target=self._witness, name="witness", daemon=True).start()

    def leave(self) -> None:
        """Say that the function of this rank has returned."""
        self.returned = True
        self._wake.set()

    def answer(self, store: Any, wait: Wait, seconds: Any) -> bytes:
        """What is told under the wait's ``answer``.

        Raises `Absent` where a rank will not say its word, the store's error after ``seconds``.
        """
        self._wait = wait
        try:
            store.wait([wait.answer], seconds)
        finally:
            self._wait = None
        said: bytes = store.get(wait.answer)
        if said.startswith(ABSENT):
            raise Absent(*json.loads(said[1:]))
        return said

    def where(self, rank: int) -> Where:
        """Where a rank was when it last said so."""
        key = f"at/{rank}"
        return Where(**json.loads(self._store.get(key))) if self._store.check([key]) else Where()

    def _witness(self) -> None:
        ran, begun, posts = 0.0, dict[str, int](), 0
        with suppress(Exception):  # the store is gone, and the job with it
            while True:
                woken = self._wake.wait(PERIOD)
                self._wake.clear()
                before, ran = ran, _main_thread_seconds()
                last, begun, posts = begun, _begun(), posts + 1
                idle = not woken and last == begun and ran - before < IDLE_SHARE * PERIOD
                wait = self._wait
                if wait is not None:
                    self._store.set(ASKED, f"{self._rank} {posts}")
                if woken or self._is_asked():
                    here = Where(
                        posts,
                        self.passed,
                        self.joined,
                        self.saved,
                        self.returned,
                        idle,
                        begun,
                        wait.place if wait is not None else "",
                    )
                    self._store.set(f"at/{self._rank}", json.dumps(asdict(here)))
                if wait is not None:
                    self._look(wait, begun)

    def _is_asked(self) -> bool:
        """Whether a rank has asked where the others are since the last answer."""
        newest = self._store.get(ASKED) if self._store.check([ASKED]) else b""
        before, self._asked = self._asked, newest
        return bool(newest != before)

    def _look(self, wait: Wait, begun: Mapping[str, int]) -> None:
        """Tell the waiting thread of a rank that does not come."""
        there = {rank: self.where(rank) for rank in wait.words if rank != self._rank}
        if self._looked is None or self._looked[0] is not wait:
            self._looked = wait, {rank: [] for rank in there}
        for rank, where in there.items():
            posts = self._looked[1][rank]
            posts += [where.posts] * (where.posts not in posts)
            # The first is older than the question, the next may tell of a time before the wait.
            why = _absence(where, wait, begun, fresh=len(posts) > 2)
            store = self._store if wait.store is None else wait.store
            if why and not store.check([wait.words[rank]]):  # said before it goes on
                told = ABSENT + json.dumps([rank, why]).encode()
                store.compare_set(wait.answer, "", told.decode())
                return


def _absence(there: Where, wait: Wait, begun: Mapping[str, int], fresh: bool) -> str:
    """How it is known that a rank does not come to where this one waits; "" where it may.

    A group's operations are begun in the same order by all, and a rank that waits here has begun
    those before this place. Messages between two ranks count, too, where the backend is gloo: so
    the one that is ahead must also wait for something.
    """
    if there.returned:
        return f"has returned after {there.passed} reports"
    if there.passed >= wait.step:
        return f"has gone on from its report {wait.step}"
    if fresh and there.waits and there.waits != wait.place:
        return f"waits in {there.waits}"
    ahead = (name for name, count in begun.items() if there.begun.get(name, 0) > count)
    if any(there.idle or "gloo" not in name for name in ahead):
        return f"has made {there.passed} reports and waits in an operation of the ranks' group"
    return ""


def _begun() -> dict[str, int]:
    """How many operations this rank has begun in each group of ranks."""
    from torch.distributed import distributed_c10d as groups

    counts = {}
    with suppress(Exception):  # a group is being made or destroyed; a PyTorch without these
        for group, name in list(groups._world.pg_names.items()):
            for device in group._device_types:
                backend = group._get_backend(device)
                kind = f"{name} {device.type} {backend.name()}"
                counts[kind] = int(backend._get_sequence_number_for_group())
    return counts


def _main_thread_seconds() -> float:
    """CPU time of the main thread, and time that it waited for a CPU."""
    process = os.getpid()
    ran, waited, _ = Path(f"/proc/{process}/task/{process}/schedstat").read_text().split()
    return (int(ran) + int(waited)) / 1e9
