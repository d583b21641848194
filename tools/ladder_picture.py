"""docs/ladder.png, drawn of the ladder that was measured on two cores.

    python tools/ladder_picture.py

Nothing runs: the times are those of ``measurements/ladder-morizet-2cores.json``.
"""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Final

from speedcube.commands.ladder.plot import dots
from speedcube.commands.ladder.result import Climb, RungResult

ROOT: Final = Path(__file__).parents[1]
MEASURED: Final = ROOT / "measurements" / "ladder-morizet-2cores.json"
PICTURE: Final = ROOT / "docs" / "ladder.png"


def measured() -> Climb:
    """The climb that the file tells of."""
    known = json.loads(MEASURED.read_text(encoding="utf-8"))
    names = {field.name for field in fields(RungResult)}
    rungs = tuple(
        RungResult(**{name: value for name, value in one.items() if name in names})
        for one in known["rungs"]
    )
    return Climb(known["expression"], 1, None, rungs, machine=known["machine"])


if __name__ == "__main__":
    dots(measured(), PICTURE)
