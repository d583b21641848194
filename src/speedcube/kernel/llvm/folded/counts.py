"""How many elements of each row are true: the bits of a mask are counted, a register at once."""

from __future__ import annotations

from .rows import FoldedRows


class CountedRows(FoldedRows):
    """Emits a kernel of such counts, whose word is one number and not one a lane."""

    def begin(self) -> None:
        self.words = self.text.variable(self.scalar, "0", "word")

    def take(self, start: str, outputs: dict[str, str], j: str, mask: str | None) -> None:
        t, bits = self.text, f"i{self.text.lanes}"
        x = outputs["x"] if mask is None else t.op(f"and {self.one} {mask}, {outputs['x']}")
        number = t.op(f"bitcast {self.one} {x} to {bits}")
        count = t.call(bits, f"llvm.ctpop.{bits}", bits, number)
        if t.lanes != 32:
            count = t.op(f"{'trunc' if t.lanes > 32 else 'zext'} {bits} {count} to {self.scalar}")
        known = t.load(self.scalar, self.words)
        t.store(self.scalar, t.op(f"add {self.scalar} {known}, {count}"), self.words)

    def end(self, q: str) -> None:
        self.text.store(self.scalar, self.text.load(self.scalar, self.words), self.slot(0, q))
