"""One CPU thread runs a part: it calls the part's kernel on box after box, GIL released."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import DTypeError
from ..expr.nodes import Stored
from ..kernel.cache import kernel_cache
from ..kernel.limbs import carry
from ..kernel.llvm_loops import scratch_bytes
from ..kernel.native import NativeKernel, build, targets
from ..kernel.program import LIMBS, Program
from .prepare import Prepared, cpu_source, geometry, tables
from .stop import Stop

Array: TypeAlias = NDArray[Any]
Consume: TypeAlias = Callable[[int, Array], None]
Box: TypeAlias = tuple[int, int, int, int, int, int]

# Elements in one call: about a tenth of a second, so that Ctrl-C and other threads get a turn.
CALL: Final = 1 << 25
# Records in memory at once; an exact sum's record is 576 bytes.
RECORDS: Final = 1 << 12
_CARRY_EVERY: Final = 1 << 29
_build_lock = threading.Lock()


@lru_cache(maxsize=512)
def cpu_kernel(program: Program, target: str) -> NativeKernel:
    """The machine code of ``program``; one thread compiles, others wait."""
    return build(cpu_source(program, target), target, kernel_cache())


def kernel_for(program: Program, target: str | None = None) -> NativeKernel:
    """`cpu_kernel` for ``target`` (default: the best this CPU has)."""
    with _build_lock:
        return cpu_kernel(program, target or targets()[0])


def boxes(loops: tuple[int, int, int], per_step: int, limit: int = CALL) -> Iterator[Box]:
    """Boxes of about ``limit`` elements that cover the loops; ``per_step`` elements a tile step."""
    kept, reduced, steps = loops
    row = steps * per_step
    if row > limit:
        step = max(1, limit // per_step)
        for o in range(kept):
            for r in range(reduced):
                for j in range(0, steps, step):
                    yield o, o + 1, r, r + 1, j, min(j + step, steps)
    elif row * reduced > limit:
        step = max(1, limit // max(1, row))
        for o in range(kept):
            for r in range(0, reduced, step):
                yield o, o + 1, r, min(r + step, reduced), 0, steps
    else:
        step = max(1, limit // max(1, row * reduced))
        for o in range(0, kept, step):
            yield o, min(o + step, kept), 0, reduced, 0, steps


def initial_records(program: Program, count: int) -> Array:
    """Records before anything is folded into them."""
    records = np.zeros((count, program.sink.words), np.int64)
    if program.sink.kind in ("min", "argmin"):
        records[:] = np.iinfo(np.int64).max
    return records


class Caller:
    """A kernel with its arguments in place."""

    def __init__(
        self, prepared: Prepared, inputs: Mapping[int, Array], target: str | None = None
    ) -> None:
        self.prepared = prepared
        self.kernel = kernel_for(prepared.program, target)
        self.geometry = geometry(prepared)
        offsets = tables(prepared)
        self.keep: list[Any] = [prepared.params, *offsets]
        addresses = [*self._data(inputs), *(table.ctypes.data for table in offsets)]
        self.buffers = np.array(addresses, np.uint64)
        scratch = np.empty(scratch_bytes(prepared.program) + 64, np.uint8)
        self.keep.append(scratch)
        self.scratch = (scratch.ctypes.data + 63) & ~63

    def _data(self, inputs: Mapping[int, Array]) -> list[int]:
        """The address of each leaf's position 0 (0 for leaves that are computed)."""
        addresses = []
        for leaf in self.prepared.space.leaves:
            array = inputs.get(id(leaf.source))
            if array is None and isinstance(leaf.source, Stored):
                array = host_array(leaf.source)
            addresses.append(0 if array is None else array.ctypes.data)
            self.keep.append(array)
        return addresses

    def __call__(self, box: Box, out: int) -> None:
        self.geometry[:6] = box
        self.kernel.function(
            self.geometry.ctypes.data,
            self.buffers.ctypes.data,
            self.prepared.params.ctypes.data,
            self.scratch,
            out,
        )


def host_array(source: Stored) -> Array:
    """The buffer of ``source`` in host memory."""
    if source.on_device:
        raise DTypeError(
            "a CuPy array cannot be read on a CPU rung; use on='gpu', or copy it with cupy.asnumpy"
        )
    return np.asarray(source.buffer)


def run_store(prepared: Prepared, inputs: Mapping[int, Array], out: Array, stop: Stop) -> None:
    """Every element of the part into ``out`` (its position 0 is out's first element)."""
    call = Caller(prepared, inputs)
    for box in boxes(prepared.loops, prepared.tiling.inner):
        if stop.is_set():
            return
        call(box, out.ctypes.data)


def run_records(
    prepared: Prepared,
    inputs: Mapping[int, Array],
    stop: Stop,
    consume: Consume,
    block: int = RECORDS,
) -> None:
    """Hand the part's records, some kept positions at a time, to ``consume(first, records)``."""
    kept, reduced, steps = prepared.loops
    call = Caller(prepared, inputs) if prepared.space.size else None
    for first in range(0, kept, block):
        count = min(block, kept - first)
        records = initial_records(prepared.program, count)
        if call is not None:
            _fold(call, (count, reduced, steps), first, records, stop)
        consume(first, records)


def _fold(
    call: Caller, loops: tuple[int, int, int], first: int, records: Array, stop: Stop
) -> None:
    program, inner = call.prepared.program, call.prepared.tiling.inner
    done = 0
    for box in boxes(loops, inner):
        if stop.is_set():
            return
        shifted = (first + box[0], first + box[1], *box[2:])
        call(shifted, records[box[0] :].ctypes.data)
        done += inner * math.prod(b - a for a, b in zip(box[::2], box[1::2], strict=True))
        if program.sink.kind == "exact" and done > _CARRY_EVERY:
            carry(records.reshape(len(records), -1, LIMBS))
            done = 0
