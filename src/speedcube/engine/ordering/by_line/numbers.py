"""What lies at places among the numbers of each line: by selection, NaN left out."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ....expr.through.between import places_among
from ....expr.through.node import Through
from ....expr.through.ordering import put_in_order
from ..elements import AllElements, Array
from ..sorting import has_negative_zero
from .gathered import blocks_of_lines

_SORTED: Final = 1 << 9  # elements up to which a line is sorted
_PARTED: Final = 8  # places of a line that are selected, at most


def numbers_selected(source: Through, given: list[AllElements]) -> Array:
    """Of each line how many numbers there are, and those at the places of the options."""
    elements, line = given[0], source.line
    out = np.empty((elements.size // line if line else 0, source.shape[-1]), np.float64)

    def run(span: tuple[int, int]) -> None:
        for first, block in blocks_of_lines(elements, span, line):
            _select(block, source.options, out[first : first + len(block)])

    if elements.size:
        elements.each(run, elements.spans(line))
    return out


def _select(block: Array, options: tuple[Any, ...], out: Array) -> None:
    """What is found of each line of ``block``, which is overwritten, into its row of ``out``."""
    has_nan = np.isnan(block.max(axis=-1))
    zeros = _mixed_zeros(block)
    line = block.shape[-1]
    count = np.full(len(block), line)
    count[has_nan] -= np.isnan(block[has_nan]).sum(axis=-1)
    places = places_among(count, options)
    out[:, 0] = count
    narrow = block.dtype.itemsize <= 2  # sorted by digits as soon as one place is found
    if line <= _SORTED or narrow or len(set(places[0].tolist())) > _PARTED:
        put_in_order(block)
        out[:, 1:] = np.take_along_axis(block, places, axis=-1)
    else:
        _select_each(block, has_nan, count, places, out)
    out[count == 0, 1:] = np.nan
    for number, own, below in zeros:
        found = out[number, 1:]
        for k in np.flatnonzero(found == 0).tolist():
            found[k] = own[places[number, k] - below]


def _select_each(block: Array, has_nan: Array, count: Array, places: Array, out: Array) -> None:
    """The same of long lines: those without NaN together, of others their numbers alone."""
    clean = block[~has_nan] if has_nan.any() else block
    if len(clean):
        wanted = places[int(np.argmin(has_nan))]
        _put_there(clean, sorted({*wanted.tolist()}))
        out[~has_nan, 1:] = clean[:, wanted]
    for number in np.flatnonzero(has_nan):
        line = block[number]
        numbers = line[line == line][np.newaxis]
        if count[number]:
            _put_there(numbers, sorted({*places[number].tolist()}))
            out[number, 1:] = numbers[0, places[number]]


def _put_there(lines: Array, places: list[int]) -> None:
    """Put what has the ``places`` in the order of each line there; nothing else is promised.

    The one in the middle first: so each of the others is looked for in a part of the line. Where a
    part is to give no more than its least and its greatest, these are all that stays of it.
    """
    last = lines.shape[-1] - 1
    if not {*places} <= {0, last}:
        place = places[len(places) // 2]
        lines.partition(place, axis=-1)
        _put_there(lines[:, :place], [one for one in places if one < place])
        behind = [one - place - 1 for one in places if one > place]
        _put_there(lines[:, place + 1 :], behind)
        return
    ends = [(k, find(lines, axis=-1)) for k, find in ((0, np.min), (last, np.max)) if k in places]
    for k, values in ends:
        lines[:, k] = values


def _mixed_zeros(block: Array) -> list[tuple[int, Array, int]]:
    """Of lines with -0: their number, all zeros as they come, and how many elements are below."""
    if not has_negative_zero(block):
        return []
    mixed = np.flatnonzero(((block == 0) & np.signbit(block)).any(axis=-1))
    return [(k, block[k][block[k] == 0], int((block[k] < 0).sum())) for k in mixed.tolist()]
