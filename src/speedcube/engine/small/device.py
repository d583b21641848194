"""Values on a GPU as one launch each, of what is large, too; known as the host's are."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, Final

import numpy as np

from ...expr.nodes import Expr, Leaf, Reduced, Scanned
from ...late import watched
from ..results import values
from ..staging.late import launch
from ..staging.sent import sent
from .again import Met, few_structure, with_arrays
from .call import Reusable
from .first import FEW, with_results
from .known import met, note, reusable
from .running import products_on_gpu, sums_on_gpu
from .structure import SMALL, NotSmallError, Structure, structure_of

# Elements up to which a GPU is given one launch, so that Ctrl-C is answered.
ONE_LAUNCH: Final = 1 << 33


def in_one_launch(small: int) -> int:
    """The same as it is now: Dask's callbacks hear of what is not ``small``."""
    return small if small < 0 or watched() else ONE_LAUNCH


def value_on_gpu(root: Expr, device: int, stays: bool, large: bool = False) -> Any:
    """The value of ``root`` as one launch on the current stream of GPU ``device``; None if none.

    What is ``large`` stays there. The value is on the host, unless it ``stays`` and may still be
    made.
    """
    if type(root) is Leaf and type(root.source) is Scanned:
        with launch.on_device(device):
            return sums_on_gpu(root, device, stays)
    if type(root) is Leaf and type(root.source) is Reduced and root.source.op == "prod":
        with launch.on_device(device):
            return products_on_gpu(root, device, stays)
    few = few_structure(root)
    few = None if few is not None and few.numbers else few  # a kernel makes them there
    value = None if few is None else value_again(few, root, device, stays, large)
    if value is not None:
        return value
    if few is not None and few.reads:  # reductions, which are made first
        made = partial(_result, device=device)
        placed = with_results(root, made, ONE_LAUNCH) if stays or not large else None
        return None if placed is None else value_on_gpu(placed, device, stays, large)
    try:
        found = structure_of(root, True, not large)
        if large and not all(leaf.source.on_device for leaf in found.data):  # type: ignore[union-attr]
            return None
        ready = reusable(found, device, found.root.shape if large else None)
    except NotSmallError:
        return None
    if ready is None:
        return None
    with launch.on_device(device):
        value = _value(ready, found, root, device, stays, large)
    if few is not None and value is not None:
        note(device, few, ready, found)
    return value


def value_again(few: Structure, root: Expr, device: int, stays: bool, large: bool) -> Any:
    """The value of ``root``, with its ``few`` words, if the like of it was met; None otherwise."""
    known = None if few.numbers else met((device, few.key))
    if known is None:
        return None
    ready, few.line = known
    if large and not stays and few.source is None:
        return None  # the planner asks how much memory there is
    if few.reads and not _reads_on_gpu(few, device):
        return None
    if large and few.on_device < len(few.data):
        return None
    with launch.on_device(device):
        return _value(_of_its_length(ready, few, root, device), few, root, device, stays, large)


# By device, key and shape; True: met once, of another length than the first of its key.
_lengths: Met[Reusable | bool] = Met()


def _of_its_length(ready: Reusable, few: Structure, root: Expr, device: int) -> Reusable:
    """The like of ``ready`` for the length of ``few``, once that was met twice.

    A launch that finishes results is for one length, and takes a millisecond to be made. Without
    one the largest of 1,000 numbers takes 90 us, with it 40.
    """
    if few.source is None or math.prod(ready.slots.stage.root.shape) == few.size:
        return ready
    shape = few.root.shape
    key = device, few.key, shape
    own = _lengths.get(key)
    if own is True:
        try:
            own = reusable(structure_of(root, True, few.size <= SMALL), device, shape) or ready
        except NotSmallError:  # it reads other reductions
            own = ready
    _lengths.note(key, own or True)
    return own or ready


def _result(root: Expr, device: int) -> Any:
    """The results of a reduction, which stay."""
    arg = root.source.arg  # type: ignore[union-attr]
    return value_on_gpu(root, device, True, math.prod(arg.shape) > SMALL)


def _reads_on_gpu(few: Structure, device: int) -> bool:
    """Whether ``few`` has arrays now of the reductions that it reads: several of few, or one."""
    if few.reads > FEW:
        several = len({id(leaf.source) for leaf in few.data if type(leaf.source) is Reduced}) > 1
        if several:  # which share a reading where they are planned
            return False
    if not with_arrays(few, partial(_result, device=device)):
        return False
    few.on_device = sum(type(leaf.source.buffer) is not np.ndarray for leaf in few.data)  # type: ignore[union-attr]
    return True


def _value(
    ready: Reusable, found: Structure, root: Expr, device: int, stays: bool, large: bool
) -> Any:
    if found.source is not None:
        value = _finished_value(ready, found, root, device, stays)
        if value is not None or ready.slots.several:
            return value
    elif large and not stays:
        return None  # the planner asks how much memory there is
    try:
        call = ready.launches.pop()
    except IndexError:
        call = launch.OneLaunch(ready.slots, device)
    if found.source is None:
        result = call.stored(found, root, stays)
    else:
        record = call.fold(found)
        result = values(found.source, record).reshape(root.shape)
        result = sent(result) if stays else result[()]
    ready.launches.append(call)
    return result


def _finished_value(ready: Reusable, found: Structure, root: Expr, device: int, stays: bool) -> Any:
    """The results of ``found`` by the kernel that finishes them; None where that cannot be."""
    try:
        call = ready.finished.pop()
    except IndexError:
        call = launch.FinishedLaunch(ready.slots, device)
    fits = call.visits == math.prod(found.root.shape)
    value = call.value(found, root, stays) if fits else None
    ready.finished.append(call)
    return value
