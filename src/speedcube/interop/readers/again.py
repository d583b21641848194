"""Stores that fail for a moment: what is asked of them is asked again, a few times."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

from .zarr_files import is_local, without_secrets

Value = TypeVar("Value")

PAUSES: Final = (0.1, 0.5, 2.0)  # seconds before each further try
# What a network says that may soon be there again.
_PASSING: Final = frozenset(
    (errno.EAGAIN, errno.EIO, errno.ETIMEDOUT, errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ESTALE)
)
REFUSALS: Final = (FileNotFoundError, PermissionError, IsADirectoryError)
# Libraries of stores, whose errors are not all OSErrors.
_STORES: Final = frozenset(
    ("aiohttp", "azure", "botocore", "fsspec", "gcsfs", "google", "http", "httpx", "obstore")
)


def may_pass(err: Exception, array: Any) -> bool:
    """Whether ``err``, which ``array`` raised, may be gone a moment later."""
    if isinstance(err, REFUSALS):
        return False
    if isinstance(err, (ConnectionError, TimeoutError)):
        return True
    if isinstance(err, OSError):
        return err.errno in _PASSING or (err.errno is None and _is_remote(array))
    return type(err).__module__.partition(".")[0] in _STORES


def _is_remote(array: Any) -> bool:
    """Whether ``array`` is of Zarr, in a store that is no folder."""
    store = getattr(getattr(array, "store_path", None), "store", None)
    return store is not None and not is_local(store)


def again(read: Callable[[], Value], array: Any, what: str) -> Value:
    """What ``read`` gives at last; `OSError` that names ``what`` where it goes on failing."""
    for pause in (*PAUSES, None):
        try:
            return read()
        except Exception as err:
            if not may_pass(err, array):
                raise
            if pause is None:
                text = without_secrets(f"{type(err).__name__}: {err}", what)
                number = getattr(err, "errno", None) or errno.EIO
                told = f"{what} cannot be read, tried {len(PAUSES) + 1} times: {text}"
                raise OSError(number, told) from None
        time.sleep(pause)
    raise AssertionError("unreachable")
