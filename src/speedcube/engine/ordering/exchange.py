"""A long line sorted by workers that share no memory, who exchange what they have once.

Each sorts its share and cuts it at the same values. Each then takes the pieces between two of
these from all the others, in the order of the shares: so equal elements stay as they came.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np

from ...dataclass import dataclass
from ...expr.through.node import Through
from ...expr.through.ordering import line_in_order
from .elements import AllElements, Array, in_memory
from .sorting import in_order, places_of, places_sorted, values_sorted

_SAMPLE: Final = 1 << 12  # elements of a share by which values are dealt out


@dataclass(frozen=True, eq=False)
class SortedPiece:
    """Sorted values; where their places are asked for, those in the whole line."""

    values: Array
    places: Array | None


def sample_of_share(given: list[AllElements]) -> Array:
    """Some elements of a share, at equal distances."""
    elements = given[0]
    step = max(1, elements.size // _SAMPLE)
    if elements.memory is not None:
        return elements.memory[::step].copy()
    run = max(1, min(step, 1 << 6))  # what is computed is computed by neighbours
    sample = [elements.none]
    for first in range(0, elements.size - run + 1, step * run):
        sample += [block.copy() for block in elements.blocks(first, first + run)]
    return np.concatenate(sample)


def cuts_of(parts: int, *samples: Array) -> Array:
    """The values at which all shares are cut into ``parts``; of NaN there is none."""
    line = line_in_order(np.concatenate(samples))
    known = line[: int(np.count_nonzero(line == line))]
    if not len(known):
        return line[[0] * (parts - 1)]
    return known[[len(known) * k // parts for k in range(1, parts)]]


def pieces_of(
    source: Through, given: list[AllElements], first: int, cuts: Array
) -> list[SortedPiece]:
    """A share, which begins at position ``first`` of the line, sorted and cut."""
    places = None
    if source.op == "argsort":
        elements = in_memory(given[0])
        order = places_sorted(source, [elements])
        values, places = elements.held()[order], order + first
    else:
        values = values_sorted(source, given)
    ends = [0, *np.searchsorted(values, cuts).tolist(), len(values)]
    return [
        SortedPiece(values[a:b].copy(), None if places is None else places[a:b].copy())
        for a, b in pairwise(ends)
    ]


def put_together(*pieces: SortedPiece) -> Array:
    """The values of ``pieces``, which are in the order of their shares, sorted; or their places."""
    values = np.concatenate([one.values for one in pieces])
    if pieces[0].places is None:
        in_order(values.reshape(1, -1))
        return values
    places = np.concatenate([one.places for one in pieces if one.places is not None])
    return np.asarray(places[places_of(values)])
