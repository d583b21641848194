"""Reports in measurements/floors/: how they are written, and which of them the page shows."""

from __future__ import annotations

import importlib
import json
import re
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path("measurements") / "floors"
KINDS: Final = ("baseline", "now")  # before any work on speed, and since
Measured = dict[str, Any]


def rounded(value: Any) -> Any:
    """Seconds and ratios with four digits."""
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(each) for each in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def written(report: Measured) -> str:
    """JSON with a list of numbers on one line."""
    text = json.dumps(rounded(report), indent=1)
    lists = re.compile(r"\[\s+([-\d.e,\s]+?)\s+\]")
    return lists.sub(lambda found: "[" + " ".join(found[1].split()) + "]", text) + "\n"


def merged(reports: list[tuple[str, Measured]]) -> Measured:
    """The rows and programs of several reports by name and column, and where each is from.

    What was measured last counts.
    """
    whole: Measured = {"rows": {}, "programs": {}, "from": {}}
    for name, report in sorted(reports, key=lambda each: str(each[1]["date"])):
        for column in report["columns"]:
            whole["from"].setdefault(column, []).append((name, report))
        for kind in ("rows", "programs"):
            for each, columns in report[kind].items():
                whole[kind].setdefault(each, {}).update(columns)
    return whole


def kept(root: Path) -> tuple[Measured, Measured]:
    """What is to be shown, and what was measured first."""
    read = {
        kind: [(path.name, json.loads(path.read_text()))
               for path in sorted((root / FOLDER).glob(f"{kind}-*.json"))]
        for kind in KINDS
    }  # fmt: skip
    return merged(read["baseline"] + read["now"]), merged(read["baseline"])


def gpu_of(columns: tuple[str, ...]) -> dict[str, str]:
    """The GPU's and CuPy's names, where one is used."""
    if "gpu" not in columns:
        return {}
    cupy = importlib.import_module("cupy")
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    return {"gpu": name, "cupy": cupy.__version__}
