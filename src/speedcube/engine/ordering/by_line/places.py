"""The places of the elements of lines in their order: one sort of words that end with the place.

A word begins with the element's key, so no two are equal: any sort of integers is stable so, and
NumPy's has vectors on most processors. Where keys and places are longer than a word, the last bits
of the keys are left out, and lines in which that matters are sorted again.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ..elements import Array

_BLOCK: Final = 1 << 15  # elements that are sorted in one call: they stay in the cache
# Elements of a line, by the bytes of one and whether it has a point: fewer, or as many as the
# second number, are as soon in order by NumPy's stable sort, by digits where elements are narrow.
_STABLE: Final = {
    (1, False): (2, 1 << 7),
    (2, False): (2, 1 << 8),
    (2, True): (1 << 5, 1 << 62),
    (4, False): (5, 1 << 62),
    (4, True): (5, 1 << 62),
    (8, False): (6, 1 << 62),
    (8, True): (6, 1 << 62),
}
_WORD: Final = 64
_LONG: Final = 1 << 12  # elements of a line in which only those that are alike are put in order
_FEW: Final = 8  # if no more than one in so many are
_LOW: Final = 0x7FFF_FFFF_FFFF_FFFF  # all bits of a word but its sign


def places_of_lines(lines: Array) -> Array:
    """For each of ``lines`` the places of its elements: by value, NaN last, then by place."""
    least, most = _STABLE[lines.dtype.itemsize, lines.dtype.kind == "f"]
    if not least <= lines.shape[-1] < most:
        return np.argsort(lines, axis=-1, kind="stable")
    out = np.empty(lines.shape, np.int64)
    step = max(1, _BLOCK // max(1, lines.shape[-1]))
    for first in range(0, len(lines) if lines.size else 0, step):
        _put(lines[first : first + step], out[first : first + step])
    return out


def _put(lines: Array, out: Array) -> None:
    """The places of ``lines`` into ``out``."""
    bits = (lines.shape[-1] - 1).bit_length()
    has_nan = lines.dtype.kind == "f" and bool(np.isnan(lines.max()))
    _put_keys(lines, out, has_nan)
    left_out = 0
    words = out
    if lines.dtype.itemsize == 8:
        least, most = int(out.min()), int(out.max())
        left_out = max(0, (most - least).bit_length() + bits - _WORD)
        words = out.view(np.uint64)
        words -= np.uint64(least % (1 << _WORD))
        words >>= np.uint64(left_out)
    word = words.dtype.type
    words <<= word(bits)
    words |= np.arange(lines.shape[-1], dtype=word)
    words.sort(axis=-1)
    alike = _undecided(words, bits) if left_out else None
    words &= word((1 << bits) - 1)
    if alike is not None:
        _put_in_order(lines, out, alike, has_nan)


def _put_keys(lines: Array, out: Array, has_nan: bool) -> None:
    """Signed integers that order like ``lines`` into ``out``: all NaN last, and -0 as 0."""
    kind, size = lines.dtype.kind, lines.dtype.itemsize
    if kind == "u" and size == 8:
        np.bitwise_xor(lines, np.uint64(1 << 63), out=out.view(np.uint64))
        return
    if kind != "f":
        out[...] = lines
        return
    signed = np.dtype(f"int{8 * size}")
    keys = out if size == 8 else np.empty(lines.shape, signed)
    np.add(lines, lines.dtype.type(0), out=keys.view(lines.dtype))
    low = keys >> signed.type(8 * size - 1)
    low &= signed.type(_LOW >> (_WORD - 8 * size))  # of negative numbers all bits but the sign
    keys ^= low
    if keys is not out:
        out[...] = keys
    if has_nan:
        out[np.isnan(lines)] = 1 + int(np.array(np.inf, lines.dtype).view(signed))


def _undecided(words: Array, bits: int) -> Array:
    """Which words differ in their places, the last ``bits``, alone from the one before."""
    keys = words >> words.dtype.type(bits)
    alike: Array = np.equal(keys[:, 1:], keys[:, :-1])
    return alike


def _put_in_order(lines: Array, out: Array, alike: Array, has_nan: bool) -> None:
    """The places of ``lines`` into ``out``, where values that are ``alike`` are in no order."""
    again = np.flatnonzero(alike.any(axis=-1))
    if not len(again):
        return
    values = np.take_along_axis(lines[again], out[again], axis=-1)
    wrong = (values[:, 1:] < values[:, :-1]).any(axis=-1)
    if has_nan:  # not less than anything
        wrong |= np.isnan(values).any(axis=-1)
    del values
    again = again[wrong]
    if lines.shape[-1] < _LONG:
        out[again] = np.argsort(lines[again], axis=-1, kind="stable")
        return
    for k in again.tolist():
        _tell_apart(lines[k], out[k], alike[k])


def _tell_apart(line: Array, order: Array, alike: Array) -> None:
    """Put the places in ``order`` of a long ``line`` right that have ``alike`` words."""
    joined = np.flatnonzero(alike)
    if len(joined) * _FEW > len(line):
        order[...] = np.argsort(line, kind="stable")
        return
    members = np.union1d(joined, joined + 1)
    run = np.cumsum(np.concatenate([[True], ~alike[members[1:] - 1]]))
    held = order[members]
    order[members] = held[np.lexsort((held, line[held], run))]
