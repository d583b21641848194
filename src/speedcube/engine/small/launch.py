"""One call of a kernel on a GPU, its arguments in place: one launch, and one copy to the host.

Or none: a few results are put into memory of the host by the kernel that finishes them.
"""

from __future__ import annotations

import ctypes
import math
from contextlib import nullcontext
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...expr.analysis import constants_count
from ...expr.nodes import Expr, Stored
from ...philox import round_keys
from ..cpu import address_of, initial_records
from ..finished.gpu import results_of
from ..finished.launch import OnceForAll
from ..gpu import GRID, Launcher, to_device
from ..prepare import Prepared, launch_words, prepare_many
from ..results import merge_pieces
from ..staging.packed import Packed
from ..staging.sent import sent
from .parameters import PUT
from .structure import Structure, word
from .templates import Slots

_FEW: Final = 64  # results that a kernel may as well put into memory of the host
# Bytes of an array that a kernel may as well read there, and elements for which it does.
_NEAR, _READ = 1 << 15, 1 << 14
_MANY: Final = 1 << 16  # that it puts there where NumPy is to round them


class OneLaunch:
    """A kernel of one result, or of what it stores, for one thread at a time.

    The words of its launch lie packed; ``visits`` are those that the first of them are of.
    """

    def __init__(self, slots: Slots, device: int) -> None:
        import cupy

        prepared = slots.prepared
        self.slots, self.cupy, self.cuda = slots, cupy, cupy.cuda.runtime
        self.launcher = launcher = Launcher(prepared, {}, device)
        self.initial = initial_records(prepared.program, 1)
        self.from_zero = not self.initial.any()
        self.apart = prepared.program.sink.kind == "argmin"
        self.records: Any = None  # on the GPU
        self.begun: Any = None  # there, too: how they begin, where that is not with zeros
        self.host: Any = None
        self.visits = -1
        words = [*launcher.params, *launcher.addresses, *launcher.tables, 0]
        first = len(launch_words(prepared))
        self.packed = Packed(launcher.kernel, first + len(words))
        self.packed.words[first:] = words
        self.words: Any = memoryview(self.packed.words)
        self.geometry, self.out = slice(0, first), first + len(words) - 1
        at = first + len(launcher.params)
        self.data = [(at + k, number) for k, number in slots.data]
        dtypes = [constant.dtype for constant in slots.numbers]
        places = enumerate(slots.constants or ())
        self.puts = [(PUT[dtypes[k]], first + place, k) for k, place in places]
        self.random = [(first + place, number) for place, number in slots.random]

    def stored(self, found: Structure, root: Expr, stays: bool) -> Any:
        """What ``found`` is; on the device, if it stays, where it may still be made."""
        result = self.cupy.empty(root.shape, root.dtype)
        owners = self._take(found)
        self.words[self.out] = result.data.ptr
        self.packed.launch(self.blocks, _stream(self.cupy))
        del owners  # CuPy gives their memory to what follows on the stream, not before
        return result if stays else result.get()[()]

    def fold(self, found: Structure) -> NDArray[np.int64]:
        """The record of ``found``, folded into one."""
        owners = self._take(found)
        stream = _stream(self.cupy)
        count = self.pieces if self.apart else 1
        words = self._begin(count, stream)
        self.words[self.out] = self.records.data.ptr
        self.packed.launch(self.blocks, stream)
        host, to_host = self.host, self.cuda.memcpyDeviceToHost
        self.cuda.memcpyAsync(host.ctypes.data, self.records.data.ptr, 8 * words, to_host, stream)
        self.cuda.streamSynchronize(stream)
        del owners
        program = self.slots.prepared.program
        return merge_pieces(program, host[:words].reshape(1, count, -1).copy())

    def _begin(self, count: int, stream: int) -> int:
        """Make ``count`` records as they begin; their words."""
        cupy, words = self.cupy, count * self.initial.size
        if self.records is None or self.records.size < words:
            self.records = cupy.empty(words, np.uint64)
            memory = cupy.cuda.alloc_pinned_memory(8 * words)
            self.host = np.frombuffer(memory, np.int64, words)
            if not self.from_zero:
                begun = np.tile(self.initial.view(np.uint64).reshape(-1), count)
                self.begun = cupy.asarray(begun)
        if self.from_zero:
            self.cuda.memsetAsync(self.records.data.ptr, 0, 8 * words, stream)
        else:
            there, begun = self.records.data.ptr, self.begun.data.ptr
            self.cuda.memcpyAsync(there, begun, 8 * words, self.cuda.memcpyDeviceToDevice, stream)
        return words

    def _take(self, found: Structure) -> list[Any]:
        """Take the data, numbers, keys and length of ``found``; what keeps arrays on the device."""
        visits = found.size if found.line else self.slots.prepared.loops[2]
        if visits != self.visits:
            self._measure(visits)
        words, owners = self.words, []
        for at, number in self.data:
            leaf = found.data[number]
            array: Any = leaf.source.buffer  # type: ignore[union-attr]
            if type(array) is np.ndarray:
                owner, address = to_device(array)
                owners.append(owner)
            else:
                address = array.data.ptr
            words[at] = address + leaf.offset * array.itemsize if leaf.offset else address
        for put, at, number in self.puts:
            constant = found.constants[number]
            try:
                put(self.packed.words, 8 * at, constant.value)
            except OverflowError:  # beyond float32
                words[at] = word(constant.value, constant.dtype)
        for at, number in self.random:
            for k, key in enumerate(round_keys(found.random[number].key)):
                words[at + k] = key
        return owners

    def _measure(self, visits: int) -> None:
        """Take as many steps: the geometry, the pieces of a record, the blocks of a launch."""
        launcher, (kept, rows, _) = self.launcher, self.slots.prepared.loops
        launcher.window(0, visits)
        if self.slots.stage.source is None:
            self.pieces = max(1, min(launcher.row_tiles, GRID // kept))
            geometry = launcher.geometry((0, kept), (0, 1), self.pieces)
            self.blocks = min(kept * self.pieces, GRID)
        else:
            self.pieces = max(1, min(rows * launcher.row_tiles, launcher.resident))
            geometry = launcher.geometry((0, 1), (0, rows), self.pieces)
            self.blocks = self.pieces
        self.packed.words[self.geometry] = geometry
        self.visits = visits


class NearArrays:
    """Small arrays of the host in pinned memory, where a kernel reads them without a copy.

    Only for launches that are waited for: the next one puts its own arrays there.
    """

    def __init__(self) -> None:
        self.memory: dict[int, tuple[Any, int, int]] = {}  # its owner, address and bytes

    def place(self, number: int, array: Any) -> tuple[Any, int]:
        """What keeps ``array``, the one of this number, on the device, and its address there."""
        size = array.nbytes
        if type(array) is not np.ndarray or size > _NEAR or not array.flags.c_contiguous:
            return to_device(array)
        found = self.memory.get(number)
        if found is None or found[2] < size:
            import cupy

            room = max(64, 2 * size)
            owner = cupy.cuda.alloc_pinned_memory(room)
            found = self.memory[number] = owner, int(owner.ptr), room
        ctypes.memmove(found[1], address_of(array), size)
        return found[0], found[1]


def _moved(number: int, array: Any) -> tuple[Any, int]:
    return to_device(array)


class FinishedLaunch:
    """A kernel that makes all results of a reduction, for one thread at a time.

    ``launch`` is None where there is none of one launch. Once it met results that it could not
    make, the like of it is left to the planner.
    """

    def __init__(self, slots: Slots, device: int) -> None:
        import cupy

        self.launch: OnceForAll | None = None
        self.cupy: Any = cupy
        self.few: Any = None
        self.near = NearArrays()
        self.short: str | None = None
        self.visits = math.prod(slots.stage.root.shape)
        prepared = prepare_many(slots.stage, slots.stage.parts[0], gpu=True)
        constants = None if prepared is None else _places(slots, prepared)
        if prepared is None or constants is None or slots.random:
            return
        count, given = results_of(prepared), prepared.program.sink.dtype
        # NumPy rounds to float16, as it does of all other parts.
        self.short = slots.stage.dtype if given != slots.stage.dtype else None
        if self.short is not None and count > _MANY:
            return
        launch = OnceForAll(prepared, device)
        numbers = {id(source): k for k, source in enumerate(slots.sources)}
        self.data = [
            (launch.addresses + k, numbers[id(leaf.source)])
            for k, leaf in enumerate(prepared.space.leaves)
            if isinstance(leaf.source, Stored)
        ]
        self.constants = [(launch.params.start + place, number) for place, number in constants]
        if count <= (_FEW if self.short is None else _MANY):
            pinned = cupy.cuda.alloc_pinned_memory(8 * count)
            self.few = np.frombuffer(pinned, given, count)
            self.few_at = self.few.ctypes.data
        self.words: Any = memoryview(launch.words)
        self.launch = launch if launch.is_all else None

    def value(self, found: Structure, root: Expr, stays: bool) -> Any:
        """The results of ``found``, on the device if they stay; None if some are not certain."""
        launch, few = self.launch, self.few
        if launch is None:
            return None
        words, owners = self.words, []
        place = self.near.place if self.visits <= _READ else _moved
        for at, number in self.data:
            leaf = found.data[number]
            array: Any = leaf.source.buffer  # type: ignore[union-attr]
            if type(array) is np.ndarray:
                owner, address = place(number, array)
                owners.append(owner)
            else:
                address = array.data.ptr
            words[at] = address + leaf.offset * array.itemsize if leaf.offset else address
        for at, number in self.constants:
            constant = found.constants[number]
            words[at] = word(constant.value, constant.dtype)
        to_host = few is not None and (not stays or self.short is not None)
        array = None if to_host else self.cupy.empty(root.shape, root.dtype)
        failed = launch(self.few_at if array is None else array.data.ptr, _stream(self.cupy))
        if failed is None or len(failed):
            self.launch = None
            return None
        if array is not None:
            return array if stays else array.get()[()]
        if self.short is None and not root.shape:
            return few[0]
        with np.errstate(over="ignore"):
            results = few.astype(root.dtype).reshape(root.shape)
        return sent(results) if stays else results[()]


def _places(slots: Slots, prepared: Prepared) -> list[tuple[int, int]] | None:
    """The parameter and the number of each constant; None where a kernel counts on their values.

    None are arguments where other constants have other structures.
    """
    if slots.constants is None:
        return []
    if constants_count(slots.stage.root):
        return None
    places = {id(uniform.source): uniform.place for uniform in prepared.uniforms}
    if places.keys() != {id(number) for number in slots.numbers}:
        return None
    return [(places[id(number)], k) for k, number in enumerate(slots.numbers)]


def on_device(number: int) -> Any:
    """What makes GPU ``number`` current for a block: nothing, where it is, as nearly always."""
    import cupy

    if cupy.cuda.runtime.getDevice() == number:
        return _HERE
    return cupy.cuda.Device(number)


_HERE: Final = nullcontext()


def _stream(cupy: Any) -> int:
    """The current stream."""
    return int(cupy.cuda.get_current_stream().ptr)
