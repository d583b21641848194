"""Where the kernel finds the numbers of a call: the words, and the rows of the state."""

from __future__ import annotations

from typing import Final

# Of values and results: elements from one row to the next, from one matrix to the next.
ROWS, COLUMNS, ROW, OUT_ROW, MATRICES, MATRIX, OUT_MATRIX = range(7)
# The first row's place in its line, a line's length, words of a row of the state; then the answer:
# bits that are not zero where a column's results are not the sums.
PLACE, LINE_LENGTH, WIDTH, ODD_COLUMNS = range(7, 11)
COLUMN_WORDS: Final = 11
GROUP_SHIFT: Final = 3  # rows whose product is made at once: 2**3
GROUP: Final = 1 << GROUP_SHIFT
# Rows of the state before those of groups of 2**k rows, by the operation.
FIRST_LEVEL: Final = {"prod": 0, "cumprod": 2, "cumsum": 0}
SUM_ROWS: Final = 8  # of running sums: three parts, three units, the largest, bits left over


def state_rows(op: str, length: int) -> int:
    """Rows of the state for lines of ``length``."""
    if op == "cumsum":
        return SUM_ROWS
    return FIRST_LEVEL[op] + (length >> GROUP_SHIFT).bit_length() + 1
