"""A run's name and directory, which were asked for or are new, and its run.json.

The name and the directory are checked. run.json says in a few words what the run was asked for.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import re
import reprlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ...errors import ParameterError
from ...files import OWN_FILE, write_whole
from ..checkpoint.disk import make_directories

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")
RUNS: Final = "speedcube-runs"  # below the current directory: where runs go that are not told where
MOST: Final = 200  # characters of a value
_BRIEF: Final = reprlib.Repr()  # reads no more of a long list than it shows, and never raises
_BRIEF.maxstring = _BRIEF.maxother = _BRIEF.maxlong = MOST
_BRIEF.maxlist = _BRIEF.maxtuple = _BRIEF.maxdict = _BRIEF.maxset = 20


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


def brief(value: Any) -> str:
    """The ``repr`` of a value, shortened."""
    return _BRIEF.repr(value)[:MOST]


def arguments_of(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name, as trackers show them."""
    try:
        arguments = inspect.signature(function).bind_partial(*args, **kwargs).arguments
    except (TypeError, ValueError):
        arguments = {"args": args, **kwargs}
    plain = bool | int | float | str | None
    return {
        name: value if isinstance(value, plain) else brief(value)
        for name, value in arguments.items()
    }


def write_run_file(
    folder: Path, settings: Mapping[str, Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """run.json: for those who look at a run later."""
    facts = {
        **settings,
        "args": [brief(value) for value in args],
        "kwargs": {name: brief(value) for name, value in kwargs.items()},
    }
    text = json.dumps(facts, indent=1, default=brief) + "\n"
    write_whole(folder / "run.json", text.encode(), mode=OWN_FILE)
