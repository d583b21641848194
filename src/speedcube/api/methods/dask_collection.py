"""An array as a Dask collection: dask.compute(a, b), client.persist(a), dask.visualize(a)."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cache, cached_property
from typing import Any, Final

from ... import dtypes
from ...engine.clusters.asked.collections import (
    Whereabouts,
    collection_graph,
    place_of_collections,
)
from ...engine.foreign.held import future_of_leaf, held_leaf
from ...expr.flat import FlatExpr, flat, is_shallow, nested
from ...expr.graph import below
from ...expr.nodes import Deferred, Expr, Leaf, c_strides
from ...expr.pairs.node import is_pair, pair
from ...late import dask, delayed, task_spec, uuid

# Where xarray asks, by Dask's `is_dask_collection`, whether an array is a Dask collection. Ours is
# one to all others; were it one there, two managers of chunks would claim it, and each of a hundred
# such questions about an array would build a graph.
_XARRAY: Final = "xarray.namedarray.utils"


class LaterGraph(Mapping[str, Any]):
    """The tasks of ``roots``, by the names of their results; planned when they are looked at.

    So one plan can be made of all arrays that Dask is given (`planned_together`); with a client,
    by its scheduler.
    """

    def __init__(self, roots: Mapping[str, Expr], place: Whereabouts) -> None:
        self.roots, self.place = dict(roots), place

    @cached_property
    def tasks(self) -> dict[str, Any]:
        return collection_graph(self.roots, self.place)

    def __getitem__(self, key: str) -> Any:
        return self.tasks[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.tasks)

    def __len__(self) -> int:
        return len(self.tasks)

    def copy(self) -> LaterGraph:
        """The graph itself, which nobody changes: Dask copies what it is given."""
        return self

    def __reduce__(self) -> Any:
        if all(map(is_shallow, self.roots.values())):
            return LaterGraph, (self.roots, self.place)
        return _later_graph, ([*self.roots], flat([*self.roots.values()]), self.place)


class HereGraph(LaterGraph):
    """The same of roots that read Dask's own collections.

    These are computed by the process that has them; elsewhere they may not be known.
    """

    def __reduce__(self) -> Any:
        return dict, (dict(self.tasks),)


def _later_graph(names: list[str], rows: list[Any], place: Whereabouts) -> LaterGraph:
    return LaterGraph(dict(zip(names, nested(rows), strict=True)), place)


def planned_together(graph: Any) -> Any:
    """``graph`` with one plan for all arrays that Dask has been given."""
    layers = getattr(graph, "layers", {}).values()
    ours = [one for one in layers if type(getattr(one, "mapping", None)) is LaterGraph]
    if len(ours) < 2:
        return graph
    mine = set(map(id, ours))  # to compare layers would plan each of them
    others = {key: task for one in layers if id(one) not in mine for key, task in one.items()}
    roots = {name: root for one in ours for name, root in one.mapping.roots.items()}
    return {**others, **collection_graph(roots, ours[0].mapping.place)}


class _Scheduler:
    """What computes arrays of this kind: Dask's threads, asked for when Dask is there.

    Dask computes collections together only where this is one and the same function.
    """

    def __get__(self, one: object, kind: type) -> Any:
        return dask.threaded.get


class Collection:
    """Dask's protocol for collections, of one task that gives the whole result."""

    __slots__ = ("__weakref__", "_expr", "_name")

    def __init__(self, expr: Expr) -> None:
        self._expr = expr
        self._name: str | None = None  # of its Dask graph, once asked for

    def __reduce_ex__(self, protocol: Any) -> Any:
        """As any object is pickled, but for an expression that is nested too deeply for that."""
        reduced: Any = super().__reduce_ex__(max(2, int(protocol)))
        make, arguments, state, *others = reduced
        if not is_shallow(self._expr):
            plain, slots = state
            state = plain, {**slots, "_expr": FlatExpr(self._expr), "_plans": {}}
        return make, arguments, state, *others

    def __copy__(self) -> Any:
        """Another name for the same expression, as `Array.copy` gives it."""
        reduced: Any = super().__reduce_ex__(2)
        make, arguments, state = reduced[:3]
        other = make(*arguments)
        for part in state if isinstance(state, tuple) else (state,):
            for name, value in (part or {}).items():
                setattr(other, name, value)
        return other

    def _checked(self, values: Any) -> Any:
        """``values``, which were computed of this; some arrays refuse some."""
        return values

    def _rebuilt(self, expr: Expr) -> Any:
        """An array like this one with the values of ``expr``."""
        raise NotImplementedError

    def _key(self) -> str:
        if self._name is None:
            self._name = f"speedcube-{uuid.uuid4().hex}"
        return self._name

    def __dask_graph__(self) -> Any:
        if sys._getframe(2).f_globals.get("__name__") == _XARRAY and _is_managed():
            return None
        held = future_of_leaf(self._expr)
        if held is not None:  # seen as it is by who looks for futures, as distributed.progress
            return {held.key: held, self._key(): task_spec.Alias(self._key(), held.key)}
        sources = (node.source for node in below(self._expr) if isinstance(node, Leaf))
        here = any(isinstance(one, Deferred) for one in sources)
        kind = HereGraph if here else LaterGraph
        return kind({self._key(): self._expr}, place_of_collections())

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
        return planned_together(graph)

    __dask_scheduler__ = _Scheduler()


@cache
def _is_managed() -> bool:
    """Whether xarray has our manager of chunks, which is loaded; else Dask's takes arrays."""
    from importlib.metadata import entry_points  # which loads much

    found = entry_points(group="xarray.chunkmanagers", name="speedcube")
    return any(one.load() is not None for one in found)


def _only(results: Any) -> Any:
    return results[0]


def _persisted(graph: Any, like: Collection, **_: Any) -> Any:
    """The array like ``like`` whose values are its task of ``graph``."""
    expr = like._expr
    values = delayed.Delayed(like._key(), graph)
    read = _read_there if isinstance(graph.get(like._key()), task_spec.TaskRef) else _read
    if is_pair(expr):
        part = dtypes.PARTS[expr.dtype]
        return like._rebuilt(pair(*(read(one, part, expr) for one in (values.real, values.imag))))
    return like._rebuilt(read(values, expr.dtype, expr))


def _read_there(values: delayed.Delayed, dtype: str, like: Expr) -> Leaf:
    """The same of values that a cluster has."""
    return held_leaf(values, dtype, like.shape)


def _read(values: delayed.Delayed, dtype: str, like: Expr) -> Leaf:
    """All of ``values``, which have the shape of ``like``."""
    return Leaf(Deferred(values, dtype, like.shape), like.shape, 0, c_strides(like.shape))
