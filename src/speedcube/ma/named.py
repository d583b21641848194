"""Names of numpy.ma besides: what makes an array, its methods as functions, and what tells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ..errors import ParameterError
from .arrays import REDUCTIONS, MaskedArray, masked_of
from .functions import masked_array

masked: Final = np.ma.masked
nomask: Final = np.ma.nomask
MaskError: Final = np.ma.MaskError
_METHODS: Final = f"{REDUCTIONS} compressed ravel reshape transpose".split()


def array(
    data: Any,
    dtype: Any = None,
    copy: bool = False,
    order: Any = None,
    mask: Any = nomask,
    fill_value: Any = None,
    keep_mask: bool = True,
    ndmin: int = 0,
) -> MaskedArray:
    """``data`` with the elements masked where ``mask`` holds; a copy, whatever ``copy`` says."""
    if order not in (None, "C", "K"):
        raise ParameterError(f"order is 'C' here, not {order!r}")
    made = masked_of(data)
    if not keep_mask:
        made = MaskedArray(made._data, None, made._fill)
    made = masked_array(made, mask, fill_value, dtype=dtype)
    extra = max(0, ndmin - made.ndim)
    return made.reshape((1,) * extra + made.shape) if extra else made  # type: ignore[attr-defined]


def concatenate(arrays: Sequence[Any], axis: int = 0) -> MaskedArray:
    """The arrays one behind the other; what is masked stays so."""
    parts = [masked_of(one) for one in arrays]
    data: Any = np.concatenate([one._data for one in parts], axis)
    mask: Any = None
    if any(one._mask is not None for one in parts):
        mask = np.concatenate([one.mask for one in parts], axis)
    return MaskedArray(data, mask)


def getmask(a: Any) -> Any:
    """Whether elements of ``a`` are masked; `nomask` of an array without a mask."""
    mask = masked_of(a)._mask
    return nomask if mask is None else mask


def is_masked(x: Any) -> bool:
    """Whether any element of ``x`` is masked; computed at once."""
    return x is masked or bool(masked_of(x).mask.any())


def isMaskedArray(x: Any) -> bool:
    """Whether ``x`` is a masked array, of numpy.ma or of this module."""
    return isinstance(x, (MaskedArray, np.ma.MaskedArray))


isMA = isarray = isMaskedArray


def median(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The median of what is not masked; computed at once, by numpy.ma."""
    numpys: Any = np.ma.median
    found = numpys(masked_of(a).compute(), axis=axis, keepdims=keepdims)
    return found if np.ndim(found) == 0 else masked_of(found)


def _function(name: str) -> Callable[..., Any]:
    def function(a: Any, *args: Any, **keywords: Any) -> Any:
        return getattr(masked_of(a), name)(*args, **keywords)

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__.rpartition(".")[0]  # where pickles find it
    function.__doc__ = f"``{name}`` of ``a``, a masked array or what becomes one: its method."
    return function


FUNCTIONS: Final = {name: _function(name) for name in _METHODS}
