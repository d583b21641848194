"""The arguments of a kernel that takes any data, constants, keys and lengths, and its calls."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from operator import mul
from typing import Any, Final

from ...philox import round_keys
from ..cpu import Caller, Frame, address_of, scratch_address
from ..prepare import Prepared
from .structure import Structure, word
from .templates import Slots

# What puts a constant into its parameter, a word of eight bytes.
PUT: Final = {
    "float64": struct.Struct("<d").pack_into,
    "float32": struct.Struct("<f4x").pack_into,
}
# Elements after which a kernel is asked for anew: there may be quicker code by then.
_ASKED: Final = 1 << 16


class Arguments(Caller):
    """A kernel with arguments of its own, for one thread at a time.

    ``data`` has its leaves that are data, each with the number of its array, ``constants`` the
    parameter of each constant.
    """

    def __init__(
        self,
        slots: Slots,
        prepared: Prepared,
        frame: Frame,
        data: Sequence[tuple[int, int]],
        constants: Sequence[int],
    ) -> None:
        super().__init__(prepared, frame, {})
        words = prepared.params
        self.parameters: Any = (ctypes.c_uint64 * max(1, len(words)))(*words.tolist())
        dtypes = [constant.dtype for constant in slots.numbers]
        self.puts = [(PUT[dtypes[k]], 8 * at, k) for k, at in enumerate(constants)]
        self.data, self.random = data, slots.random
        kept, reduced, steps = prepared.loops
        self.geometry[:6] = (0, kept, 0, reduced, 0, steps)
        geometry, addresses, _, _ = self.arguments
        self.places = geometry, addresses, ctypes.addressof(self.parameters)
        self.scratch_bytes = frame.scratch_bytes
        self.left = self.seen = 0  # elements until code is asked for, and since it was

    def take(self, found: Structure) -> None:
        """Take the data, constants, keys and length of ``found``, and code for as many elements."""
        buffers, data, size = self.buffers, found.data, found.size
        for k, which in self.data:
            leaf = data[which]
            array: Any = leaf.source.buffer  # type: ignore[union-attr]
            address = address_of(array)
            buffers[k] = address + leaf.offset * array.itemsize if leaf.offset else address
        for put, place, k in self.puts:
            constant = found.constants[k]
            try:
                put(self.parameters, place, constant.value)
            except OverflowError:  # beyond float32
                self.parameters[place >> 3] = word(constant.value, constant.dtype)
        for place, k in self.random:
            keys = round_keys(found.random[k].key)
            self.parameters[place : place + len(keys)] = keys
        if found.line:
            self.geometry[5] = size
        self.seen += size
        if self.seen >= self.left:
            self._ask()

    def move(self, found: Structure, rows: int, size: int) -> None:
        """Begin ``rows`` later, and make ``size`` elements: of what is one loop of any length.

        Its arrays lie in C order and are taken whole, so that what follows lies behind.
        """
        self.geometry[5] = size
        for k, which in self.data if rows else ():
            leaf = found.data[which]
            array: Any = leaf.source.buffer  # type: ignore[union-attr]
            self.buffers[k] += rows * leaf.strides[0] * array.itemsize

    def step(self, found: Structure, steps: Sequence[int]) -> None:
        """Begin so many ``steps`` along each axis further."""
        for k, which in self.data:
            leaf = found.data[which]
            array: Any = leaf.source.buffer  # type: ignore[union-attr]
            self.buffers[k] += sum(map(mul, steps, leaf.strides)) * array.itemsize

    def _ask(self) -> None:
        tiers = self.frame.tiers
        self.kernel = kernel = tiers.full or tiers.kernel(self.seen)
        self.function = kernel.function
        self.seen, self.left = 0, _ASKED

    def call(self, out: int) -> None:
        """Call the kernel; what it makes goes to the address ``out``."""
        size = self.scratch_bytes
        self.function(*self.places, scratch_address(size) if size else 0, out)
