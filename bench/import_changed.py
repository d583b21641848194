"""Programs written for NumPy with their import changed, beside NumPy: CPU time on one core.

A program imports ``numpy as np``, makes its data, and has a function ``run()``. Each is started in
a process of its own, in turn with NumPy's, several times. Three times are told: the first ``run()``
(which draws what NumPy has drawn before), the quickest of two more, and everything after the
imports, data included.

python bench/import_changed.py FOLDER [--json FILE] [--rounds 3]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import numpy as np

_CHILD: Final = """
import json, sys, time, warnings
from pathlib import Path
import numpy, speedcube
warnings.simplefilter("ignore")
text = Path(sys.argv[1]).read_text()
if sys.argv[2] == "ours":
    text = text.replace("import numpy as np", "import speedcube as np")
names, took = {}, []

def computed(one):
    if isinstance(one, (tuple, list)):
        return [computed(part) for part in one]
    return one.compute() if isinstance(one, speedcube.Array) else one

with speedcube.on("core"):
    began = time.process_time()
    exec(compile(text, sys.argv[1], "exec"), names)
    for _ in range(3):
        start = time.process_time()
        computed(names["run"]())
        took.append(time.process_time() - start)
        whole = time.process_time() - began if len(took) == 1 else whole
print(json.dumps({"first": took[0], "again": min(took[1:]), "whole": whole}))
"""


def seconds(program: Path, whose: str) -> dict[str, float]:
    """What one process needed."""
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(program), whose],
        env={**os.environ, **one_thread},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def measured(program: Path, rounds: int) -> dict[str, Any]:
    """Ratios of medians, and every round."""
    seconds(program, "ours")  # its kernels are compiled, and kept
    pairs = [(seconds(program, "ours"), seconds(program, "numpy")) for _ in range(rounds)]
    found: dict[str, Any] = {"rounds": pairs}
    for what in ("first", "again", "whole"):
        mine, theirs = (statistics.median(one[k][what] for one in pairs) for k in (0, 1))
        found[what] = round(theirs / mine, 2)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    before, rows = os.getloadavg()[0], {}
    for program in sorted(options.folder.glob("*.numpy.py")):
        name = program.name.removesuffix(".numpy.py")
        row = rows[name] = measured(program, options.rounds)
        print(f"{row['first']:6.2f} {row['again']:6.2f} {row['whole']:6.2f}  {name}", flush=True)
    if options.json:
        told = {
            "machine": f"{platform.machine()}, {os.cpu_count()} cores",
            "numpy": np.__version__,
            "python": platform.python_version(),
            "date": time.strftime("%Y-%m-%d"),
            "load": [round(before, 1), round(os.getloadavg()[0], 1)],
            "ratios": "NumPy's CPU time over ours, medians: first run(), run() again, whole",
            "programs": rows,
        }
        options.json.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
