"""Walking down the rows of a tile of columns, several of them at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ...program import Program
from ..elements import Tile
from ..random import generate
from .nest import ManyNest
from .sums import CHECKED, SETTLED

# Takes the rows of a tile, the number of a vector's first element, and the lanes that count.
Add: TypeAlias = Callable[[list[Tile], str, str | None], None]


def rows_at_once(program: Program) -> int:
    """Rows whose elements are taken together: fewer, where an element is much text."""
    if any(leaf.stream is not None for leaf in program.leaves):
        return 1  # whose values lie in one buffer a leaf
    length = len(program.element.instrs)
    return 8 if length <= 6 else 4 if length <= 16 else 1


class ColumnWalk(ManyNest):
    """What emits the loops over the rows of a tile."""

    def down(
        self,
        at: list[str],
        count: str,
        add: Add,
        first: str = "0",
        check: Callable[[], None] | None = None,
    ) -> None:
        """Walk down all rows from ``first`` on, several at once.

        With a ``check`` that is called now and then, and rests that are settled then.
        """
        t, rows, at_once = self.text, self.elements.word(3), rows_at_once(self.program)
        whole = t.i64("and", rows, -at_once)
        settled = [k for k in range(self.many.sums) if self.many.settles(k)]
        if check is None:
            with t.loop(first, whole, at_once) as r:
                self.take(at, count, r, at_once, add)
        else:
            some = SETTLED if settled else CHECKED
            with t.loop(first, whole, some) as begin:
                end = t.minimum(t.i64("add", begin, some), whole)
                with t.loop(begin, end, at_once) as r:
                    self.take(at, count, r, at_once, add)
                check()
                if settled:
                    with t.loop(0, count, t.lanes) as j:
                        for k in settled:
                            self.sums.settle(k, j)
        self.tail(at, count, add)

    def tail(self, at: list[str], count: str, add: Add) -> None:
        """The last rows, fewer than are taken at once."""
        t, rows, at_once = self.text, self.elements.word(3), rows_at_once(self.program)
        while at_once > 1:
            some = t.i64("and", rows, at_once // 2)
            r = t.i64("and", rows, -at_once)
            at_once //= 2
            with t.when(t.op(f"icmp ne i64 {some}, 0")):
                self.take(at, count, r, at_once, add)

    def row(self, at: list[str], count: str, r: str) -> Tile:
        """Row ``r`` of a tile, its random leaves generated."""
        leaves = len(self.program.leaves)
        bases = self.decompose(r, at, self.program.kept, self.program.reduced)
        tile = Tile(count, bases[:leaves], ["0"] * leaves, at[leaves])
        for k, leaf in enumerate(self.program.leaves):
            if leaf.stream is not None:
                generate(self.elements, k, tile)
        return tile

    def take(self, at: list[str], count: str, first: str, rows: int, add: Add) -> None:
        """Add the elements of ``rows`` rows, one after the other while sums are in registers."""
        t = self.text
        numbers = [first, *(t.i64("add", first, k) for k in range(1, rows))]
        tiles = [self.row(at, count, r) for r in numbers]
        whole = t.i64("and", count, -t.lanes)
        with t.loop(0, whole, t.lanes) as j:
            add(tiles, j, None)
        rest = t.i64("sub", count, whole)
        with t.when(t.op(f"icmp sgt i64 {rest}, 0")):
            mask = t.op(f"icmp slt {self.d.word} {t.iota('0')}, {t.splat('i64', rest)}")
            add(tiles, whole, mask)
