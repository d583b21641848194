"""Which elements are in which group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..ordering.elements import AllElements, Array


@dataclass(frozen=True)
class Members:
    """The places of the elements of each group, group after group, in the order of positions.

    ``starts``: where those of each of the ``present`` groups begin; ``ends``: of all groups, one
    more at the front.
    """

    order: Array
    ends: Array
    present: Array

    @property
    def starts(self) -> Array:
        return self.ends[self.present]

    @property
    def counts(self) -> Array:
        """How many elements each group has."""
        return np.diff(self.ends)

    def of(self, group: int) -> Array:
        """The places of the elements of ``group``."""
        return self.order[self.ends[group] : self.ends[group + 1]]

    @property
    def groups(self) -> Array:
        """The group of each place of ``order``."""
        return np.repeat(np.arange(len(self.ends) - 1), self.counts)


def members_of(codes: AllElements, groups: int) -> Members:
    """The members of ``groups``; a code that is none of their numbers is in no group."""
    numbers = codes.held()
    inside = (numbers >= 0) & (numbers < groups)
    counts = np.bincount(numbers[inside], minlength=groups)
    narrow = np.uint16 if groups < 2**16 else np.int64  # the shorter ones are sorted by digits
    filed = np.where(inside, numbers, groups).astype(narrow)
    order = np.argsort(filed, kind="stable")[: int(counts.sum())]
    ends = np.concatenate([[0], np.cumsum(counts)])
    return Members(order, ends, np.flatnonzero(counts))
