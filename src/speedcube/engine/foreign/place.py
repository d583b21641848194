"""Where the blocks that Dask's tasks get are to lie: in the host's memory, or on a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ..staging.sent import sent

_DEVICE: ContextVar[int | None] = ContextVar("speedcube-blocks", default=None)


@contextmanager
def blocks_on(device: int | None) -> Iterator[None]:
    """Tasks that this thread runs get CuPy's blocks on GPU ``device``; None: NumPy's."""
    if device is None:
        yield
        return
    import cupy

    token = _DEVICE.set(device)
    try:
        with cupy.cuda.Device(device):
            yield
    finally:
        _DEVICE.reset(token)


def rung_of_blocks() -> tuple[str, str]:
    """The rung that computes a block, and whose array it is to be."""
    device = _DEVICE.get()
    return ("core", "numpy") if device is None else (f"gpu:{device}", "cupy")


def own_block(values: Any) -> Any:
    """A copy of ``values`` where blocks are to lie: a task may write into it."""
    import numpy as np

    if _DEVICE.get() is None:
        return np.array(values, order="C")
    import cupy

    return cupy.array(sent(values))
