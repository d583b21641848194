"""The slow way of an exact running sum: each element goes to the limbs, which are then rounded."""

from __future__ import annotations

from typing import Final

from ...program import LIMBS
from .frame import LineFrame
from .layout import PARTS

SIGNLESS: Final = 2**63 - 1  # the bits of a double without its sign


class LimbSums:
    """A running sum in the limbs at ``limbs``; ``odd``: rounded to odd, to be rounded again."""

    def __init__(self, frame: LineFrame, limbs: str, odd: bool) -> None:
        self.frame = frame
        self.limbs = limbs
        self.odd = odd

    def add(self, terms: str, count: int) -> None:
        """``count`` doubles in memory."""
        self.frame.text.line(f"call void @limbs_add(ptr {self.limbs}, ptr {terms}, i64 {count})")

    def carry(self, first: str | int, last: str | int) -> None:
        args = f"ptr {self.limbs}, i64 {first}, i64 {last}"
        self.frame.text.line(f"call void @limb_carry({args})")

    def rounded(self, odd: bool) -> str:
        """The sum as a double."""
        args = f"ptr {self.limbs}, i1 {'true' if odd else 'false'}"
        return self.frame.text.op(f"call double @limb_round({args})")

    def clear(self) -> None:
        t = self.frame.text
        with t.loop(0, str(LIMBS)) as k:
            t.store("i64", "0", t.at(self.limbs, k))

    def to_limbs(self, parts: list[str]) -> None:
        """The sum so far in limbs, where it is not."""
        t = self.frame.text
        with t.when(t.op(f"icmp eq i64 {t.load('i64', '%state')}, 0")):
            self.clear()
            self.add(parts[0], PARTS)
            for part in parts:
                t.store("double", "0.0", part)
            self.carry(0, LIMBS)
            t.store("i64", "1", "%state")

    def one_by_one(self, first: str, size: str, position: str) -> None:
        """Add each element to the limbs, and round."""
        frame, t = self.frame, self.frame.text
        with t.loop(first, t.i64("add", first, size)) as j:
            x = t.load("double", frame.value(j))
            self.add(frame.value(j), 1)
            biased = t.i64("and", t.i64("lshr", t.op(f"bitcast double {x} to i64"), 52), 2047)
            digit = t.i64("lshr", biased, 5)  # the one it begins in, or the next
            digit = t.i64("sub", digit, t.op(f"zext i1 {t.op(f'icmp ne i64 {digit}, 0')} to i64"))
            self.carry(digit, t.i64("add", digit, 4))
            total = self.rounded(self.odd)
            if frame.out == "float":
                total = t.op(f"fptrunc double {total} to float")
            t.store(frame.out, total, t.at("%out", j, frame.out))
            with t.when(frame.step(position), rarely=True):
                self.clear()

    def from_limbs(self, parts: list[str]) -> None:
        """The sum in parts again, if they can hold it."""
        t = self.frame.text
        nearest = self.rounded(odd=False)
        minus = t.variable("double", nearest, "minus")
        bits = t.i64("and", t.op(f"bitcast double {nearest} to i64"), SIGNLESS)
        with t.when(t.op(f"icmp ult i64 {bits}, {2047 << 52}")):
            for k, part in enumerate(parts):
                x = self.rounded(odd=False) if k else nearest
                t.store("double", x, part)
                t.store("double", t.op(f"fneg double {x}"), minus)
                self.add(minus, 1)
                self.carry(0, LIMBS)
            left = t.variable("i64", "0", "left")
            with t.loop(0, str(LIMBS)) as k_:
                digit = t.load("i64", t.at(self.limbs, k_))
                t.store("i64", t.i64("or", t.load("i64", left), digit), left)
            held = t.op(f"icmp eq i64 {t.load('i64', left)}, 0")
            with t.when(held):
                t.store("i64", "0", "%state")
            with t.when(t.op(f"xor i1 {held}, true")):
                self.add(parts[0], PARTS)
                self.carry(0, LIMBS)
