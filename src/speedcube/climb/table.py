"""The ladder as a table in the terminal."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from .ladder import LadderResult, Rung


def seconds_text(seconds: float | None) -> str:
    """Seconds with three digits, in the unit that suits them."""
    if seconds is None:
        return "-"
    for limit, unit, factor in ((1e-3, "us", 1e6), (1.0, "ms", 1e3), (120.0, "s", 1.0)):
        if seconds < limit:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"


def _ratio(value: float | None, marked: bool = False) -> str:
    return "-" if value is None else f"{'~' if marked else ''}{value:.3g}x"


def _error(rung: Rung) -> str:
    if rung.error is None or rung.error_in_standard_errors is None:
        return "-"
    return f"{rung.error:+.2g} ({rung.error_in_standard_errors:+.2g} se)"


def _row(rung: Rung) -> list[str]:
    scaled = rung.dask_scaled is not None and rung.dask_scaled < 1
    dask = seconds_text(rung.dask_seconds)
    return [
        rung.rung,
        str(rung.workers),
        seconds_text(rung.seconds),
        seconds_text(rung.first_seconds),
        f"{rung.points_per_second:.3g}",
        _ratio(rung.over_core),
        f"~{dask}" if scaled else dask,
        _ratio(rung.over_dask, scaled),
        _error(rung),
        rung.bits,
    ]


def table_of(result: LadderResult) -> Table:
    """The rich table of ``result``."""
    table = Table(title=result.expression, title_justify="left", pad_edge=False)
    names = ["rung", "workers", "seconds", "first", "points/s", "over core", "Dask", "over Dask",
             "error", "bits"]  # fmt: skip
    priced = any(r.cost is not None for r in result.rungs)
    for name in names + ["cost"] * priced:
        table.add_column(name, justify="left" if name in ("rung", "bits") else "right")
    for rung in result.rungs:
        cost = [] if not priced else ["-" if rung.cost is None else f"${rung.cost:.2g}"]
        table.add_row(*_row(rung), *cost)
    return table


def notes_of(result: LadderResult) -> str:
    """What the table's marks mean, and whether the bits agree."""
    lines = [f"{result.needed:,} points needed of {result.logical:,} written."]
    if any(r.dask_scaled is not None and r.dask_scaled < 1 for r in result.rungs):
        lines.append("~ Dask ran a smaller shape of the same expression and was scaled up.")
    if result.equal_bits:
        lines.append(f"Bits: equal on all {len(result.rungs)} rungs.")
    else:
        lines.append("BITS DIFFER between rungs: this is a bug; please report it with --json.")
    return "\n".join(lines)


def render(result: LadderResult) -> str:
    """The table and its notes as plain text."""
    out: Any = io.StringIO()
    console = Console(file=out, width=150)
    console.print(table_of(result))
    console.print(notes_of(result))
    return str(out.getvalue())
