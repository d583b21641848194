"""One CPU thread runs a part: it calls the part's kernel on box after box, GIL released."""

from __future__ import annotations

import ctypes
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import field
from functools import cache
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..dataclass import dataclass
from ..errors import DTypeError, KernelError
from ..expr.nodes import Const, Position, Random, Stored
from ..expr.space import TILE
from ..kernel.exact.integers import carry
from ..kernel.folds import FOLDS
from ..kernel.llvm.scratch import scratch_bytes
from ..kernel.llvm.simd import has_fma, targets
from ..kernel.program import LIMBS, Program, Sink
from .boxes import CALL, Box, Stop, boxes, column_boxes, span_boxes
from .prepare import Prepared, geometry, tables
from .tiers import Tiers, tiers

Array: TypeAlias = NDArray[Any]
Consume: TypeAlias = Callable[[int, Array], None]

# Elements in memory at once where they are taken in their order: they stay in the cache.
BLOCK: Final = 1 << 15
# Records in memory at once; an exact sum's record is 576 bytes.
RECORDS: Final = 1 << 12
# Elements of a record before carries must move on: a limb has room for 2**31 terms, and an element
# gives four at most.
CARRY_AFTER: Final = 8 * CALL


def initial_records(program: Program, count: int) -> Array:
    """Records of ``program`` before anything is folded into them."""
    return start_of(program.sink, count)


def start_of(sink: Sink, count: int) -> Array:
    """Records of ``sink`` before anything is folded into them."""
    records = np.zeros((count, sink.words), np.int64)  # untouched pages cost nothing
    if sink.kind in FOLDS and FOLDS[sink.kind].start:
        records[:] = FOLDS[sink.kind].start
    return records


class _Scratch(threading.local):
    """Each thread's scratch memory, kept between calls: fresh pages cost more than kernels."""

    memory: Array = np.empty(0, np.uint8)
    aligned: int = 0

    def address(self, size: int) -> int:
        if len(self.memory) < size + 64:
            self.memory = np.empty(size + 64, np.uint8)
            self.aligned = (address_of(self.memory) + 63) & ~63
        return self.aligned


_scratch = _Scratch()
scratch_address = _scratch.address


_addressof, _byte_of = ctypes.addressof, ctypes.c_char.from_buffer


def address_of(array: Any) -> int:
    """Where element 0 lies; the first way is six times faster, but not for every array."""
    try:
        return _addressof(_byte_of(array))
    except (TypeError, ValueError, BufferError):
        return int(array.__array_interface__["data"][0])


@dataclass(frozen=True, eq=False)
class Frame:
    """What every call of a prepared part has in common: addresses that stay, geometry to copy."""

    tiers: Tiers
    geometry: bytes
    words: type[ctypes.Array[Any]]
    tables: list[Array]
    table_addresses: list[int]
    params: int
    scratch_bytes: int
    idle: list[Caller] = field(default_factory=list)  # appending and popping are atomic


def frame_of(prepared: Prepared) -> Frame:
    """The frame of ``prepared``, made once for each target."""
    known: dict[str, Frame] = prepared.frames
    target = targets()[0]
    if target not in known:
        _warn_if_slow()
        words, offsets = geometry(prepared), tables(prepared)
        known[target] = Frame(
            tiers(prepared.program, target),
            words.tobytes(),
            ctypes.c_int64 * len(words),
            offsets,
            [address_of(table) for table in offsets],
            address_of(prepared.params),
            scratch_bytes(prepared.program),
        )
    return known[target]


@cache
def _warn_if_slow() -> None:
    """Say once a process that this machine is no measure of speed."""
    if not has_fma():
        warnings.warn(
            "this CPU has no fused multiply-add: kernels call the C library's, which gives the "
            "same bits many times slower (speedcube doctor says more)",
            RuntimeWarning,
            stacklevel=2,
        )


class Caller:
    """A kernel with its arguments in place, for one thread at a time."""

    def __init__(self, prepared: Prepared, frame: Frame, inputs: Mapping[int, Array]) -> None:
        self.prepared, self.frame = prepared, frame
        self.geometry: Any = frame.words.from_buffer_copy(frame.geometry)
        self.keep: list[Any] = []
        addresses = [0] * len(prepared.space.leaves) + frame.table_addresses
        self.buffers = (ctypes.c_uint64 * len(addresses))(*addresses)
        places: dict[int, tuple[Any, list[int]]] = {}
        for k, leaf in enumerate(prepared.space.leaves):
            places.setdefault(id(leaf.source), (leaf.source, []))[1].append(k)
        self.sources = list(places.values())  # each with the leaves that read it
        self.read(inputs)
        self.start()

    def start(self) -> None:
        """Take the kernel, and the scratch memory of the thread that will call."""
        frame = self.frame
        # Kept, since its code lives as long as it.
        self.kernel = frame.tiers.kernel(self.prepared.visits)
        self.function = self.kernel.function
        self.arguments = (
            ctypes.addressof(self.geometry),
            ctypes.addressof(self.buffers),
            frame.params,
            scratch_address(frame.scratch_bytes),
        )

    def read(self, inputs: Mapping[int, Array]) -> None:
        """Take the address of each leaf's position 0 (0 stays for leaves that are computed)."""
        for source, leaves in self.sources:
            array = inputs.get(id(source))
            if array is None and isinstance(source, Stored):
                array = host_array(source)
            if array is not None:
                address = address_of(array)
                for k in leaves:
                    self.buffers[k] = address
                self.keep.append(array)
            elif not isinstance(source, (Const, Position, Random)):
                raise KernelError(f"a kernel was not given its {type(source).__name__}: a bug")

    def __call__(self, box: Box, out: int) -> None:
        self.geometry[:6] = box
        self.function(*self.arguments, out)

    def failures(self) -> int:
        """Results that the last call left to others (`kernel/llvm/many`)."""
        return int(self.geometry[0])


