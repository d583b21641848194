"""Running sums and products of what lies in a GPU's memory in C order: launches that are kept.

Sums of doubles are added in a unit that their elements decide (`running.unit_of`). That the host
would wait to learn takes as long as the sums of a thousand numbers. So they are made in the unit
that the last ones had, while the elements are looked at; and again where it does not hold theirs.
"""

from __future__ import annotations

import math
import threading
from typing import Any, Final, NamedTuple

import numpy as np

from ... import dtypes
from ...expr.nodes import Reduced, Scanned
from ...kernel.cuda.scans.layout import DeviceScan, Lie, Shape, tiles_of
from .. import gpu
from ..staging.packed import Packed
from .device import DeviceElements
from .running import LOOKING, needed, span_of_bits
from .trees import multiply

MOST: Final = 256  # lines whose launches are remembered; the oldest are forgotten
KEPT: Final = 1 << 20  # bytes of a device's memory that each may keep
_TO_HOST: Final = 2  # cudaMemcpyDeviceToHost

_known: dict[Any, list[RunningSums]] = {}
_lock = threading.Lock()


class Unit(NamedTuple):
    """Sums of ``words`` words, in steps of ``2**unit``; ``special``: with infinities and NaNs."""

    words: int
    unit: int
    special: bool

    def holds(self, bits: tuple[int, int] | None, special: bool) -> bool:
        """Whether sums from one bit to another fit (None: they are zeros)."""
        if special and not self.special:
            return False
        if bits is None:
            return True
        begin = self.unit + 1074
        return begin <= bits[0] and bits[1] <= begin + 64 * self.words


