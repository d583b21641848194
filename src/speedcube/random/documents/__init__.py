"""The docstrings of the distributions, put together: what each takes, gives and refuses.

A method of `Generator`, one of `RandomState` and a function draw the same numbers of one seed; each
gets its own example, of the same values, and only the parameters that it has.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from . import others, reals

# How an example begins, and what it calls: of a Generator, of a RandomState, of the module.
OF_GENERATOR: Final = ("rng = sc.random.default_rng(7)", "rng")
OF_STATE: Final = ("rng = sc.random.RandomState(7)", "rng")
OF_MODULE: Final = ("sc.random.seed(7)", "sc.random")

_COMMON: Final = {
    "size": (
        "int or tuple of ints, optional",
        "The shape; by default that of the parameters together.",
    ),
    "dtype": ("dtype", "float64 or float32."),
    "chunks": (
        "optional",
        "The grid that Dask is shown, as Dask takes it; no value depends on it.",
    ),
}
_PARAMETER: Final = "float or array_like"
_GIVES: Final = "{}, of the shape `size`: lazy."
_REFUSES: Final = (
    "ParameterError\n    For a parameter outside its domain, or no number; it is a ValueError.",
    "ShapeError\n    Where parameters do not broadcast to `size`.",
)


class Distribution(NamedTuple):
    """One distribution: its parameters' kinds and lines, what it gives, and an example."""

    parameters: dict[str, tuple[str, str]]
    returns: str
    call: str
    value: str


def _entries(text: str) -> dict[str, Distribution]:
    entries = {}
    for block in text.strip().split("\n\n"):
        name, *lines = block.splitlines()
        parameters: dict[str, tuple[str, str]] = {}
        value: list[str] = []
        returns, call = f"Array\n    {_GIVES}", ""
        for line in lines:
            if line.startswith("  > "):
                call = line[4:]
            elif call:
                value.append(line[2:])
            elif line.startswith("  = "):
                kind, _, told = line[4:].partition(": ")
                returns = f"{kind}\n    {told}"
            else:
                word, _, told = line.strip().partition(": ")
                word, _, kind = word.partition(" - ")
                parameters[word] = (kind or _PARAMETER, told)
        entries[name] = Distribution(parameters, returns, call, "\n".join(value))
    return entries


_ENTRIES: Final = {**_entries(reals.TEXT), **_entries(others.TEXT)}


def described(
    name: str, method: Callable[..., Any], begins: tuple[str, str] = OF_GENERATOR
) -> str | None:
    """The docstring of ``method``; its own where the table does not have ``name``."""
    own = inspect.getdoc(method)
    if name not in _ENTRIES or own is None:
        return own
    about = own.partition("\n\nParameters\n")[0]
    entry = _ENTRIES[name]
    known = {**_COMMON, **entry.parameters}
    taken = [one for one in inspect.signature(method).parameters if one != "self"]
    stars = ("*size",) if name in ("rand", "randn") else ()
    lines = [
        f"{stars[0] if one == 'size' and stars else one} : {known[one][0]}\n    {known[one][1]}"
        for one in taken
    ]
    returns = entry.returns.format("Of `dtype`" if "dtype" in taken else "float64")
    start, owner = begins
    example = [">>> import speedcube as sc", f">>> {start}"]
    example += [f">>> {line}" for line in entry.call.replace("rng.", f"{owner}.").split("; ")]
    sections = [
        about,
        *([_section("Parameters", "\n".join(lines))] if lines else []),
        *([] if entry.returns.startswith("None") else [_section("Returns", returns)]),
        *([_section("Raises", "\n".join(_REFUSES))] if "size" in taken and not stars else []),
        _section("Examples", "\n".join([*example, entry.value])),
    ]
    return "\n\n".join(sections) + "\n"


def _section(word: str, text: str) -> str:
    return f"{word}\n{'-' * len(word)}\n{text.rstrip()}"
