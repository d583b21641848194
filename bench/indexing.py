"""Indices, masks and assignment beside NumPy, on one core: built and computed each time.

A ratio is NumPy's time over ours, the median of runs in turn: above 1 ours is the faster. Time is
that of the process, so that others on the machine count little.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

import speedcube as sc

RNG = np.random.default_rng(0)
A = RNG.normal(size=(3000, 3000))
V = A.reshape(-1)
INDEX = RNG.integers(0, A.size, 1_000_000)
ROWS = RNG.permutation(3000)[:1500]


def assigned(array: Any, key: Any, value: Any) -> Any:
    """A copy of ``array`` with ``value`` at ``key``."""
    own = array.copy() if isinstance(array, np.ndarray) else array + 0
    own[key] = value
    return own


def slices(array: Any, count: int) -> Any:
    """A copy of ``array`` with numbers in ``count`` slices of its rows."""
    own = array.copy() if isinstance(array, np.ndarray) else array + 0
    rows(own, count)
    return own


def loop(space: Any) -> Any:
    """A thousand rows, assigned one after the other."""
    array = space.zeros((1000, 1000))
    for k in range(1000):
        array[k] = k
    return array


LINE = RNG.normal(size=300)
PLANE = np.linspace(-2, 1, 60) + 1j * np.linspace(-1, 1, 40)[:, None]


def elements(space: Any) -> Any:
    """Single elements, assigned one after the other."""
    array = space.zeros(300)
    for i in range(300):
        array[i] = 0.5 * i
    return array


def two_indices(space: Any) -> Any:
    """The same by two indices, of numbers of NumPy's."""
    array = space.zeros((15, 20))
    for i in range(15):
        for j in range(20):
            array[i, j] = LINE[20 * i + j]
    return array


def complex_elements(space: Any) -> Any:
    """Single complex numbers."""
    array = space.zeros(300, dtype=complex)
    for i in range(300):
        array[i] = 1j * i
    return array


def little_slices(space: Any) -> Any:
    """Five elements at a time."""
    array = space.array(LINE)
    for i in range(290):
        array[i : i + 5] = LINE[i]
    return array


def recurrence(space: Any) -> Any:
    """Each element made of the one before."""
    array = space.zeros(300)
    for i in range(1, 300):
        array[i] = 0.9 * array[i - 1] + 1
    return array


def read_numbers(space: Any) -> Any:
    """Single elements, read one after the other."""
    array = space.asarray(LINE)
    return space.asarray(sum([float(array[i]) for i in range(300)]))


def walked(space: Any) -> Any:
    """The same by a loop over the array."""
    return space.asarray(sum([float(one) for one in space.asarray(LINE)]))


def masked(space: Any) -> Any:
    """Complex numbers through a mask, twenty times."""
    c, z = space.asarray(PLANE), space.zeros(PLANE.shape, dtype=complex)
    for _ in range(20):
        near = abs(z) < 2
        z[near] = z[near] ** 2 + c[near]
    return z


LOOPS = {
    "300 elements in a loop": elements,
    "300 elements at [i, j]": two_indices,
    "300 complex elements": complex_elements,
    "290 slices of 5": little_slices,
    "a recurrence of 300": recurrence,
    "float(x[i]) 300 times": read_numbers,
    "for v in x of 300": walked,
    "z[near] = z[near]**2 + c[near]": masked,
}

CASES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "x[x > 1]": lambda x, v, space: x[x > 1],
    "x[x > 1].sum()": lambda x, v, space: x[x > 1].sum(),
    "x[x > 1].mean()": lambda x, v, space: x[x > 1].mean(),
    "v[index]": lambda x, v, space: v[INDEX],
    "x[rows]": lambda x, v, space: x[ROWS],
    "x[:, rows]": lambda x, v, space: x[:, ROWS],
    "x[i, j]": lambda x, v, space: x[INDEX % 3000, ROWS[INDEX % 1500]],
    "x[x > 1] = 0": lambda x, v, space: assigned(x, x > 1, 0),
    "x[1:-1] = 0": lambda x, v, space: assigned(x, slice(1, -1), 0),
    "x[::2] = 0": lambda x, v, space: assigned(x, slice(None, None, 2), 0),
    "x[rows] = 1": lambda x, v, space: assigned(x, ROWS, 1.0),
    "v[index] = 1": lambda x, v, space: assigned(v, INDEX, 1.0),
    "nonzero(x > 1)": lambda x, v, space: space.nonzero(x > 1)[0],
    "1 slice": lambda x, v, space: slices(x, 1),
    "8 slices": lambda x, v, space: slices(x, 8),
    "x[::3] = 0": lambda x, v, space: assigned(x, slice(None, None, 3), 0),
    "x[:, ::2] = 0": lambda x, v, space: assigned(x, (slice(None), slice(None, None, 2)), 0),
    "x.take(rows, 0)": lambda x, v, space: space.take(x, ROWS, axis=0),
    "30 slices": lambda x, v, space: slices(x, 30),
    "1,000 rows in a loop": lambda x, v, space: loop(space),
    **{name: lambda x, v, space, made=made: made(space) for name, made in LOOPS.items()},
}


