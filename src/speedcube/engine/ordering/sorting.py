"""Sorted elements and their places: a sort by digits, or NumPy's, of each thread's share.

The law is by value, NaN last, then by position. NumPy's quick sorts leave equal elements in any
order. Of values that matters only where -0 and 0 meet, which are written again as they came.
Places are the ends of the words that are sorted.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ...expr.through.node import Through
from ...expr.through.ordering import line_in_order, one_nan, put_in_order
from ..pieces.chosen import chosen
from ..scans.matrices import side_by_side
from . import radix
from .by_line.places import places_of_lines
from .elements import AllElements, Array

_LINES: Final = 1 << 17  # elements of lines that are sorted in one call of NumPy
_SAMPLE: Final = 1 << 12  # elements by which the values of one line are dealt out to threads
_LONG: Final = 1 << 19  # elements of a line that is sorted by several threads
_TURNED: Final = 1 << 15  # elements of lines side by side that are turned and sorted together
_SHORT: Final = 1 << 13  # elements of such a line
_SIDE_BY_SIDE: Final = 1 << 17  # elements of such lines that are sorted as they lie
_AS_THEY_LIE: Final = 1 << 9  # elements of a line that NumPy turns by itself


def values_sorted(source: Through, given: list[AllElements]) -> Array:
    """The lines of the elements, sorted."""
    elements, line = given[0], source.line
    if 1 < line <= _SHORT and elements.root.shape[-1:] == (line,):  # no line of several axes
        columns = side_by_side(elements.root, elements.dtype.name)
        if columns is not None:
            return _columns_sorted(elements, columns)
    values = elements.whole()
    if not values.size:
        return values
    lines = values.reshape(-1, line)
    if len(lines) == 1 and line >= _LONG and elements.threads > 1:
        line_sorted(elements, values)
        return values
    stored = elements.memory if line > _SHORT else None
    came = lines if stored is None else stored.reshape(-1, line)

    def run(span: tuple[int, int]) -> None:
        some = slice(*span)
        in_order(lines[some], None if stored is None else came[some])

    elements.each(run, _runs(elements, len(lines), line))
    return values


def line_sorted(elements: AllElements, values: Array) -> None:
    """Sort ``values``, some of ``elements`` as they lie, in place: by as many threads."""
    if len(values) >= _LONG and elements.threads > 1:
        _one_line(elements, values)
    else:
        in_order(values.reshape(1, -1))


def _columns_sorted(elements: AllElements, columns: Array) -> Array:
    """Lines that lie side by side, sorted: some at a time, so that the cache holds them."""
    lines, line = columns.shape
    out = np.empty((line, lines), columns.dtype)
    step = max(1, (_TURNED if line > _AS_THEY_LIE else _SIDE_BY_SIDE) // line)

    def run(first: int) -> None:
        some = columns[first : first + step]
        if line <= _AS_THEY_LIE and _sorted_as_it_lies(some.T, out[:, first : first + step]):
            return
        block = np.array(some, order="C")
        in_order(block)
        out[:, first : first + step] = block.T

    elements.each(run, range(0, lines, step))
    return out.T


def _sorted_as_it_lies(lines: Array, out: Array) -> bool:
    """Put ``lines``, which lie side by side, into ``out`` and sort them there; False: not so."""
    if lines.dtype == np.float16 or lines.dtype.itemsize == 1:  # see `put_in_order`
        return False
    out[...] = lines
    if has_negative_zero(out):
        return False
    out.sort(axis=0)  # NumPy turns a line at a time, in a quarter less than all at once
    if lines.dtype.kind == "f" and np.isnan(out[-1]).any():
        one_nan(out)
    return True


def _runs(elements: AllElements, lines: int, line: int) -> list[tuple[int, int]]:
    """Lines to be sorted in one call: a share of a thread at most, and no more than are cached."""
    step = max(1, min(-(-lines // elements.threads), _LINES // line))
    return [(first, min(lines, first + step)) for first in range(0, lines, step)]


def in_order(lines: Array, came: Array | None = None) -> None:
    """Sort each of ``lines``, in place; ``came``: a copy of them, which needs no look before."""
    if not lines.size:
        return
    zeros = _mixed_zeros(lines) if came is None else []
    by_digits = radix.has_digits(lines[0]) and radix.sorts_values()
    if by_digits:
        for line in lines:
            radix.sort(line)
    else:
        put_in_order(lines)
    if lines.dtype.kind == "f" and not by_digits:
        last = lines[:, -1]
        if np.isnan(last).any():
            one_nan(lines)
    if came is not None and lines.dtype.kind == "f":
        zeros = _zeros_as_they_came(lines, came)
    for number, own in zeros:
        line = lines[number]
        first = int(np.searchsorted(line, 0.0))
        line[first : first + len(own)] = own


def _zeros_as_they_came(lines: Array, came: Array) -> list[tuple[int, Array]]:
    """Of sorted lines with zeros, all zeros as they ``came``.

    Sorted ones do not tell: where -0 and 0 meet, NumPy's sort may write one of them twice.
    """
    bounds = ((np.searchsorted(line, 0.0, side) for side in ("left", "right")) for line in lines)
    return [
        (number, came[number][came[number] == 0])
        for number, (first, stop) in enumerate(bounds)
        if stop > first
    ]


def _mixed_zeros(lines: Array) -> list[tuple[int, Array]]:
    """Of lines with zeros of both signs, all zeros as they come."""
    if not has_negative_zero(lines):
        return []
    negative = (lines == 0) & np.signbit(lines)
    numbers = np.flatnonzero(negative.any(axis=-1)).tolist()
    return [(k, lines[k][lines[k] == 0]) for k in numbers]


def has_negative_zero(values: Array) -> bool:
    """Whether -0.0 is among ``values``: its bits are the least integer."""
    word = np.dtype(f"int{8 * values.dtype.itemsize}")
    return values.dtype.kind == "f" and bool(values.view(word).min() == np.iinfo(word).min)


def _one_line(elements: AllElements, values: Array) -> None:
    """Sort ``values``: each thread those between two of a sample's, into their place."""
    masks, ends = _dealt(elements, values)
    shares = elements.each(lambda mask: _sorted_share(values, mask), masks)
    del masks
    for share, start in zip(shares, ends, strict=True):
        values[start : start + len(share)] = share


