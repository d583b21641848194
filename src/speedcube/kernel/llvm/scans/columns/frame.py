"""What the scans of columns share: the words of a call, rows and matrices, vectors of columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

from .....expr.space import TILE
from ....program import Scan
from ...memory import ALIGN, masked_load
from ...text import SCALAR
from ..frame import ScanFrame
from .layout import (
    COLUMNS,
    GROUP,
    LINE_LENGTH,
    MATRICES,
    MATRIX,
    OUT_MATRIX,
    OUT_ROW,
    PLACE,
    ROW,
    ROWS,
    WIDTH,
)


class ColumnFrame(ScanFrame):
    """One kernel under construction, with vectors of ``lanes`` columns."""

    def __init__(self, program: Scan, lanes: int) -> None:
        super().__init__(program, lanes)
        words = (ROWS, COLUMNS, ROW, OUT_ROW, PLACE, LINE_LENGTH, WIDTH)
        self.rows, self.columns, self.row, self.out_row, *rest = map(self.word, words)
        self.place, self.length, self.width = rest
        self.values, self.results = "%values", "%out"
        self.kind = self.text.vector(self.scalar)
        self.read = SCALAR[program.read or program.dtype]
        self.registers: dict[str | int, str] = {}  # rows of the state that are not in memory

    @contextmanager
    def matrices(self) -> Iterator[str]:
        """Matrix after matrix: its number; its first elements are `values` and `results`."""
        t = self.text
        step, out_step = self.word(MATRIX), self.word(OUT_MATRIX)
        with t.loop(0, self.word(MATRICES)) as m:
            self.values = t.at("%values", t.i64("mul", m, step), self.read)
            self.results = t.at("%out", t.i64("mul", m, out_step), self.out)
            yield m

    def row_of(self, row: str | int) -> str:
        """Where ``row`` of the elements begins."""
        return self.text.at(self.values, self.text.i64("mul", row, self.row), self.read)

    def out_row_of(self, row: str) -> str:
        """Where ``row`` of the results begins."""
        return self.text.at(self.results, self.text.i64("mul", row, self.out_row), self.out)

    def state(self, row: str | int, column: str) -> str:
        """The address of a vector of the state: ``row`` at ``column``."""
        t = self.text
        return t.at("%state", t.i64("add", t.i64("mul", row, self.width), column))

    def held(self, row: str | int, column: str, kind: str = "") -> str:
        """A vector of the state, of LLVM's type ``kind`` (default: of elements)."""
        place = self.registers.get(row) or self.state(row, column)
        return self.text.load(kind or self.kind, place, 8)

    def hold(self, value: str, row: str | int, column: str, kind: str = "") -> None:
        place = self.registers.get(row) or self.state(row, column)
        self.text.store(kind or self.kind, value, place, 8)

    def each_row(
        self, held: Mapping[int, str], body: Callable[[str, str, str, str | None], None]
    ) -> None:
        """``body(row, row of results, column, mask)`` for all elements, row after row.

        Where a vector has all columns, the rows ``held`` of the state (and their types) stay in
        registers: a row would have to wait for what the one before it has stored.
        """
        t, v = self.text, self.text.vector("i64")
        narrow = t.op(f"icmp sle i64 {self.columns}, {t.lanes}")
        with t.when(narrow):
            start = {row: self.held(row, "0", kind) for row, kind in held.items()}
            self.registers = {row: t.variable(held[row], x, "held") for row, x in start.items()}
            mask = t.op(f"icmp slt {v} {t.iota('0')}, {t.splat('i64', self.columns)}")
            with t.loop(0, self.rows) as r:
                body(self.row_of(r), self.out_row_of(r), "0", mask)
            end = {row: self.held(row, "0", kind) for row, kind in held.items()}
            self.registers = {}
            for row, kind in held.items():
                self.hold(end[row], row, "0", kind)
        with t.when(t.op(f"xor i1 {narrow}, true")), t.loop(0, self.rows) as r:
            self.each(self.columns, partial(body, self.row_of(r), self.out_row_of(r)))

    def starts(self, *rows: tuple[int, int]) -> None:
        """Rows of the state to numbers, ``(row, number)``, where the lines begin."""
        t = self.text
        begins = t.op(f"icmp eq i64 {self.place}, 0")
        with t.when(begins), t.loop(0, self.columns, t.lanes) as c:
            for row, number in rows:
                self.hold(t.constant(number, self.program.dtype), row, c)

    def begins_piece(self) -> str:
        """Whether the rows begin a piece of their lines."""
        t = self.text
        return t.op(f"icmp eq i64 {t.i64('and', self.place, TILE - 1)}, 0")

    def group_rows(self, first: str, count: str | None = None) -> list[tuple[str, str]]:
        """`GROUP` rows from ``first`` on, and whether each is there: of ``count``, the first ones.

        A row that is not there is another one: where nothing lies, even a load whose mask is empty
        takes hundreds of cycles.
        """
        t = self.text
        rows = []
        for k in range(GROUP):
            row, there = t.i64("add", first, k), "true"
            if count is not None:
                there = t.op(f"icmp sgt i64 {count}, {k}")
                row = t.op(f"select i1 {there}, i64 {row}, i64 0")
            rows.append((self.row_of(row), there))
        return rows

    def group(self, rows: list[tuple[str, str]], mask: str | None, column: str) -> str:
        """The tree's product of ``rows``: ones for those that are not there."""
        t = self.text
        values = []
        for row, there in rows:
            x = self.wide(t.at(row, column, self.read), mask)
            if there != "true":
                ones = t.constant(1, self.program.dtype)
                x = t.op(f"select i1 {there}, {self.kind} {x}, {self.kind} {ones}")
            values.append(x)
        while len(values) > 1:
            pairs = zip(values[::2], values[1::2], strict=True)
            values = [self.times(a, b) for a, b in pairs]
        return values[0]

    def wide(self, pointer: str, mask: str | None) -> str:
        """A vector of elements in memory, as wide as they are multiplied."""
        t = self.text
        if self.read == self.scalar:
            return self.fetch(pointer, mask)
        kind = t.vector(self.read)
        if mask is None:
            x = t.load(kind, pointer, ALIGN[self.read])
        else:
            x = masked_load(t, self.read, pointer, mask)
        return t.op(f"fpext {kind} {x} to {self.kind}")

    def times(self, a: str, b: str) -> str:
        return self.text.op(f"{'fmul' if self.float else 'mul'} {self.kind} {a}, {b}")
