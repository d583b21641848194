"""The array of what is read a box at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...expr.nodes import Tiled, whole
from ...expr.sources.tiled import BoxReader
from ...interop.readers.parts import AsParts
from ..array import Array
from ..stored import pair_of


def read_by_tiles(tiles: BoxReader, dtype: np.dtype[Any], chunks: Any = None) -> Array:
    """The array whose elements ``tiles`` gives, on the grid ``chunks``; None: its own."""
    name = dtypes.check(dtype.newbyteorder("="))
    own = tiles.chunks if 0 not in tiles.shape else None
    if name in dtypes.COMPLEX:
        parts = Tiled(AsParts(tiles, name), dtypes.PARTS[name])
        expr = pair_of(whole(parts, parts.shape))
    else:
        source = Tiled(tiles, name)
        expr = whole(source, source.shape)
    return Array(expr, hint=own if chunks in (None, "auto") else chunks)
