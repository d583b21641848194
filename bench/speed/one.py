"""A process that measures what it is asked for, one row or program at a time."""

from __future__ import annotations

import gc
import importlib
import math
from collections.abc import Callable
from functools import cache
from types import CodeType
from typing import Any, Final

from speedcube.engine import tiers

from . import programs, table
from .data import Arrays, shape_of
from .libraries import THEIRS, Library, ours
from .measure import Patience, Told, measured, one_line
from .rows import COLUMNS, Row

PROGRAM: Final = Patience(seconds=1.0, pairs=7, at_most=8.0)


@cache
def libraries(column: str) -> tuple[Library, Library]:
    """Ours and theirs."""
    rung, other = COLUMNS[column]
    return ours(rung), THEIRS[other]()


@cache
def arrays(on_gpu: bool) -> Arrays:
    return Arrays(importlib.import_module("cupy" if on_gpu else "numpy"))


def text_of(code: CodeType, names: dict[str, Any]) -> Callable[[], Any]:
    return lambda: eval(code, names)


def row(row: Row, column: str, tell: Told) -> None:
    """Measures one row: the same text with two meanings of ``np``, built and computed each time."""
    code = compile(row.text, row.name, "eval")
    shape = shape_of(row, column)
    held = arrays(column == "gpu").of(row, set(code.co_names) & set("xyij"), shape)
    sides = []
    for library in libraries(column):
        names = {"np": library.names, "shape": shape, "n": math.prod(shape[:1])}
        # Places are what a user has them in: an array of NumPy's or CuPy's.
        names |= {k: library.wrap(v) if k in "xy" else v for k, v in held.items()}
        sides.append((library, text_of(code, names)))
    drawn = "default_rng" in row.text
    measured(sides[0], sides[1], tell, chance=drawn, dtype=row.dtype)


def program(name: str, column: str, tell: Told) -> None:
    """Measures one program: its text, and its text with the import changed."""
    our_library, their_library = libraries(column)
    xp = importlib.import_module("cupy" if column == "gpu" else "numpy")
    theirs = programs.loaded(name, "cupy" if column == "gpu" else "numpy")
    ours = programs.loaded(name, "speedcube")
    data = theirs.data(programs.GPU_SCALE if column == "gpu" else 1)
    wrapped = [our_library.wrap(each) if isinstance(each, xp.ndarray) else each for each in data]
    drawn = getattr(theirs, "DRAWS", False)  # other numbers than ours
    measured(
        (our_library, lambda: ours.run(*wrapped)),
        (their_library, lambda: theirs.run(*data)),
        tell, drawn, PROGRAM,
    )  # fmt: skip


def serve(connection: Any) -> None:
    """Answers (kind, name, column) with dicts of what is known so far, and a None at the end.

    Kernels are in full code from the first call on: else a figure would depend on how often a row
    is run, and on which kernels an earlier run left in the cache.
    """
    tiers.FULL_PAYS = 0
    while True:
        kind, name, column = connection.recv()
        try:
            if kind == "row":
                row(table.BY_NAME[name], column, connection.send)
            else:
                program(name, column, connection.send)
        except Exception as error:  # of ours here, or too little memory for the data
            connection.send({"error": one_line(error)})
        gc.collect()
        connection.send(None)
