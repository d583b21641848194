"""A run's name and its directory: those that were asked for, checked, or new ones."""

from __future__ import annotations

import functools
import os
import re
import time
from pathlib import Path
from typing import Any, Final

from ...errors import ParameterError
from ..checkpoint.disk import make_directories

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")
RUNS: Final = "speedcube-runs"  # below the current directory: where runs go that are not told where


def checked_name(name: Any, function: Any) -> str:
    """The name that ``name=`` asks for; None: the function's."""
    if name is None:
        return default_name(function)
    if not isinstance(name, str) or not NAME.match(name):
        raise ParameterError(
            f"name={name!r}: a name has 1 to 128 letters, digits, '.', '_' and '-', and begins "
            "with a letter or a digit"
        )
    return name


def default_name(function: Any) -> str:
    """A job's name where none was asked for: its function's."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", type(function).__name__)
    name = re.sub(r"[^A-Za-z0-9._-]", "_", name)[:64]
    return name.strip("._-") or "job"


def run_directory(out: Any, name: str) -> Path:
    """The directory ``out``, or a new one, created; `ParameterError` where it cannot be."""
    if out is None:
        stamp = time.strftime("%Y%m%d-%H%M%S")
        out = Path(os.getcwd(), RUNS, f"{name}-{stamp}-{os.urandom(2).hex()}")
    try:
        path = Path(out).absolute()
        make_directories(path)
    except (OSError, TypeError, ValueError) as err:
        raise ParameterError(f"out={out!r} cannot be a run's directory: {err}") from err
    if not os.access(path, os.W_OK):
        raise ParameterError(f"out={str(path)!r} cannot be written")
    return path
