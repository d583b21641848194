"""The records of a part on a GPU, some kept positions at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..kernel.folds import FOLDS
from ..kernel.program import Program
from .boxes import Stop
from .cpu import RECORDS, Consume, initial_records
from .gpu import Launcher, launching
from .prepare import Prepared
from .results import merge_pieces

Array: TypeAlias = NDArray[Any]


def run_records(
    prepared: Prepared,
    inputs: Mapping[int, Array],
    device: int,
    stop: Stop,
    consume: Consume,
    block: int = RECORDS,
) -> None:
    """Hand the part's records to ``consume(first, records)``, as `cpu.run_records` does."""
    kept = prepared.loops[0]
    with launching(prepared, inputs, device) as launcher:
        for first in range(0, kept, block):
            count = min(block, kept - first)
            consume(first, _fold(launcher, first, count, stop))


def run_some(
    prepared: Prepared, inputs: Mapping[int, Array], device: int, stop: Stop, wanted: Array
) -> Iterator[tuple[Array, Array]]:
    """Kept positions of ``wanted`` (which rise) and their records, some at a time."""
    if not len(wanted):
        return
    launcher = Launcher(prepared, inputs, device)
    ends = np.flatnonzero(np.diff(wanted, append=-1) != 1) + 1  # of runs side by side
    start = 0
    for end in ends.tolist():
        for first in range(start, end, RECORDS):
            places = wanted[first : min(end, first + RECORDS)]
            yield places, _fold(launcher, int(places[0]), len(places), stop)
        start = end


def _fold(launcher: Launcher, first: int, count: int, stop: Stop) -> Array:
    """Records of kept positions ``[first, first + count)``, their pieces merged."""
    import cupy

    program, reduced = launcher.prepared.program, launcher.prepared.loops[1]
    words, apart = program.sink.words, program.sink.kind == "argmin"
    by_launch: list[Array] = []
    for step in launcher.windows(count):
        for r in range(0, reduced, step):
            if stop.is_set():
                break
            last = min(reduced, r + step)
            total = (last - r) * launcher.row_tiles
            pieces = max(1, min(total, launcher.resident // count))
            records = count * pieces if apart else count
            out = _initial(program, records)
            launcher.launch((first, first + count), (r, last), pieces, out)
            # Waiting in the copy would hold the GIL, and other GPUs' threads could not launch.
            cupy.cuda.get_current_stream().synchronize()
            if stop.counts:
                inner = launcher.prepared.tiling.inner
                stop.passed((0, count, r, last, 0, int(launcher.words[4])), inner)
            by_launch.append(out.get().view(np.int64).reshape(count, -1, words))
    if not by_launch:
        raise KeyboardInterrupt
    return merge_pieces(program, np.concatenate(by_launch, axis=1))


def _initial(program: Program, count: int) -> Any:
    """Records before anything is folded into them, on the current device."""
    import cupy

    fold = FOLDS.get(program.sink.kind)
    if fold is None or not fold.start:
        return cupy.zeros(count * program.sink.words, np.uint64)
    return cupy.asarray(initial_records(program, count).view(np.uint64).reshape(-1))
