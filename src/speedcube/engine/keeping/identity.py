"""What tells one computation from every other: a hash of its expression and of what it reads.

Two processes that build the same expression over the same data have the same hash. Arrays in memory
count with every byte; files by their names, sizes and times. What cannot be told from something
else (a Dask array, a file on a server) has no hash.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, fields, is_dataclass
from typing import Any, Final

import numpy as np

from ...dataclass import dataclass
from ...expr.nodes import Deferred, Held, StageResult, Stored, Tiled
from ...expr.sources.span import spanned
from ...late import futures, hashlib
from .. import machine

_AT_ONCE: Final = 1 << 23  # bytes that a thread hashes at once
_PLAIN: Final = (bool, int, float, complex, str, bytes, type(None), np.generic, np.dtype)


class NoIdentityError(Exception):
    """What has no hash, in words to follow 'reads'."""


@dataclass(eq=False)
class Identity:
    """Numbers of all that was seen: what is the same has the same number."""

    data: dict[int, tuple[Any, str]] = field(default_factory=dict)  # what was read; with others
    _numbers: dict[str, int] = field(default_factory=dict)  # by what tells it from others
    _known: dict[int, tuple[Any, int]] = field(default_factory=dict)  # by id; keeps it alive

    def of(self, *values: Any) -> str:
        """The hash of ``values``, once; `NoIdentityError` where there is none."""
        numbers = [self._number(value) for value in values]
        text = "\n".join(self._numbers) + repr(numbers)
        return hashlib.sha256(text.encode()).hexdigest()

    def _number(self, value: Any) -> int:
        """The number of ``value``, whose parts are looked at first: no call is in another."""
        open_ = [value]
        while open_:
            one = open_[-1]
            if id(one) in self._known:
                open_.pop()
                continue
            below = [part for part in _parts(one) if id(part) not in self._known]
            if below:
                open_ += below
                continue
            self._known[id(one)] = one, self._add(self._text(one))
            open_.pop()
        return self._known[id(value)][1]

    def _add(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def _text(self, one: Any) -> str:
        """What tells ``one`` from others, with the numbers of its parts, which are known."""
        kind = type(one)
        if kind is StageResult:  # two are never the same
            return f"stage {one.shape} {one.dtype} {len(self._numbers)}"
        if kind in _READ:
            if id(one) not in self.data:
                self.data[id(one)] = one, _READ[kind](one)
            return self.data[id(one)][1]
        if isinstance(one, _PLAIN):
            return f"{kind.__name__} {one!r}"
        return f"{kind.__name__} {[self._known[id(part)][1] for part in _parts(one)]}"


def _parts(one: Any) -> Iterator[Any]:
    """What ``one`` is made of, as far as it tells it from others."""
    if isinstance(one, _PLAIN) or type(one) in (StageResult, *_READ):
        return iter(())
    if isinstance(one, (tuple, list)):
        return iter(one)
    if is_dataclass(one) and not isinstance(one, type):
        return (getattr(one, name) for name in _names(one))
    raise NoIdentityError(f"a {type(one).__name__}")


def _names(one: Any) -> Iterable[str]:
    return [each.name for each in fields(one) if each.name[0] != "_"]


def _of_stored(source: Stored) -> str:
    if source.on_device:
        raise NoIdentityError("an array on a GPU")
    return f"memory {source.dtype} {_of_array(np.asarray(source.buffer))}"


def _of_tiled(source: Tiled) -> str:
    found = state_of(getattr(source.tiles, "lies_in", ()))
    if found is None:
        raise NoIdentityError(f"{source.tiles.label}, of which nothing says whether it has changed")
    return f"file {source.dtype} {source.shape} {found} {_said_of(source.tiles)}"


def _said_of(tiles: Any) -> list[str]:
    """What a reader says of where in its files it reads: names, places, dtypes."""
    said = [type(tiles).__name__, str(getattr(getattr(tiles, "array", None), "name", ""))]
    for name in _names(tiles):
        value = getattr(tiles, name)
        if is_dataclass(value):
            said += _said_of(value)
        elif isinstance(value, (*_PLAIN, tuple)):
            said.append(f"{name} {value!r}")
    return said


def _of_deferred(source: Deferred) -> str:
    raise NoIdentityError(f"an array of {source.name}")


def _of_plain_array(array: Any) -> str:
    return f"array {_of_array(array)}"


_READ: Final[dict[type, Callable[[Any], str]]] = {
    Stored: _of_stored,
    Tiled: _of_tiled,
    Deferred: _of_deferred,
    Held: _of_deferred,
    np.ndarray: _of_plain_array,
}


def _of_array(array: Any) -> str:
    """The shape, the dtype and a hash of the elements of ``array``, by all cores."""
    if array.dtype.hasobject:
        raise NoIdentityError("an array of objects")
    if array.size and array.flags.forc:  # the bytes as they lie; their order is said
        data = spanned(array)[0].data
        pieces: Iterable[Any] = (
            data[start : start + _AT_ONCE] for start in range(0, len(data), _AT_ONCE)
        )
    else:
        pieces = (np.ascontiguousarray(row).data for row in _rows(array))
    with futures.ThreadPoolExecutor(machine.cores()) as pool:
        digests = pool.map(lambda piece: hashlib.sha256(piece).digest(), pieces)
        whole = hashlib.sha256(b"".join(digests)).hexdigest()
    return f"{array.shape} {array.strides} {array.dtype.str} {whole}"


def _rows(array: Any) -> Iterator[Any]:
    """``array``, some rows at a time."""
    if array.ndim == 0 or not array.size:
        yield array
        return
    step = max(1, _AT_ONCE // max(1, array.nbytes // len(array)))
    for start in range(0, len(array), step):
        yield array[start : start + step]


def state_of(places: Iterable[str]) -> str | None:
    """What the files at ``places`` and in folders there look like; None where there are none."""
    found: list[tuple[str, int, int, int]] = []
    open_ = list(places)
    try:
        while open_:
            place = open_.pop()
            if os.path.isdir(place):
                open_ += sorted(entry.path for entry in os.scandir(place))
                continue
            status = os.stat(place)
            found.append(
                (os.path.abspath(place), status.st_size, status.st_mtime_ns, status.st_ino)
            )
    except OSError:
        return None
    return hashlib.sha256(repr(found).encode()).hexdigest() if found else None
