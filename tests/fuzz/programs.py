"""Random programs, and running their text with NumPy and with ours."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import speedcube as sc
from speedcube.errors import SpeedcubeError

from . import reading, weights, writing
from .values import Value, differs
from .writer import Line, Unfit, Writer, first_arrays

STATEMENTS: Final[dict[str, Callable[[Writer], None]]] = {
    "elementwise": reading.elementwise,
    "views": reading.views,
    "indices": reading.indices,
    "assignment": writing.assignment,
    "in-place": writing.in_place,
    "joins": reading.joins,
    "reductions": reading.reductions,
    "scans": reading.scans,
    "searching": reading.searching,
    "mistakes": writing.mistakes,
}
TRIES: Final = 200  # of a statement of one kind, until one fits

# Why a statement that NumPy takes may be refused: what our message has.
REASONS: Final[dict[str, str]] = {}


@dataclass(frozen=True)
class Program:
    """The text of a program, and NumPy's values at its end."""

    seed: int
    lines: tuple[Line, ...]
    values: dict[str, Value]

    def __repr__(self) -> str:
        return "\n  ".join([f"program {self.seed}:", *(line.text for line in self.lines)])


def program(seed: int) -> Program:
    """The random program of this number: the same one each time."""
    writer = Writer(random.Random(seed))
    first_arrays(writer)
    for _ in range(writer.rng.randint(*weights.STATEMENTS)):
        kind = writer.draw(weights.STATEMENT)
        for _ in range(TRIES):
            before = len(writer.lines)
            try:
                STATEMENTS[kind](writer)
            except Unfit:
                continue
            if len(writer.lines) > before:
                break
    return Program(seed, tuple(writer.lines), writer.values)


@dataclass(frozen=True)
class Outcome:
    """What became of a program with ours: nothing wrong, refused for a reason, or a fault."""

    fault: str | None = None
    refused: str | None = None


def outcome(written: Program) -> Outcome:
    """Run the program's text with ours, and compare every value at its end with NumPy's."""
    space: dict[str, Any] = {"np": sc}
    for line in written.lines:
        found = _line(line, space)
        if found is not None:
            return found
    names = list(written.values)
    try:
        made = sc.compute(*(space[name] for name in names), on="core")
    except Exception as error:
        return Outcome(fault=f"computing: {type(error).__name__}: {error}")
    made = made if len(names) > 1 else (made,)
    for name, got in zip(names, made, strict=True):
        what = differs(written.values[name], np.asarray(got))
        if what is not None:
            return Outcome(fault=f"{name}: {what}")
    return Outcome()


def _line(line: Line, space: dict[str, Any]) -> Outcome | None:
    """Run one line; None where it did what it did with NumPy."""
    try:
        exec(line.text, space)
    except Exception as error:
        said = f"{line.text}: {type(error).__name__}: {error}"
        if line.refused is not None:
            alike = isinstance(error, line.refused) and isinstance(error, SpeedcubeError)
            return None if alike else Outcome(fault=f"{said}; NumPy's is {line.refused.__name__}")
        for reason, pattern in REASONS.items():
            if re.search(pattern, str(error)):
                return Outcome(refused=reason)
        return Outcome(fault=said)
    if line.refused is not None:
        return Outcome(fault=f"{line.text}: not refused; NumPy's is {line.refused.__name__}")
    return None
