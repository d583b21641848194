"""Names that are missing: errors that say what there is, made when somebody reads them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from ...errors import MissingError
from ...shown import lines
from . import table


class MissingName(MissingError):
    """A name that a module or an array has not; its text is made when it is shown."""

    def __init__(self, owner: str, name: str) -> None:
        super().__init__(owner, name)
        self.owner, self.missing = owner, name

    def __str__(self) -> str:
        return lines(_text(self.owner, self.missing))


def missing_name(name: str) -> MissingName:
    """The error for ``speedcube.<name>``."""
    return MissingName("speedcube", name)


def missing_method(name: str) -> MissingName:
    """The error for ``<array>.<name>``."""
    return MissingName("speedcube.Array", name)


def _text(owner: str, name: str) -> str:
    package: Any = sys.modules["speedcube"]
    if name.startswith("_"):
        return f"{owner} has no attribute {name!r}"
    if owner == "speedcube":
        return _of_module(name, package.__all__)
    if name in package.__all__:
        return f"an array has no method {name}: speedcube.{name}(x) is a function"
    why = table.of_array(name)
    return f"{owner} has no {name}{f': {why}' if why else _near(owner, name, dir(package.Array))}"


def _of_module(name: str, listed: Iterable[str]) -> str:
    if name == "train":
        return "speedcube.train is loaded by itself: import speedcube.train"
    if why := table.refused(name):
        return f"speedcube has no {name}: {why}"
    if table.is_later(name):
        return f"speedcube has no {name}: {table.later(name)}"
    return f"speedcube has no {name}{_near('speedcube', name, listed)}"


def _near(owner: str, name: str, listed: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, [one for one in listed if one[0] != "_"], n=4, cutoff=0.6)
    return f"; near it: {', '.join(near)}" if near else f": dir({owner}) lists what there is"
