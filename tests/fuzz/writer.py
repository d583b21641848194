"""Random programs as NumPy users write them: text, and what NumPy makes of each statement.

Each statement is run with NumPy as it is drawn, so that the next one fits. Nothing that is written
to shares memory with another name: there a view is no window (docs/indexing.md).
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import weights
from .values import Value

LARGEST = 4000  # elements of a value
KEPT_MISTAKES = 0.2  # of statements that NumPy happens to refuse


@dataclass
class Line:
    """A statement: its text, the name it makes or changes, and the kind of error of NumPy's."""

    text: str
    name: str | None = None
    refused: type[Exception] | None = None


@dataclass
class Writer:
    """A program as far as it is written."""

    rng: random.Random
    lines: list[Line] = field(default_factory=list)
    values: dict[str, Value] = field(default_factory=dict)
    made: int = 0

    def draw(self, table: dict[Any, int]) -> Any:
        return self.rng.choices(list(table), list(table.values()))[0]

    def one(self, *of: Any) -> Any:
        return self.rng.choice(of)

    def name(self, fits: Callable[[Value], bool] = lambda value: True) -> str:
        """The name of a value that fits; the newer ones more often."""
        names = [name for name, value in self.values.items() if fits(value)]
        if not names:
            raise Unfit
        return self.rng.choices(names, range(1, len(names) + 1))[0]

    def other(self, name: str, fits: Callable[[Value], bool] = lambda value: True) -> str:
        """A name whose value broadcasts with that of ``name``."""
        shape = self.values[name].shape
        return self.name(lambda value: fits(value) and _broadcast(shape, value.shape))

    def space(self) -> dict[str, Any]:
        return {"np": np, **{name: value.array for name, value in self.values.items()}}

    def peek(self, text: str) -> Any:
        """What NumPy makes of an expression."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return eval(text, self.space())

    def mistake(self, text: str, error: Exception) -> None:
        self.lines.append(Line(text, refused=_public(error)))

    def make(
        self,
        text: str,
        bound: Callable[[Any], float] | float = 0.0,
        loose: bool = False,
    ) -> None:
        """``new = text``, with the bound of its error."""
        name = f"v{self.made}"
        try:
            array = self.peek(text)
        except Exception as error:
            if self.rng.random() < KEPT_MISTAKES:
                self.mistake(f"{name} = {text}", error)
                return
            raise Unfit from error
        if not isinstance(array, (np.ndarray, np.generic)) or np.size(array) > LARGEST:
            raise Unfit
        error_of = bound(array) if callable(bound) else bound
        exact = np.asarray(array).dtype.kind != "f"
        if text not in self.values and any(array is v.array for v in self.values.values()):
            array = array.view()  # as squeeze of nothing: NumPy's is the same object
        self.lines.append(Line(f"{name} = {text}", name))
        self.values[name] = Value(array, 0.0 if exact else error_of, loose and not exact)
        self.made += 1

    def change(self, name: str, text: str, error: float = 0.0, loose: bool = False) -> None:
        """``text`` changes the array ``name`` in place."""
        self.own_memory(name)
        value = self.values[name]
        space = self.space()
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                before = value.array.copy()
                exec(text, space)
        except Exception as refused:
            if self.rng.random() >= KEPT_MISTAKES or not np.array_equal(before, value.array):
                value.array[...] = before
                raise Unfit from refused
            self.mistake(text, refused)
            return
        self.lines.append(Line(text, name))
        for key, old in list(self.values.items()):
            if old.array is value.array:
                self.values[key] = Value(
                    old.array,
                    max(old.error, error) if old.floats else 0.0,
                    (old.loose or loose) and old.floats,
                )

    def own_memory(self, name: str) -> None:
        """A copy of ``name`` under its name where another array has the same memory."""
        value = self.values[name]
        others = (v.array for v in self.values.values() if v.array is not value.array)
        shared = any(np.shares_memory(value.array, other) for other in others)
        # An element that lies at several places is not to be written to either.
        if shared or not value.array.flags.writeable or 0 in value.array.strides:
            self.lines.append(Line(f"{name} = {name}.copy()", name))
            self.values[name] = Value(value.array.copy(), value.error, value.loose)


class Unfit(Exception):
    """A statement that does not fit what there is: another one is drawn."""


def _public(error: Exception) -> type[Exception]:
    """Its kind, by the name that users can catch: NumPy's own have none."""
    return next(
        kind for kind in type(error).__mro__ if not kind.__name__.startswith(("_", "UFunc"))
    )


def _broadcast(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    pairs = zip(reversed(one), reversed(other), strict=False)
    return all(a == b or 1 in (a, b) for a, b in pairs)


def first_arrays(writer: Writer) -> None:
    """The program's data."""
    axes = writer.draw(weights.AXES)
    shape = tuple(writer.draw(weights.LENGTHS) for _ in range(axes))
    for _ in range(writer.rng.randint(*weights.ARRAYS)):
        dtype = writer.draw(weights.DTYPE)
        if writer.rng.random() < 0.3:  # another shape, which often broadcasts
            other = shape[1:] if writer.rng.random() < 0.5 else (writer.draw(weights.LENGTHS),)
        else:
            other = shape
        count = int(np.prod(other))
        numbers: list[Any] = [_number(writer.rng, dtype) for _ in range(count)]
        if dtype[0] == "f" and count and writer.rng.random() * 100 < weights.SPECIAL:
            numbers[writer.rng.randrange(count)] = "np.nan"
            numbers[writer.rng.randrange(count)] = "-np.inf"
            numbers[writer.rng.randrange(count)] = "-0.0"
        text = ", ".join(map(str, numbers))
        writer.make(f"np.array([{text}], dtype={dtype!r}).reshape({other})")


def _number(rng: random.Random, dtype: str) -> Any:
    if dtype == "bool":
        return rng.random() < 0.5
    if dtype[0] == "f":
        return round(rng.gauss(0, 4), rng.choice([0, 1, 3]))
    return rng.randint(0 if dtype[0] == "u" else -9, 9)
