"""An array as a Dask collection: dask.compute(a, b), client.persist(a), dask.visualize(a)."""

from __future__ import annotations

import uuid
from typing import Any

import dask.threaded
from dask.delayed import Delayed

from ...engine.compute import collection_graph
from ...expr.nodes import Deferred, Expr, Leaf, c_strides


class Collection:
    """Dask's protocol for collections, of one task that gives the whole result."""

    __slots__ = ("__weakref__", "_expr", "_name")

    def __init__(self, expr: Expr) -> None:
        self._expr = expr
        self._name: str | None = None  # of its Dask graph, once asked for

    def _rebuilt(self, expr: Expr) -> Any:
        """An array like this one with the values of ``expr``."""
        raise NotImplementedError

    def _key(self) -> str:
        if self._name is None:
            self._name = f"speedcube-{uuid.uuid4().hex}"
        return self._name

    def __dask_graph__(self) -> Any:
        return collection_graph(self._expr, self._key())

    def __dask_keys__(self) -> list[Any]:
        return [self._key()]

    def __dask_layers__(self) -> tuple[str, ...]:
        return (self._key(),)

    def __dask_tokenize__(self) -> str:
        return self._key()

    def __dask_postcompute__(self) -> tuple[Any, tuple[Any, ...]]:
        return _only, ()

    def __dask_postpersist__(self) -> tuple[Any, tuple[Any, ...]]:
        return _persisted, (self,)

    @staticmethod
    def __dask_optimize__(graph: Any, keys: Any, **_: Any) -> Any:
        return graph

    # Dask computes collections together only where this is one and the same function.
    __dask_scheduler__ = staticmethod(dask.threaded.get)


def _only(results: Any) -> Any:
    return results[0]


def _persisted(graph: Any, like: Collection, **_: Any) -> Any:
    """The array like ``like`` whose values are its task of ``graph``."""
    expr = like._expr
    source = Deferred(Delayed(like._key(), graph), expr.dtype, expr.shape)
    return like._rebuilt(Leaf(source, expr.shape, 0, c_strides(expr.shape)))
