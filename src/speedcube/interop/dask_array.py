"""An array as a Dask array: each chunk a task that gives a block of its own.

How a block is made is found once for all chunks (`_source`). What lies in memory is copied from
there, what one kernel makes is computed chunk by chunk; where elements need more than their own
chunk (a mean, a running sum), all are computed once, and chunks are cut from that. Where an
expression reads Dask arrays element for element, their blocks go into the tasks of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..engine.clusters.fingerprint import expected, guarded
from ..engine.compute import compute
from ..engine.foreign.place import own_block, rung_of_blocks
from ..engine.pieces.moves import LentMemory
from ..errors import ShapeError
from ..expr.graph import below
from ..expr.nodes import (
    STAGED,
    Const,
    Deferred,
    Expr,
    Leaf,
    Map,
    Stored,
    is_whole,
    leaves,
    walk,
    whole,
)
from ..expr.views import indexed, rebuild, through
from ..late import uuid
from ..ops import GATHERS

Chunks: TypeAlias = tuple[tuple[int, ...], ...]


def to_dask_array(array: Any, chunks: Chunks, own: bool = True) -> Any:
    """``array`` as a ``dask.array.Array`` with ``chunks``.

    Each block is a task's ``own``, to write into; else it may be a view that cannot be written to.
    """
    import dask.array
    from dask._task_spec import TaskRef
    from dask.blockwise import blockwise
    from dask.highlevelgraph import HighLevelGraph
    from dask.layers import ArraySliceDep

    known = dask_array_of(array._expr)
    if known is not None:
        return known if known.chunks == chunks else known.rechunk(chunks)
    array = array._rebuilt(array._expr, array._gpu)  # what is assigned to it later is not theirs
    name = f"speedcube-{uuid.uuid4().hex}"
    of, axes = f"{name}-of", tuple(range(len(chunks)))
    source = _source(array, chunks, of, _cut if own else _seen)
    pairs = [one for other in source.others for one in (other.name, axes)]
    numbers = {other.name: other.numblocks for other in source.others}
    # One entry for all chunks: tasks are made of those that are needed.
    blocks = blockwise(
        *(source.block, name, axes, TaskRef(of), None, ArraySliceDep(chunks), axes, *pairs),
        numblocks=numbers,
    )
    layers, needs = {of: {of: source.node}, name: blocks}, {of: set[str](), name: {of, *numbers}}
    for other in source.others:
        layers.update(other.dask.layers)
        needs.update(other.dask.dependencies)
    graph = HighLevelGraph(layers, needs)
    return dask.array.Array(graph, name, chunks, dtype=array.dtype)


def dask_array_of(expr: Expr) -> Any:
    """The Dask array that ``expr`` is, as it is; None where it is none."""
    if isinstance(expr, Leaf) and isinstance(expr.source, Deferred) and is_whole(expr):
        collection = expr.source.collection
        if isinstance(getattr(collection, "chunks", None), tuple):
            return collection if collection.shape == expr.shape else None
    return None


class _Source(NamedTuple):
    """What chunks are made of: a node of Dask's, its function of that and a slice, Dask arrays."""

    node: Any
    block: Callable[..., Any]
    others: Sequence[Any] = ()


def _source(array: Any, chunks: Chunks, key: str, cut: Callable[..., Any]) -> _Source:
    from dask._task_spec import DataNode, Task

    expr = array._expr
    if isinstance(expr, Leaf) and isinstance(expr.source, Stored) and not expr.source.on_device:
        return _Source(DataNode(key, stored_view(expr, expr.source)), cut)
    if isinstance(expr, Leaf) and isinstance(expr.source, Const):
        value = np.asarray(expr.source.value, expr.dtype)
        return _Source(DataNode(key, np.broadcast_to(value, expr.shape)), _seen)  # as Dask's own
    run = partial(guarded, expected(answers=False))
    nodes = below(expr)
    read = [leaf for leaf in leaves(expr) if isinstance(leaf.source, Deferred)]
    if _is_one_kernel(nodes):
        return _Source(DataNode(key, array), partial(run, compute_chunk))
    if _reads_in_place(expr, read, len(nodes)):
        found = {id(leaf.source): dask_array_of(leaf) for leaf in read}.values()
        others = [one if one.chunks == chunks else one.rechunk(chunks) for one in found]
        return _Source(DataNode(key, array), partial(run, compute_over), others)
    return _Source(Task(key, partial(run, compute_chunk, array, ())), cut)


def _is_one_kernel(nodes: list[Any]) -> bool:
    """Whether a chunk needs no more than itself of any array."""
    sources = (node.source for node in nodes if isinstance(node, Leaf))
    return not any(isinstance(one, STAGED) for one in nodes) and not any(
        isinstance(source, Deferred) for source in sources
    )


def _reads_in_place(expr: Expr, read: list[Leaf], count: int) -> bool:
    """Whether ``expr``, of ``count`` nodes, is made element by element of Dask arrays."""
    nodes = walk(expr)
    if not read or len(nodes) != count or any(_is_gather(node) for node in nodes):
        return False
    return all(leaf.shape == expr.shape and dask_array_of(leaf) is not None for leaf in read)


def _is_gather(node: Expr) -> bool:
    return isinstance(node, Map) and node.op in GATHERS


def stored_view(leaf: Leaf, source: Stored) -> Any:
    """What ``leaf`` reads of ``source``, as a view of NumPy's that cannot be written to."""
    buffer = source.buffer
    size = buffer.itemsize
    interface = {
        "version": 3,
        "typestr": buffer.dtype.str,
        "shape": leaf.shape,
        "strides": tuple(step * size for step in leaf.strides),
        "data": (buffer.ctypes.data + leaf.offset * size, True),
    }
    return np.asarray(LentMemory(interface, buffer))


def compute_chunk(array: Any, item: tuple[slice, ...]) -> Any:
    """Task: the elements of ``array[item]``, on the core or the GPU that runs it."""
    return _computed(array[item]._expr if item else array._expr)


def compute_over(array: Any, item: tuple[slice, ...], *blocks: Any) -> Any:
    """Task: the elements of ``array[item]``, of whose Dask arrays the ``blocks`` are known."""
    expr = array._expr
    change = indexed(expr.shape, item)
    read = [leaf.source for leaf in leaves(expr) if isinstance(leaf.source, Deferred)]
    known = dict(zip({id(source): source for source in read}, blocks, strict=True))

    def leaf(one: Leaf) -> Leaf:
        source = one.source
        if not isinstance(source, Deferred):
            return through(one, change)
        block = known[id(source)]
        if block.shape != change.shape:
            raise ShapeError(
                f"{source.name} gave a block of shape {block.shape}, and {change.shape} "
                "was announced: tell Dask how the function changes blocks, by chunks="
            )
        values = block.astype(one.dtype, order="C", copy=False, casting="same_kind")
        return whole(Stored(values, one.dtype), change.shape)

    return _computed(rebuild(expr, change.shape, leaf))


def _computed(expr: Expr) -> Any:
    rung, memory = rung_of_blocks()
    values = compute(expr, rung, to=memory)
    return np.asarray(values) if memory == "numpy" else values


def _cut(values: Any, item: tuple[slice, ...]) -> Any:
    """Task: a block of its own of ``values``."""
    return own_block(values[item])


def _seen(values: Any, item: tuple[slice, ...]) -> Any:
    """Task: a block of ``values``, which nobody may write to."""
    if rung_of_blocks()[1] != "numpy":
        return own_block(values[item])
    block = values[(*item, ...)]  # an array, also without axes
    block.flags.writeable = False
    return block
