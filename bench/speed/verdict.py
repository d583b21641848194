"""What a measured row is worth: its ratio beside its floor, or why there is none."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from .rows import COLUMNS, Row, floor

Measured = dict[str, Any]
PROGRAM_FLOOR: Final = 1.0
MEAN_FLOORS: Final = {True: 1.7, False: 4.0}  # by whether rows are stored
MIDDLE_FLOOR: Final = 2.0


@dataclass(frozen=True)
class Verdict:
    """``ratio`` is None where there is none: ``fault`` says why, or the other has nothing."""

    ratio: float | None
    text: str
    short: bool
    fault: str = ""


NOTHING: Final = Verdict(None, "", False)


def verdict(result: Measured | None, least: float) -> Verdict:
    """``result`` is what `run.Runner.measure` gave; None: it was not measured."""
    if result is None:
        return NOTHING
    if "error" in result:
        return Verdict(None, "fails", True, result["error"])
    if "wrong" in result:
        return Verdict(None, "wrong", True, "a wrong result: " + result["wrong"])
    if "not ended within" in result:
        ratio = result.get("at most")
        fault = f"not ended within {result['not ended within']:g} s"
        return Verdict(ratio, f"< {number(ratio)}" if ratio else "no end", True, fault)
    if "ratio" not in result:
        return Verdict(None, "-", False)
    ratio = result["ratio"]
    return Verdict(ratio, number(ratio), ratio < least)


def of_row(row: Row, column: str, measured: Measured, today: Measured) -> Verdict:
    """``measured`` and ``today`` are the row's results by column, now and when it was chosen."""
    result = measured.get(column)
    bits = {measured[c]["bits"] for c in ("core", "cores") if "bits" in measured.get(c, {})}
    if column == "cores" and len(bits) > 1:
        return Verdict(None, "wrong", True, "other bits than on one core")
    return verdict(result, floor(row, column, today.get(column, {}).get("ratio")))


def number(ratio: float) -> str:
    """A ratio with as many digits as say something."""
    if ratio >= 9.95:
        return f"{ratio:,.0f}"
    return f"{ratio:.2f}" if ratio >= 0.0995 else f"{ratio:.2g}"


def geometric_mean(verdicts: Iterable[Verdict]) -> float | None:
    """Of all that have a ratio; a row that did not end counts with the most it can be."""
    logarithms = [math.log(v.ratio) for v in verdicts if v.ratio]
    return math.exp(statistics.fmean(logarithms)) if logarithms else None


@dataclass(frozen=True)
class Judged:
    """All verdicts of a report: by row or program, then by column."""

    rows: dict[Row, dict[str, Verdict]]
    programs: dict[str, dict[str, Verdict]]

    def of(self, column: str, stored: bool) -> list[Verdict]:
        return [each[column] for row, each in self.rows.items() if row.stored == stored]

    def short(self, column: str) -> int:
        return sum(each[column].short for each in self.rows.values())


def judged(rows: Iterable[Row], report: Measured, today: Measured) -> Judged:
    """``report`` and ``today`` have rows and programs by name, then by column."""
    verdicts = {
        row: {
            c: of_row(row, c, report["rows"].get(row.name, {}), today["rows"].get(row.name, {}))
            for c in COLUMNS
        }
        for row in rows
    }
    programs = {
        name: {c: verdict(found.get(c), PROGRAM_FLOOR) for c in COLUMNS}
        for name, found in sorted(report["programs"].items())
    }
    return Judged(verdicts, programs)
