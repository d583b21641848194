"""The whole table. It was chosen before any row of it was made faster, and rows only join it."""

from __future__ import annotations

import re
from typing import Final

import speedcube as sc

from . import elementwise, generated, reductions
from .rows import Row

ROWS: Final[tuple[Row, ...]] = (*reductions.rows(), *elementwise.rows(), *generated.rows())
BY_NAME: Final[dict[str, Row]] = {row.name: row for row in ROWS}

# Public names that compute nothing, each with what it is.
NO_OPERATIONS: Final = {
    "Array": "the class",
    "array": "a copy of the data, by NumPy or CuPy",
    "cache": "a block; bench/together.py has several results",
    "compute": "of several arrays: bench/together.py",
    "errors": "a module",
    "from_dask_array": "a door: Dask computes the data",
    "from_npy": "a door: the data are a file",
    "ladder": "a program",
    "on": "where it runs",
    "persist": "of several arrays",
    "random": "a module: bench/draws.py has every method, some are rows here, too",
}


def not_covered() -> list[str]:
    """The public names that no row calls."""
    called = {name for row in ROWS for name in re.findall(r"\.(\w+)", row.text)}
    return [name for name in sc.__all__ if name not in called and name not in NO_OPERATIONS]
