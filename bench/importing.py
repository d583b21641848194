"""How long does `import speedcube` take, in imports of NumPy?

python bench/importing.py [--before SRC] [--rounds 15] [--json FILE]. Processes of their own, with
files that the system has read before; what an empty one takes is left out. ``--before``: the
``src`` of another tree, measured in turn with this one. Milliseconds, the least of three each
round; the ratio is that of a round.
"""

from __future__ import annotations

import subprocess
import sys
import time

from worker_check import run

TIMES = 3
NOTE = "milliseconds of an import, and how many imports of NumPy that is"


def milliseconds(code: str) -> float:
    """A process that runs ``code``, the quickest of some."""
    taken = []
    for _ in range(TIMES):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        taken.append(time.perf_counter() - begin)
    return 1e3 * min(taken)


def measured() -> dict[str, float]:
    """NumPy and the tree that Python's path names."""
    empty = milliseconds("pass")
    numpy, ours = (milliseconds(f"import {name}") - empty for name in ("numpy", "speedcube"))
    return {"numpy": numpy, "speedcube": ours, "ratio": ours / numpy}


if __name__ == "__main__":
    run(measured, __doc__ or "", NOTE, __file__, 15)
