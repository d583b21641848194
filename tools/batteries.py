"""What the logs of outside test batteries say, as JSON: ``python tools/batteries.py``.

Each ``measurements/rng/dieharder-*.log`` is the output of one run, below lines ``# name: value``
that tell how it was made. ``--stdout`` prints instead of writing ``dieharder.json`` beside them.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, Final

LOGS: Final = Path(__file__).resolve().parent.parent / "measurements" / "rng"
ALL: Final = 114  # lines of assessment in a whole ``dieharder -a``
HEADER: Final = re.compile(r"# ([\w ]+): (.*)")
RESULT: Final = re.compile(r" *(\w+)\| *(\d+)\| *\d+\| *\d+\| *([\d.]+)\| *(PASSED|WEAK|FAILED) *")


def run(log: Path) -> dict[str, Any]:
    """One log: how it was made, the counts, and every result that is not PASSED."""
    lines = log.read_text().splitlines()
    header: dict[str, Any] = dict(
        match.groups() for line in lines if (match := HEADER.fullmatch(line))
    )
    results = [match.groups() for line in lines if (match := RESULT.fullmatch(line))]
    counts = {
        word.lower(): sum(result[3] == word for result in results)
        for word in ("PASSED", "WEAK", "FAILED")
    }
    notable = [
        {"test": name, "ntuple": int(ntuple), "p": float(p), "assessment": word}
        for name, ntuple, p, word in results
        if word != "PASSED"
    ]
    if "bytes" in header:
        header["bytes"] = int(header["bytes"])
    whole = {"tests": len(results), "of": ALL} if "dieharder -a" in header["command"] else {}
    return {"log": log.name, **header, **whole, **counts, "notable": notable}


def document() -> str:
    """All logs as JSON."""
    runs = [run(log) for log in sorted(LOGS.glob("dieharder-*.log"))]
    return json.dumps({"schema": 1, "runs": runs}, indent=1) + "\n"


if __name__ == "__main__":
    if "--stdout" in sys.argv[1:]:
        sys.stdout.write(document())
    else:
        (LOGS / "dieharder.json").write_text(document())
