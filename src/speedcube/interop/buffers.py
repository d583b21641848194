"""What can be read where it lies: NumPy, CuPy, DLPack, lists and scalars as one kind of buffer."""

from __future__ import annotations

import sys
from typing import Any, Final

import numpy as np

from ..errors import DTypeError, RungError, ShapeError
from .writers.zarr import check_ended

_NUMBERS: Final = "?bhilqBHILQefd"  # of NumPy's characters, those of numbers


MASKED: Final = (
    "masked arrays are not supported; fill the gaps first: value.filled(...), or take "
    "speedcube.ma.masked_array(value)"
)


def readable(value: Any) -> Any:
    """``value`` as a NumPy or CuPy array of native, aligned elements."""
    if type(value) is list:
        value = _of_numbers(value)
    if _as_it_lies(value):
        return value
    if is_cupy(value):
        return value
    check_ended(value)
    if hasattr(value, "__cuda_array_interface__"):
        return _cupy("__cuda_array_interface__").asarray(value)
    if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
        return _from_dlpack(value)
    if isinstance(value, np.ma.MaskedArray):
        raise DTypeError(MASKED)
    array = _of_numbers(value)
    whole_steps = all(s % array.itemsize == 0 for s in array.strides) if array.itemsize else True
    if array.dtype.hasobject or not array.dtype.isnative or not array.flags.aligned:
        if array.dtype.hasobject:
            raise DTypeError("object arrays are not supported; convert to a number dtype first")
        return np.array(array, array.dtype.newbyteorder("="))
    return array if whole_steps else array.copy()


def _of_numbers(value: Any) -> Any:
    """What NumPy makes of ``value``."""
    try:
        return np.asarray(value)
    except ValueError as err:
        raise ShapeError(f"this is not an array: {err}") from err


def is_cupy(value: Any) -> bool:
    """Whether ``value`` is a CuPy array; nothing is imported to find out."""
    cupy = sys.modules.get("cupy")
    return cupy is not None and isinstance(value, getattr(cupy, "ndarray", ()))


def _as_it_lies(value: Any) -> bool:
    """Whether ``value`` is a plain array, as nearly always: the rest need not be asked."""
    if type(value) is not np.ndarray or value.dtype.char not in _NUMBERS:
        return False
    return bool(value.flags.carray and value.dtype.isnative)


_DLPACK_CUDA: Final = (2, 13)


def _from_dlpack(value: Any) -> Any:
    on_gpu = value.__dlpack_device__()[0] in _DLPACK_CUDA
    module = _cupy("DLPack") if on_gpu else np
    try:
        return module.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as err:
        raise DTypeError(
            f"this {type(value).__name__} cannot be read through DLPack ({err}); give a dense "
            "array of numbers in CPU or CUDA memory"
        ) from err


def _cupy(through: str) -> Any:
    """CuPy, which reads arrays in GPU memory."""
    try:
        import cupy
    except ImportError as err:
        raise RungError(
            f"this array lies in GPU memory ({through}), and CuPy, which reads it, cannot be "
            f"imported ({err}); pip install speedcube[cuda13], or copy the array to the CPU"
        ) from err
    return cupy
