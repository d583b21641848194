"""The committed list: a hash for every expression, in a text file that ships with the package."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any, Final

import numpy as np

from ...api.array import Array
from ...expr.show import show

VERSION: Final = "stream v1"
FILE: Final = "stream-v1.txt"
_DIGITS: Final = 16
_HEAD: Final = f"""\
# speedcube, {VERSION}: the bits of every expression that `speedcube verify` computes.
# The first {_DIGITS} hexadecimal digits of SHA-256 over dtype, shape, and the elements in C order,
# little-endian; a name (commands/verify/expressions.py says what makes it); what it is.
# Made by `speedcube verify --write FILE`.
"""


def digest(value: Any) -> str:
    """The hash of a result: an array, or a NumPy scalar for 0-d."""
    array = np.asarray(value)
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    head = f"{array.dtype.name}{tuple(map(int, array.shape))}"
    return hashlib.sha256(head.encode() + little.tobytes()).hexdigest()[:_DIGITS]


def read(text: str | None = None) -> dict[str, str]:
    """Name -> hash of ``text``, by default of the list that this package came with."""
    lines = (text if text is not None else committed()).splitlines()
    rows = (line.split(None, 2) for line in lines if line and not line.startswith("#"))
    return {row[1]: row[0] for row in rows}


def committed() -> str:
    """The text of the list that this package came with."""
    return files(__package__).joinpath(FILE).read_text("utf-8")


def written(hashes: Mapping[str, str], arrays: Mapping[str, Array]) -> str:
    """The text of a list."""
    return _HEAD + "".join(_lines(hashes, arrays))


def _lines(hashes: Mapping[str, str], arrays: Mapping[str, Array]) -> Iterator[str]:
    width = max(map(len, hashes))
    for name, hashed in hashes.items():
        array = arrays[name]
        yield f"{hashed}  {name:{width}}  {array.dtype}{array.shape}: {show(array._expr)}\n"
