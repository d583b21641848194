"""Running sums of few elements that lie in memory: one call of the scan's kernel, and no plan."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from ...expr.nodes import Leaf, Map, Reduced, Scanned, Stored, c_strides
from ..cpu import address_of
from ..pieces.moves import window
from ..scans.call import sums_in_memory
from ..staging.late import scanned
from .lengths import MOST_LENGTH

_TAKEN: Final = frozenset(("float64", "float32", "int64", "uint64"))  # as they are stored
_WIDE: Final = frozenset(("int64", "uint64"))
_NARROW: Final = frozenset(("bool", "int8", "int16", "int32", "uint8", "uint16", "uint32"))
_MOST: Final = 1 << 22  # elements of one call
_ON_GPU: Final = _TAKEN - {"uint64"}


def sums_of(root: Leaf, rung: str) -> Any:
    """The value of ``root``, a scan; None where it is not made of lines in memory at once.

    On the ``rung`` cores threads share longer ones.
    """
    read = _read(root)
    if read is None or read[0].inner:
        return None
    source, arg, array = read
    size = math.prod(root.shape)
    if type(array) is not np.ndarray or not 0 < size <= (_MOST if rung == "core" else MOST_LENGTH):
        return None
    results = np.empty(root.shape, source.dtype)
    if arg.dtype == source.arg.dtype:
        sums_in_memory(source, address_of(array) + arg.offset * array.itemsize, results)
    else:  # narrow integers
        results[...] = window(arg, array)
        sums_in_memory(source, address_of(results), results)
    return results


def sums_on_gpu(root: Leaf, device: int, stays: bool) -> Any:
    """The same of what lies on GPU ``device``, which is the current one, of any length."""
    read = _read(root)
    if read is None or not read[1].source.on_device or not math.prod(root.shape):  # type: ignore[union-attr]
        return None
    if read[1].dtype not in _ON_GPU:
        return None
    import cupy

    source, arg, array = read
    try:
        out = cupy.empty(root.shape, source.dtype)
        address = int(array.data.ptr) + arg.offset * array.itemsize
        scanned.running_sums(source, address, device, out)
    except MemoryError:  # block after block, it needs less
        return None
    return out if stays else out.get()


def products_on_gpu(root: Leaf, device: int, stays: bool) -> Any:
    """The products of what lies on GPU ``device``, the current one; None where they are others'."""
    source, arg = root.source, root.source.arg  # type: ignore[union-attr]
    assert isinstance(source, Reduced)
    if type(arg) is not Leaf or type(arg.source) is not Stored or not arg.source.on_device:
        return None
    last = tuple(range(len(arg.shape) - len(source.axes), len(arg.shape)))
    if source.axes != last or arg.dtype != source.dtype or not math.prod(arg.shape):
        return None
    if not _whole(root, source.shape) or arg.strides != c_strides(arg.shape):
        return None
    import cupy

    array: Any = arg.source.buffer
    out = cupy.empty(root.shape, source.dtype)
    address = int(array.data.ptr) + arg.offset * array.itemsize
    scanned.products(source, address, array, device, out)
    return out if stays else out.get()[()]


def _whole(root: Leaf, shape: tuple[int, ...]) -> bool:
    """Whether ``root`` is all of its source, of ``shape``, in order."""
    return not root.offset and root.shape == shape and root.strides == c_strides(shape)


def _read(root: Leaf) -> tuple[Scanned, Leaf, Any] | None:
    """The sums that ``root`` is, whole and in order; the leaf so read, too, and its array."""
    source = root.source
    assert isinstance(source, Scanned)
    arg, shape = source.arg, source.shape
    if type(arg) is Map and arg.op == "cast" and arg.dtype in _WIDE and len(arg.args) == 1:
        arg = arg.args[0]
        taken = _NARROW
    else:
        taken = _TAKEN
    if type(arg) is not Leaf or type(arg.source) is not Stored or arg.dtype not in taken:
        return None
    if source.op != "cumsum" or source.initial or source.odd:
        return None
    if not _whole(root, shape) or arg.strides != c_strides(shape):
        return None
    return source, arg, arg.source.buffer
