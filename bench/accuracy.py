"""The largest error of each elementary function, in ulps of the exact value, against mpmath.

python bench/accuracy.py [--points 1000000] [--only exp,log] [--json FILE]: about so many points of
each function and dtype, in the strata of tests/test_elementary.py and at its hard arguments.
A million points of one function and dtype take from one to five minutes.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import test_elementary as cases

import speedcube as sc


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--only", default=",".join(sorted(cases.ELEMENTARY)))
    parser.add_argument("--dtypes", default=",".join(cases.FLOATS))
    parser.add_argument("--json")
    options = parser.parse_args()
    table: dict[str, Any] = {}
    for op in options.only.split(","):
        cases.COUNT = 1
        strata = len(cases.STRATA[op](cases.Reach("float64", cases.np.random.default_rng(0))))
        cases.COUNT = max(1, options.points // strata)
        for dtype in options.dtypes.split(","):
            args = cases.arguments(op, dtype)
            found = getattr(sc, op)(*map(sc.asarray, args)).compute(on="core")
            size, where = cases.worst(op, found, args)
            table[f"{op} {dtype}"] = {"ulps": size, "at": list(where), "points": len(found)}
            print(f"{op:8} {dtype}: {size:.4f} ulp at {where} of {len(found)} points", flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
