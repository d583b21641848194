"""One call of a kernel on a GPU, its arguments in place: one launch, and one copy to the host."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...philox import round_keys
from ..cpu import initial_records
from ..gpu import GRID, Launcher, to_device
from ..results import merge_pieces
from .structure import Structure, word
from .templates import Slots


class OneLaunch:
    """A kernel of one result, or of what it stores, for one thread at a time."""

    def __init__(self, slots: Slots, device: int) -> None:
        import cupy

        self.slots, self.cuda = slots, cupy.cuda.runtime
        prepared = slots.prepared
        self.launcher = Launcher(prepared, {}, device)
        self.initial = initial_records(prepared.program, 1)
        self.from_zero = not self.initial.any()
        self.apart = prepared.program.sink.kind == "argmin"
        self.records: Any = None  # on the GPU
        self.host: Any = None

    def store(self, found: Structure, visits: int, out: Any) -> None:
        """Launch what stores ``found`` into ``out``; it may still run afterwards."""
        pieces = self._take(found, visits)
        launcher, kept = self.launcher, self.slots.prepared.loops[0]
        launcher.launch((0, kept), (0, 1), max(1, min(pieces, GRID // kept)), out, GRID)
        launcher.owners.clear()

    def fold(self, found: Structure, visits: int) -> NDArray[np.int64]:
        """The record of ``found``, folded into one."""
        tiles = self._take(found, visits)
        launcher, rows = self.launcher, self.slots.prepared.loops[1]
        pieces = max(1, min(rows * tiles, launcher.resident))
        count = pieces if self.apart else 1
        words = self._begin(count)
        launcher.launch((0, 1), (0, rows), pieces, self.records)
        host, stream = self.host, _stream()
        to_host = self.cuda.memcpyDeviceToHost
        self.cuda.memcpyAsync(host.ctypes.data, self.records.data.ptr, 8 * words, to_host, stream)
        self.cuda.streamSynchronize(stream)
        launcher.owners.clear()
        program = self.slots.prepared.program
        return merge_pieces(program, host[:words].reshape(1, count, -1).copy())

    def _begin(self, count: int) -> int:
        """Make ``count`` records as they begin; their words."""
        import cupy

        words = count * self.initial.size
        if self.records is None or self.records.size < words:
            self.records = cupy.empty(words, np.uint64)
            memory = cupy.cuda.alloc_pinned_memory(8 * words)
            self.host = np.frombuffer(memory, np.int64, words)
        if not self.from_zero:
            self.records[:words].set(np.tile(self.initial.view(np.uint64).reshape(-1), count))
        else:
            self.cuda.memsetAsync(self.records.data.ptr, 0, 8 * words, _stream())
        return words

    def _take(self, found: Structure, visits: int) -> int:
        """Take the data, numbers, keys and length of ``found``; the tiles of a row."""
        slots, launcher = self.slots, self.launcher
        for k, number in slots.data:
            leaf = found.data[number]
            array: Any = leaf.source.buffer  # type: ignore[union-attr]
            launcher.owners[k], address = to_device(array)
            launcher.addresses[k] = np.uint64(address + leaf.offset * array.itemsize)
        for place, constant in zip(slots.constants or (), found.constants, strict=False):
            launcher.params[place : place + 1] = [np.uint64(word(constant.value, constant.dtype))]
        for place, number in slots.random:
            for k, key in enumerate(round_keys(found.random[number].key)):
                launcher.params[place + k] = np.uint64(key)
        launcher.window(0, visits if found.line else slots.prepared.loops[2])
        return launcher.row_tiles


def _stream() -> int:
    import cupy

    return int(cupy.cuda.get_current_stream().ptr)
