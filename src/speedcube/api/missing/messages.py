"""Names that are missing: errors that say what there is, made when somebody reads them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

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
    if name.startswith("_"):
        return f"{owner} has no attribute {name!r}"
    if name == "train" and owner == "speedcube":
        return "speedcube.train is loaded by itself: import speedcube.train"
    of_array = owner.endswith("Array")
    tables = (table.METHODS,) if of_array else (table.REFUSED, table.LATER)
    for one in tables:
        if why := table.reason(name, one):
            return f"{owner} has no {name}: {why}"
    numpys: Any = np.ndarray if of_array else np
    if hasattr(numpys, name):
        way = f"x.compute().{name}" if of_array else f"np.{name}(x.compute())"
        return f"{owner} has no {name}, which NumPy has, yet: {way}"
    package: Any = sys.modules["speedcube"]
    listed = [one for one in (dir(package.Array) if of_array else package.__all__) if one[0] != "_"]
    if of_array and name in package.__all__:
        return f"an array has no method {name}: speedcube.{name}(x) is a function"
    near = _near(name, listed)
    said = f"; near it: {', '.join(near)}" if near else f": dir({owner}) lists what there is"
    return f"{owner} has no {name}{said}"


def _near(name: str, listed: Iterable[str]) -> list[str]:
    import difflib

    return difflib.get_close_matches(name, list(listed), n=4, cutoff=0.6)
