"""The values of other libraries' lazy arrays: computed, and held against what they promised."""

from __future__ import annotations

from functools import partial
from typing import Any, TypeGuard

import numpy as np

from ...errors import DTypeError, ShapeError
from ...expr.nodes import Deferred, Expr, Held, Leaf, Tiled, is_whole
from ...late import dask, uuid
from ...plan.plan import Plan
from ..clusters.asked.fetching import brought
from .held import client_that_has, future_of
from .place import blocks_on


def deferred_values(plan: Plan, scheduler: Any, devices: tuple[int, ...] = ()) -> dict[int, Any]:
    """What of ``plan`` has to be in memory first; collections are computed by ``scheduler``.

    On GPU rungs its blocks lie on the first of ``devices``, whose thread runs task after task.
    """
    get, device = (dask.local.get_sync, devices[0]) if devices else (scheduler, None)
    here = not devices and callable(scheduler)
    with blocks_on(device):
        return {
            id(one): _put_together(one, get) if here and is_dask_array(one) else _value(one, get)
            for one in plan.deferred
        }


def values_there(plan: Plan, client: Any) -> dict[int, Any]:
    """The same on the workers of ``client``, as futures: nothing of it passes through here."""
    return {id(one): _there(one, client) for one in plan.deferred}


def _there(source: Deferred | Tiled, client: Any) -> Any:
    future = future_of(source)
    if future is not None and future.client is client:
        return future
    if isinstance(source, Tiled) or (isinstance(source, Held) and not _is_of(source, client)):
        return _value(source, client)
    made = client.compute(source.collection)
    what = source.name, source.dtype, source.shape
    return client.submit(
        _as_said, *what, made, key=f"speedcube-read-{uuid.uuid4().hex}", pure=False
    )


def _is_of(source: Held, client: Any) -> bool:
    return client_that_has(source, client) is client


def is_dask_array(source: object) -> TypeGuard[Deferred]:
    """Whether ``source`` is a Dask array, whose chunks can be computed one by one."""
    if not isinstance(source, Deferred):
        return False
    return isinstance(getattr(source.collection, "chunks", None), tuple)


def is_of_dask(root: Expr) -> bool:
    """Whether ``root`` is a Dask array as it is."""
    return isinstance(root, Leaf) and is_whole(root) and is_dask_array(root.source)


def _put_together(source: Deferred, scheduler: Any) -> Any:
    """The values in memory of their own: each block is written there as soon as it is made."""
    import dask.array
    from dask.blockwise import blockwise
    from dask.highlevelgraph import HighLevelGraph
    from dask.layers import ArraySliceDep

    collection: Any = source.collection
    values = np.empty(source.shape, source.dtype)
    axes = tuple(range(values.ndim))
    name = f"speedcube-put-{uuid.uuid4().hex}"
    write = partial(_write, source.name, values)
    put = blockwise(
        *(write, name, axes, collection.name, axes, ArraySliceDep(collection.chunks), axes),
        numblocks={collection.name: collection.numblocks},
    )
    graph = HighLevelGraph.from_collections(name, put, [collection])
    blocks = dask.array.Array(graph, name, collection.chunks, dtype=source.dtype)
    keys = list(dask.base.flatten(blocks.__dask_keys__()))
    dask.base.compute_as_if_collection(dask.array.Array, graph, keys, scheduler=scheduler)
    return values


def _write(name: str, values: Any, block: Any, item: tuple[slice, ...]) -> None:
    """Task: ``block`` at its place."""
    place = values[(*item, ...)]  # an array, also without axes
    made = checked(name, np.asarray(block), place.shape, values.dtype, "a block")
    place[...] = made


def _value(source: Deferred | Tiled, scheduler: Any) -> Any:
    if isinstance(source, Tiled):
        return source.everything()
    if isinstance(source, Held):
        scheduler = client_that_has(source, scheduler)
    future = future_of(source)
    if future is not None:
        (value,) = brought(future.client, [future])
    else:
        value = source.collection.compute(scheduler=scheduler)
    return _as_said(source.name, source.dtype, source.shape, value)


def _as_said(name: str, dtype: str, shape: tuple[int, ...], value: Any) -> Any:
    """Also a task: ``value`` as an array, if it has what was said of it."""
    if not hasattr(type(value), "__cuda_array_interface__"):
        value = np.asarray(value)
    made = checked(name, value, shape, np.dtype(dtype), "an array")
    return made if made.dtype == dtype else made.astype(dtype)


def checked(name: str, value: Any, shape: tuple[int, ...], dtype: Any, what: str) -> Any:
    """``value``, if it has what was said of it."""
    if value.shape != shape:
        raise ShapeError(
            f"{name} gave {what} of shape {value.shape}, and {shape} was announced: "
            "tell Dask how the function changes blocks, by chunks=, drop_axis= or "
            "new_axis="
        )
    if value.dtype != dtype and not np.can_cast(value.dtype, dtype, "same_kind"):
        raise DTypeError(
            f"{name} gave {value.dtype}, and {dtype} was announced, or found by a call "
            f"with an empty block: give dtype={value.dtype.name!r}"
        )
    return value