def measured(name: str, repeats: int) -> dict[str, Any]:
    """Seconds of both, in turn."""
    case = CASES[name]
    ours, theirs = [], []
    lazy = sc.asarray(A), sc.asarray(V), sc
    same = np.array_equal(np.asarray(case(*lazy)), case(A, V, np))
    if name in ("x[x > 1].mean()", "z[near] = z[near]**2 + c[near]"):  # ours is exact; powers
        same = bool(np.allclose(np.asarray(case(*lazy)), case(A, V, np)))
    for _ in range(repeats):
        began = time.process_time()
        case(A, V, np)
        middle = time.process_time()
        case(*lazy).compute()
        theirs.append(middle - began)
        ours.append(time.process_time() - middle)
    ratio = statistics.median(theirs) / statistics.median(ours)
    return {"ratio": round(ratio, 3), "ours": ours, "theirs": theirs, "same": same}


def rows(array: Any, count: int, which: Iterable[int] | None = None) -> None:
    """Assign to all rows, in ``count`` slices; with ``which``, in these of them."""
    height = len(array) // count
    for k in range(count) if which is None else which:
        array[k * height : (k + 1) * height] = k + 1  # of zeros no page is touched


def rows_apart(array: Any, count: int, which: Iterable[int]) -> None:
    """The same, with five rows between two slices."""
    height = len(array) // count
    for k in which:
        array[k * height : (k + 1) * height - 5] = k


def lazy_rows(array: Any, count: int, which: Iterable[int]) -> None:
    """The same, of numbers that are computed."""
    height, numbers = len(array) // count, A if isinstance(array, np.ndarray) else sc.asarray(A)
    for k in which:
        here = slice(k * height, (k + 1) * height - 5)
        array[here] = numbers[here] * 2


def columns(array: Any, count: int, which: Iterable[int]) -> None:
    """Assign to columns, with five between two slices."""
    width = array.shape[1] // count
    for k in which:
        array[:, k * width : (k + 1) * width - 5] = k


def boxes(array: Any, count: int, which: Iterable[int]) -> None:
    """Assign to boxes in a square, with five rows and columns between two."""
    side = math.isqrt(count)
    width = array.shape[1] // side
    for k in which:
        i, j = divmod(k, side)
        if i < side:
            array[i * width : (i + 1) * width - 5, j * width : (j + 1) * width - 5] = k


APART: dict[str, Callable[[Any, int, Iterable[int]], None]] = {
    "rows": rows,
    "rows with gaps": rows_apart,
    "rows of computed numbers": lazy_rows,
    "columns with gaps": columns,
    "boxes with gaps": boxes,
}
COUNTS = (1, 8, 40, 60, 200)


def disjoint(assign: Callable[[Any, int, Iterable[int]], None], repeats: int) -> dict[str, Any]:
    """Seconds that k assignments to disjoint slices take, with what is computed then.

    And the least over that of one: of one slice that is as large as all of them, and of the middle
    one of them; of the latter also NumPy's, in a copy, and ours without what it takes to assign.
    """
    times = {(count, one): list[float]() for count in COUNTS for one in (False, True)}
    computed = {which: list[float]() for which in times}
    theirs = {which: list[float]() for which in times}
    for _ in range(repeats + 3):
        for (count, one), seconds in times.items():
            which = [count // 2] if one else range(count)
            built = sc.asarray(A) + 0
            began = time.process_time()
            assign(built, count, which)
            assigned = time.process_time()
            built.compute()
            middle = time.process_time()
            assign(A.copy(), count, which)
            theirs[count, one].append(time.process_time() - middle)
            seconds.append(middle - began)
            computed[count, one].append(middle - assigned)
    best = {which: min(some) for which, some in times.items()}
    return {
        "seconds": {str(n): times[n, False] for n in COUNTS},
        "seconds of one of them": {str(n): times[n, True] for n in COUNTS},
        "over one": {str(n): round(best[n, False] / best[1, False], 3) for n in COUNTS},
        "over one of them": over_one_of_them(times),
        "computed, over one of them": over_one_of_them(computed),
        "NumPy's over one of them": over_one_of_them(theirs),
    }


def over_one_of_them(times: dict[tuple[int, bool], list[float]]) -> dict[str, float]:
    """By how many slices, the least time of all over that of one of them."""
    return {str(n): round(min(times[n, False]) / min(times[n, True]), 3) for n in COUNTS}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--repeats", type=int, default=9)
    options = parser.parse_args()
    found_rows = {}
    with sc.on("core"):
        for name in CASES:
            found_rows[name] = measured(name, options.repeats)
            wrong = "" if found_rows[name]["same"] else " WRONG"
            print(f"{name:31} {found_rows[name]['ratio']:6.2f}{wrong}")
        apart = {name: disjoint(assign, options.repeats) for name, assign in APART.items()}
        for name, found in apart.items():
            print(f"slices of {name}, over one:", found["over one"])
            print(f"    over one of them: {found['over one of them']}")
            print(f"    only computed: {found['computed, over one of them']}")
            print("    NumPy's:", found["NumPy's over one of them"])
    if options.json:
        text = {
            "numpy": np.__version__,
            "date": time.strftime("%Y-%m-%d"),
            "load": round(os.getloadavg()[0], 1),
            "rows": found_rows,
            "disjoint": apart,
        }
        options.json.write_text(json.dumps(text, indent=1) + "\n")


if __name__ == "__main__":
    main()
