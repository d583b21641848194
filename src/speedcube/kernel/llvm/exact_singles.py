"""Exact sums of float32: tiles that doubles sum without rounding, as nearly all do.

A float32 has 24 bits. Where the greatest magnitude of a tile is not too far above the least, a
double holds the sum of a lane's share exactly: an addition an element, and two comparisons of half
its size. The sum of a lane is then one term. Where it is too far (or there is a NaN), the tile is
added as `exact_sum` does it, and so are the next ones.
"""

from __future__ import annotations

from typing import Final

from ...expr.space import TILE
from ..program import Program, Sink
from .elements import Elements, Tile
from .exact_sum import LaneSum
from .text import masked

_BITS: Final = 53 - 24  # of a double, beside those of a term
_FRACTION: Final = 23  # of a float32's bits
_SIZE: Final = 2**31 - 1  # all but the sign
_INFINITY: Final = 0x7F800000
_TURNED_AWAY: Final = 32  # tiles that are added the other way after one that has to be
_MOST_STEPS: Final = 24  # of a body that is written twice


def has_singles(program: Program, sink: Sink) -> bool:
    """Whether ``sink`` sums one float32 an element, of which there is little text."""
    body = program.element
    if len(sink.terms) != 1 or sink.terms[0].bins.mode != "search" or sink is not program.sink:
        return False
    if len(body.instrs) > _MOST_STEPS or any(leaf.kind == "random" for leaf in program.leaves):
        return False
    last = body.instrs[dict(body.outputs)[sink.terms[0].output]]
    return last.op == "cast" and body.instrs[last.args[0]].type == "float32"


class SinglesSum(LaneSum):
    """A sum of float32, of tiles that are tried in doubles first."""

    def __init__(self, elements: Elements, sink: Sink, first: int) -> None:
        super().__init__(elements, sink, first)
        self.turned = ""

    def begin(self, record: str) -> None:
        super().begin(record)
        self.turned = self.elements.text.variable("i64", "0", "turned")

    def take(self, tile: Tile) -> None:
        """Compute the elements of ``tile``."""
        t = self.elements.text
        self.before(tile)
        turned = t.load("i64", self.turned)
        with t.when(t.op(f"icmp eq i64 {turned}, 0")):
            self.in_doubles(tile)
        with t.when(t.op(f"icmp ne i64 {turned}, 0")):
            t.store("i64", t.i64("sub", turned, 1), self.turned)
            self.elements.element_loop(tile, self.consume)
        self.after(tile)

    def in_doubles(self, tile: Tile) -> None:
        """A sum in each lane; all of the tile waits, in case that one rounds."""
        t, (bin,) = self.elements.text, self.bins
        v, w, single = (t.vector(scalar) for scalar in ("double", "i32", "float"))
        total = t.variable(v, "zeroinitializer", "lanes")
        least, most = (t.variable(w, t.constant(n, "int32"), "size") for n in (-1, 0))

        def add(outputs: dict[str, str], j: str, mask: str | None) -> None:
            x = masked(t, "double", mask, outputs[bin.term.output], "zeroinitializer")
            t.store(v, x, t.at(bin.buffer, j, "double"), 8)
            t.store(v, t.op(f"fadd {v} {t.load(v, total)}, {x}"), total)
            bits = t.op(f"bitcast {single} {t.op(f'fptrunc {v} {x} to {single}')} to {w}")
            size = t.op(f"and {w} {bits}, {t.constant(_SIZE, 'int32')}")
            below = t.op(f"add {w} {size}, {t.constant(-1, 'int32')}")  # zero is no least
            for place, name, number in ((least, "umin", below), (most, "umax", size)):
                t.store(
                    w, t.call(w, f"llvm.{name}.v{t.lanes}i32", w, t.load(w, place), number), place
                )

        self.elements.element_loop(tile, add)
        self.accumulate(bin, t.load(v, total))
        with t.when(self.rounds(t.load(w, least), t.load(w, most)), rarely=True):
            t.store(t.vector("i64"), t.constant(-1, "int64"), bin.left)
            t.store("i64", str(_TURNED_AWAY), self.turned)

    def rounds(self, least: str, most: str) -> str:
        """Whether an addition may have rounded, of magnitudes from ``least``, less one, on."""
        t, w = self.elements.text, self.elements.text.vector("i32")
        terms = (TILE // t.lanes - 1).bit_length()
        low = t.call("i32", f"llvm.vector.reduce.umin.v{t.lanes}i32", w, least)
        high = t.call("i32", f"llvm.vector.reduce.umax.v{t.lanes}i32", w, most)
        low = t.op(f"lshr i32 {t.op(f'add i32 {low}, 1')}, {_FRACTION}")
        apart = t.op(f"sub i32 {t.op(f'lshr i32 {high}, {_FRACTION}')}, {low}")
        far = t.op(f"icmp sgt i32 {apart}, {_BITS - terms}")
        return t.op(f"or i1 {far}, {t.op(f'icmp uge i32 {high}, {_INFINITY}')}")
