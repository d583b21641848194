"""Numbers in memory sorted by digits of eight bits, the last one first: each pass keeps the order.

    void kernel(words, values, counts, nothing, out)

``words`` (int64): how many elements there are, and the bit where a digit begins. An entry is a key,
an unsigned integer that orders like its number, or a pair of a key and its place. NaN has the
greatest key; with places -0 has the key of 0. The steps:

    count      writes the entries of ``values``, and adds up how often each digit has each value
    deal       moves each entry to where ``counts`` says that its digit's next one belongs
    restore    numbers of keys, with NumPy's NaN
"""

from __future__ import annotations

from typing import Final

from .... import dtypes
from ...orders import Radix
from ..function import function
from ..text import SCALAR, Text

COUNT, SHIFT = range(2)
WORDS: Final = 2
BITS: Final = 8
VALUES: Final = 1 << BITS  # of a digit
_NAN: Final = {"double": 0x7FF8 << 48, "float": 0x7FC0 << 16}


def key_of(t: Text, dtype: str, x: str, places: bool) -> str:
    """The key of ``x``, a number of ``dtype``."""
    kind, word = SCALAR[dtype], f"i{8 * dtypes.itemsize(dtype)}"
    sign = 0 if dtype.startswith("u") else -(1 << (8 * dtypes.itemsize(dtype) - 1))
    if not dtypes.is_float(dtype):
        return t.op(f"xor {word} {x}, {sign}")
    if places:
        x = t.op(f"fadd {kind} {x}, 0.0")  # of -0 that is 0
    bits = t.op(f"bitcast {kind} {x} to {word}")
    # Of negative numbers all bits are turned, of others the sign: without a branch to be guessed.
    negative = t.op(f"ashr {word} {bits}, {8 * dtypes.itemsize(dtype) - 1}")
    key = t.op(f"xor {word} {bits}, {t.op(f'or {word} {negative}, {sign}')}")
    nan = t.op(f"fcmp uno {kind} {x}, {x}")
    return t.op(f"select i1 {nan}, {word} -1, {word} {key}")


class _RadixText:
    """One kernel under construction."""

    def __init__(self, program: Radix) -> None:
        self.program = program
        self.kind = SCALAR[program.dtype]
        self.size = dtypes.itemsize(program.dtype)
        self.word = f"i{8 * self.size}"
        self.entry = f"<2 x {self.word}>" if program.places else self.word
        self.is_float = dtypes.is_float(program.dtype)
        self.sign = 0 if program.dtype.startswith("u") else -(1 << (8 * self.size - 1))
        self.text = Text(1)

    def emit(self) -> str:
        t = self.text
        count = t.load("i64", t.at("%words", COUNT))
        step = {"count": self._count, "deal": self._deal, "restore": self._restore}
        shift = t.load("i64", t.at("%words", SHIFT))
        with t.loop(0, count) as j:
            step[self.program.step](j, shift)
        return function(t, ("words", "values", "state", "scratch", "out"), ())

    def _count(self, j: str, _: str) -> None:
        t, word = self.text, self.word
        x = t.load(self.kind, t.at("%values", j, self.kind), 1)
        key = key_of(t, self.program.dtype, x, self.program.places)
        entry = key
        if self.program.places:
            place = j if word == "i64" else t.op(f"trunc i64 {j} to {word}")
            entry = t.op(f"insertelement {self.entry} poison, {word} {key}, i64 0")
            entry = t.op(f"insertelement {self.entry} {entry}, {word} {place}, i64 1")
        t.store(self.entry, entry, t.at("%out", j, self.entry), self.size)
        for digit in range(self.size):
            self._next(self._digit(key, str(BITS * digit)), digit)

    def _deal(self, j: str, shift: str) -> None:
        t = self.text
        entry = t.load(self.entry, t.at("%values", j, self.entry), self.size)
        key = t.op(f"extractelement {self.entry} {entry}, i64 0") if self.program.places else entry
        at = self._next(self._digit(key, shift), 0)
        t.store(self.entry, entry, t.at("%out", at, self.entry), self.size)

    def _next(self, digit: str, row: int) -> str:
        """The count of ``digit`` in a row, which is one more then."""
        t = self.text
        place = t.at("%state", t.i64("add", digit, row * VALUES))
        before = t.load("i64", place)
        t.store("i64", t.i64("add", before, 1), place)
        return before

    def _digit(self, key: str, shift: str) -> str:
        t = self.text
        wide = key if self.word == "i64" else t.op(f"zext {self.word} {key} to i64")
        return t.i64("and", t.i64("lshr", wide, shift), VALUES - 1)

    def _restore(self, j: str, _: str) -> None:
        t, word = self.text, self.word
        key = t.load(word, t.at("%values", j, word), self.size)
        above = t.op(f"xor {word} {key}, {self.sign}")
        bits = above
        if self.is_float:
            negative = t.op(f"icmp sge {word} {key}, 0")
            below = t.op(f"xor {word} {key}, -1")
            bits = t.op(f"select i1 {negative}, {word} {below}, {word} {above}")
            nan = t.op(f"icmp eq {word} {key}, -1")
            bits = t.op(f"select i1 {nan}, {word} {_NAN[self.kind]}, {word} {bits}")
        t.store(word, bits, t.at("%out", j, word), self.size)


def emit_radix(program: Radix) -> str:
    """The LLVM text of ``program``."""
    return _RadixText(program).emit()
