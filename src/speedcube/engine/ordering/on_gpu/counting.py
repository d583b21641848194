"""How often each number comes, counted by a GPU."""

from __future__ import annotations

from typing import Final

import numpy as np

from ....expr.through.node import Through
from ....kernel.cuda.ordering.tally import COPIES, COUNTS, LENGTH, copies
from ..elements import Array
from .sweeps import DeviceWork

MOST: Final = 1 << 28  # counts


def counted(source: Through, work: DeviceWork) -> Array | None:
    """How many elements each number below the length is; None where the host is to count."""
    import cupy

    length = source.options[0]
    if not work.is_one_kernel or length > MOST:
        return None
    lg = copies(length)
    out = cupy.zeros(COUNTS + length + 1, np.uint64)
    out[:COUNTS] = cupy.asarray(np.array([length, lg or 0], np.uint64))
    with work.sweeping("wide tally" if lg is None else "tally") as sweep:
        sweep.run(out)
    counts: Array = out[COUNTS : COUNTS + length].view(np.int64)
    return counts


assert (LENGTH, COPIES) == (0, 1)
