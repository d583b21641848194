"""Recollection that are kept for computations to come, with what tells whether they still hold."""

from __future__ import annotations

import threading
import weakref
from dataclasses import field
from typing import Any, Final, TypeAlias

from ...dataclass import dataclass
from ...expr.nodes import Stored
from .below import Thing, Work
from .unwritten import Witness

# What so many computations that read others did not read is dropped, where more bytes are kept.
IDLE: Final = 8
IDLE_BYTES: Final = 1 << 25


Witnesses: TypeAlias = dict[tuple[int, int, int], Witness]  # by the names of what is read


@dataclass(eq=False)
class Remembered:
    """The values of a thing, as long as what they are made of is what it was."""

    thing: weakref.ref[Thing]
    stored: Stored
    witnesses: Witnesses
    on_gpu: bool
    work: Work
    last: int = 0  # the computation that read them last

    @property
    def nbytes(self) -> int:
        return int(self.stored.buffer.nbytes)


@dataclass(eq=False)
class Recollection:
    """What is kept, by the ids of things; they go with the things."""

    kept: dict[int, Remembered] = field(default_factory=dict)
    nbytes: int = 0  # with the copies of data that tell whether these were written to
    computations: int = 0  # that read any
    _users: dict[int, int] = field(default_factory=dict)  # of a copy: how many values it is for
    _lock: Any = field(default_factory=threading.RLock)  # a thing may die while it is held

    def add(
        self, thing: Thing, stored: Stored, witnesses: Witnesses, gpu: bool, work: Work
    ) -> Remembered:
        """Keep ``stored`` as the values of ``thing``."""
        name = id(thing)
        ref = weakref.ref(thing, self._forgetting(name))
        one = Remembered(ref, stored, witnesses, gpu, work, self.computations)
        with self._lock:
            self.drop(name)
            self.kept[name] = one
            self.nbytes += one.nbytes
            for witness in witnesses.values():
                users = self._users.get(id(witness), 0)
                self._users[id(witness)] = users + 1
                self.nbytes += 0 if users else witness.nbytes
        return one

    def _forgetting(self, name: int) -> Any:
        def gone(ref: weakref.ref[Thing]) -> None:
            if (one := self.kept.get(name)) is not None and one.thing is ref:
                self.drop(name)

        return gone

    def drop(self, name: int) -> None:
        """Keep the values of the thing of that id no more."""
        with self._lock:
            one = self.kept.pop(name, None)
            if one is None:
                return
            self.nbytes -= one.nbytes
            for witness in one.witnesses.values():
                self._users[id(witness)] -= 1
                if not self._users[id(witness)]:
                    del self._users[id(witness)]
                    self.nbytes -= witness.nbytes

    def clear(self) -> None:
        """Keep nothing."""
        with self._lock:
            self.kept.clear()
            self._users.clear()
            self.nbytes = 0

    def make_room(self, most: int) -> None:
        """Drop what was not read for longest, until no more than ``most`` bytes are kept."""
        if self.nbytes <= most:
            return
        with self._lock:
            for name, one in sorted(self.kept.items(), key=lambda pair: pair[1].last):
                if self.nbytes <= most or one.last == self.computations:
                    return
                self.drop(name)

    def read(self) -> None:
        """One more computation read some: what many did not read is dropped, where it is much."""
        with self._lock:
            self.computations += 1
            if self.nbytes <= IDLE_BYTES:
                return
            for name, one in list(self.kept.items()):
                if self.computations - one.last > IDLE:
                    self.drop(name)
