"""Modules that are loaded at their first use: together they would be a third of the import."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import base64 as base64
    import concurrent.futures as futures
    import fractions as fractions
    import glob as glob
    import hashlib as hashlib
    import html as html
    import json as json
    import logging as logging
    import multiprocessing as multiprocessing
    import shutil as shutil
    import socket as socket
    import uuid as uuid
    import zipfile as zipfile

    import cloudpickle as cloudpickle
    import dask as dask
    import dask._task_spec as task_spec
    import dask.base
    import dask.callbacks
    import dask.delayed as delayed
    import dask.local
    import dask.threaded
    import dask.utils
    import psutil as psutil

__all__ = [
    "Late",
    "base64",
    "cloudpickle",
    "dask",
    "delayed",
    "fractions",
    "futures",
    "glob",
    "hashlib",
    "html",
    "json",
    "logging",
    "multiprocessing",
    "psutil",
    "shutil",
    "socket",
    "task_spec",
    "uuid",
    "watched",
    "zipfile",
]


class Late(ModuleType):
    """A module whose attributes are those of the module of its name, which the first one loads."""

    _module: ModuleType | None = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what asks whether this is something else loads nothing
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        if self._module is None:
            self._module = import_module(self.__name__)
        return getattr(self._module, name)


if not TYPE_CHECKING:
    base64 = Late("base64")
    cloudpickle = Late("cloudpickle")
    dask = Late("dask")
    delayed = Late("dask.delayed")  # the module, not the function of its name
    fractions = Late("fractions")
    futures = Late("concurrent.futures")
    glob = Late("glob")
    hashlib = Late("hashlib")
    html = Late("html")
    json = Late("json")
    logging = Late("logging")
    multiprocessing = Late("multiprocessing")
    psutil = Late("psutil")
    shutil = Late("shutil")
    socket = Late("socket")
    task_spec = Late("dask._task_spec")
    uuid = Late("uuid")
    zipfile = Late("zipfile")


def watched() -> bool:
    """Whether callbacks of Dask are active, which see the tasks of its schedulers."""
    kind = getattr(sys.modules.get("dask.callbacks"), "Callback", None)  # another thread loads it
    return kind is not None and bool(kind.active)
