"""Which elements are in which group."""

from __future__ import annotations

import numpy as np

from ...dataclass import dataclass
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


def ends_of(codes: AllElements, groups: int) -> Array:
    """Where each of ``groups`` ends when elements lie by group; 0, and that of none, around it."""
    counts = Counts("int64", groups)
    for block in streamed(codes, (0, codes.size)):
        counts.add(block)
    return np.concatenate([[0], np.cumsum(counts.total())])


def members_of(codes: AllElements, groups: int) -> Members:
    """The members of ``groups``; a code that is none of their numbers is in no group."""
    ends = ends_of(codes, groups)
    order = np.empty(codes.size, np.int64)
    _deal(DealtToGroups("int64", True), codes, codes, 0, ends, order)
    present = np.flatnonzero(np.diff(ends)[:groups])
    return Members(order[: int(ends[groups])], ends[: groups + 1], present)


def by_group(codes: AllElements, x: AllElements, line: int, members: Members) -> Array:
    """The elements of a ``line`` of ``x``, group after group; then those of none."""
    out = np.empty(codes.size, x.dtype if x.dtype == bool else kernel_dtype(x.dtype))
    deal_line(codes, x, line, np.append(members.ends, codes.size), out)
    return out.astype(x.dtype, copy=False)


def deal_line(codes: AllElements, x: AllElements, line: int, ends: Array, out: Array) -> None:
    """The elements of a ``line`` of ``x`` into ``out``: group after group, which have ``ends``."""
    _deal(DealtToGroups(kernel_dtype(x.dtype), False), codes, x, line * codes.size, ends, out)


def _deal(
    program: DealtToGroups, codes: AllElements, x: AllElements, at: int, ends: Array, out: Array
) -> None:
    kernel, words = compiled(program, targets()[0]), np.zeros(WORDS, np.int64)
    places = ends[:-1].copy()
    for first, numbers, values in pairs(codes, x, at, (0, codes.size)):
        words[:] = len(numbers), len(places) - 1, first
        addresses = address_of(values), address_of(numbers), places.ctypes.data, out.ctypes.data
        kernel.function(words.ctypes.data, *addresses)
