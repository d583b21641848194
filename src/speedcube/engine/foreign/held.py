"""Values of ours that lie with a cluster's workers: futures of a client's, which expressions read.

An array that was persisted on a cluster is one; what is made of it there fetches it from worker to
worker, and nothing of it passes through this process.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ...expr.graph import below
from ...expr.nodes import Expr, Held, Leaf, Shape, c_strides, is_whole
from ...expr.pairs.node import is_pair, parts
from ...late import delayed, task_spec
from ..clusters.asked.fetching import brought
from ..results import joined

_alive: Final[weakref.WeakSet[Held]] = weakref.WeakSet()


def held_leaf(values: Any, dtype: str, shape: Shape) -> Leaf:
    """All of ``values``, a Delayed of what lies with a worker."""
    source = Held(values, dtype, shape)
    _alive.add(source)
    return Leaf(source, shape, 0, c_strides(shape))


def leaf_of_future(future: Any, dtype: str, shape: Shape) -> Leaf:
    """All of what ``future`` stands for."""
    return held_leaf(delayed.Delayed(future.key, {future.key: future}), dtype, shape)


def future_of(source: object) -> Any:
    """The future whose value ``source`` is; None where it is none."""
    if not isinstance(source, Held):
        return None
    future = source.collection.dask.get(source.collection.key)
    return future if isinstance(future, task_spec.TaskRef) else None


def client_of(roots: Sequence[Expr]) -> Any:
    """The client on whose workers something lies that ``roots`` read; None without any."""
    if not _alive:
        return None
    sources = (node.source for node in below(*roots) if isinstance(node, Leaf))
    found = (_client(source) for source in sources if isinstance(source, Held))
    return next((client for client in found if client is not None), None)


def _client(source: Held) -> Any:
    graph = source.collection.dask
    return next((one.client for one in graph.values() if isinstance(one, task_spec.TaskRef)), None)


def futures_of_all(roots: Sequence[Expr], client: Any) -> list[list[Any]] | None:
    """The futures of each of ``roots``, if each is what lies on ``client``; of a pair two."""
    if not _alive:
        return None
    found = []
    for root in roots:
        each = [future_of_leaf(one) for one in (parts(root) if is_pair(root) else (root,))]
        if any(one is None or one.client is not client for one in each):
            return None
        found.append(each)
    return found


def future_of_leaf(root: Expr) -> Any:
    """The future whose value ``root`` is, as it is; None where it is none."""
    return future_of(root.source) if isinstance(root, Leaf) and is_whole(root) else None


def client_that_has(source: Held, otherwise: Any) -> Any:
    """The client that can fetch ``source``."""
    return _client(source) or otherwise


def fetched(client: Any, roots: Sequence[Expr], futures: Sequence[Sequence[Any]]) -> list[Any]:
    """The values of ``roots``, which are those of their ``futures``."""
    flat = brought(client, [future for some in futures for future in some])
    values = iter([np.asarray(one) for one in flat])
    each = [
        [next(values).reshape(root.shape)[()] for _ in some]
        for root, some in zip(roots, futures, strict=True)
    ]
    return [joined(some) for some in each]