def best_unit(bits: tuple[int, int] | None, special: bool) -> Unit:
    """The narrowest sums that hold these bits, with what room is left on both sides of them."""
    words, unit = needed(bits)
    if bits is None:
        return Unit(words, unit, special)
    spare = 64 * words - (bits[1] - bits[0])
    return Unit(words, unit - min(spare // 2, bits[0]), special)


def running_sums(source: Scanned, address: int, device: int, out: Any) -> None:
    """The running sums of what lies from ``address`` on into ``out``, and wait for them.

    Both are on the current device. `MemoryError` where there is too little memory.
    """
    key = device, source.dtype, source.arg.dtype, source.odd, source.arg.shape, source.axes
    with _lock:
        idle = _known.get(key)
        if idle is None:
            while len(_known) >= MOST:
                del _known[next(iter(_known))]
            idle = _known[key] = []
    try:
        launches = idle.pop()  # for this thread alone
    except IndexError:
        launches = RunningSums(source, device)
    launches(address, int(out.data.ptr))
    idle.append(launches)


def products(source: Reduced, address: int, array: Any, device: int, out: Any) -> None:
    """The products of lines, the last axes of what lies from ``address`` on, into ``out``.

    Both are on the current device, where the products may still be made.
    """
    shape = Shape(math.prod(source.shape), source.count, 1)
    elements = DeviceElements(shape, Lie(source.count, 1, 0), source.arg.dtype, address, array)
    multiply(elements, device, source.dtype, int(out.data.ptr))


class RunningSums:
    """The launches for lines of one shape, for one thread at a time.

    ``last`` is the unit of the sums that were made last; None before, and it is fixed where nothing
    is rounded.
    """

    def __init__(self, source: Scanned, device: int) -> None:
        import cupy

        self.cupy, self.cuda, self.device = cupy, cupy.cuda.runtime, device
        self.source, read = source, source.arg.dtype
        shape, axes = source.arg.shape, source.axes
        outer, inner = math.prod(shape[: axes[0]]), math.prod(shape[axes[-1] + 1 :])
        self.shape, self.lie = (
            Shape(outer, source.count, inner),
            Lie(source.count * inner, inner, 1),
        )
        self.exact = dtypes.is_float(read)
        self.last = None if self.exact else Unit(1, 0, False)
        self.sums: dict[Unit, ScanLaunch] = {}
        if self.exact:
            self.told = cupy.empty(3, np.uint64)
            self.host = np.frombuffer(cupy.cuda.alloc_pinned_memory(24), np.uint64, 3)
            flat, step = Shape(1, self.shape.size, 1), Lie(0, 1, 0)
            blocks = min(LOOKING, -(-flat.size // 1024))
            program = DeviceScan("range", read, "float64", "float64")
            words = [flat.lines, flat.length, 1, flat.flat(step), 0, 0, 0, 1, 0, 0, 0, 0]
            self.look = ScanLaunch(program, device, words, blocks)

    def __call__(self, address: int, out: int) -> None:
        """The sums of what lies from ``address`` on, to address ``out``."""
        stream = int(self.cupy.cuda.get_current_stream().ptr)
        if self.exact:
            told, words = int(self.told.data.ptr), self.host.nbytes
            self.cuda.memsetAsync(told, 0, words, stream)
            self.look(address, 0, (told, 0, 0), stream)
            self.cuda.memcpyAsync(self.host.ctypes.data, told, words, _TO_HOST, stream)
        kept = None if self.last is None else self.make(self.last, address, out, stream)
        self.cuda.streamSynchronize(stream)
        if self.exact:
            found = self.host.tolist()
            bits, special = span_of_bits(found, self.source.count), bool(found[2])
            last, best = self.last, best_unit(bits, special)
            made = last is not None and last.holds(bits, special)
            if last is None or not made or best[::2] != last[::2]:
                self.last = best  # what is narrower is faster the next time
            if not made:
                kept = self.make(best, address, out, stream)
                self.cuda.streamSynchronize(stream)
        del kept

    def make(self, unit: Unit, address: int, out: int, stream: int) -> Any:
        """ScanLaunch the sums in ``unit``; the memory that they need until they are made."""
        launch = self.sums.get(unit)
        if launch is None:
            launch = self.sums[unit] = self.launch_of(unit)
        words = launch.memory
        if words is None:
            words = self.cupy.empty(launch.words, np.uint64)
            if words.nbytes <= KEPT:
                launch.memory = words
        told = int(words.data.ptr)
        begun = told + 8 * launch.blocks
        self.cuda.memsetAsync(told, 0, 8 * (launch.blocks + 1), stream)
        launch(address, out, (told, begun + 8, begun), stream)
        return words

    def launch_of(self, unit: Unit) -> ScanLaunch:
        """The launch of sums in ``unit``."""
        source, shape, lie, read = self.source, self.shape, self.lie, self.source.arg.dtype
        # What is rounded to float32 afterwards is rounded to odd before.
        odd = self.exact and (source.odd or source.dtype == "float32")
        program = DeviceScan("columns", read, read, source.dtype, unit.words, unit.special, odd)
        tiles = tiles_of(shape, program.size)
        if not tiles.side:
            program = program.of_kind("lines")
        places = [lie.matrix, lie.row, lie.column]
        flat = 3 * shape.flat(lie)
        words = [shape.lines, shape.length, shape.inner, flat, unit.unit, tiles.side]
        launch = ScanLaunch(program, self.device, [*words, *places, *places], tiles.blocks)
        rows = 0 if tiles.side and tiles.along == 1 else tiles.along  # such tell nobody anything
        width = tiles.across * max(1, tiles.side)
        launch.words = tiles.blocks + 1 + 2 * rows * program.size * width
        if len(self.sums) >= 8:
            self.sums.clear()
        return launch


class ScanLaunch:
    """A kernel of a scan with its ``geometry`` in place, and the ``words`` of memory it needs."""

    words = 0
    memory: Any = None

    def __init__(self, program: DeviceScan, device: int, geometry: list[int], blocks: int) -> None:
        kernel, _ = gpu.gpu_kernel(program, device)
        arguments = np.array([0, 0, *geometry, 0, 0, 0], np.int64)
        self.packed, self.blocks = Packed(kernel, len(arguments), arguments), blocks

    def __call__(self, address: int, out: int, memory: tuple[int, int, int], stream: int) -> None:
        """ScanLaunch it, with what blocks tell each other in ``memory``."""
        words = self.packed.words
        words[0], words[1] = address, out
        words[-3:] = memory
        self.packed.launch(self.blocks, stream)
