"""Running sums of columns that the kernel of columns gives up, some rows of them at a time.

A column whose sum was an infinity or no number stays so until an element says otherwise. Others
are taken by the kernel of lines, all in one call, each with a state of its own, until their sums
fit three parts again.
"""

from __future__ import annotations

import ctypes
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...expr.nodes import Scanned
from ...kernel.llvm.scans.layout import (
    COUNT,
    LENGTH,
    LIMBS_AT,
    LINES,
    PARTS,
    POSITION,
    SCRATCH,
    SEVERAL_WORDS,
    STATE,
)
from ...kernel.program import NAN_WORD, NEGATIVE_WORD, Scan
from ..cpu import address_of, scratch_address
from .call import scan_kernel

Array: TypeAlias = NDArray[Any]


class OddColumns:
    """Columns of ``source``, lines of ``length``, that go on by themselves.

    ``ends`` has for each column the infinity or NaN that its sum is, or 0. Those at ``places`` go
    on from ``states``.
    """

    def __init__(self, source: Scanned, length: int) -> None:
        self.source, self.length = source, length
        self.program = Scan(source.op, source.arg.dtype, source.dtype, source.odd, several=True)
        self.begin(0)

    def begin(self, columns: int) -> None:
        """New lines, of which none is odd."""
        self.ends = np.zeros(columns)
        self.places = np.zeros(0, np.int64)
        self.states = np.zeros((0, STATE))

    def snapshot(self) -> tuple[Array, Array, Array]:
        """What `restore` goes on from."""
        return self.ends.copy(), self.places.copy(), self.states.copy()

    def restore(self, known: tuple[Array, Array, Array]) -> None:
        """Go on from where ``known`` was taken."""
        self.ends, self.places, self.states = (one.copy() for one in known)

    def take(
        self, values: Array, results: Array, flags: Array, place: int, parts: Array
    ) -> tuple[Array, Array]:
        """The results of odd columns' ``values``, rows from ``place`` on; ``flags``: the new ones.

        ``parts`` has all columns' sums before these rows. Which columns are odd no longer, and the
        parts of their sums.
        """
        ended = np.flatnonzero(self.ends)
        if len(ended):
            results[:, ended], self.ends[ended] = _after_the_end(values[:, ended], self.ends[ended])
        self._join(flags & (self.ends == 0), parts)
        results[:, self.places] = self._sums(values[:, self.places].T, place).T
        words = self.states.view(np.int64)
        counts = words[:, LIMBS_AT + NAN_WORD : LIMBS_AT + NEGATIVE_WORD + 1] != 0
        self.ends[self.places] = _infinite(counts * words[:, :1])
        held = words[:, 0] == 0
        found = self.places[held], self.states[held, 1 : 1 + PARTS].T
        stay = ~held & (self.ends[self.places] == 0)
        self.places, self.states = self.places[stay], self.states[stay]
        return found

    def _join(self, new: Array, parts: Array) -> None:
        """Columns that become odd, from their sums so far on."""
        new[self.places] = False
        which = np.flatnonzero(new)
        states = np.zeros((len(which), STATE))
        states[:, 1 : 1 + PARTS] = parts[:, which].T
        self.places = np.concatenate([self.places, which])
        self.states = np.concatenate([self.states, states])

    def _sums(self, lines: Array, place: int) -> Array:
        """The running sums of ``lines``, which go on from the states, by one call."""
        given = np.ascontiguousarray(lines)
        made = np.empty(given.shape, self.source.dtype)
        words: Any = (ctypes.c_int64 * SEVERAL_WORDS)()
        words[COUNT], words[POSITION], words[LENGTH] = given.shape[1], place, self.length
        words[LINES] = len(given)
        # Its code lives as long as the kernel does, and another thread's may take its place among
        # those that are kept.
        kernel = scan_kernel(self.program)
        kernel.function(
            ctypes.addressof(words),
            address_of(given),
            address_of(self.states),
            scratch_address(SCRATCH),
            address_of(made),
        )
        return made


def _infinite(counts: Array) -> Array:
    """What sums are that had NaN, infinities, negative infinities; 0 where they had none."""
    nans, up, down = (counts != 0).T
    infinite = np.where(up, np.inf, np.where(down, -np.inf, 0.0))
    return np.where(nans | (up & down), np.nan, infinite)


def _after_the_end(values: Array, ends: Array) -> tuple[Array, Array]:
    """The sums of columns that were ``ends`` before ``values``, and what they are then."""
    other = ~np.isfinite(values)
    if not other.any():
        return np.broadcast_to(ends, values.shape), ends
    lost = np.logical_or.accumulate(other & (values != ends), axis=0)
    results = np.where(lost, np.nan, ends)
    return results, results[-1]
