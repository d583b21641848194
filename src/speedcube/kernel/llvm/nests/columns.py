"""Results side by side: the tile loop walks across results, the reduced loops down.

What is known of a tile of results lies in the L1 cache, and elements of several rows are taken at
once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

from ..elements import Tile
from ..loops import WHOLE, Nest, Row
from ..memory import AHEAD

# Takes the elements of some rows, where these lie, the number of a vector's first element, and the
# lanes that count.
Outputs: TypeAlias = dict[str, str]
Add: TypeAlias = Callable[[Iterable[Outputs], list[str], str, str | None], None]
SETTLED: Final = 1 << 11  # rows after which what waits is put aside
# Bytes of rows with gaps from which on they are asked for some rows before: largest of 100,000 rows
# of 3 take 0.18 ms so, 0.13 without, of 200,000 rows of 17 float64 1.4 and 2.1, sums 5.5 and 10.6.
FAR_ROWS: Final = 1 << 23
CHECKED: Final = 1 << 6  # rows after which it is seen whether units are too small


class ColumnNest(Nest):
    """Emits the loops of a kernel of results side by side."""

    coming: Sequence[Row] = ()

    def boxes(self) -> None:
        t, program, word = self.text, self.program, self.elements.word
        self.elements.usual = str(AHEAD // 4)  # a tile of a row is 8 kB at most
        self.coming = self.rows_to_come(WHOLE, FAR_ROWS) if program.reduced else []
        with t.loop(word(0), word(1)) as o:
            bases = [self.elements.leaf_word(k, 0) for k in range(len(program.leaves) + 1)]
            bases = self.decompose(o, bases, 0, program.kept)
            rows, end = word(6), word(5)
            with t.loop(word(4), end, rows) as j:
                at = [
                    t.i64("add", base, t.i64("mul", j, self.elements.strides[k]))
                    for k, base in enumerate(bases)
                ]
                self.tile(at, t.minimum(rows, t.i64("sub", end, j)))

    def tile(self, at: list[str], count: str) -> None:
        """Make a tile of ``count`` results."""
        raise NotImplementedError

    def lanes_below(self, count: str) -> str:
        """The first ``count`` lanes, which are not all."""
        raise NotImplementedError

    def place(self, r: str) -> str:
        """The place of row ``r``, in every lane, where that is a result."""
        return ""

    def down(
        self,
        at: list[str],
        count: str,
        add: Add,
        at_once: int,
        settle: Callable[[str], None] | None = None,
        first: str = "0",
        check: Callable[[], None] | None = None,
    ) -> None:
        """Walk down all rows from ``first``, several ``at_once``.

        Now and then ``check`` is called, and ``settle`` for each vector of results.
        """
        t, rows = self.text, self.elements.word(3)
        whole = t.i64("and", rows, -at_once)
        if settle is not None or check is not None:
            between = CHECKED if settle is None else SETTLED
            with t.loop(first, whole, between) as begin:
                end = t.minimum(t.i64("add", begin, between), whole)
                with t.loop(begin, end, at_once) as r:
                    self.take(at, count, r, at_once, add)
                if check is not None:
                    check()
                if settle is not None:
                    with t.loop(0, count, t.lanes) as j:
                        settle(j)
        else:
            with t.loop(first, whole, at_once) as r:
                self.take(at, count, r, at_once, add)
        while at_once > 1:
            at_once //= 2
            some = t.i64("and", rows, at_once)
            r = t.i64("and", rows, -2 * at_once)
            with t.when(t.op(f"icmp ne i64 {some}, 0")):
                self.take(at, count, r, at_once, add)

    def take(self, at: list[str], count: str, first: str, rows: int, add: Add) -> None:
        """Take the elements of ``rows`` rows, one after the other while words are in registers."""
        t = self.text
        numbers = [first, *(t.i64("add", first, k) for k in range(1, rows))]
        tiles = [self.row(at, count, r) for r in numbers]
        for tile in tiles:
            self.ask(tile.positions)
        places = [self.place(r) for r in numbers]
        whole = t.i64("and", count, -t.lanes)
        with t.loop(0, whole, t.lanes) as j:
            add((self.elements.element(tile, j, None) for tile in tiles), places, j, None)
        rest = t.i64("sub", count, whole)
        with t.when(t.op(f"icmp sgt i64 {rest}, 0")):
            mask = self.lanes_below(rest)
            add((self.elements.element(tile, whole, mask) for tile in tiles), places, whole, mask)

    def row(self, at: list[str], count: str, r: str) -> Tile:
        """Row ``r`` of a tile, its random leaves generated."""
        leaves = len(self.program.leaves)
        bases = self.decompose(r, at, self.program.kept, self.program.reduced)
        return self.drawn([*bases[:leaves], at[leaves]], count)

    def ask(self, positions: list[str]) -> None:
        """Ask for what comes some rows after the one at ``positions``."""
        for one in self.coming:
            self.ask_for_row(one, positions[one.leaf])

    def further(self, at_once: int) -> list[list[str]]:
        """How far rows 1, 2, ... of some are from the first of them, in each leaf and the result.

        None but the number of rows, where that is not the same everywhere.
        """
        loops = self.program.reduced
        if loops != 1:
            return [[] for _ in range(at_once - 1)]
        nowhere = ["0"] * (len(self.program.leaves) + 1)
        each = (str(k) for k in range(1, at_once))
        return [self.decompose(k, nowhere, self.program.kept, loops) for k in each]

    def rows(self, at: list[str], count: str, r: str, further: list[list[str]]) -> Iterator[Tile]:
        """Row ``r`` of a tile and those behind it, which lie ``further``."""
        t, program = self.text, self.program
        first = self.decompose(r, at, program.kept, program.reduced)
        yield self.drawn([*first[: len(program.leaves)], at[-1]], count)
        for k, steps in enumerate(further, 1):
            if not steps:
                yield self.row(at, count, t.i64("add", r, k))
                continue
            bases = [t.i64("add", base, n) for base, n in zip(first, steps, strict=True)]
            yield self.drawn([*bases[: len(program.leaves)], at[-1]], count)
