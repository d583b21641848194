"""The names of rungs: which words are names, what a name asks for, and what was meant by a slip."""

from __future__ import annotations

import re
from typing import Any, Final

from ...errors import RungError
from .client import names_file
from .named import Processes

KINDS: Final = ("core", "cores", "gpu", "gpus", "cuda-cluster")
_NAME: Final = re.compile(r"(core|cores|gpu|gpus|cuda-cluster)(?::(\d+(?:,\d+)*))?\Z")
_PROCESSES: Final = re.compile(r"cores:(\d+)x(\d+)\Z")

TOGETHER: Final = "+"  # between the names of rungs that share a computation


def _gpus_first(name: str) -> bool:
    return not name.startswith("gpu")


_ALIKE: Final = 0.75  # of 1, the least that is a slip of the pen
# What other libraries call them; a number after the name stays.
_ALSO_CALLED: Final = {
    "cpu": "cores",
    "cpus": "cores",
    "core": "cores",
    "threads": "cores",
    "processes": "cores",
    "cuda": "gpu",
}


def one_name(on: Any) -> Any:
    """``["cores", "gpus"]`` as one name, ``gpus+cores``; anything else as it is.

    Raises
    ------
    RungError
        A list of anything but names.
    """
    if not isinstance(on, (list, tuple)):
        return on
    if not on or not all(isinstance(name, str) and is_name(name) for name in on):
        raise RungError(f"on={on!r}: a list gives names of rungs, as ['cores', 'gpus']")
    return TOGETHER.join(sorted(on, key=_gpus_first))


def members(on: str) -> tuple[str, ...]:
    """The names that ``gpus+cores`` has, which share a computation; none of one rung's name."""
    return tuple(on.split(TOGETHER)) if TOGETHER in on else ()


def is_name(on: Any) -> bool:
    """Whether ``on`` names a rung, rightly or wrongly; anything else is a way to a Dask client."""
    if not isinstance(on, str):
        return False
    known = on in KINDS or _NAME.match(on) is not None
    return known or ("://" not in on and not names_file(on))


def numbered(on: str) -> tuple[str, list[int]] | None:
    """The kind and the numbers that the name ``on`` gives; None where it is none."""
    match = _NAME.match(on)
    if match is None:
        return None
    return match[1], [int(n) for n in match[2].split(",")] if match[2] else []


def processes(on: str) -> Processes | None:
    """What a name such as ``cores:10x8`` asks for: ten processes of eight threads."""
    match = _PROCESSES.match(on)
    return Processes(int(match[1]), int(match[2])) if match else None


def names_cluster(on: str) -> bool:
    """Whether the name ``on`` stands for a cluster that is started here."""
    return on.partition(":")[0] == "cuda-cluster" or processes(on) is not None


def meant(on: str) -> str:
    """The rung that was probably meant, as a question."""
    from difflib import get_close_matches

    kind, colon, number = on.strip().lower().partition(":")
    near = _ALSO_CALLED.get(kind) or next(iter(get_close_matches(kind, KINDS, 1, _ALIKE)), None)
    name = f"{near}{colon}{number}"
    if near is None or name == on or not (_NAME.match(name) or processes(name)):
        return ""
    return f" (did you mean {name!r}?)"
