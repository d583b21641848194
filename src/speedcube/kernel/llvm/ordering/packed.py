"""Places of numbers in order: entries of 64 bits are dealt out by digits, the last one first.

    void kernel(words, values, counts, nothing, out)

An entry is the leading bits of a number's key, less the least key, and below them its place. So a
pass moves half the bytes of keys with places, and most digits of keys need none. ``words`` (int64):
how many elements there are, the bits of a place, the least key, how many bits of the difference
are left out, the bits of a digit, and the bit of an entry where a digit begins; then an answer. The
steps:

    count      adds up how often each digit has each value (uint32), for every other number apart,
               so that none waits for the one before; the answer: bits that differ
    first      moves an entry of each number to where ``counts`` says its digit's next one belongs
    deal       moves entries
    places     leaves the places of entries where they are; ``out``: where an entry's leading bits
               are those of the one before, the answer: how many there are
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ....dtypes import itemsize
from ...orders import ByLeadingBits
from ..function import function
from ..text import SCALAR, Text
from .radix import key_of

COUNT, PLACE, LEAST, LEFT_OUT, BITS, AT, ANSWER = range(7)
WORDS: Final = 7
COPIES: Final = 2  # of the counts
PAD: Final = 48  # counts between rows, which would lie a page apart and wait for each other


class _PackedText:
    """One kernel under construction."""

    def __init__(self, program: ByLeadingBits) -> None:
        self.program = program
        self.text = t = Text(1)
        self.words = [t.load("i64", t.at("%words", k)) for k in range(WORDS)]
        one = t.i64("shl", 1, self.words[BITS])
        self.digits, self.mask = one, t.i64("sub", one, 1)

    def emit(self) -> str:
        t = self.text
        answer = t.variable("i64", "0", "answer")
        step: dict[str, Callable[[str, str], None]] = {
            "count": self._count,
            "first": self._first,
            "deal": self._deal,
            "places": self._places,
        }
        with t.loop(int(self.program.step == "places"), self.words[COUNT]) as j:
            step[self.program.step](j, answer)
        t.store("i64", t.load("i64", answer), t.at("%words", ANSWER))
        return function(t, ("words", "values", "state", "scratch", "out"), ())

    def _key(self, j: str) -> str:
        t, dtype = self.text, self.program.dtype
        kind, word = SCALAR[dtype], f"i{8 * itemsize(dtype)}"
        key = key_of(t, dtype, t.load(kind, t.at("%values", j, kind), 1), True)
        wide = key if word == "i64" else t.op(f"zext {word} {key} to i64")
        return t.i64("sub", wide, self.words[LEAST])

    def _count(self, j: str, answer: str) -> None:
        t, words = self.text, self.words
        key = self._key(j)
        first = self._key("0")
        t.store("i64", t.i64("or", t.load("i64", answer), t.i64("xor", key, first)), answer)
        rest, digits = t.i64("lshr", key, words[LEFT_OUT]), self.program.digits
        copy = t.i64("mul", t.i64("and", j, COPIES - 1), digits)
        for digit in range(digits):
            row = t.i64("mul", t.i64("add", copy, digit), t.i64("add", self.digits, PAD))
            place = t.at("%state", t.i64("add", row, t.i64("and", rest, self.mask)), "i32")
            t.store("i32", t.op(f"add i32 {t.load('i32', place)}, 1"), place)
            rest = t.i64("lshr", rest, words[BITS])

    def _first(self, j: str, _: str) -> None:
        t, words = self.text, self.words
        leading = t.i64("lshr", self._key(j), words[LEFT_OUT])
        self._move(t.i64("or", t.i64("shl", leading, words[PLACE]), j))

    def _deal(self, j: str, _: str) -> None:
        t = self.text
        self._move(t.load("i64", t.at("%values", j)))

    def _move(self, entry: str) -> None:
        t = self.text
        digit = t.i64("and", t.i64("lshr", entry, self.words[AT]), self.mask)
        place = t.at("%state", digit)
        at = t.load("i64", place)
        t.store("i64", t.i64("add", at, 1), place)
        t.store("i64", entry, t.at("%out", at))

    def _places(self, j: str, answer: str) -> None:
        t, bits = self.text, self.words[PLACE]
        mask = t.i64("sub", t.i64("shl", 1, bits), 1)
        before, here = t.at("%values", t.i64("sub", j, 1)), t.at("%values", j)
        one, other = t.load("i64", before), t.load("i64", here)
        differ = t.i64("lshr", t.i64("xor", one, other), bits)
        alike = t.op(f"zext i1 {t.op(f'icmp eq i64 {differ}, 0')} to i64")
        known = t.load("i64", answer)
        t.store("i64", j, t.at("%out", known))
        t.store("i64", t.i64("add", known, alike), answer)
        t.store("i64", t.i64("and", one, mask), before)


def emit_packed(program: ByLeadingBits) -> str:
    """The LLVM text of ``program``."""
    return _PackedText(program).emit()
