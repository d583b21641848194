"""Running sums of few elements that lie in memory: one call of the scan's kernel, and no plan."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...expr.nodes import Leaf, Scanned, Stored, c_strides
from ..cpu import address_of
from ..scans.call import sums_in_memory
from .lengths import MOST_LENGTH

_TAKEN: Final = frozenset(("float64", "float32", "int64"))  # as they are stored


def sums_of(root: Leaf) -> Any:
    """The value of ``root``, a scan; None where it is not made of lines in memory at once."""
    source = root.source
    assert isinstance(source, Scanned)
    arg, shape = source.arg, source.shape
    if type(arg) is not Leaf or type(arg.source) is not Stored or arg.dtype not in _TAKEN:
        return None
    if source.op != "cumsum" or source.inner or source.initial or source.odd:
        return None
    steps, array = c_strides(shape), arg.source.buffer
    if root.offset or root.shape != shape or root.strides != steps or arg.strides != steps:
        return None
    results = np.empty(shape, source.dtype)
    if type(array) is not np.ndarray or not 0 < results.size <= MOST_LENGTH:
        return None
    sums_in_memory(source, address_of(array) + arg.offset * array.itemsize, results)
    return results
