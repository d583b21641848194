"""How often each number comes, counted by a GPU."""

from __future__ import annotations

from typing import Final

import numpy as np

from ....expr.through.even import bins_of, is_even
from ....expr.through.node import Through
from ....kernel.cuda.ordering.tally import BINNED, COPIES, COUNTS, EDGES, LENGTH, LOW, copies
from ..elements import Array
from .sweeps import DeviceWork

MOST: Final = 1 << 28  # counts


def counted(source: Through, work: DeviceWork) -> Array | None:
    """How many elements each number below the length is; None where the host is to count."""
    length = source.options[0]
    if is_even(source):
        lg = copies(length)
        if lg is not None and work.is_one_kernel:
            first, last, edges = source.options[2:]
            return _binned(length, lg, (first, last), edges, work)
        work = work.of(bins_of(source))
    if not work.is_one_kernel or length > MOST:
        return None
    return tallied(work, length)


def tallied(work: DeviceWork, length: int) -> Array:
    """How often each number below ``length`` comes."""
    import cupy

    lg = copies(length)
    out = cupy.zeros(COUNTS + length + 1, np.uint64)
    out[:COUNTS] = cupy.asarray(np.array([length, lg or 0], np.uint64))
    with work.sweeping("wide tally" if lg is None else "tally") as sweep:
        sweep.run(out)
    counts: Array = out[COUNTS : COUNTS + length].view(np.int64)
    return counts


assert (LENGTH, COPIES) == (0, 1)


def _binned(
    length: int, lg: int, ends: tuple[float, float], edges: bytes, work: DeviceWork
) -> Array:
    """How many elements each of ``length`` even bins has, which its edges decide."""
    import cupy

    line, (first, last) = np.frombuffer(edges), ends
    scale = length / (last - first)  # as the index of an element is computed
    margin = np.abs((line - first) * scale - np.arange(length + 1)).max()
    there, head = cupy.asarray(line), np.zeros(BINNED, np.uint64)
    head[:LOW] = length, lg
    head[LOW:EDGES] = np.array([first, last, scale, margin]).view(np.uint64)
    head[EDGES] = int(there.data.ptr)
    out = cupy.zeros(BINNED + length + 1, np.uint64)
    out[:BINNED] = cupy.asarray(head)
    with work.sweeping("bins") as sweep:
        sweep.run(out)
    counts: Array = out[BINNED : BINNED + length].view(np.int64)
    return counts