@contextmanager
def calling(prepared: Prepared, inputs: Mapping[int, Array]) -> Iterator[Caller]:
    """A caller: one that an earlier computation left, with the data of this one."""
    frame = frame_of(prepared)
    try:
        caller = frame.idle.pop()
    except IndexError:
        caller = Caller(prepared, frame, inputs)
    else:
        caller.read(inputs)
        caller.start()
    yield caller
    caller.keep.clear()
    frame.idle.append(caller)


def host_array(source: Stored) -> Array:
    """The buffer of ``source`` in host memory."""
    if source.on_device:
        raise DTypeError(
            "a CuPy array cannot be read on a CPU rung; use on='gpu', or copy it with cupy.asnumpy"
        )
    return np.asarray(source.buffer)


def run_store(prepared: Prepared, inputs: Mapping[int, Array], out: Array, stop: Stop) -> None:
    """Every element of the part into ``out`` (its position 0 is out's first element)."""
    address = address_of(out)
    with calling(prepared, inputs) as call:
        for box in boxes(prepared.loops, prepared.tiling.inner):
            if stop.is_set():
                return
            call(box, address)
            if stop.counts:
                stop.passed(box, prepared.tiling.inner)


def blocks(
    prepared: Prepared,
    inputs: Mapping[int, Array],
    start: int,
    stop: int,
    until: Stop,
    most: int = BLOCK,
) -> Iterator[Array]:
    """Elements ``[start, stop)`` of a stored part in C order; each block is gone with the next."""
    inner = prepared.tiling.inner
    dtype = np.dtype(prepared.program.element.output_type("x"))
    memory = np.empty(most + 2 * inner + TILE, dtype)
    with calling(prepared, inputs) as call:
        for first, last, box in span_boxes(prepared.loops, inner, start, stop, most):
            if until.is_set():
                return
            call(box, address_of(memory) - first * dtype.itemsize)
            if until.counts:
                until.passed(box, inner)
            yield memory[max(start, first) - first : min(stop, last) - first]


def run_records(
    prepared: Prepared,
    inputs: Mapping[int, Array],
    stop: Stop,
    consume: Consume,
    block: int = RECORDS,
) -> None:
    """Hand the part's records, some kept positions at a time, to ``consume(first, records)``."""
    kept, reduced, steps = prepared.loops
    with calling(prepared, inputs) if prepared.space.size else nullcontext() as call:
        for first in range(0, kept, block):
            count = min(block, kept - first)
            records = initial_records(prepared.program, count)
            if call is not None:
                fold(call, (count, reduced, steps), first, records, stop)
            consume(first, records)


def run_some(
    prepared: Prepared, inputs: Mapping[int, Array], stop: Stop, wanted: Array
) -> Iterator[tuple[Array, Array]]:
    """Kept positions of ``wanted`` (which rise) and their records, some at a time."""
    _, reduced, steps = prepared.loops
    with calling(prepared, inputs) as call:
        for first in range(0, len(wanted), RECORDS):
            places = wanted[first : first + RECORDS]
            records = initial_records(prepared.program, len(places))
            ends = np.flatnonzero(np.diff(places, append=-1) != 1) + 1  # of runs side by side
            start = 0
            for end in ends.tolist():
                loops = (end - start, reduced, steps)
                fold(call, loops, int(places[start]), records[start:end], stop)
                start = end
            yield places, records


def fold(call: Caller, loops: tuple[int, int, int], first: int, records: Array, stop: Stop) -> None:
    """Fold the elements of kept positions from ``first`` on into ``records``."""
    prepared, program = call.prepared, call.prepared.program
    first_record, row_bytes = address_of(records), 8 * program.sink.words
    exact, since = program.sink.kind == "exact", 0
    by_columns = prepared.by_columns
    inner = prepared.tiling.inner
    all_boxes = column_boxes(loops, CALL) if by_columns else boxes(loops, inner, CALL)
    for o, o_end, *rest in all_boxes:
        if stop.is_set():
            return
        call((first + o, first + o_end, *rest), first_record + o * row_bytes)
        if stop.counts:
            stop.passed((o, o_end, *rest), inner)
        since += TILE if by_columns else CALL + TILE  # elements of a record, at most
        if exact and since >= CARRY_AFTER:
            carry(records.reshape(len(records), -1, LIMBS))
            since = 0
