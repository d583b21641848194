"""What random programs are made of: how often each kind of statement is drawn.

Frozen before the first program was run, so that they say what users write and not what works here.
A change of a number is a commit of its own that says why.
"""

from __future__ import annotations

from typing import Final

PROGRAMS: Final = 2000
REFUSED_AT_MOST: Final = 0.02
STATEMENTS: Final = (4, 12)  # the least and the most of a program, its first arrays apart
ARRAYS: Final = (2, 3)  # those it begins with

# Of a hundred statements.
STATEMENT: Final[dict[str, int]] = {
    "elementwise": 16,
    "views": 12,  # transposed, reshaped, flipped, basic slices kept under a name
    "indices": 14,  # integers, slices, lists, masks, mixed, read
    "assignment": 14,  # x[key] = value, put, place, copyto
    "in-place": 8,  # x += y and kin, of whole arrays and of parts
    "joins": 10,  # concatenate, stack, pad, insert, delete, split, roll, tile
    "reductions": 14,
    "scans": 5,
    "searching": 4,  # where, nonzero, argmax, select, take
    "mistakes": 3,  # what NumPy refuses: it is refused here, too, with the same kind of error
}

# The dtypes of the first arrays, of a hundred.
DTYPE: Final[dict[str, int]] = {
    **{"float64": 40, "float32": 15, "int64": 15, "int32": 6, "bool": 8},
    **{"uint8": 5, "int8": 3, "int16": 2, "uint32": 2, "float16": 4},
}

# How many axes the first arrays have, of a hundred; lengths are 1 to 9, of a hundred.
AXES: Final[dict[int, int]] = {0: 3, 1: 35, 2: 40, 3: 17, 4: 5}
LENGTHS: Final[dict[int, int]] = {0: 2, 1: 8, 2: 12, 3: 22, 4: 20, 5: 16, 7: 12, 9: 8}

# The kinds of keys, of a hundred.
KEY: Final[dict[str, int]] = {
    "integer": 18,
    "slice": 26,
    "slice with a step": 10,
    "slice backwards": 6,
    "list": 10,
    "array": 8,
    "mask": 12,
    "new axis": 4,
    "ellipsis": 6,
}

# Of a hundred first arrays of floats, those with NaN, infinities and -0 among their numbers.
SPECIAL: Final = 10
