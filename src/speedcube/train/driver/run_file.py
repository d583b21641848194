"""What a job was asked for, in a few words, for its trackers and its run.json."""

from __future__ import annotations

import inspect
import json
import reprlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ...files import write_whole

MOST: Final = 200  # characters of a value
_BRIEF: Final = reprlib.Repr()  # reads no more of a long list than it shows, and never raises
_BRIEF.maxstring = _BRIEF.maxother = _BRIEF.maxlong = MOST
_BRIEF.maxlist = _BRIEF.maxtuple = _BRIEF.maxdict = _BRIEF.maxset = 20


def brief(value: Any) -> str:
    """The ``repr`` of a value, shortened."""
    return _BRIEF.repr(value)[:MOST]


def call(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
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


def write(
    folder: Path, settings: Mapping[str, Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """run.json: for those who look at a run later."""
    facts = {
        **settings,
        "args": [brief(value) for value in args],
        "kwargs": {name: brief(value) for name, value in kwargs.items()},
    }
    text = json.dumps(facts, indent=1, default=brief) + "\n"
    write_whole(folder / "run.json", text.encode())
