"""Blocks written by the threads of this process: each reads, computes, encodes and writes its own.

So one thread's reading overlaps with what others compute and encode, and no queue between them
holds blocks that wait.
"""

from __future__ import annotations

import errno
import math
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import field
from typing import Any, Final

from ...dataclass import dataclass
from ...expr.nodes import Expr
from ...plan.cutting.within import Within
from ...plan.writing import Item, WriteGrid, element_bytes
from ..boxes import Stop
from ..rungs import Rung
from .blocks import BlockMaker
from .progress import Meter
from .target import BoxTarget

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_LOOK: Final = 0.2  # seconds between two looks for Ctrl-C


@dataclass(eq=False)
class WriteRun:
    """Writes the blocks of ``roots`` on ``grid``, each into its one of ``targets``.

    ``device``: the rung that computes, where it is no core of this machine.
    """

    roots: Sequence[Expr]
    targets: Sequence[BoxTarget]
    grid: WriteGrid | Within
    device: Rung | None = None
    meter: Meter | None = None
    stop: Stop = field(default_factory=Stop)
    error: BaseException | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def write(self, numbers: Iterable[int], threads: int) -> None:
        """Write the blocks ``numbers``, in this order, by so many ``threads``."""
        waiting = iter(numbers)
        turn = threading.Lock()
        workers = [
            threading.Thread(target=self._work, args=(waiting, turn), name=f"speedcube-writer-{k}")
            for k in range(threads)
        ]
        for worker in workers:
            worker.start()
        try:
            for worker in workers:
                while worker.is_alive():
                    worker.join(_LOOK)
        finally:
            self.stop.set()  # after Ctrl-C each thread ends its block, and begins no other
            for worker in workers:
                worker.join()
        if self.error is not None:
            raise self.error

    def _work(self, waiting: Iterator[int], turn: threading.Lock) -> None:
        maker = self.maker(turn)
        number = -1
        try:
            while not self.stop.is_set():
                with self.lock:
                    number = next(waiting, -1)
                if number < 0:
                    return
                self._block(maker, number)
        except BaseException as err:
            with self.lock:
                self.error = self.error or told(err, self.targets, self.grid.item(number))
            self.stop.set()

    def maker(self, turn: threading.Lock) -> Any:
        """What gives blocks their values, for a thread of its own."""
        is_shared = self.device is not None and self.device.kind != "client"
        on, shared = self.device or "core", turn if is_shared else nullcontext()
        return BlockMaker(self.roots, on, shared)

    def _block(self, maker: Any, number: int) -> None:
        item = self.grid.item(number)
        values = maker.values(item, self.stop)
        for target, array in zip(self.targets, values, strict=False):  # none after a stop
            target.write(number, item, array)
        if values and self.meter is not None:
            self.meter.add(sum(array.nbytes for array in values))


def told(err: BaseException, targets: Sequence[BoxTarget], item: Item | None) -> BaseException:
    """``err`` with what could not be written, and how to go on."""
    labels = ", ".join(dict.fromkeys(target.label for target in targets))
    rest = "; resume=True writes what is missing" * all(target.is_kept for target in targets)
    box = "anything" if item is None else f"[{', '.join(f'{s.start}:{s.stop}' for s in item)}]"
    said = f"{labels} is incomplete: {box} could not be written{rest}"
    if isinstance(err, OSError) and err.errno in _FULL:
        return OSError(err.errno, f"{os.strerror(err.errno)}; {said}", err.filename)
    err.add_note(said)
    return err


def block_sizes(roots: Sequence[Expr], grid: WriteGrid, numbers: Iterable[int]) -> int:
    """Bytes of values in the blocks ``numbers``."""
    items = map(grid.item, numbers)
    elements = sum(math.prod([int(s.stop - s.start) for s in item]) for item in items)
    return element_bytes(roots) * elements
