"""Readers: the rows of one array at a batch's places, as a tensor on the rank's device."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial
from typing import Any, Protocol, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from ...api.array import Array
from ...api.sources import asarray
from ...api.take import take
from ...expr.nodes import Expr
from .kernel import Kernel
from .order import Order

# What is called when the batch is wanted.
Rows: TypeAlias = Callable[[], Any]


class Reader(Protocol):
    """Gives the rows of batch after batch."""

    def begin(self, number: int) -> Rows:
        """Begin with batch ``number``, as far as that can be done beforehand."""


def _selectable(tensor: Any) -> Any:
    """The bits of ``tensor`` in a dtype that PyTorch selects rows of; uint16 and wider are none."""
    import torch

    signed = {torch.uint16: torch.int16, torch.uint32: torch.int32, torch.uint64: torch.int64}
    return tensor.view(signed.get(tensor.dtype, tensor.dtype))


class _Here:
    """A tensor that is on the device already."""

    def __init__(self, tensor: Any, order: Order) -> None:
        self.dtype, self.tensor, self.order = tensor.dtype, _selectable(tensor), order

    def begin(self, number: int) -> Rows:
        return partial(self._rows, number)

    def _rows(self, number: int) -> Any:
        return self.tensor.index_select(0, self.order.batch(number)).view(self.dtype)


class _Computed:
    """A speedcube array: the rows of a batch are computed on the device, and no others."""

    def __init__(self, array: Array, order: Order) -> None:
        self.order = order
        self.kernels = _kernels.setdefault(array._expr, {})
        self.array = array

    def begin(self, number: int) -> Rows:
        return partial(self._rows, number)

    def _rows(self, number: int) -> Any:
        index = self.order.batch(number)
        key = len(index), index.device
        if key not in self.kernels:
            places = asarray(np.zeros(len(index), np.int64))
            rows = take(self.array, places, 0)
            self.kernels[key] = Kernel(rows, (places,), index.device)
        return self.kernels[key](index)


# Of each array whose rows are computed, as long as it lives: every epoch uses the same.
_kernels: WeakKeyDictionary[Expr, dict[Any, Kernel]] = WeakKeyDictionary()


class _Moved:
    """A tensor in host memory for a GPU: ``thread`` gathers the next batch while one is used.

    It goes through one of two page-locked buffers and a stream of its own. ``order`` is the host's.
    """

    def __init__(self, tensor: Any, order: Order, device: Any, thread: Executor) -> None:
        import torch

        self.dtype, self.tensor = tensor.dtype, _selectable(tensor)
        self.order, self.device, self.thread = order, device, thread
        shape = (-(-order.shares.batch // order.shares.world_size), *tensor.shape[1:])
        self.buffers = [
            torch.empty(shape, dtype=self.tensor.dtype, pin_memory=True),
            torch.empty(shape, dtype=self.tensor.dtype, pin_memory=True),
        ]
        self.copied = [torch.cuda.Event(), torch.cuda.Event()]
        self.stream = torch.cuda.Stream(device)

    def begin(self, number: int) -> Rows:
        return partial(self._rows, number % 2, self.thread.submit(self._gather, number))

    def _gather(self, number: int) -> Any:
        import torch

        index = self.order.batch(number)
        copied = self.copied[number % 2]
        copied.synchronize()  # the batch before the last has left the buffer
        buffer = self.buffers[number % 2][: len(index)]
        torch.index_select(self.tensor, 0, index, out=buffer)
        with torch.cuda.stream(self.stream):
            rows = buffer.to(self.device, non_blocking=True)
            copied.record()
        return rows

    def _rows(self, buffer: int, gathered: Any) -> Any:
        import torch

        rows = gathered.result()
        here = torch.cuda.current_stream(self.device)
        here.wait_event(self.copied[buffer])
        rows.record_stream(here)
        return rows.view(self.dtype)


def readers(
    arrays: list[Any], device: Any, order_on: Callable[[Any], Order], thread: Executor
) -> list[Reader]:
    """The reader of each of ``arrays``; ``order_on`` gives the order for a device.

    ``thread`` is a single one: what reads host memory shares the host's order.
    """
    import torch

    host = torch.device("cpu")

    def reader(array: Any) -> Reader:
        if isinstance(array, Array):
            return _Computed(array, order_on(device))
        if array.device == device:
            return _Here(array, order_on(device))
        return _Moved(array, order_on(host), device, thread)

    return [reader(array) for array in arrays]