def _sorted_share(values: Array, mask: Array) -> Array:
    share = chosen(values, mask, 1)  # NumPy takes as long for that as to sort them
    in_order(share.reshape(1, -1))
    return share


def _dealt(elements: AllElements, values: Array) -> tuple[list[Array], list[int]]:
    """For each thread which of ``values`` it takes, and how many the threads before it take."""
    step = max(1, len(values) // _SAMPLE)
    sample = line_in_order(values[::step])
    cuts = [sample[len(sample) * k // elements.threads] for k in range(1, elements.threads)]

    def below(cut: Array) -> Array:
        return np.less(values, cut)  # of NaN never: the last thread takes those

    under = elements.each(below, cuts)
    masks = [one if not k else one & ~under[k - 1] for k, one in enumerate(under)]
    masks.append(~under[-1])
    counts = [int(np.count_nonzero(mask)) for mask in masks]
    return masks, [sum(counts[:k]) for k in range(len(counts))]


def places_sorted(source: Through, given: list[AllElements]) -> Array:
    """For each line, the places of its elements in their order."""
    elements, line = given[0], source.line
    values = elements.held()
    places = np.empty(values.size, np.int64)
    if not values.size:
        return places
    lines, out = values.reshape(-1, line), places.reshape(-1, line)
    if len(lines) == 1 and line >= _LONG and elements.threads > 1:
        _places_of_one(elements, values, places)
        return places

    def run(span: tuple[int, int]) -> None:
        if not radix.finds_places(lines[0]):
            out[slice(*span)] = places_of_lines(lines[slice(*span)])
            return
        for k in range(*span):
            out[k] = radix.places(lines[k])

    elements.each(run, _runs(elements, len(lines), line))
    return places


def _places_of_one(elements: AllElements, values: Array, places: Array) -> None:
    masks, ends = _dealt(elements, values)

    def share(mask: Array) -> Array:
        own = np.flatnonzero(mask)
        return own[places_of(values[own])]

    for found, start in zip(elements.each(share, masks), ends, strict=True):
        places[start : start + len(found)] = found


def places_of(line: Array) -> Array:
    """The places of the elements of ``line`` in their order."""
    return radix.places(line) if radix.finds_places(line) else places_of_lines(line[np.newaxis])[0]
