"""The lines of an array on a GPU, sorted, or some elements of each by their place in the order.

Short lines are sorted in shared memory, many at a time; longer ones by CuPy's radix sort, of as
many as fit a block of memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from ....kernel.cuda.ordering.lines import HELD, DeviceLines
from ....kernel.cuda.prelude import THREADS
from ....plan.working import LINES
from .keys import keys_in_place, values_in_place
from .sweeps import DeviceWork, run_fixed

SHORT: Final = HELD[-1]


def picked(work: DeviceWork, line: int, places: tuple[int, ...]) -> Any:
    """Of each line the elements at ``places`` of it, sorted: a row for each line."""
    import cupy

    out = cupy.empty((work.size // line, len(places)), work.root.dtype)
    at = cupy.asarray(np.array(places, np.int64))
    for first, values in _blocks(work, line):
        rows = values.reshape(-1, line)
        if line <= SHORT:
            _short(values, line, at, out[first : first + len(rows)], work.device)
        else:
            out[first : first + len(rows)] = _long(work, values, first * line, line)[:, at]
    return out


def sorted_short(work: DeviceWork, line: int) -> Any:
    """All lines, sorted."""
    import cupy

    out = cupy.empty((work.size // line, line), work.root.dtype)
    for first, values in _blocks(work, line):
        _short(values, line, None, out[first : first + values.size // line], work.device)
    return out


def _blocks(work: DeviceWork, line: int) -> Iterator[tuple[int, Any]]:
    """Lines in the GPU's memory, with the number of the first; those in pieces all at once."""
    if not work.is_one_kernel:
        yield 0, work.whole()
        return
    step = max(1, LINES // line) * line
    for start in range(0, work.size, step):
        if work.stop.is_set():
            raise KeyboardInterrupt
        yield start // line, work.elements(start, min(work.size, start + step))


def _short(values: Any, line: int, places: Any, out: Any, device: int) -> None:
    lines, lg = values.size // line, max(0, (line - 1).bit_length())
    held = next(held for held in HELD if held >= line)
    dtype = np.dtype(values.dtype)
    many = line if places is None else len(places)
    at = 0 if places is None else int(places.data.ptr)
    words = (lines, line, lg, int(values.data.ptr), many, at, int(out.data.ptr))
    blocks = -(-lines // (held >> lg))
    run_fixed(DeviceLines(dtype.name, held), device, blocks * THREADS, words)


def _long(work: DeviceWork, values: Any, start: int, line: int) -> Any:
    """Some lines in order, from ``values``, which may be the caller's, beginning at ``start``."""
    import cupy

    keys, negative_zeros = keys_in_place(values.copy(), work.root.dtype, work.device)
    rows = keys.reshape(-1, line)
    if negative_zeros:
        own = values.reshape(rows.shape).copy()
        own[own != own] = np.nan
        return cupy.take_along_axis(own, rows.argsort(axis=-1, kind="stable"), axis=-1)
    rows.sort()
    return values_in_place(keys, work.root.dtype, work.device).reshape(rows.shape)
