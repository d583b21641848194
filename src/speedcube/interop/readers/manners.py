"""What arrays of other libraries need to be read well: their chunks, a lock, masks."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...errors import DataFileError

# netCDF4 lets other threads in while its C library reads, which is made for one thread: they crash.
_NETCDF: Final = threading.RLock()


def chunks_of(array: Any) -> Any:
    """The lengths of a chunk of ``array``, as it says; None where it says nothing of use."""
    if _is_netcdf(array):
        told = array.chunking()
        own: Any = tuple(told) if isinstance(told, list) else None
    else:
        own = getattr(array, "chunks", None)
    good = isinstance(own, tuple) and all(isinstance(n, int) and n > 0 for n in own)
    return own if good else None


def dtype_of(array: Any) -> np.dtype[Any]:
    """The dtype of what ``array`` gives; netCDF4's may scale what it stores."""
    scales = (
        _is_netcdf(array) and array.scale and {"scale_factor", "add_offset"} & {*array.ncattrs()}
    )
    if not scales or 0 in array.shape:
        own: np.dtype[Any] = np.dtype(array.dtype)
        return own
    with reading(array):
        given: np.dtype[Any] = array[(slice(0, 1),) * array.ndim].dtype
    return given


def reading(array: Any) -> Any:
    """A block in which one thread may read ``array``."""
    return _alone() if _is_netcdf(array) else nullcontext()


def unmasked(found: Any, label: str) -> NDArray[Any]:
    """``found`` with NaN where it is masked; `DataFileError` where it is no array of floats."""
    if not np.ma.is_masked(found):
        return np.asarray(found)
    if found.dtype.kind != "f":
        raise DataFileError(
            f"{label} has elements without a value (masked), for which {found.dtype} "
            "has no number; with netCDF4, set_auto_mask(False) gives the numbers as "
            "they are stored"
        )
    filled: NDArray[Any] = found.filled(np.nan)
    return filled


def _is_netcdf(array: Any) -> bool:
    return type(array).__module__.partition(".")[0] == "netCDF4"


@contextmanager
def _alone() -> Iterator[None]:
    """No other thread reads by netCDF4, or by h5py, which may have the same C library."""
    h5py = sys.modules.get("h5py")
    with _NETCDF, h5py._objects.phil if h5py else nullcontext():
        yield
