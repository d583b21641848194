"""``np.add.at(x, i, v)`` where one of them is ours."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...errors import UnsupportedError
from ..array import Array
from ..methods.numpy_protocol import register
from ..sources import asarray
from .at import AtPlaces

_METHODS: Final = {"add": "add", "subtract": "subtract", "minimum": "min", "maximum": "max"}


def ufunc_at(ufunc: Any, array: Any, key: Any, *values: Any) -> None:
    """``ufunc.at(array, key, values)``: an array of ours is another one from now on."""
    method = _METHODS.get(ufunc.__name__)
    if method is None or len(values) != 1:
        raise UnsupportedError(
            f"numpy.{ufunc.__name__}.at of speedcube arrays would depend on an order: there are "
            f"{', '.join(_METHODS)}, and x[key] = values"
        )
    if isinstance(array, Array):
        array._rebind(getattr(AtPlaces(array, key), method)(*values))
        return
    if not isinstance(array, np.ndarray):
        raise UnsupportedError(f"numpy.{ufunc.__name__}.at changes arrays, not {type(array)}")
    array[...] = getattr(AtPlaces(asarray(array.copy()), key), method)(*values).compute()


register({"at": ufunc_at})
