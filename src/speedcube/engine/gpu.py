"""One GPU runs a part: kernels compiled by NVRTC through CuPy, launched in slices of a second.

CuPy is imported when the first GPU part runs, never before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..expr.nodes import Stored
from ..expr.sources.span import spanned
from ..kernel.cache import kernel_cache
from ..kernel.cuda.compile import DeviceKernel, Fixed, build
from ..kernel.cuda.loops import elements_of_tile, parameter_count
from ..kernel.cuda.prelude import TILE
from ..kernel.cuda.text import HEADER
from ..kernel.math.positions import SEGMENT, SEGMENT_SHIFT
from ..kernel.program import Program
from .boxes import Stop, span_boxes
from .machine import cores
from .prepare import Prepared, launch_words, tables
from .staging.copies import device_copy
from .staging.once import copied
from .staging.packed import Packed, address_word

Array: TypeAlias = NDArray[Any]

# Elements in one launch, by the mode of a sum's bins: half a second on an H200, so that Ctrl-C is
# answered; fewer where elements may, or do, go to the limbs one by one.
LAUNCH: Final = 1 << 37
# Elements copied to the host at once, where they are taken in their order.
BLOCK: Final = 1 << 20
GRID: Final = 2**31 - 1  # thread blocks in one launch
COMPILERS: Final = 16  # threads that compile at once
SLOWER: Final = {"residual": 1 << 33, "search": 1 << 33}


@lru_cache(maxsize=512)
def gpu_kernel(program: Program | Fixed, device: int) -> tuple[DeviceKernel, int]:
    """(kernel, thread blocks that fit on the device at once)."""
    import cupy

    kernel = build(program, device, kernel_cache())
    attributes = cupy.cuda.Device(device).attributes
    return kernel, kernel.blocks_per_multiprocessor * attributes["MultiProcessorCount"]


def compile_all(programs: Sequence[Program], device: int) -> None:
    """Compile ``programs`` side by side: NVRTC takes a third of a second of one core for one."""
    threads = min(len(programs), cores(), COMPILERS)
    if threads > 1:
        pool = ThreadPoolExecutor(threads, "speedcube-nvrtc")
        try:
            for _ in pool.map(lambda program: gpu_kernel(program, device), programs):
                pass
        finally:  # after Ctrl-C none is begun
            pool.shutdown(cancel_futures=True)


class Launcher:
    """A kernel with its arguments on the current device."""

    taken: tuple[int, int] | None = None  # the window
    packed: Packed | None = None  # once it was called
    last: list[Any] | None = None  # the geometry that it was called with
    words: list[int]
    arguments: dict[Any, list[Any]]  # of the last launch in it

    def __init__(self, prepared: Prepared, inputs: Mapping[int, Array] | None, device: int) -> None:
        import cupy

        self.prepared = prepared
        self.kernel, self.resident = gpu_kernel(prepared.program, device)
        self.count = parameter_count(prepared.program)
        # Of each leaf: the device address of position 0 (0 where it is computed), and its owner.
        self.addresses = [np.uint64(0)] * len(prepared.space.leaves)
        self.owners: dict[int, Any] = {}
        self.offsets = [cupy.asarray(table) for table in tables(prepared)]
        self.stream = cupy.cuda.get_current_stream
        self.tables = [int(table.data.ptr) for table in self.offsets]
        self.start(inputs)

    def start(self, inputs: Mapping[int, Array] | None) -> None:
        """Take the part's parameters as they are now, these arrays, and all of the tile loop.

        Without ``inputs`` no array is taken, not even stored ones.
        """
        self.params = list(self.prepared.params[: self.count])
        if inputs is not None:
            sources = [leaf.source for leaf in self.prepared.space.leaves]
            stored = {id(source): source.buffer for source in sources if isinstance(source, Stored)}
            self.read({**stored, **inputs})
        self.window(0, self.prepared.loops[2])

    def read(self, inputs: Mapping[int, Array]) -> None:
        """Take the elements of these sources from these arrays in the launches that follow."""
        there: dict[int, tuple[Any, int]] = {}
        for k, leaf in enumerate(self.prepared.space.leaves):
            name = id(leaf.source)
            if name in inputs:
                if name not in there:
                    there[name] = copied(inputs[name], to_device)
                self.owners[k], address = there[name]
                self.addresses[k] = np.uint64(address)

    def window(self, begin: int, end: int) -> None:
        """Take only steps ``[begin, end)`` of the tile loop, where ``begin`` begins a tile."""
        prepared, outer = self.prepared, self.prepared.tiling.first
        if self.taken == (begin, end):
            return
        self.taken = begin, end
        self.words, self.arguments = launch_words(prepared), {}
        for at in range(HEADER + outer, len(self.words), outer + 2):
            self.words[at] += begin * self.words[at + outer + 1]  # an offset, by its tile stride
        self.words[4] = end - begin
        self.row_tiles, self.tile_size = _row_tiles(prepared, end - begin)

    def windows(self, count: int, most: int | None = None) -> Iterator[int]:
        """Set windows that cover the tile loop; give the rows of a launch of ``most`` elements."""
        terms, inner = self.prepared.program.sink.all_terms, self.prepared.tiling.inner
        most = most or LAUNCH
        least = min([most, *(SLOWER.get(t.bins.mode, most) for t in terms)])
        most = max(1, least // max(1, count))
        steps = self.prepared.loops[2]
        at_once = max(1, most // self.tile_size) * (self.tile_size // inner)
        for begin in range(0, steps, at_once):
            if at_once < steps:
                self.window(begin, min(steps, begin + at_once))
            yield max(1, most // max(1, self.words[4] * inner))

    def pieces(self) -> Iterator[tuple[int, int]]:
        """Ranges of kept positions that cover the part, for a launch of a second each."""
        kept = self.prepared.loops[0]
        for step in self.windows(1):
            for first in range(0, kept, step):
                yield first, min(kept, first + step)

    def store(self, kept: tuple[int, int], out: Any) -> None:
        """Run the positions ``kept``, ``(begin, end)``, with a thread block for each tile."""
        blocks, arguments = self.stored(kept)
        self.call(blocks, arguments, *(out if isinstance(out, tuple) else (out,)))

    def stored(self, kept: tuple[int, int]) -> tuple[int, list[Any]]:
        """Thread blocks and geometry of a launch that stores the positions ``kept``."""
        units = kept[1] - kept[0]
        pieces = max(1, min(self.row_tiles, GRID // units))
        return min(units * pieces, GRID), self.geometry(kept, (0, 1), pieces)

    def launch(
        self,
        kept: tuple[int, int],
        reduced: tuple[int, int],
        pieces: int,
        out: Any,
        most: int | None = None,
    ) -> None:
        """Run the positions ``kept`` and ``reduced``, each ``(begin, end)``.

        Each record is made in ``pieces``. At most ``most`` thread blocks take them; by default,
        as many as there is room for.
        """
        units = (kept[1] - kept[0]) * pieces
        outs = out if isinstance(out, tuple) else (out,)
        self.call(min(units, most or self.resident), self.geometry(kept, reduced, pieces), *outs)

    def geometry(self, kept: tuple[int, int], reduced: tuple[int, int], pieces: int) -> list[Any]:
        """The words of such a launch that every kernel takes first."""
        arguments = self.arguments.get((kept, reduced, pieces))
        if arguments is None:
            total = (reduced[1] - reduced[0]) * self.row_tiles
            words = list(self.words)
            words[:4] = [kept[0], kept[1] - kept[0], reduced[0], reduced[1] - reduced[0]]
            words[7:10] = [pieces, self.row_tiles, -(-total // pieces)]
            arguments = [np.uint64(w % 2**64) for w in words]
            self.arguments = {(kept, reduced, pieces): arguments}  # the last, if asked for again
        return arguments

    def call(self, blocks: int, arguments: list[Any], *rest: Any) -> None:
        """Call the kernel: its geometry, and ``rest`` after what every kernel takes."""
        words = [*self.params, *self.addresses, *self.tables, *map(address_word, rest)]
        first, packed = len(arguments), self.packed
        if packed is None:
            packed = self.packed = Packed(self.kernel, first + len(words))
        if arguments is not self.last:
            packed.words[:first] = self.last = arguments
        packed.words[first:] = words
        packed.launch(blocks, int(self.stream().ptr))


@contextmanager
def launching(prepared: Prepared, inputs: Mapping[int, Array], device: int) -> Iterator[Launcher]:
    """A launcher: one that an earlier computation left, with the data of this one."""
    idle: list[Launcher] = prepared.frames.setdefault(("gpu", device), [])
    try:
        launcher = idle.pop()
    except IndexError:
        launcher = Launcher(prepared, inputs, device)
    else:
        launcher.start(inputs)
    yield launcher
    launcher.owners.clear()  # CuPy gives their memory to what follows on the stream, not before
    idle.append(launcher)


def to_device(array: Any) -> tuple[Any, int]:
    """``array`` on the current device, and the address of its first element.

    A strided host array is moved as the bytes it spans, so that its strides still hold.
    """
    if hasattr(type(array), "__cuda_array_interface__"):
        return array, int(array.data.ptr)
    if array.flags.c_contiguous:
        moved = device_copy(array)
        return moved, int(moved.data.ptr)
    span, start = spanned(array)
    moved = device_copy(span)
    return moved, int(moved.data.ptr) + start


def _row_tiles(prepared: Prepared, steps: int) -> tuple[int, int]:
    """(tiles that cover ``steps`` of any row, elements in a tile)."""
    tiling = prepared.tiling
    for code, strides in zip(prepared.program.leaves, prepared.space.strides, strict=True):
        if code.mode == "segment" and code.stream is not None:
            segments = ((steps - 1) * strides[tiling.first] >> SEGMENT_SHIFT) + 2
            per_tile = TILE // ((code.stream.segment_blocks) >> code.lg)
            return -(-segments // per_tile), per_tile * (SEGMENT >> code.lg)
    if tiling.table:
        return -(-steps // tiling.rows), tiling.rows * tiling.inner
    size = elements_of_tile(prepared.program)
    return -(-steps // size), size


def run_store(
    prepared: Prepared,
    inputs: Mapping[int, Array],
    out: Any,
    device: int,
    stop: Stop,
    wait: bool = True,
) -> None:
    """Every element of the part into the device array ``out``.

    Without ``wait`` the last launch may still run, on the current stream.
    """
    import cupy

    with launching(prepared, inputs, device) as launcher:
        for k, piece in enumerate(launcher.pieces()):
            if k:
                cupy.cuda.get_current_stream().synchronize()
            if stop.is_set():
                return
            launcher.store(piece, out)
            if stop.counts:
                stop.passed((*piece, 0, 1, 0, int(launcher.words[4])), prepared.tiling.inner)
        if wait:
            cupy.cuda.get_current_stream().synchronize()


def blocks(
    prepared: Prepared, inputs: Mapping[int, Array], start: int, stop: int, device: int, until: Stop
) -> Iterator[Array]:
    """Elements ``[start, stop)`` in C order, block after block in host memory, as `cpu.blocks`."""
    import cupy

    launcher = Launcher(prepared, inputs, device)
    for first, last, out in spans(launcher, start, stop):
        if until.is_set():
            return
        cupy.cuda.get_current_stream().synchronize()
        yield out.get()[max(start, first) - first : min(stop, last) - first]


def spans(launcher: Launcher, start: int, stop: int) -> Iterator[tuple[int, int, Any]]:
    """The same on the device, each with its first element and its end: some may hold a few more."""
    import cupy

    prepared = launcher.prepared
    dtype = np.dtype(prepared.program.element.output_type("x"))
    for first, last, box in span_boxes(prepared.loops, prepared.tiling.inner, start, stop, BLOCK):
        out = cupy.empty(last - first, dtype)
        launcher.window(*box[4:])
        place = np.uint64((int(out.data.ptr) - first * dtype.itemsize) % 2**64)
        launcher.store((box[0], box[1]), place)
        yield first, last, out
