"""Elements of one long line by their place in the order, on a GPU, without sorting them.

A sample says between which two values an element lies; one pass counts those below and keeps those
between, which are sorted. Where the sample was wrong another, wider bracket is tried; what neither
finds, and -0 among 0, is left to the host's passes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ....dataclass import dataclass
from ....expr.through.node import Through
from ....kernel.cuda.ordering.sieve import HIGH, INSIDE, KNOWN, LOW, PLACE, REACH
from ....kernel.cuda.ordering.sieve import WORDS as SIEVE_WORDS
from ....plan.working import device_room, device_sample
from ..elements import Array
from ..fixed import SIEVED
from .lines import picked
from .sweeps import DeviceWork, array_of_words, hashed_share

LEAST: Final = 1 << 17  # elements of a line that is not partitioned on the host
AT_ONCE: Final = 4  # brackets of one pass
MOST: Final = 16  # places
_RUNS: Final = 64  # of neighbours, of elements that are computed
_WIDTHS: Final = 5.0, 40.0  # standard errors of the sample to each side, at first and then


@dataclass(frozen=True)
class _DeviceBracket:
    """Values from ``low`` to ``high``, where the elements of ``places`` are likely to be."""

    low: Any
    high: Any
    places: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Between:
    """What a pass found of a bracket: how many are below it and no NaN, in it; and those in it."""

    below: int
    known: int
    inside: int
    kept: Any  # None: too many


def selected(source: Through, work: DeviceWork) -> Any:
    """The elements that have the places of the options; None where the host is to find them."""
    dtype, places = np.dtype(source.arg.dtype), tuple(source.options)
    distinct = sorted(set(places))
    if 0 < source.line < work.size:
        return picked(work, source.line, places)
    if dtype.name not in SIEVED or work.size <= LEAST:
        return None
    if not work.is_one_kernel or len(distinct) > MOST:
        return None
    line, spread = _sample(work)
    values: dict[int, Any] = {}
    for width in _WIDTHS:
        missing = [place for place in distinct if place not in values]
        brackets = _brackets(line, spread, missing, work.size, width)
        for first in range(0, len(brackets), AT_ONCE):
            values |= _found(work, brackets[first : first + AT_ONCE])
        if len(values) == len(distinct):
            return np.array([values[place] for place in places], dtype)
    return None


def _sample(work: DeviceWork) -> tuple[Any, Any]:
    """A sorted sample; and where it has runs of neighbours, those, a row for each."""
    import cupy

    flat = work.flat()
    count = device_sample(work.size, flat is None)
    if flat is not None:
        share = hashed_share(cupy.arange(1, count + 1, dtype=np.uint64))
        line = flat[(share * work.size).astype(np.int64)]
        line.sort()
        return line, None
    table = work.runs(_RUNS, count // _RUNS)
    line = table.reshape(-1).copy()
    line.sort()
    return line, table


def _brackets(
    line: Any, table: Any, places: Sequence[int], size: int, width: float
) -> list[_DeviceBracket]:
    """Where the elements of ``places`` are; places whose brackets meet share one."""
    dtype, count = np.dtype(line.dtype), len(line)
    least, greatest = _ends(dtype)
    middles = [min(int((place + 0.5) / size * count), count - 1) for place in places]
    reaches = []
    for place, middle in zip(places, middles, strict=True):
        share = (place + 0.5) / size
        error = (share * (1 - share) / count) ** 0.5
        if table is not None:
            # How much runs differ says how alike neighbours are: of sorted data each is one value.
            runs = (table < line[middle]).mean(axis=1)
            error = max(error, float(runs.std()) / len(table) ** 0.5)
        reaches.append(int(width * error * count) + 8)
    wanted = [m + s * r for m, r in zip(middles, reaches, strict=True) for s in (-1, 1)]
    at = np.clip(np.array(wanted, np.int64), 0, count - 1)
    taken = _on_host(line, at)
    found: list[_DeviceBracket] = []
    for k, place in enumerate(places):
        low = taken[2 * k] if wanted[2 * k] >= 0 and not _is_nan(taken[2 * k]) else least
        high = taken[2 * k + 1]
        if wanted[2 * k + 1] >= count or _is_nan(high):
            high = greatest
        if found and low <= found[-1].high:
            before = found[-1]
            found[-1] = _DeviceBracket(before.low, max(before.high, high), (*before.places, place))
        else:
            found.append(_DeviceBracket(low, high, (place,)))
    return found


def _on_host(line: Any, places: Array) -> Array:
    import cupy

    return np.asarray(line[cupy.asarray(places)].get())


def _is_nan(value: Any) -> bool:
    return bool(value != value)


def _ends(dtype: Any) -> tuple[Any, Any]:
    """The least and the greatest value of ``dtype``."""
    if dtype.kind == "f":
        return dtype.type(-np.inf), dtype.type(np.inf)
    known = np.iinfo(dtype)
    return dtype.type(known.min), dtype.type(known.max)


def _found(work: DeviceWork, brackets: Sequence[_DeviceBracket]) -> dict[int, Any]:
    """The elements of those places of ``brackets`` that lie there."""
    values: dict[int, Any] = {}
    for bracket, between in zip(brackets, _passed(work, brackets), strict=True):
        values |= _looked_up(bracket, between)
    return values


def _passed(work: DeviceWork, brackets: Sequence[_DeviceBracket]) -> list[_Between]:
    """One pass of all elements beside ``brackets``."""
    import cupy

    dtype, room = np.dtype(work.root.dtype), device_room(work.size)
    words = array_of_words(1 + SIEVE_WORDS * len(brackets))
    words[0] = room
    kept = [cupy.empty(room, dtype) for _ in brackets]
    rows = words[1:].reshape(-1, SIEVE_WORDS)
    for row, bracket, memory in zip(rows, brackets, kept, strict=True):
        row[LOW], row[HIGH] = _bits(bracket.low, dtype), _bits(bracket.high, dtype)
        row[PLACE] = int(memory.data.ptr)
    out = cupy.asarray(words)
    with work.sweeping("sieve", len(brackets)) as sweep:
        sweep.run(out)
    rows = out.get()[1:].reshape(-1, SIEVE_WORDS)
    found = []
    for row, memory in zip(rows, kept, strict=True):
        reach, inside, known = (int(row[k]) for k in (REACH, INSIDE, KNOWN))
        between = memory[:inside] if inside <= room else None
        found.append(_Between(known - reach, known, inside, between))
    return found


def _bits(value: Any, dtype: Any) -> int:
    """The word of a bound: an integer's own, a float's bits."""
    if dtype.kind == "f":
        return int(np.asarray(value, dtype).view(f"uint{8 * dtype.itemsize}"))
    return int(value) % 2**64


def _looked_up(bracket: _DeviceBracket, found: _Between) -> dict[int, Any]:
    values: dict[int, Any] = {p: np.nan for p in bracket.places if p >= found.known}
    ranks = {p: p - found.below for p in bracket.places if p not in values}
    ranks = {p: rank for p, rank in ranks.items() if 0 <= rank < found.inside}
    is_float = np.asarray(bracket.low).dtype.kind == "f"
    if not ranks:
        return values
    if bracket.low == bracket.high and not (is_float and bracket.low == 0):
        return values | dict.fromkeys(ranks, bracket.low)
    if found.kept is None:
        return values
    found.kept.sort()
    picked = _on_host(found.kept, np.array(list(ranks.values()), np.int64))
    for place, value in zip(ranks, picked, strict=True):
        if is_float and value == 0:
            zeros = np.asarray(np.signbit(found.kept[found.kept == 0].get()))
            if zeros.any() and not zeros.all():
                continue  # they are in order of position, which is not known here
            value = np.copysign(value, -1.0 if zeros.any() else 1.0)
        values[place] = value
    return values
