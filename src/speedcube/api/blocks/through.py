"""Dask's functions over blocks of our arrays: given Dask arrays, and what they give taken back.

A function here is a signature and a text; `by_dask` makes it Dask's function of the same name. Our
arrays in its arguments become Dask arrays of their chunks, and each Dask array that comes back an
array of ours, which reads it when it is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any, Final, TypeVar, cast

from ... import dtypes
from ...errors import DTypeError
from ...expr.nodes import Deferred, Leaf, c_strides
from ...interop.dask_array import to_dask_array
from ...late import dask
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
