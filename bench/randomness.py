"""Proof that the random numbers have their distributions, and are independent of each other.

python bench/randomness.py [--part distributions|streams|permutations] [--only CALL ...] [--draws N]
[--edges N] [--seed S] [--generator numpy] [--json FILE] [--page]. What is measured replaces the
same rows and parts of FILE; --page writes docs/randomness.md from measurements/distributions.json
and measures nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from proof import distributions, page, permutations, streams
from proof.distributions import Draw
from proof.fit import Counter, judged

import speedcube as sc
from speedcube.commands.this_machine import this_machine

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "measurements" / "distributions.json"
PAGE = ROOT / "docs" / "randomness.md"
PIECE = 4_000_000
PARTS = ("distributions", "streams", "permutations")
MAKERS: dict[str, Callable[[Any], Any]] = {
    "speedcube": sc.random.default_rng,
    "numpy": np.random.default_rng,
}
Measured = dict[str, Any]


def pieces(draw: Draw, rng: Any, count: int) -> Iterator[Any]:
    """Slices of one lazy draw; of NumPy, and of vectors, draws one after the other."""
    step = PIECE // draw.width
    lazy = isinstance(rng, sc.random.Generator)
    whole = draw.call(rng, count) if lazy and not draw.vectors else None
    for start in range(0, count, step):
        stop = min(start + step, count)
        piece = draw.call(rng, stop - start) if whole is None else whole[start:stop]
        yield piece.compute(on="core") if lazy else piece


def tested(draw: Draw, rng: Any, numbers: int) -> list[Measured]:
    """One row for each view of ``numbers`` numbers."""
    counters = [Counter(view.distribution()) for view in draw.views]
    for piece in pieces(draw, rng, -(-numbers // draw.width)):
        for view, counter in zip(draw.views, counters, strict=True):
            counter.add(view.of(piece))
    return [
        {"call": draw.name, "of": view.name, "asked": numbers, **judged(counter)}
        for view, counter in zip(draw.views, counters, strict=True)
    ]


def tested_distributions(
    make: Callable[[Any], Any], options: argparse.Namespace
) -> Iterator[Measured]:
    """Rows of the calls ``--only``; each draw has a seed of its own."""
    for index, draw in enumerate(distributions.table()):
        if options.only and not {draw.method, draw.name} & set(options.only):
            continue
        start = time.perf_counter()
        numbers = int(options.draws if draw.main else options.edges or options.draws)
        seed = [options.seed, index]
        rows = [{**row, "seed": seed} for row in tested(draw, make(seed), numbers)]
        print(f"{draw.name}: {time.perf_counter() - start:.1f} s", flush=True)
        for row in rows:
            p_values = [p for each in page.p_values([row]).values() for p in each]
            print("   ", row["of"], *(f"{p:.2g}" for p in p_values), flush=True)
        yield from rows


def merged(old: list[Measured], new: list[Measured]) -> list[Measured]:
    """The table's rows in its order: the new ones, and the old ones that were not made anew."""
    known = {(row["call"], row["of"]): row for row in [*old, *new]}
    order = [(draw.name, view.name) for draw in distributions.table() for view in draw.views]
    return [known[key] for key in order if key in known]


def verdict(rows: list[Measured]) -> None:
    for name, p_values in page.p_values(rows).items():
        if p_values:
            print(page.judged_row(name, p_values, name == "chi-square"), end="")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--only", nargs="*", help="methods, or whole calls; all without it")
    parser.add_argument("--draws", type=float, default=1e6, help="numbers of each draw")
    parser.add_argument("--edges", type=float, help="of those with parameters at the edges")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--generator", choices=MAKERS, default="speedcube")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--page", action="store_true", help="write docs/randomness.md")
    options = parser.parse_args()
    if options.page:
        PAGE.write_text(page.page(json.loads(MEASURED.read_text())))
        return
    make = MAKERS[options.generator]
    old = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    report = {
        **old,
        "schema": 1,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": "python bench/randomness.py " + " ".join(sys.argv[1:]),
        "machine": {**this_machine(), "scipy": scipy.__version__},
    }
    parts = options.part or PARTS
    if "distributions" in parts:
        rows = list(tested_distributions(make, options))
        verdict(rows)
        report["laws"] = merged(old.get("laws", []), rows)
    if "streams" in parts:
        report["between streams"] = streams.between(make, int(options.draws))
        report["within a stream"] = streams.within(make, int(options.draws))
    if "permutations" in parts:
        report["permutations"] = list(permutations.measured(make, int(options.draws)))
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
