"""Decoded chunks of what several passes read: kept from the first pass to the end of the last.

The first that come are kept, for passes go through a file in one order: of the last ones none would
be there any more when the next pass begins.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ... import dtypes
from ...expr.nodes import Expr, Tiled
from ...plan.plan import Plan, check_memory
from ...plan.streams import read_roots, tiled

MOST: Final = 384 << 20  # bytes of a process, with all else that it holds
_SHARE: Final = 4  # of the free memory, one part at most
_LOCK: Final = threading.Lock()
_CHUNKS: Final[dict[Hashable, NDArray[np.uint8]]] = {}
_COMING: Final = set[Hashable]()  # there is room for them, and somebody decodes them
_STATE: Final = {"holders": 0, "room": 0}
# Each for the chunks whose keys have a remainder: those of two that are decoded at once seldom do.
_TURNS: Final = tuple([threading.Lock() for _ in range(256)])


@contextmanager
def keeping(room: int) -> Iterator[None]:
    """Chunks of so many bytes that are decoded inside are kept; of those inside, the outer holds.

    Computations of other threads find them, too.
    """
    if room <= 0:
        yield
        return
    with _LOCK:
        _STATE["holders"] += 1
        if _STATE["holders"] == 1:
            _STATE["room"] = room
    try:
        yield
    finally:
        with _LOCK:
            _STATE["holders"] -= 1
            if not _STATE["holders"]:
                _STATE["room"] = 0
                _CHUNKS.clear()
                _COMING.clear()


def is_open() -> bool:
    """Whether somebody keeps chunks."""
    return _STATE["holders"] > 0


def found(key: Hashable) -> NDArray[np.uint8] | None:
    """The chunk of ``key``, if it is kept."""
    return _CHUNKS.get(key)


@contextmanager
def alone(key: Hashable, size: int) -> Iterator[None]:
    """A block in which no other thread decodes the chunk of ``key``, if it is going to be kept.

    So it is decoded once. Where it cannot be kept, nobody waits for nothing.
    """
    with _LOCK:
        kept = size <= _STATE["room"] or key in _COMING
    with _TURNS[hash(key) % len(_TURNS)] if kept else nullcontext():
        try:
            yield
        finally:
            with _LOCK:
                _COMING.discard(key)


def reserved(key: Hashable, size: int) -> bool:
    """Whether there was room for the chunk of ``key``, of ``size`` bytes, which is taken now."""
    with _LOCK:
        if size > _STATE["room"]:
            return False
        _STATE["room"] -= size
        _COMING.add(key)
        return True


def keep(key: Hashable, chunk: NDArray[np.uint8]) -> None:
    """Keep ``chunk``, which nobody writes any more, for which there is room."""
    with _LOCK:
        if _STATE["holders"]:
            _CHUNKS[key] = chunk


def in_memory(plan: Plan, free: int) -> Plan:
    """``plan`` with the chunks that it keeps; `MemoryLimitError` where it fits not even without."""
    check_memory(plan, free)
    return plan.keeping(room_for_passes(plan, free) if plan.rung.startswith("core") else 0)


def room_for_passes(plan: Plan, free: int) -> int:
    """Bytes of chunks that are worth keeping while ``plan`` runs, within what is ``free``."""
    if not plan.streams:
        return 0
    each = [
        sources_of([root for stage in one.stages for root in read_roots(stage.root, stage.source)])
        for one in plan.passes
    ]
    return within(each, plan.peak_bytes, MOST, free)


def within(each: Sequence[dict[int, Tiled]], held: int, most: int, free: int) -> int:
    """Bytes of the sources that several of ``each`` read, as far as there is room beside ``held``.

    There is ``most`` for both.
    """
    every = {name: one for some in each for name, one in some.items()}
    again = [one for name, one in every.items() if sum(name in some for some in each) > 1]
    size = sum(map(tiled_bytes, again))
    return max(0, min(size, most - held, (free - held) // _SHARE))


def tiled_bytes(source: Tiled) -> int:
    """Bytes of all elements of ``source``."""
    return int(math.prod(source.shape) * dtypes.itemsize(source.dtype))


def sources_of(roots: Sequence[Expr]) -> dict[int, Tiled]:
    """The files that ``roots`` read, also by what is made of them box by box, that keep chunks."""
    found: dict[int, Tiled] = {}
    waiting, seen = list(roots), set[int]()
    while waiting:
        for leaf in tiled(waiting.pop()):
            source: Any = leaf.source
            if id(source) in seen:
                continue
            seen.add(id(source))
            waiting += getattr(source.tiles, "made_of", ())
            if getattr(source.tiles, "keeps_chunks", False):
                found[id(source.tiles)] = source
    return found
