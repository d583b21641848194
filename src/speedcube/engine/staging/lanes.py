"""Lanes to a GPU: pinned buffers that threads fill, each lane with a stream that copies them.

A copy out of ordinary memory goes through one buffer of the driver's, filled by one thread, at a
fifth of what the bus can do. Some threads with pinned buffers of their own keep it busy.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import field
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...late import futures
from ...plan.reads import LARGE, STAGED
from .. import machine

Bytes: TypeAlias = NDArray[np.uint8]

PIECE: Final = 8 << 20  # bytes of a buffer
_SLOTS: Final = 2  # buffers of a lane: one that is filled while another is copied
MOST: Final = STAGED // (PIECE * _SLOTS)  # lanes of a computation; more are no faster
_DECODING: Final = LARGE // (PIECE * _SLOTS)  # but where each is filled by what decodes a chunk
_TO_DEVICE: Final = 1  # cudaMemcpyHostToDevice

# What gives a lane for as long as it is filled.
Taken: TypeAlias = Callable[[], AbstractContextManager["Lane"]]

# Lanes that computations left, by their device: to pin memory takes longer than to fill it.
_idle: Final[defaultdict[int, list[Lane]]] = defaultdict(list)


class Lane:
    """Buffers in pinned memory, and the stream on which they go to the current device."""

    def __init__(self) -> None:
        import cupy

        self.copy_bytes = cupy.cuda.runtime.memcpyAsync
        self.stream = cupy.cuda.Stream(non_blocking=True)
        self.done = cupy.cuda.Event(disable_timing=True)
        self.slots = [
            (
                np.frombuffer(cupy.cuda.alloc_pinned_memory(PIECE), np.uint8, PIECE),
                cupy.cuda.Event(disable_timing=True),
            )
            for _ in range(_SLOTS)
        ]
        self.turn = 0

    def room(self, count: int) -> Bytes:
        """A buffer of ``count`` bytes, from which nothing is copied any more."""
        self.turn = (self.turn + 1) % _SLOTS
        memory, copied = self.slots[self.turn]
        copied.synchronize()
        return memory[:count]

    def send(self, count: int, address: int) -> None:
        """Copy what ``room`` gave, in its time, to ``address`` on the device."""
        memory, copied = self.slots[self.turn]
        self.copy_bytes(address, memory.ctypes.data, count, _TO_DEVICE, self.stream.ptr)
        copied.record(self.stream)

    def copy(self, host: Bytes, address: int) -> None:
        """Copy ``host``, a buffer after the other; it may be gone afterwards."""
        for first in range(0, host.size, PIECE):
            some = host[first : first + PIECE]
            np.copyto(self.room(some.size), some)
            self.send(some.size, address + first)


@dataclass(frozen=True, eq=False)
class Crew:
    """Threads that fill lanes."""

    threads: futures.ThreadPoolExecutor
    device: int
    most: int  # lanes: each is there once a thread needs it
    straight: bool  # into pinned memory, also what is decoded
    lanes: list[Lane] = field(default_factory=list)
    free: SimpleQueue[Lane] = field(default_factory=SimpleQueue)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def submit(self, fill: Callable[[Taken], None], after: Any) -> futures.Future[None]:
        """Call ``fill`` with what takes a lane, whose copies begin after the event ``after``."""
        return self.threads.submit(fill, partial(self._lane, after))

    @contextmanager
    def _lane(self, after: Any) -> Iterator[Lane]:
        lane = self._taken()
        try:
            lane.stream.wait_event(after)
            yield lane
        finally:
            self.free.put(lane)

    def _taken(self) -> Lane:
        with suppress(Empty):
            return self.free.get_nowait()
        with self._lock:
            if len(self.lanes) < self.most:
                self.lanes.append(lane := _lane(self.device))
                return lane
        return self.free.get()

    def order(self, stream: Any) -> None:
        """Let ``stream`` wait for all copies that lanes were given so far."""
        for lane in self.lanes:
            lane.done.record(lane.stream)
            stream.wait_event(lane.done)


@contextmanager
def crew(device: int, decoding: bool = False, largest: int = 0) -> Iterator[Crew]:
    """Threads that copy to ``device``; no copy is left in the end.

    To copy keeps few threads as busy as the bus; to decode keeps all cores busy. Where the
    ``largest`` chunk fits a buffer, it is decoded there: no core copies it then.
    """
    cores = machine.cores()
    straight = not decoding or largest <= PIECE
    most = min(_DECODING if decoding and straight else MOST, cores)
    count = cores if decoding else most
    threads = futures.ThreadPoolExecutor(count, "speedcube-copier", _use, (device,))
    own = Crew(threads, device, most, straight)
    try:
        yield own
    finally:
        threads.shutdown(cancel_futures=True)
        for lane in own.lanes:
            lane.stream.synchronize()
        _idle[device] += own.lanes


def _lane(device: int) -> Lane:
    try:
        return _idle[device].pop()
    except IndexError:
        return Lane()


def _use(device: int) -> None:
    """Make ``device`` the calling thread's."""
    import cupy

    cupy.cuda.runtime.setDevice(device)


def now() -> Any:
    """An event behind all that the current stream was given."""
    import cupy

    event = cupy.cuda.Event(disable_timing=True)
    event.record(cupy.cuda.get_current_stream())
    return event
