"""Many results that a part's kernel finishes itself: sums with certificates, folds without."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...kernel.llvm.many.nest import SENTINEL
from ..boxes import Stop, result_boxes
from ..cpu import address_of, calling
from ..prepare import Prepared

Array: TypeAlias = NDArray[Any]


def run_finished(
    prepared: Prepared, inputs: Mapping[int, Array], stop: Stop, out: Any = None
) -> tuple[Array, Array]:
    """The results that the part's kernel finishes, and the places of those that it could not.

    In ``out``, if they can be made there.
    """
    sink = prepared.program.sink
    assert sink.many is not None
    results = _memory(prepared, sink.dtype, out)
    tile = 0 if sink.many.rows else prepared.tiling.rows
    if not _finish(prepared, inputs, stop, results, tile):
        return results, np.empty(0, np.int64)
    bits = results.view(f"uint{8 * results.itemsize}")
    return results, np.flatnonzero(bits == SENTINEL[sink.dtype])


def run_folded(
    prepared: Prepared, inputs: Mapping[int, Array], stop: Stop, dtype: str, out: Any = None
) -> Array:
    """The results, of ``dtype``, that the part's kernel folds; in ``out``, if possible."""
    folded = prepared.program.sink.folded
    assert folded is not None
    results = _memory(prepared, dtype, out)
    _finish(prepared, inputs, stop, results, 0 if folded.rows else prepared.tiling.rows)
    return results


def _memory(prepared: Prepared, dtype: str, out: Any) -> Array:
    """Memory for all results, flat: ``out`` where that fits."""
    if isinstance(out, np.ndarray) and out.dtype == dtype and out.flags.c_contiguous:
        return out.reshape(-1)
    space = prepared.space
    kept = (n for n, reduced in zip(space.extents, space.reduced, strict=True) if not reduced)
    return np.empty(math.prod(kept), dtype)


def _finish(
    prepared: Prepared, inputs: Mapping[int, Array], stop: Stop, results: Array, tile: int
) -> int:
    """Fill ``results``, ``tile`` of them side by side; how many the kernel left to others."""
    address, failures = address_of(results), 0
    with calling(prepared, inputs) as call:
        for box in result_boxes(prepared.loops, tile):
            if stop.is_set():
                break
            call(box, address)
            failures += call.failures()
    return failures
