"""The rows of reductions and scans of stored data: axes, shapes, dtypes, layouts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from .rows import Row, Shape, terms

Axis = int | Shape | None
SUMS: Final = ("sum", "mean", "var", "std")
SCANS: Final = ("cumsum", "cumprod")
# Data on which a function does all of its work: no early end, no overflow.
VALUES: Final = {"any": "false", "all": "true", "prod": "near one", "cumprod": "near one"}

# Functions, shape, dtype, axes.
REDUCED: Final[tuple[tuple[str, str, str, tuple[Axis, ...]], ...]] = (
    ("sum mean", "square", "float64", (None, 0, 1)),
    ("var std", "square", "float64", (None, 0, 1)),
    ("min max", "square", "float64", (0, 1)),
    ("max argmin", "square", "float64", (None,)),
    ("argmax", "square", "float64", (None, 0, 1)),
    ("argmin", "square", "float64", (1,)),
    ("any all", "square", "bool", (None, 0, 1)),
    ("prod", "square", "float64", (None, 0, 1)),
    ("cumsum", "square", "float64", (0, 1)),
    ("cumprod", "square", "float64", (0, 1)),
    ("sum", "square", "float32", (None, 0, 1)),
    ("mean", "square", "float32", (0,)),
    ("std", "square", "float32", (1,)),
    ("max", "square", "float32", (0, 1)),
    ("cumsum", "square", "float32", (1,)),
    ("sum max", "square", "int64", (0, 1)),
    ("sum mean", "square", "int32", (None,)),
    ("cumsum", "square", "int64", (0,)),
    ("sum", "million", "float16", (None, 0)),
    ("mean", "million", "float16", (0,)),
    ("sum var", "odd", "float64", (0, 1)),
    ("sum mean cumsum", "line", "float64", (0,)),
    ("std argmax", "line", "float64", (0,)),
    ("sum", "line", "float32", (0,)),
    ("sum mean std argmin", "tall", "float64", (1,)),
    ("sum std max", "tall", "float64", (0,)),
    ("sum var max argmax", "points", "float64", (1,)),
    ("mean min", "points", "float64", (0,)),
    ("sum", "points", "float32", (1,)),
    ("sum max", "flat", "float64", (0, 1)),
    ("sum std", "few", "float64", (0,)),
    ("sum", "steps", "float64", (0, 1)),
    ("sum", "steps", "float32", (0,)),
    ("sum mean std", "short", "float64", (1,)),
    ("sum std", "cached", "float64", (0,)),
    ("sum", "cached", "float32", (0,)),
    ("sum mean", "grid", "float64", (0,)),
    ("sum", "grid", "float32", (0,)),
    ("mean std max argmax", "climate", "float64", (0,)),
    ("mean", "climate", "float64", (1, 2, (1, 2), (0, 2))),
    ("cumsum", "climate", "float64", (0,)),
    ("mean std min", "weeks", "float32", (0,)),
    ("mean", "weeks", "float32", (2, (1, 2))),
    ("sum mean max", "image", "uint8", (2,)),
    ("mean std", "image", "uint8", ((0, 1),)),
)
# The same sums of data that lie otherwise, and of data of very different sizes.
LAID: Final = ("transposed", "strided", "reversed")


def reduced() -> Iterator[Row]:
    for names, shape, dtype, axes in REDUCED:
        for name in names.split():
            for axis in axes:
                values = "small" if dtype == "float16" else VALUES.get(name, "normal")
                exact = name in SUMS and dtype[0] == "f"
                yield Row(
                    "scans" if name in SCANS else "reductions",
                    f"x.{name}()" if axis is None else f"x.{name}(axis={axis})",
                    shape, dtype, values=values,
                    terms=terms(shape, axis) * exact,
                )  # fmt: skip


def laid() -> Iterator[Row]:
    for layout in LAID:
        for axis in (0, 1):
            row = Row("reductions", f"x.sum(axis={axis})", "square", layout=layout,
                      terms=terms("square", axis))  # fmt: skip
            yield row
            yield replace(row, text=f"x.max(axis={axis})", terms=0)
        yield Row("reductions", "x.sum()", "square", layout=layout, terms=terms("square", None))


def others() -> Iterator[Row]:
    def row(text: str, shape: str, count: int = 0, dtype: str = "float64", values: str = "normal",
            group: str = "reductions") -> Row:  # fmt: skip
        return Row(group, text, shape, dtype, values=values, terms=count)

    yield row("x.sum()", "square", 4_000_000, values="wide")
    yield row("x.sum(axis=0)", "square", 2000, values="wide")
    yield row("x.sum(axis=1)", "points", 3, values="wide")
    yield row("np.count_nonzero(x)", "square", values="half", dtype="bool")
    yield row("np.count_nonzero(x, axis=0)", "square", values="half", dtype="bool")
    yield row("x.var(axis=1, ddof=1)", "square", 2000)
    yield row("x.sum(axis=0, keepdims=True)", "square", 2000)
    yield row("np.cumulative_sum(x)", "line", group="scans")
    yield row("np.cumulative_prod(x)", "line", values="near one", group="scans")
    yield row("np.dot(x, y)", "line", 10_000_000)
    yield row("np.vdot(x, y)", "line", 10_000_000, "float32")
    yield row("np.matmul(x, y)", "line", 10_000_000)
    yield row("np.vecdot(x, y)", "square", 2000)
    yield row("np.vecdot(x, y)", "points", 3)
    # Several steps in one expression.
    yield row("(x * 2 + y).sum()", "line", 10_000_000)
    yield row("(x * 2 + y).sum(axis=0)", "square", 2000)
    yield row("(x * y).mean(axis=1)", "square", 2000)
    yield row("np.sqrt((x * x).sum(axis=1))", "tall", 8)
    yield row("(x > 15).mean(axis=0)", "square")
    yield row("np.where(x > 15, x, 0).sum(axis=0)", "square", 2000)
    yield row("abs(x - y).max(axis=0)", "square")
    yield row("(x + x.T).sum()", "square", 4_000_000)
    yield row("x[1:, :].sum(axis=0) - x[:-1, :].sum(axis=0)", "square", 1999)
    yield row("x.sum(), (x * x).sum(), x.max(), x.min(), x.std()", "square", 4_000_000)
    yield row("x.mean(axis=0), x.std(axis=0)", "climate", 240)
    yield row("x - x.mean(axis=0)", "climate", 240)
    yield row("(x - x.mean(axis=0)) / x.std(axis=0)", "square", 2000)
    yield row("x / x.sum(axis=1, keepdims=True)", "short", 50)


def rows() -> tuple[Row, ...]:
    return (*reduced(), *laid(), *others())
