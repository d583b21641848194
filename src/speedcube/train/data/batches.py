"""`batches`: what a rank iterates over in an epoch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from ...api.array import Array
from ...engine.rungs import cupy_problem
from ...errors import ParameterError, ParameterTypeError, RungError
from ...random.parameters import whole_number
from ..ranks import context
from .order import Order, epoch_key
from .rows import Rows, readers
from .shares import Shares


def batches(
    arrays: Any,
    batch_size: int,
    seed: Any = 0,
    epoch: int = 0,
    *,
    last: str = "drop",
    start: int = 0,
    rank: int | None = None,
    world_size: int | None = None,
    device: Any = None,
) -> Batches:
    """Batches of one epoch for this rank: rows in a random order, on its device.

    Place i of the epoch's order is a function of (seed, epoch, i) alone, computed when its batch
    is: there is no index array. Global batch k has the places from k * batch_size on. The ranks
    share out each batch, a stretch of places each, so any number of them sees the same global
    batches.

    Parameters
    ----------
    arrays : array, or tuple, list or dict of arrays
        With rows along the first axis, as many in each: torch tensors, NumPy arrays, speedcube
        arrays, of which only the rows of a batch are ever computed, or what speaks DLPack.
    batch_size : int
        Rows of a batch on all ranks together, a multiple of ``world_size``.
    seed : int, sequence of ints or SeedSequence
        The same on every rank.
    epoch : int
        Every epoch has an order of its own.
    last : {"drop", "pad", "short"}
        What becomes of the rows that do not fill a batch. Whatever it is, every rank has as many
        batches, as DDP needs. ``"drop"`` leaves them out of this epoch. ``"pad"`` fills the batch
        up with the first rows of the order, which come twice. ``"short"`` makes a batch of them, on
        each rank as many or one more; fewer rows than ranks leave some with none. DDP averages
        gradients over ranks as if all had as many rows: divide a rank's *summed* loss by
        ``batches.rows(k) / world_size`` for the mean over batch k's rows.
    start : int
        The first batch; `Batches.next_batch` of a checkpoint goes on where it was made.
    rank, world_size : int, optional
        Both or neither; by default those of the job, else of torch.distributed's group, else 0
        and 1. With model parallelism give the place among the data-parallel ranks and their number.
    device : torch.device or str, optional
        By default the rank's in a job, else where the first torch tensor is, else the CPU.

    Returns
    -------
    Batches
        Its items have the structure of ``arrays`` and hold torch tensors of the arrays' dtypes.

    Notes
    -----
    Tensors on the device are indexed there. Rows of a speedcube array are computed on the device by
    one kernel, which writes into torch's memory in the order of torch's current stream: nothing
    touches the host. What such an array reads (data in memory, means over all its rows) is computed
    and copied to a GPU once, with its first batch, for all epochs. Tensors in host memory go to a
    GPU through two page-locked buffers, a batch ahead. Take all batches of a pass on one stream.

    Raises
    ------
    ParameterError
        Arrays without rows or of different lengths, batches that do not divide by the ranks or have
        more rows than there are, a rank, a first batch or a rule that there is not.
    ParameterTypeError
        Arrays or numbers of a wrong type; a `ParameterError` too.
    RungError
        A GPU that is not there, or CuPy, which runs our kernels on it.
    """
    names, parts, rebuilt = _taken_apart(arrays)
    place = _device(device, parts)
    readable = [_readable(name, array, place) for name, array in zip(names, parts, strict=True)]
    lengths = {name: len(array) for name, array in zip(names, readable, strict=True)}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ParameterError(f"the arrays must have equally many rows: {listed}")
    shares = Shares(
        next(iter(lengths.values())),
        whole_number("batch_size", batch_size),
        last,
        *_ranks(rank, world_size),
    )
    if seed is None:
        raise ParameterError("seed must be a number that all ranks have in common, not None")
    number = whole_number("epoch", epoch)
    if number < 0:
        raise ParameterError(f"epoch must be 0 or more, not {number}")
    key = epoch_key(seed, number)
    return Batches(readable, rebuilt, key, shares, whole_number("start", start), place)


class Batches:
    """One rank's batches of one epoch, for as many passes as are asked for.

    Attributes
    ----------
    batch_size : int
        Rows of a whole batch on all ranks together.
    per_rank : int
        Rows of a whole batch on this rank.
    next_batch : int
        The number of the batch that the pass begun last gives next: in the body of a loop, of the
        batch after this one. What a checkpoint keeps for ``start``.
    """

    def __init__(
        self,
        arrays: list[Any],
        rebuilt: Callable[[list[Any]], Any],
        key: tuple[int, int],
        shares: Shares,
        start: int,
        device: Any,
    ) -> None:
        if not 0 <= start <= shares.count:
            raise ParameterError(
                f"start={start} is not a batch of this epoch, which has {shares.count}, from 0 on"
            )
        self._arrays, self._rebuilt, self._key = arrays, rebuilt, key
        self._shares, self._start, self._device = shares, start, device
        self.batch_size, self.per_rank = shares.batch, shares.each
        self.next_batch = start

    def __len__(self) -> int:
        """How many batches a pass gives."""
        return self._shares.count - self._start

    @property
    def batches_left(self) -> int:
        """How many batches the pass begun last still gives."""
        return self._shares.count - self.next_batch

    def rows(self, number: int) -> int:
        """Rows of batch ``number`` on all ranks together."""
        if not 0 <= number < self._shares.count:
            raise ParameterError(
                f"there is no batch {number}; the last is {self._shares.count - 1}"
            )
        return self._shares.size(number)

    def __iter__(self) -> Iterator[Any]:
        self.next_batch = self._start
        return self._pass()

    def _pass(self) -> Iterator[Any]:
        @cache
        def order_on(device: Any) -> Order:
            return Order(self._shares, self._key, device)

        count = self._shares.count
        with ThreadPoolExecutor(1, "speedcube-batches") as thread:
            arrays = readers(self._arrays, self._device, order_on, thread)
            ahead: list[Rows] = []
            if self._start < count:
                ahead = [array.begin(self._start) for array in arrays]
            for number in range(self._start, count):
                wanted = ahead
                if number + 1 < count:
                    ahead = [array.begin(number + 1) for array in arrays]
                self.next_batch = number + 1
                yield self._rebuilt([rows() for rows in wanted])

    def __repr__(self) -> str:
        s = self._shares
        return (
            f"<{s.count} batches of {s.batch} from {s.rows} rows, rank {s.rank} of {s.world_size}, "
            f"on {self._device}; next: {self.next_batch}>"
        )


def _taken_apart(arrays: Any) -> tuple[list[str], list[Any], Callable[[list[Any]], Any]]:
    """Names of the arrays, the arrays, and what puts others in their places."""
    if not isinstance(arrays, (Mapping, tuple, list)):
        return ["arrays"], [arrays], lambda rows: rows[0]
    if not arrays:
        raise ParameterError("arrays is empty; batches need at least one array")
    keys = list(arrays) if isinstance(arrays, Mapping) else list(range(len(arrays)))
    names, parts = [f"arrays[{key!r}]" for key in keys], [arrays[key] for key in keys]
    if isinstance(arrays, Mapping):
        return names, parts, lambda rows: dict(zip(keys, rows, strict=True))
    return names, parts, list if isinstance(arrays, list) else tuple


def _device(device: Any, arrays: list[Any]) -> Any:
    """The device that is asked for, with its number."""
    import torch

    if device is None and context.inside():
        device = context.device()
    elif device is None:
        device = next((a.device for a in arrays if isinstance(a, torch.Tensor)), "cpu")
    try:
        place = torch.device(device)
    except (RuntimeError, TypeError) as err:
        raise ParameterTypeError(f"device={device!r} is not a device of torch: {err}") from err
    if place.type not in ("cpu", "cuda"):
        raise ParameterError(f"batches are made on 'cpu' and 'cuda' devices, not on {place}")
    if place.type == "cpu":
        return torch.device("cpu")
    count = torch.cuda.device_count()
    if (place.index or 0) >= count or cupy_problem():
        raise RungError(
            f"batches cannot be made on {place}: torch sees {count} GPUs; "
            f"{cupy_problem() or 'CuPy is installed'}"
        )
    return place if place.index is not None else torch.device("cuda", torch.cuda.current_device())


def _readable(name: str, array: Any, device: Any) -> Any:
    """``array`` as a speedcube array or a tensor from which rows for ``device`` can be taken."""
    import torch

    if not isinstance(array, Array):
        array = _tensor(name, array)
        if array.is_nested or array.layout != torch.strided:
            kind = "nested" if array.is_nested else str(array.layout)
            raise ParameterTypeError(f"{name} must be a dense tensor, and is {kind}")
        if array.device.type != "cpu" and array.device != device:
            raise ParameterError(
                f"{name} is on {array.device} and batches are wanted on {device}; move it there, "
                f"or to host memory, or ask for device='{array.device}'"
            )
    if not array.ndim:
        raise ParameterTypeError(f"{name} has no axis of rows: its shape is ()")
    return array


def _tensor(name: str, array: Any) -> Any:
    """``array`` as a tensor of the same memory."""
    import torch

    if isinstance(array, torch.Tensor):
        return array.detach()
    if isinstance(array, np.ma.MaskedArray):
        raise ParameterTypeError(f"{name} has a mask, which tensors do not have; pass filled()")
    try:
        if isinstance(array, np.ndarray):
            with warnings.catch_warnings():
                # Of arrays that must not be written to, which nobody here does.
                warnings.filterwarnings("ignore", "The given NumPy array is not writable")
                return torch.from_numpy(array)
        if hasattr(array, "__dlpack__"):
            return torch.utils.dlpack.from_dlpack(array)
    except (BufferError, RuntimeError, TypeError, ValueError) as err:
        raise ParameterTypeError(f"{name} cannot be read as a torch tensor: {err}") from err
    raise ParameterTypeError(
        f"{name} must be a torch tensor, a NumPy array, a speedcube array or one that speaks "
        f"DLPack, not {type(array).__name__}"
    )


def _ranks(rank: int | None, world_size: int | None) -> tuple[int, int]:
    """The rank and how many there are: those given, else the job's, else the process group's."""
    if (rank is None) != (world_size is None):
        raise ParameterError(
            f"rank={rank} and world_size={world_size}: give both, or neither for those of the job"
        )
    if rank is not None:
        return whole_number("rank", rank), whole_number("world_size", world_size)
    if context.inside():
        return context.rank(), context.world_size()
    from torch import distributed

    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return 0, 1
