"""Elements before, at and behind places in the order, each part in the order of its positions.

Selection gives the elements at the places. Of one long line a pass counts what is below and equal
to each, and a second one puts every element where its part goes on.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...expr.through.node import Through
from ...expr.through.ordering import lines_parted_by, parted_by
from ...kernel.llvm.ordering.part import MOST_BOUNDS
from ...kernel.orders import Deal, DealLines
from ..cpu import address_of
from .elements import AllElements, Array, in_memory
from .fixed import SIEVED, Sieving, compiled
from .selecting import SHORT, Bracket, found_of_one
from .sieved import Sieved

_LINES: Final = 1 << 17  # elements of lines that are dealt out together
_DEALT: Final = SIEVED | {"int8", "uint8", "int16", "uint16"}
_CALL: Final = 1 << 22  # elements of one call, so that Ctrl-C gets a turn


def parted(source: Through, given: list[AllElements]) -> Array:
    """The lines of the elements, with those at the places of the options where a sort has them."""
    elements, line = in_memory(given[0]), source.line
    places = tuple(source.options)
    if not elements.size:
        return elements.held()
    if elements.size == line and line > SHORT:
        return _of_one(elements, *found_of_one(elements, places))
    values = elements.held().reshape(-1, line)
    out = np.empty_like(values)

    def run(span: tuple[int, int]) -> None:
        step = max(1, _LINES // line)
        for first in range(span[0] // line, span[1] // line, step):
            if elements.stop.is_set():
                return
            some = values[first : min(first + step, span[1] // line)]
            bounds = np.partition(some, places, axis=-1)[:, list(places)]
            _lines(some, bounds, out[first : first + len(some)])

    elements.each(run, elements.spans(line))
    return out


def _lines(lines: Array, bounds: Array, out: Array) -> None:
    """`lines_parted_by`, into ``out``: by a kernel where it takes such numbers."""
    name, count = lines.dtype.name, bounds.shape[-1]
    odd = lines.dtype.kind == "f" and np.isnan(bounds[:, -1]).any()  # NaN is the greatest
    if name not in _DEALT or not 0 < count <= MOST_BOUNDS or odd or not lines.flags.c_contiguous:
        out[...] = lines_parted_by(lines, bounds)
        return
    kernel, held = compiled(DealLines(name, count)), np.ascontiguousarray(bounds)
    words = np.array(lines.shape)
    addresses = words.ctypes.data, address_of(lines), held.ctypes.data, 0, out.ctypes.data
    kernel.function(*addresses)


def _of_one(
    elements: AllElements, found: Array, sieved: list[tuple[Bracket, list[Sieved]]]
) -> Array:
    bounds = [one for k, one in enumerate(found) if not k or one != found[k - 1]]
    values, name = elements.held(), elements.dtype.name
    if name not in SIEVED or len(bounds) > MOST_BOUNDS or bounds[-1] != bounds[-1]:
        if name not in _DEALT or len(bounds) > MOST_BOUNDS:
            return parted_by(values, found)
        out = np.empty_like(values)
        _lines(values.reshape(1, -1), np.array([bounds], elements.dtype), out.reshape(1, -1))
        return out
    spans, out = elements.spans(), np.empty_like(values)
    known = _known(bounds, sieved)
    known = known or elements.each(lambda span: _counted(elements, bounds, span), spans)
    counts = [_classes(one, stop - start) for one, (start, stop) in zip(known, spans, strict=True)]
    table = np.array(counts).T  # a row for each part
    starts = np.cumsum(table.reshape(-1)).reshape(table.shape) - table
    kernel, held = compiled(Deal(name, len(bounds))), np.array(bounds, elements.dtype)

    def deal(item: tuple[tuple[int, int], Array]) -> None:
        (start, stop), places = item
        for first in range(start, stop, _CALL):
            if elements.stop.is_set():
                return
            block = values[first : min(stop, first + _CALL)]
            size = np.array([len(block)])
            addresses = size.ctypes.data, address_of(block), held.ctypes.data, places.ctypes.data
            kernel.function(*addresses, out.ctypes.data)

    elements.each(deal, list(zip(spans, np.ascontiguousarray(starts.T), strict=True)))
    return out


def _known(
    bounds: list[Any], sieved: list[tuple[Bracket, list[Sieved]]]
) -> list[list[tuple[int, int]]]:
    """As `_counted` for each thread, by what was kept to find ``bounds``; nothing: it was too much.

    What equals a bound lies in its bracket.
    """
    found = []
    for bound in bounds:
        around = [parts for bracket, parts in sieved if bracket.low <= bound <= bracket.high]
        if not around or any(part.blocks() is None for part in around[0]):
            return []
        found.append([_beside(part, bound) for part in around[0]])
    return [list(one) for one in zip(*found, strict=True)]


def _beside(part: Sieved, bound: Any) -> tuple[int, int]:
    """How many elements of a thread are equal to a ``bound`` of its bracket, and not above it."""
    kept = part.blocks() or []
    same = sum(int(np.count_nonzero(block == bound)) for block in kept)
    return same, part.under - part.inside + sum(int(np.count_nonzero(b <= bound)) for b in kept)


def _counted(
    elements: AllElements, bounds: list[Any], span: tuple[int, int]
) -> list[tuple[int, int]]:
    """How many elements of ``span`` are equal to each of ``bounds``, and not above it."""
    sieves = [Sieving(elements.dtype.name, bound, bound) for bound in bounds]
    equal, under = [0] * len(bounds), [0] * len(bounds)
    for block in elements.blocks(*span):
        for k, sieve in enumerate(sieves):
            _, below, inside = sieve.sieve(block)
            equal[k] += len(inside)
            under[k] += below
    return list(zip(equal, under, strict=True))


def _classes(known: list[tuple[int, int]], size: int) -> list[int]:
    """How many of ``size`` are below the first bound, equal to it, between it and the next ..."""
    counts, done = [], 0
    for same, reached in known:
        counts += [reached - same - done, same]
        done = reached
    return [*counts, size - done]
