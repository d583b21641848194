"""NumPy's functions that find their twins here: ``np.apply_along_axis(f, 0, x)``, x ours."""

from __future__ import annotations

import numpy as np

from ..functions.statistics import moment
from ..methods.numpy_protocol import register
from ..methods.places import FUNCTIONS
from ..order import argtopk, topk
from . import lines, mapping, moving, storing, windows

register(
    {
        np.apply_along_axis: lines.apply_along_axis,
        np.lib.stride_tricks.sliding_window_view: windows.numpys_sliding_window_view,
    }
)
FUNCTIONS.update(
    argtopk=argtopk,
    map_blocks=mapping.map_blocks,
    map_overlap=mapping.map_overlap,
    moment=moment,
    shuffle=moving.shuffle,
    to_hdf5=storing.to_hdf5,
    to_tiledb=storing.to_tiledb,
    topk=topk,
)
