"""The elements of the box behind the one that is computed, made meanwhile by a thread of its own.

Where boxes need one another's results they are computed one after the other. What they are made of
may be decoded by another core.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, TypeAlias

from numpy.typing import NDArray

from ....dataclass import dataclass
from ....expr.nodes import Expr
from ....plan.streams import readers_in
from ... import machine
from .cells import Item

Array: TypeAlias = NDArray[Any]


def is_worth_it(roots: Sequence[Expr]) -> bool:
    """Whether a core may be idle, and ``roots`` read what takes longer than a copy."""
    return machine.cores() > 1 and any(getattr(one, "decodes", True) for one in readers_in(roots))


@dataclass(eq=False)
class Following:
    """What ``make`` gives for a box, begun before somebody asks for it. One thread asks at a time.

    Of one box at most, which is in memory beside the one that is computed.
    """

    make: Callable[[Item], Array]
    _coming: tuple[Item, threading.Thread, list[Any]] | None = field(default=None, repr=False)

    def begin(self, item: Item) -> None:
        """Make the box ``item`` from now on."""
        self.drop()
        found = list[Any]()
        thread = threading.Thread(
            target=self._run, args=(item, found), name="speedcube-following", daemon=True
        )
        self._coming = item, thread, found
        thread.start()

    def taken(self, item: Item) -> Array:
        """The box ``item``; what went wrong with it is raised here."""
        coming, self._coming = self._coming, None
        if coming is None:
            return self.make(item)
        began, thread, found = coming
        thread.join()
        if began != item:
            return self.make(item)
        if isinstance(found[0], BaseException):
            raise found[0]
        made: Array = found[0]
        return made

    def drop(self) -> None:
        """Forget what was begun, once it has ended."""
        coming, self._coming = self._coming, None
        if coming is not None:
            coming[1].join()

    def _run(self, item: Item, found: list[Any]) -> None:
        try:
            found.append(self.make(item))
        except BaseException as err:
            found.append(err)
