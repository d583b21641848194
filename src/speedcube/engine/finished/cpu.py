"""Many results that a part's kernel finishes itself: sums with certificates, folds without."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...expr.nodes import Reduced
from ...kernel.llvm.many.nest import SENTINEL
from ...plan.stages import Part, Stage
from ..boxes import Stop, result_boxes
from ..cpu import address_of, calling, run_some
from ..prepare import Prepared, prepare
from ..results import values

Array: TypeAlias = NDArray[Any]
_NONE: Final = np.empty(0, np.int64)


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
    failures = _finish(prepared, inputs, stop, address_of(results), tile)
    return results, failed_places(results, sink.dtype, failures)


def run_repaired(
    stage: Stage,
    part: Part,
    prepared: Prepared,
    inputs: Mapping[int, Array],
    stop: Stop,
    out: Any = None,
) -> Array:
    """The same, those that the kernel could not finish made by records."""
    return repaired(stage, part, inputs, stop, *run_finished(prepared, inputs, stop, out))


def run_together(
    prepared: Prepared, inputs: Mapping[int, Array], stop: Stop, outs: Sequence[Any]
) -> list[tuple[Array, Array]]:
    """The same of several results, each in its one of ``outs``, if possible."""
    each = ((sink, sink.many.ops if sink.many else ("",)) for sink in prepared.program.sink.sinks)
    sinks = [sink for sink, ops in each for _ in ops]
    results = [_memory(prepared, sink.dtype, out) for sink, out in zip(sinks, outs, strict=True)]
    table = (ctypes.c_uint64 * len(results))(*map(address_of, results))
    failures = _finish(prepared, inputs, stop, ctypes.addressof(table), result_tile(prepared))
    return [
        (one, failed_places(one, sink.dtype, failures if sink.many else 0))
        for one, sink in zip(results, sinks, strict=True)
    ]


def run_onto(
    prepared: Prepared, inputs: Mapping[int, Array], stop: Stop, places: NDArray[np.uint64]
) -> None:
    """Add what the kernel knows of sums to what lies at ``places``: addresses of its words."""
    _finish(prepared, inputs, stop, address_of(places), result_tile(prepared))


def result_tile(prepared: Prepared) -> int:
    """How many results a kernel makes side by side; 0: one after the other."""
    return 0 if prepared.program.sink.rows else prepared.tiling.rows


def repaired(
    stage: Stage,
    part: Part,
    inputs: Mapping[int, Array],
    stop: Stop,
    results: Array,
    failed: Array,
) -> Array:
    """``results`` of the stage's dtype, those at the places ``failed`` made by records."""
    assert isinstance(stage.source, Reduced)
    if len(failed):
        for places, records in run_some(prepare(stage, part, None), inputs, stop, failed):
            results[places] = values(stage.source, records)
    if results.dtype == stage.dtype:
        return results
    with np.errstate(over="ignore"):
        return results.astype(stage.dtype)


def failed_places(results: Array, dtype: str, failures: int) -> Array:
    """The places of the results that their kernel left to others, if there are ``failures``."""
    if not failures:
        return _NONE
    return np.flatnonzero(results.view(f"uint{8 * results.itemsize}") == SENTINEL[dtype])


def run_folded(
    prepared: Prepared, inputs: Mapping[int, Array], stop: Stop, dtype: str, out: Any = None
) -> Array:
    """The results, of ``dtype``, that the part's kernel folds; in ``out``, if possible."""
    folded = prepared.program.sink.folded
    assert folded is not None
    results = _memory(prepared, dtype, out)
    tile = 0 if folded.rows else prepared.tiling.rows
    _finish(prepared, inputs, stop, address_of(results), tile)
    return results


def _memory(prepared: Prepared, dtype: str, out: Any) -> Array:
    """Memory for all results, flat: ``out`` where that fits."""
    if isinstance(out, np.ndarray) and out.dtype == dtype and out.flags.c_contiguous:
        return out.reshape(-1)
    space = prepared.space
    kept = (n for n, reduced in zip(space.extents, space.reduced, strict=True) if not reduced)
    return np.empty(math.prod(kept), dtype)


def _finish(
    prepared: Prepared, inputs: Mapping[int, Array], stop: Stop, address: int, tile: int
) -> int:
    """Fill the results at ``address``, ``tile`` side by side; how many are left to others."""
    failures = 0
    with calling(prepared, inputs) as call:
        for box in result_boxes(prepared.loops, tile):
            if stop.is_set():
                break
            call(box, address)
            failures += call.failures()
            if stop.counts:
                stop.passed(box, prepared.tiling.inner)
    return failures
