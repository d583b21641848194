"""Elements before, at and behind places in the order, each part in the order of its positions.

Selection gives the elements at the places. Of one long line a pass counts what is below and equal
to each, and a second one puts every element where its part goes on.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ...expr.through.node import Through
from ...expr.through.ordering import parted_by
from ...kernel.llvm.ordering.part import MOST_BOUNDS
from ...kernel.orders import Deal
from ..cpu import address_of
from .elements import AllElements, Array, in_memory
from .fixed import SIEVED, Sieving, compiled
from .selecting import SHORT, selected_of_one

_CALL: Final = 1 << 22  # elements of one call, so that Ctrl-C gets a turn


def parted(source: Through, given: list[AllElements]) -> Array:
    """The lines of the elements, with those at the places of the options where a sort has them."""
    elements, line = in_memory(given[0]), source.line
    places = tuple(source.options)
    if not elements.size:
        return elements.held()
    if elements.size == line and line > SHORT:
        return _of_one(elements, selected_of_one(elements, places))
    values = elements.held().reshape(-1, line)
    out = np.empty_like(values)

    def run(span: tuple[int, int]) -> None:
        for k in range(span[0] // line, span[1] // line):
            out[k] = parted_by(values[k], np.partition(values[k], places)[list(places)])

    elements.each(run, elements.spans(line))
    return out


def _of_one(elements: AllElements, found: Array) -> Array:
    bounds = [one for k, one in enumerate(found) if not k or one != found[k - 1]]
    values, name = elements.held(), elements.dtype.name
    if name not in SIEVED or len(bounds) > MOST_BOUNDS or bounds[-1] != bounds[-1]:
        return parted_by(values, found)
    spans, out = elements.spans(), np.empty_like(values)
    counts = elements.each(lambda span: _counts(elements, bounds, span), spans)
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


def _counts(elements: AllElements, bounds: list[Any], span: tuple[int, int]) -> list[int]:
    """How many elements of ``span`` are below the first of ``bounds``, equal to it, between ..."""
    sieves = [Sieving(elements.dtype.name, bound, bound) for bound in bounds]
    equal, under = [0] * len(bounds), [0] * len(bounds)
    for block in elements.blocks(*span):
        for k, sieve in enumerate(sieves):
            _, below, inside = sieve.sieve(block)
            equal[k] += len(inside)
            under[k] += below
    counts, done = [], 0
    for same, known in zip(equal, under, strict=True):
        counts += [known - same - done, same]
        done = known
    return [*counts, span[1] - span[0] - done]
