"""Arrays assigned to others by slices, block after block, those of one shape together."""

from __future__ import annotations

import math
import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Final

import numpy as np

from ...engine.writing.how import HowToWrite, rung_of
from ...engine.writing.target import WriteTarget
from ...engine.writing.write import Write, write_all
from ...errors import ParameterError, ParameterTypeError, ShapeError
from ...interop.writers.assigned import Assigned, unit_of
from ...interop.writers.zarr import can_travel, into_array
from ...interop.writers.zarr_place import region_of
from ...plan.writing import MEMORY
from ..array import Array
from ..blocks.storing import store as dasks_store
from ..methods.places import FUNCTIONS
from .saving import how_to_write

_OWN: Final = {"on", "memory", "progress"}


def store(
    sources: Any,
    targets: Any,
    lock: Any = True,
    regions: Any = None,
    compute: bool = True,
    return_stored: bool = False,
    load_stored: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Assign arrays to targets by slices, block after block: to files of HDF5, to NumPy's arrays.

    Arrays of one shape are made together, so that what they share is read and computed once. Of a
    Dask client the workers write to arrays of Zarr, each chunks of its own, if no lock is given;
    to other targets this process does, while the workers compute the next blocks.

    Parameters
    ----------
    sources : Array or list of Array
        What is written.
    targets : what is assigned to, or a list
        One for each: anything with ``__setitem__``.
    lock : bool or lock
        Whether blocks are assigned one at a time; to arrays of NumPy and Zarr they are not, unless
        a lock is given.
    regions : tuple of slices, or a list
        Where in the targets.
    compute : bool
        Whether it is done now; else a Delayed is given, whose ``plan()`` says what it will do.
    return_stored : bool
        Whether arrays that read the targets are given.
    load_stored : bool, optional
        Whether they hold what was written.
    **kwargs
        ``on=``, ``memory=`` and ``progress=`` as in `to_zarr`; others are for Dask's scheduler,
        which computes then.

    Returns
    -------
    None, Delayed, or arrays
        As `compute` and `return_stored` say.

    Raises
    ------
    ValueError
        Where there are not as many targets, or a region does not fit.
    TypeError
        For a target that cannot be assigned to.
    RuntimeError
        Where workers of a client wrote to another place than this machine sees.

    Examples
    --------
    >>> import speedcube as sc
    >>> target = np.zeros(4)
    >>> _ = sc.store(sc.arange(4.0, chunks=2), target)
    >>> target
    array([0., 1., 2., 3.])
    """
    several = isinstance(sources, (list, tuple))
    arrays = list(sources) if several else [sources]
    there = list(targets) if isinstance(targets, (list, tuple)) else [targets]
    ours = all(isinstance(one, Array) for one in arrays) and set(kwargs) <= _OWN
    if not ours or return_stored or any(hasattr(t, "dask") for t in there):
        return dasks_store(
            sources, targets, lock, regions, compute, return_stored, load_stored, **kwargs
        )
    if len(there) != len(arrays):
        raise ParameterError(f"{len(arrays)} arrays, and {len(there)} targets: give one for each")
    boxes = regions if isinstance(regions, list) else [regions] * len(arrays)
    if len(boxes) != len(arrays):
        raise ParameterError(f"{len(arrays)} arrays, and {len(boxes)} regions: give one for each")
    said = kwargs.get("on"), kwargs.get("memory", MEMORY), kwargs.get("progress")
    how = how_to_write(*said, arrays)
    shared = threading.Lock()
    groups: dict[Any, list[tuple[Any, WriteTarget]]] = {}
    for array, target, box in zip(arrays, there, boxes, strict=True):
        one = _by_workers(_assigned(array, target, box, lock, shared), lock, how)
        groups.setdefault((array.shape, one.first), []).append((array._expr, one))
    pairs = groups.values()
    writes = [Write([a for a, _ in each], [t for _, t in each], how) for each in pairs]
    if not compute:
        from .later import Writing

        return Writing(*writes)
    write_all(writes)
    return None


def _assigned(array: Array, target: Any, region: Any, lock: Any, shared: Any) -> Assigned:
    """What assigns ``array`` to ``region`` of ``target``, with ``shared`` held if others must."""
    kind = type(target).__name__
    if not hasattr(target, "__setitem__"):
        raise ParameterTypeError(f"store() assigns to slices, and {kind} has no __setitem__")
    there = tuple(getattr(target, "shape", array.shape))
    first = (0,) * array.ndim
    if region is not None:
        box = region_of(region, there, kind)
        first, there = tuple(s.start for s in box), tuple(s.stop - s.start for s in box)
    if there != array.shape:
        what = "region" if region is not None else "target"
        raise ShapeError(f"the {what} has shape {there}, and the array {array.shape}")
    alone: AbstractContextManager[Any] = nullcontext()
    if lock is not True and lock:
        alone = lock
    elif lock and not (isinstance(target, np.ndarray) or hasattr(target, "store_path")):
        alone = shared
    return Assigned(target, first, array.shape, unit_of(target, array.ndim), alone)


def _by_workers(one: Assigned, lock: Any, how: HowToWrite) -> WriteTarget:
    """``one``, or what a client's workers write to, each chunks of its own."""
    target, is_locked = one.target, lock not in (True, False, None)
    if is_locked or not hasattr(target, "store_path") or not can_travel(target.store_path.store):
        return one
    if rung_of(how, math.prod(one.shape)).kind != "client":
        return one
    box = tuple(slice(f, f + n) for f, n in zip(one.first, one.shape, strict=True))
    return into_array(target, box, one)


FUNCTIONS.update(store=store)
