"""Dask's functions over blocks of our arrays: given Dask arrays, and what they give taken back.

A function here is a signature and a text; `by_dask` makes it Dask's function of the same name. Our
arrays in its arguments become Dask arrays of their chunks, and each Dask array that comes back an
array of ours, which reads it when it is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, wraps
from importlib import import_module
from typing import Any, Final, TypeVar, cast

import numpy as np

from ... import dtypes
from ...engine.clusters.fingerprint import expected, guarded
from ...errors import DTypeError
from ...expr import build
from ...expr.nodes import Deferred, Leaf, c_strides
from ...interop.dask_array import compute_chunk, to_dask_array
from ...late import dask, delayed, task_spec, uuid
from ..array import Array
from ..methods.dask_collection import Collection

# Functions of Dask's that copy blocks before anybody writes into them, or write into none.
_ONLY_LOOK: Final = frozenset(
    (
        "map_overlap",
        "overlap",
        "push",
        "store",
        "to_hdf5",
        "to_npy_stack",
        "ufunc",
    )
)
# Words of `reduction` that tell how blocks are put together, or nothing of one.
_OF_SEVERAL: Final = {"dtype", "split_every", "combine", "name"}
F = TypeVar("F", bound=Callable[..., Any])


def by_dask(module: str = "dask.array", ours: Callable[..., Any] | None = None) -> Callable[[F], F]:
    """What makes a function without a body that of ``module`` that has its name.

    ``ours`` comes first; it gives None for what it leaves to Dask.
    """

    def decorate(stub: F) -> F:
        @wraps(stub)
        def function(*args: Any, **kwargs: Any) -> Any:
            own = ours(*args, **kwargs) if ours is not None else None
            if own is not None:
                return own
            theirs = getattr(import_module(module), stub.__name__)
            return called(stub.__name__, theirs, *args, **kwargs)

        return cast(F, function)

    return decorate


def called(name: str, theirs: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """What Dask's function ``theirs`` gives, as our arrays; ``name`` is shown to who reads them."""
    is_ours = str(getattr(theirs, "__module__", "")).startswith("speedcube.")
    given = _Given(own=is_ours or name not in _ONLY_LOOK)
    results = theirs(*given.of(args), **given.of(kwargs))
    functions = [one for one in args[:1] if callable(one) and not isinstance(one, Collection)]
    label = f"{name}({dask.utils.funcname(functions[0])})" if functions else name
    return taken(results, label, given.gpu)


class _Given:
    """Arguments with our arrays replaced by Dask's: one that is given twice by one."""

    def __init__(self, own: bool) -> None:
        self.own = own
        self.known: dict[int, Any] = {}
        self.gpu = False

    def of(self, value: Any) -> Any:
        """``value``, or what is in it, as Dask takes it."""
        if isinstance(value, Array):
            self.gpu = self.gpu or value._gpu
            if id(value) not in self.known:
                self.known[id(value)] = to_dask_array(value, value.chunks, self.own)
            return self.known[id(value)]
        if type(value) in (list, tuple):
            return type(value)(map(self.of, value))
        if type(value) is dict:
            return {key: self.of(one) for key, one in value.items()}
        return value


def taken(value: Any, name: str, gpu: bool = False) -> Any:
    """``value`` with Dask's arrays as ours; those of dtypes without kernels stay Dask's."""
    if type(value) in (list, tuple):
        return type(value)(taken(one, name, gpu) for one in value)
    if not hasattr(value, "__dask_graph__") or not isinstance(
        getattr(value, "chunks", None), tuple
    ):
        return value
    try:
        dtype = dtypes.check(value.dtype)
    except DTypeError:
        return value
    if any(math.isnan(extent) for extent in value.shape):
        value = value.persist()
        value.compute_chunk_sizes()
    shape = tuple(map(int, value.shape))
    leaf = Leaf(Deferred(value, dtype, shape, name), shape, 0, c_strides(shape))
    return Array(leaf, gpu=gpu, hint=value.chunks)


def of_one_block(
    label: str, function: Callable[[Any], Any], array: Array, dtype: Any, shape: tuple[int, ...]
) -> Array | None:
    """What ``function`` gives of ``array``, lazy, where that is one block; else None.

    A task of Dask's, but no array of Dask's: to import those takes as long as much else does.
    """
    name = np.dtype(dtype).name
    if any(len(each) != 1 for each in array.chunks) or name not in dtypes.ALL:
        return None
    given = array._rebuilt(array._expr, array._gpu)  # what is assigned to it later is not its own
    key = f"speedcube-{uuid.uuid4().hex}"
    run = partial(guarded, expected(answers=False), _of_values)
    made = delayed.Delayed(key, {key: task_spec.Task(key, run, function, given)})
    leaf = Leaf(Deferred(made, name, shape, label), shape, 0, c_strides(shape))
    return Array(leaf, gpu=array._gpu)


def _of_values(function: Callable[[Any], Any], array: Array) -> Any:
    """Task: ``function`` of the values of ``array``, which are its own."""
    return function(compute_chunk(array, ()))


def reduced_at_once(
    x: Any, chunk: Any, aggregate: Any, axis: Any = None, keepdims: bool = False, **given: Any
) -> Array | None:
    """What `speedcube.reduction` gives of one block; None for what is left to Dask."""
    dtype = given.get("dtype")
    if not isinstance(x, Array) or dtype is None or not given.keys() <= _OF_SEVERAL:
        return None
    listed = range(x.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = tuple(build.check_axis(one, x.ndim) for one in listed)
    one, last = (
        partial(function, dtype=dtype)
        if "dtype" in dask.utils.getargspec(function).args
        else function
        for function in (chunk, aggregate)
    )

    def both(values: Any) -> Any:
        return last(one(values, axis=axes, keepdims=True), axis=axes, keepdims=keepdims)

    sides = [1 if k in axes else n for k, n in enumerate(x.shape) if keepdims or k not in axes]
    return of_one_block("reduction", both, x, dtype, tuple(sides))
