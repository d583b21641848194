"""Real expressions with Python's operators, so that rules of pairs read like formulas."""

from __future__ import annotations

from typing import TypeAlias

from ...dataclass import dataclass
from .. import build
from ..nodes import Expr
from .numbers import of_numbers

Number: TypeAlias = "Real | float"


@dataclass(frozen=True, eq=False, slots=True)
class Real:
    """A real expression; operators give others, broadcast as ever."""

    expr: Expr

    def __add__(self, other: Number) -> Real:
        return of("add", self, other)

    def __radd__(self, other: float) -> Real:
        return of("add", other, self)

    def __sub__(self, other: Number) -> Real:
        return of("subtract", self, other)

    def __rsub__(self, other: float) -> Real:
        return of("subtract", other, self)

    def __mul__(self, other: Number) -> Real:
        return of("multiply", self, other)

    def __rmul__(self, other: float) -> Real:
        return of("multiply", other, self)

    def __truediv__(self, other: Number) -> Real:
        return of("divide", self, other)

    def __rtruediv__(self, other: float) -> Real:
        return of("divide", other, self)

    def __neg__(self) -> Real:
        return of("negative", self)

    def __abs__(self) -> Real:
        return of("absolute", self)

    def __lt__(self, other: Number) -> Real:
        return of("less", self, other)

    def __le__(self, other: Number) -> Real:
        return of("less_equal", self, other)

    def __gt__(self, other: Number) -> Real:
        return of("greater", self, other)

    def __ge__(self, other: Number) -> Real:
        return of("greater_equal", self, other)

    def __and__(self, other: Real) -> Real:
        return of("logical_and", self, other)

    def __or__(self, other: Real) -> Real:
        return of("logical_or", self, other)

    def __invert__(self) -> Real:
        return of("logical_not", self)

    def astype(self, dtype: str) -> Real:
        """Converted to another dtype."""
        return Real(build.cast(self.expr, dtype))

    def equals(self, other: Number) -> Real:
        """Where both are equal."""
        return of("equal", self, other)


def of(op: str, *args: Number) -> Real:
    """The real operation ``op`` of these; of numbers alone, as ``0 * 1``, where that is one."""
    made = [a.expr if isinstance(a, Real) else a for a in args]
    return Real(of_numbers(op, made) or build.elementwise(op, made))


def where(condition: Real, x: Number, y: Number) -> Real:
    """``x`` where the condition holds, else ``y``."""
    return of("where", condition, x, y)
