"""Names as the rows that the network learns from.

A name of n letters makes n + 1 rows, one for each of its prefixes and one for the whole name and
its stop mark. A row is the last nine characters of a prefix, blanks on the left: the first eight
are what the network sees, the last eight what it should say, each character one place later.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from .alphabet import BLANK, STOP, WINDOW, encode, is_name


def clean(names: Iterable[str]) -> list[str]:
    """``names`` in lower case, without those that hold other characters than the alphabet's.

    As published: names stay where they are and as often as they occur, and spaces are letters.
    """
    lower = (name.lower() for name in names)
    return [name for name in lower if is_name(name)]


def is_held_out(name: str) -> bool:
    """Whether ``name``, a clean one, is for validation: about one distinct name in ten.

    All occurrences of a name are on one side. Rows held out one by one would leak: most of them
    occur among the others, too.
    """
    return zlib.crc32(name.encode()) % 10 == 0


def split(names: Sequence[str]) -> tuple[list[str], list[str]]:
    """The clean ``names`` to train on and those held out, each in the order given."""
    held_out = [is_held_out(name) for name in names]
    return (
        [name for name, held in zip(names, held_out, strict=True) if not held],
        [name for name, held in zip(names, held_out, strict=True) if held],
    )


def rows(names: Sequence[str]) -> npt.NDArray[np.uint8]:
    """The rows of the clean ``names``, in their order: codes of shape (rows, WINDOW + 1).

    ``rows[:, :-1]`` are the windows that the network sees, ``rows[:, 1:]`` its targets.
    """
    sizes = np.array([len(name) + 1 for name in names], np.int64)
    ends = np.cumsum(sizes)
    # All names on one line, each followed by its stop mark; every character ends one row.
    line = encode(".".join([*names, ""]))
    line[ends - 1] = STOP
    first = np.repeat(ends - sizes, sizes)[:, np.newaxis]
    places = np.arange(len(line))[:, np.newaxis] + np.arange(-WINDOW, 1)
    return np.where(places < first, np.uint8(BLANK), line[np.maximum(places, 0)])


def characters(rows: npt.NDArray[np.uint8]) -> int:
    """How many targets of ``rows`` are characters or stop marks, not padding."""
    return int(np.count_nonzero(rows[:, 1:]))
