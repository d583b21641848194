"""Modules that are loaded at their first use: together they would be a third of the import."""

from __future__ import annotations

import os
import site
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
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
    import tempfile as tempfile
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
    "setting",
    "shutil",
    "tempfile",
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
    tempfile = Late("tempfile")
    socket = Late("socket")
    task_spec = Late("dask._task_spec")
    uuid = Late("uuid")
    zipfile = Late("zipfile")


def watched() -> bool:
    """Whether callbacks of Dask are active, which see the tasks of its schedulers."""
    kind = getattr(sys.modules.get("dask.callbacks"), "Callback", None)  # another thread loads it
    return kind is not None and bool(kind.active)


def setting(name: str, default: Any) -> Any:
    """Dask's setting ``name``, of those that Dask gives no value to itself.

    Dask takes 0.3 s to load. Where nobody has loaded it, and neither its files nor the environment
    say anything, nothing is set.
    """
    if "dask" in sys.modules or _configured():
        return dask.config.get(name, default)
    return default


@cache  # Dask, too, looks at them once
def _configured() -> bool:
    """Whether a file or a variable of the environment has settings for Dask."""
    if any(name.startswith("DASK_") for name in os.environ):
        return True
    prefixes = (sys.prefix, *site.PREFIXES)
    folders = [Path(os.path.expanduser("~"), ".config", "dask"), Path("/etc/dask")]
    folders += [Path(prefix, "etc", "dask") for prefix in prefixes]
    return any(_says_something(path) for folder in folders for path in _settings_in(folder))


def _settings_in(folder: Path) -> list[Path]:
    try:
        return [one for one in folder.iterdir() if one.suffix in (".yaml", ".yml", ".json")]
    except OSError:  # none is there, or may be read: Dask passes it over, too
        return []


def _says_something(path: Path) -> bool:
    """Whether a line is more than a comment; those that Dask writes itself are comments alone."""
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return False
    return any(line.strip() and not line.lstrip().startswith("#") for line in lines)
