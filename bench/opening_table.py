"""The rows that a GPU lost when programs were begun, measured again beside CuPy.

    python bench/opening_table.py --json measurements/floors/opening-table-h200.json

Squares have 20,000 x 20,000 float64, as in the first table. The texts run with our names and with
CuPy's; each row says how often in both, the medians, and a hash of our bits.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

from device_order import machine
from speed import libraries, measure

from speedcube.engine import tiers

SIDE: Final = 20_000
ROWS_OF: Final = 10_000_000
Text: TypeAlias = Callable[[Any, Any], Any]


def heat(u: Any, steps: int = 4) -> Any:
    """Some steps of heat; the rim is lost."""
    for _ in range(steps):
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        u = u[1:-1, 1:-1] + 0.1 * (around - 4 * u[1:-1, 1:-1])
    return u


# By the data that they read: the text of each row.
ROWS: Final[dict[str, dict[str, Text]]] = {
    "square": {
        "x.sum(axis=0)": lambda x, y: x.sum(axis=0),
        "x.sum(axis=1)": lambda x, y: x.sum(axis=1),
        "x.std(axis=1)": lambda x, y: x.std(axis=1),
        "x.cumsum(axis=1)": lambda x, y: x.cumsum(axis=1),
        "heat, 4 steps": lambda x, y: heat(x),
        "(x + x.T).sum()": lambda x, y: (x + x.T).sum(),
        "x.sum()": lambda x, y: x.sum(),
        "x + y": lambda x, y: x + y,
    },
    "rows of eight": {"x.sum(axis=1)": lambda x, y: x.sum(axis=1)},
    "thousand": {"x.sum()": lambda x, y: x.sum()},
}
SHAPES: Final = {"square": (SIDE, SIDE), "rows of eight": (ROWS_OF, 8), "thousand": (1000,)}
# What CuPy or we took as many times longer, when programs were begun: theirs / ours.
BEFORE: Final = {
    "x.sum(axis=0) | square": 0.09,
    "x.sum(axis=1) | square": 0.06,
    "x.std(axis=1) | square": 0.04,
    "x.cumsum(axis=1) | square": 0.005,
    "heat, 4 steps | square": 0.02,
    "(x + x.T).sum() | square": 0.38,
    "x.sum() | square": 0.55,
    "x + y | square": 0.72,
    "x.sum(axis=1) | rows of eight": 0.00003,
    "x.sum() | thousand": 0.03,
}


def measured(data: str, text: Text, held: tuple[Any, Any]) -> dict[str, Any]:
    """The medians of both, and how many times longer CuPy takes, pair by pair."""
    told: dict[str, Any] = {}
    sides = []
    for library in (libraries.ours("gpu"), libraries.cupys()):
        x, y = (library.wrap(each) for each in held)
        sides.append((library, lambda x=x, y=y: text(x, y)))
    patience = measure.Patience(seconds=0.5, pairs=9, at_most=6.0)
    measure.measured(sides[0], sides[1], told.update, patience=patience)
    if "ours" in told:
        told["repeats"] = len(told["ours"])
        for side in ("ours", "theirs"):
            told[f"{side}_us"] = round(1e6 * statistics.median(told.pop(side)), 1)
    told.pop("their time", None)
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    import cupy

    tiers.FULL_PAYS = 0
    rows: dict[str, Any] = {}
    report = {**machine(), "what": "theirs / ours; microseconds, medians", "rows": rows}
    for data, texts in ROWS.items():
        rng = cupy.random.default_rng(1)
        held = tuple(rng.standard_normal(SHAPES[data]) for _ in range(2))
        for name, text in texts.items():
            row = f"{name} | {data}"
            rows[row] = {"when begun": BEFORE[row], **measured(data, text, held)}
            print(row, rows[row], flush=True)
        del held
        cupy.get_default_memory_pool().free_all_blocks()
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
