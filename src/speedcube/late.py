"""Dask and psutil, loaded at their first use: they would be a quarter of the import."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import dask as dask
    import dask._task_spec as task_spec
    import dask.base
    import dask.callbacks
    import dask.delayed as delayed
    import dask.local
    import dask.threaded
    import dask.utils
    import psutil as psutil

__all__ = ["dask", "delayed", "psutil", "task_spec", "watched"]


class _Late(ModuleType):
    """A module whose attributes are those of the module of its name, which they load."""

    _module: ModuleType | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what asks whether this is something else loads nothing
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if self._module is None:
            self._module = import_module(self.__name__)
        return getattr(self._module, name)


if not TYPE_CHECKING:
    dask = _Late("dask")
    delayed = _Late("dask.delayed")  # the module, not the function of its name
    psutil = _Late("psutil")
    task_spec = _Late("dask._task_spec")


def watched() -> bool:
    """Whether callbacks of Dask are active, which see the tasks of its schedulers."""
    kind = getattr(sys.modules.get("dask.callbacks"), "Callback", None)  # another thread loads it
    return kind is not None and bool(kind.active)
