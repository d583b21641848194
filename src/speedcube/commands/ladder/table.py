"""The ladder as text: one table, or several below each other where lines would be too long."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from ...dataclass import dataclass
from ...numbers import count_text, seconds_text, shape_text, times_text
from .result import Climb, RungResult

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

UNLIMITED: Final = 10_000  # characters; longer than any line
_GAP: Final = 2  # characters between columns


def _logical(result: Climb, rung: RungResult) -> str:
    if result.logical is None:
        return "-"
    return count_text(rung.points_per_second * result.logical / result.needed)


def _error(result: Climb, rung: RungResult) -> str:
    if rung.error is None or result.expected is None:
        return "-"
    return f"{rung.error:+.2g} ({rung.error / result.expected[1]:+.2g} se)"


def _dask(_: Climb, rung: RungResult) -> str:
    return ("~" if rung.dask_scaled else "") + seconds_text(rung.dask_seconds)


def _cost(_: Climb, rung: RungResult) -> str:
    return "-" if rung.cost is None else f"${rung.cost:.2g}"


# Heading, cell, and whether the column is dropped where no rung has anything to say.
_COLUMNS: Final[tuple[tuple[str, Callable[[Climb, RungResult], str], bool], ...]] = (
    ("rung", lambda _, r: r.rung, False),
    ("workers", lambda _, r: str(r.workers), False),
    ("seconds", lambda _, r: seconds_text(r.seconds), False),
    ("first", lambda _, r: seconds_text(r.first_seconds), False),
    ("points/s", lambda _, r: count_text(r.points_per_second), False),
    ("logical/s", _logical, True),
    ("over core", lambda _, r: times_text(r.over_core), False),
    ("Dask", _dask, True),
    ("over Dask", lambda _, r: times_text(r.over_dask, r.dask_scaled is not None), True),
    ("error", _error, True),
    ("bits", lambda _, r: r.bits, False),
    ("cost", _cost, True),
)


def _width(text: str) -> int:
    """The places that ``text`` takes on a terminal."""
    from rich.cells import cell_len

    return cell_len(text)


@dataclass(frozen=True)
class Column:
    """A heading and a cell for each rung."""

    name: str
    cells: tuple[str, ...]

    @property
    def width(self) -> int:
        return max(map(_width, (self.name, *self.cells)))

    def aligned(self, cell: str) -> str:
        """``cell`` filled up with spaces: names at the left, numbers at the right."""
        space = " " * (self.width - _width(cell))
        return cell + space if self.name in ("rung", "bits") else space + cell


def columns_of(result: Climb) -> list[Column]:
    """The columns that have anything to say, the rung first."""
    columns = [
        (Column(name, tuple(cell(result, rung) for rung in result.rungs)), optional)
        for name, cell, optional in _COLUMNS
    ]
    return [c for c, optional in columns if not optional or set(c.cells) - {"-"}]


def folded(columns: list[Column], width: int) -> list[list[Column]]:
    """``columns`` in tables of at most ``width`` characters, each beginning with the first one.

    A width that does not hold two columns gives longer lines: nothing is ever cut.
    """
    first, *rest = columns
    tables = [[first]]
    for column in rest:
        used = sum(c.width + _GAP for c in tables[-1]) + column.width
        if used > width and len(tables[-1]) > 1:
            tables.append([first])
        tables[-1].append(column)
    return tables


def _lines(columns: list[Column], rule: str) -> Iterator[Text]:
    """One table: its headings, a rule, its rows. Rich's own tables cut cells that do not fit."""
    from rich.text import Text

    rows = [[c.name for c in columns], *zip(*(c.cells for c in columns), strict=True)]
    drawn = [
        "".ljust(_GAP).join(c.aligned(cell) for c, cell in zip(columns, row, strict=True)).rstrip()
        for row in rows
    ]
    yield Text(drawn[0], "bold")
    yield Text(rule * max(map(_width, drawn)))
    yield from map(Text, drawn[1:])


def _dask_notes(result: Climb) -> list[str]:
    """What Dask ran on which rungs."""
    ran: dict[str, list[str]] = {}
    for rung in result.rungs:
        if rung.dask_chunks is None:
            continue
        what = "all of it" if rung.dask_scaled is None else f"~ {shape_text(rung.dask_scaled)}"
        scaled = "" if rung.dask_scaled is None else ", scaled up"
        text = f"{what} in chunks of {shape_text(rung.dask_chunks)}{scaled}"
        ran.setdefault(text, []).append(rung.rung)
    return [f"Dask on {', '.join(names)}: {text}." for text, names in ran.items()]


def _bits_note(result: Climb) -> str:
    count = len(result.rungs)
    if not result.equal_bits:
        bits = ", ".join(f"{r.rung} {r.bits}" for r in result.rungs)
        return (
            f"BITS DIFFER: {bits}. They must be equal: this is a bug. "
            "Please report it with what --json writes."
        )
    if count == 1:
        return "Bits: one rung, nothing to compare with."
    return f"Bits: equal on all {count} rungs."


def notes_of(result: Climb) -> list[str]:
    """What the columns mean, what Dask ran, and whether the bits agree."""
    first = result.rungs[0]
    notes = []
    if result.logical is None:
        notes.append(f"{result.needed:,} points needed.")
    else:
        notes.append(f"{result.needed:,} points needed of {result.logical:,} written (logical).")
    if first.value is not None:
        answer = f"Result {first.value!r}"
        if result.expected is not None:
            value, deviation = result.expected
            answer += f", expected {value:.10g}; se is one standard error, {deviation:.2g}"
        notes.append(f"{answer}.")
    return [*notes, *_dask_notes(result), *result.problems, _bits_note(result)]


def show(result: Climb, console: Console) -> None:
    """Print ``result`` in lines that fit ``console``."""
    from rich.text import Text

    say = partial(console.print, highlight=False, markup=False, emoji=False)
    if not result.rungs:
        say("\n".join(["No rung was finished.", *result.problems]))
        return
    say(result.expression)
    rule = "─" if console.encoding.startswith("utf") else "-"
    for columns in folded(columns_of(result), console.width):
        console.print()
        for line in _lines(columns, rule):
            console.print(line, overflow="ignore", no_wrap=True, crop=False)
    console.print()
    for note in notes_of(result):
        console.print(Text(note, "" if result.equal_bits else "bold red"))


def render(result: Climb, width: int | None = None) -> str:
    """What `show` prints, as plain text."""
    from rich.console import Console

    out = io.StringIO()
    show(result, Console(file=out, width=width or UNLIMITED, color_system=None))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"
