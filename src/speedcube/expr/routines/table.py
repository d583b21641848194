"""All routines by their names."""

from __future__ import annotations

from typing import Final

from ..nodes import Through
from . import bits, complexes, covariances, lu, matrices, sliding, spectra
from .row import Routine, narrowed

ROUTINES: Final[dict[str, Routine]] = {
    row.name: row
    for rows in (matrices, lu, spectra, complexes, bits, sliding, covariances)
    for row in rows.ROWS
}


def part_of(source: Through, first: int, end: int) -> tuple[int, Through] | None:
    """What makes elements ``[first, end)`` of ``source`` with less work, and where it begins."""
    row = ROUTINES.get(source.op)
    return None if row is None else narrowed(row, source, first, end)
