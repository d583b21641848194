"""An array as a Dask array: every chunk a task that slices the expression and computes it."""

from __future__ import annotations

from itertools import accumulate, product
from typing import Any

from ..engine.clusters.fingerprint import Fingerprint, expected, guarded


def compute_chunk(array: Any, item: tuple[slice, ...], here: Fingerprint) -> Any:
    """Task: the elements of ``array[item]``, on the core that runs it, if its process is right."""
    return guarded(here, _elements, array, item)


def _elements(array: Any, item: tuple[slice, ...]) -> Any:
    return array[item].compute(on="core")


def to_dask_array(array: Any, chunks: tuple[tuple[int, ...], ...]) -> Any:
    """``array`` as a ``dask.array.Array`` with ``chunks``."""
    import dask.array
    from dask.base import tokenize

    name = f"speedcube-{tokenize(id(array), chunks)}"
    starts = [list(accumulate(axis, initial=0)) for axis in chunks]
    here = expected(answers=False)
    tasks: dict[Any, Any] = {}
    for block in product(*(range(len(axis)) for axis in chunks)):
        item = tuple(slice(starts[k][b], starts[k][b + 1]) for k, b in enumerate(block))
        tasks[(name, *block)] = (compute_chunk, array, item, here)
    return dask.array.Array(tasks, name, chunks, dtype=array.dtype)
