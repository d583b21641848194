"""Ufuncs given to `map_blocks`, and ufuncs of others given our arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...errors import DTypeError
from ..array import Array
from ..methods.numpy_protocol import register
from .through import called


def as_operation(func: Any, *args: Any, **kwargs: Any) -> Any:
    """What a ufunc of NumPy's gives block by block, as one operation; None where it is none.

    Element by element no block is seen, so it is the function of ours, with its law.
    """
    if (
        not isinstance(func, np.ufunc)
        or func.nout > 1
        or getattr(np, func.__name__, None) is not func
    ):
        return None
    if any(value is not None for value in kwargs.values()) or not args:
        return None
    arrays = [one for one in args if isinstance(one, Array)]
    if len(arrays) < len(args) or len({one.chunks for one in arrays}) > 1:
        return None
    call: Any = func
    result = call(*args)
    return result if isinstance(result, Array) else None


def of_others(ufunc: Any, *inputs: Any) -> Any:
    """A ufunc that is not NumPy's, of blocks: lazy, with NumPy's broadcasting; None for no dtype.

    SciPy's special functions are such, and those that Numba compiles.
    """
    from dask.array.core import elemwise

    given = [np.asarray(one) if isinstance(one, (list, tuple)) else one for one in inputs]
    kinds = [getattr(one, "dtype", type(one)) for one in given]
    try:
        dtypes.check(ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout))[-1])
    except (TypeError, DTypeError):
        return None
    return called("ufunc", elemwise, OnBlocks(ufunc), *given)


class OnBlocks:
    """A ufunc of NumPy's arrays, also where blocks lie on a GPU."""

    def __init__(self, ufunc: Any) -> None:
        self.ufunc = ufunc
        self.__name__ = ufunc.__name__

    def __call__(self, *blocks: Any, **kwargs: Any) -> Any:
        """What the ufunc gives, where its blocks were."""
        devices = [one for one in blocks if hasattr(one, "__cuda_array_interface__")]
        if not devices:
            return self.ufunc(*blocks, **kwargs)
        from cupy import asarray, asnumpy

        return asarray(self.ufunc(*map(asnumpy, blocks), **kwargs))


register({"ufunc": of_others})
