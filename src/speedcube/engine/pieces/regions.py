"""The results of a reduction whose elements are in regions, each made by kernels of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

from ...expr.nodes import Shape
from ...plan.regions import Region

Reduce: TypeAlias = Callable[[Region, Any], None]


def joined(
    regions: Iterable[Region],
    reduce_into: Reduce,
    shape: Shape,
    dtype: str,
    out: Any,
    device: int | None,
) -> Any:
    """The results, each region's put into its place by ``reduce_into``.

    On a GPU they are made there, in ``out`` if that is where it is.
    """
    if device is None:
        results = np.empty(shape, dtype)
        for region in regions:
            reduce_into(region, results[region.kept])
        return results
    import cupy

    with cupy.cuda.Device(device):
        there = hasattr(type(out), "__cuda_array_interface__") and out.device.id == device
        whole = out if there else cupy.empty(shape, dtype)
        for region in regions:
            share = whole[region.kept]
            # Kernels finish results side by side.
            here = share if share.flags.c_contiguous else cupy.empty(share.shape, dtype)
            reduce_into(region, here)
            if here is not share:
                share[...] = here
        return whole if there else whole.get()
