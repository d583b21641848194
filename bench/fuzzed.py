"""Random programs beside NumPy: how many gave its values, and were refused or wrong.

    python bench/fuzzed.py [--programs 2000] [--first 0] [--json FILE]

The programs are those of `tests/fuzz`, whose weights are frozen. `make test-slow` runs the first
2,000; ``--first`` takes others.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import sys
import time
import warnings
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

import speedcube as sc

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.fuzz import weights
from tests.fuzz.programs import outcome, program


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=weights.PROGRAMS)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    began = time.process_time()
    refused: collections.Counter[str] = collections.Counter()
    wrong: dict[int, str] = {}
    lines = 0
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in range(options.first, options.first + options.programs):
            written = program(seed)
            lines += len(written.lines)
            found = outcome(written)
            if found.fault is not None:
                wrong[seed] = found.fault
                print(f"program {seed}\n{written!r}\n-> {found.fault}")
            elif found.refused is not None:
                refused[found.refused] += 1
    text = {
        "command": f"python bench/fuzzed.py --programs {options.programs} --first {options.first}",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {"numpy": np.__version__, "speedcube": sc.__version__},
        "load": os.getloadavg()[0],
        "programs": options.programs,
        "statements": lines,
        "wrong": wrong,
        "refused": dict(refused),
        "processor seconds": round(time.process_time() - began, 1),
    }
    print({name: text[name] for name in ("programs", "statements", "refused", "processor seconds")})
    print(f"{len(wrong)} wrong, {sum(refused.values())} refused")
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(text, indent=1) + "\n")


if __name__ == "__main__":
    main()
