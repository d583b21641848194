"""The parameters of a kernel that takes any constants, and how those are put into them."""

from __future__ import annotations

import ctypes
import struct
from typing import Any, Final

from ..prepare import Prepared
from .structure import Structure, word
from .templates import Slots

# What puts a constant into its parameter, a word of eight bytes.
_PUT: Final = {
    "float64": struct.Struct("<d").pack_into,
    "float32": struct.Struct("<f4x").pack_into,
}


class ConstantWords:
    """The parameter words of a kernel of ``slots``, for one thread at a time."""

    def __init__(self, slots: Slots, prepared: Prepared) -> None:
        words = prepared.params
        self.words: Any = (ctypes.c_uint64 * max(1, len(words)))(*words.tolist())
        self.address = ctypes.addressof(self.words)
        dtypes = [constant.dtype for constant in slots.numbers]
        self.puts = [(_PUT[dtypes[k]], 8 * at, k) for k, at in enumerate(slots.constants or ())]

    def put(self, found: Structure) -> None:
        """Take the constants of ``found``."""
        for put, place, k in self.puts:
            constant = found.constants[k]
            try:
                put(self.words, place, constant.value)
            except OverflowError:  # beyond float32
                self.words[place >> 3] = word(constant.value, constant.dtype)
