"""Places of a long line in order, by digits of the leading bits of its keys.

Where these do not tell all elements apart, the few that are alike are put in order after that;
where many are, nothing is found, and whole keys are the way.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ...kernel.llvm.ordering.packed import (
    ANSWER,
    AT,
    BITS,
    COPIES,
    COUNT,
    LEAST,
    LEFT_OUT,
    PAD,
    PLACE,
    WORDS,
)
from ...kernel.orders import ByLeadingBits
from ..cpu import address_of
from .elements import Array
from .fixed import compiled
from .keys import key_of

MOST: Final = 1 << 24  # elements: of more, too many have the same leading bits
_SPARE: Final = 16  # leading bits beyond those of a place: one in so many meets another
_DIGIT: Final = 10  # bits of a digit at most: as many places are written to in turns
_SAMPLE: Final = 1 << 12
_SAMPLED: Final = 1 << 6  # one in so many of a sample may be equal to another
_FEW: Final = 16  # one in so many may be put in order afterwards


def places(line: Array) -> Array | None:
    """The places of the elements of ``line``: by value, NaN last, then by place; None: not so."""
    place = max(1, (len(line) - 1).bit_length())
    least, bits = _range(line)
    leading = min(bits, place + _SPARE)
    if leading < bits and _has_equal(line):
        return None
    count = max(1, -(-leading // _DIGIT))
    words = np.zeros(WORDS, np.int64)
    words[COUNT], words[PLACE] = len(line), place
    words[BITS], words[LEFT_OUT] = -(-leading // count), bits - leading
    words.view(np.uint64)[LEAST] = least
    copies = np.zeros((COPIES, count, (1 << int(words[BITS])) + PAD), np.uint32)
    name = line.dtype.name
    _run(ByLeadingBits(name, "count", count), words, line, copies, copies)
    differ = int(words.view(np.uint64)[ANSWER]) & ((1 << (bits - leading)) - 1)
    counts = copies.sum(axis=0, dtype=np.int64)
    now, then = np.empty(len(line), np.int64), np.empty(len(line), np.int64)
    step, given = "first", line
    for digit, row in enumerate(counts):
        if row.max() == len(line) and (digit < count - 1 or step == "deal"):
            continue  # all have this digit
        starts = np.cumsum(row) - row
        words[AT] = place + digit * words[BITS]
        _run(ByLeadingBits(name, step), words, given, starts, now)
        step, name, given, now, then = "deal", "int64", now, then, now
    _run(ByLeadingBits("int64", "places"), words, then, counts, now)
    found = then
    found[-1] &= (1 << place) - 1
    alike = now[: int(words[ANSWER])]
    return found if not differ or _told_apart(line, found, alike) else None


def _range(line: Array) -> tuple[int, int]:
    """The least key, and how many bits the others are above it at most."""
    low, high = line.min(), line.max()
    if low != low:
        return 0, 8 * line.dtype.itemsize
    least = key_of(low)
    return least, (key_of(high) - least).bit_length()


def _has_equal(line: Array) -> bool:
    """Whether a sample suggests that many elements are equal, bits that are left out too."""
    step = max(len(line) // _SAMPLE, _SAMPLED)
    some = np.sort(line[::step])
    return int(np.count_nonzero(some[1:] == some[:-1])) * _SAMPLED > len(some)


def _told_apart(line: Array, found: Array, alike: Array) -> bool:
    """Put the places in ``found`` that have ``alike`` leading bits with the one before in order."""
    one, other = line[found[alike - 1]], line[found[alike]]
    differ = (one != other) & ((one == one) | (other == other))
    if not differ.any():
        return True
    if len(alike) * _FEW > len(line):
        return False
    members = np.union1d(alike, alike - 1)
    begins = np.ones(len(members), bool)
    begins[np.searchsorted(members, alike)] = False
    held = found[members]
    found[members] = held[np.lexsort((line[held], np.cumsum(begins)))]
    return True


def _run(program: ByLeadingBits, words: Array, values: Array, counts: Array, out: Array) -> None:
    state = counts.ctypes.data
    kernel = compiled(program)  # its code lives as long as this does
    kernel.function(words.ctypes.data, address_of(values), state, state, out.ctypes.data)
