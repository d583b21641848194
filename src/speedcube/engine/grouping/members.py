"""Which elements are in which group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...kernel.llvm.grouping.deal import WORDS
from ...kernel.llvm.grouping.program import DealtToGroups
from ...kernel.llvm.simd import targets
from ..cpu import address_of
from ..ordering.counting import streamed
from ..ordering.elements import AllElements, Array
from ..ordering.fixed import Counts
from .stream import compiled, kernel_dtype, pairs


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
    counts = Counts("int64", groups)
    for block in streamed(codes, (0, codes.size)):
        counts.add(block)
    total = counts.total()
    ends = np.concatenate([[0], np.cumsum(total)])
    order = np.empty(codes.size, np.int64)
    _deal(DealtToGroups("int64", True), codes, codes, 0, ends, order)
    return Members(order[: int(ends[groups])], ends[: groups + 1], np.flatnonzero(total[:groups]))


def by_group(codes: AllElements, x: AllElements, line: int, members: Members) -> Array:
    """The elements of a ``line`` of ``x``, group after group; then those of none."""
    dtype = kernel_dtype(x.dtype)
    ends = np.append(members.ends, members.ends[-1])
    out = np.empty(codes.size, x.dtype if x.dtype == bool else dtype)
    _deal(DealtToGroups(dtype, False), codes, x, line * codes.size, ends, out)
    return out.astype(x.dtype, copy=False)


def _deal(
    program: DealtToGroups, codes: AllElements, x: AllElements, at: int, ends: Array, out: Array
) -> None:
    kernel, words = compiled(program, targets()[0]), np.zeros(WORDS, np.int64)
    places = ends[:-1].copy()
    for first, numbers, values in pairs(codes, x, at, (0, codes.size)):
        words[:] = len(numbers), len(places) - 1, first
        addresses = address_of(values), address_of(numbers), places.ctypes.data, out.ctypes.data
        kernel.function(words.ctypes.data, *addresses)
