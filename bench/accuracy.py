"""The largest error of each elementary function, in ulps of the exact value, against mpmath.

python bench/accuracy.py [--points 1000000] [--only exp,log] [--dtypes float64] [--json FILE]:
about so many points of each function, evenly in the strata of kernel/test_elementary.py, and its
hard arguments. A million points take half a minute to three (with gmpy2, which mpmath uses where
it is installed; twice that without).

mpmath's 180 bits are taken as two float64 numbers and compared in bulk; what comes out largest is
measured again with the test's own error, in multiple precision.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import mpmath
import numpy as np
from mpmath import mp
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.kernel import test_elementary as cases

import speedcube as sc
from speedcube.dtypes import is_float
from speedcube.ops import ELEMENTARY

Array = NDArray[Any]
BITS: Final = 180
LIFT: Final = 300  # values below 2**-600 are compared at 2**300 times their size, exactly
CHECKED: Final = 20  # the largest errors, measured again


def points(op: str, dtype: str, count: int) -> tuple[Array, ...]:
    """About ``count`` points, without repeats of the whole and without NaN and infinities."""
    cases.COUNT = 1
    strata = len(cases.STRATA[op](cases.Reach(dtype, np.random.default_rng(0))))
    cases.COUNT = -(-count // strata)
    args = cases.arguments(op, dtype)
    finite = np.logical_and.reduce([np.isfinite(a) for a in args])
    return tuple(a[finite] for a in args)


def split(op: str, args: tuple[Array, ...]) -> Iterator[tuple[float, float, float]]:
    """The exact value as high and low part, and the power of two it was multiplied by.

    NaN where the function has no value, and where `errors` leaves the point to the test's error.
    """
    function = cases.EXACT[op]
    for values in zip(*(a.tolist() for a in args), strict=True):
        exact = function(*map(mp.mpf, values))
        if exact is None or isinstance(exact, mpmath.mpc):
            yield np.nan, 0.0, 0.0
            continue
        _, digits, exponent, length = exact._mpf_
        lift = LIFT if digits and exponent + length < -600 else 0
        exact = mp.ldexp(exact, lift) if lift else exact
        high = float(exact)
        yield high, float(exact - high) if abs(high) < np.inf else 0.0, float(lift)


def errors(op: str, results: Array, args: tuple[Array, ...]) -> Array:
    """How far each of ``found`` is off, in ulps; rough where the value is at a range's end."""
    info = np.finfo(results.dtype)
    with mp.workprec(BITS), np.errstate(all="ignore"):
        columns = np.array(list(split(op, args)))
        high, low, lift = columns[:, 0], columns[:, 1], columns[:, 2]
        scale = np.exp2(lift)
        least = info.minexp - info.nmant + lift
        place = np.maximum(np.frexp(high)[1] - 1 - info.nmant, least)
        off = abs((results.astype(float) * scale - high) - low)
        size = off / np.exp2(place)
        if op == "gammaln" and results.dtype == "float64":
            size[(abs(high) < 1) & (off <= 2.0**-53)] = 0.0
    ends = ~np.isfinite(high) | ~np.isfinite(results) | (abs(high) >= float(info.max))
    for k in np.nonzero(ends)[0]:
        size[k] = cases.error(
            op, float(results[k]), tuple(float(a[k]) for a in args), results.dtype.name
        )
    return np.asarray(size)


def measure(op: str, dtype: str, count: int) -> dict[str, Any]:
    args = points(op, dtype, count)
    results = getattr(sc, op)(*map(sc.asarray, args)).compute(on="core")
    size = errors(op, results, args)
    worst: tuple[float, tuple[float, ...]] = (0.0, ())
    for k in np.argsort(size)[-CHECKED:]:
        values = tuple(float(a[k]) for a in args)
        worst = max(worst, (cases.error(op, float(results[k]), values, dtype), values))
    return {
        "ulps": worst[0],
        "at": [v.hex() for v in worst[1]],
        "points": len(results),
        "not correctly rounded": int((size > 0.5).sum()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--only", default=",".join(sorted(ELEMENTARY)))
    parser.add_argument("--dtypes", default="float64")
    parser.add_argument("--json", type=Path, help="results are added to those of other functions")
    options = parser.parse_args()
    assert all(is_float(d) for d in options.dtypes.split(","))
    for op in options.only.split(","):
        for dtype in options.dtypes.split(","):
            figures = measure(op, dtype, options.points)
            print(f"{op:8} {dtype}: {figures}", flush=True)
            if options.json:
                add(options.json, f"{op} {dtype}", figures)


def add(path: Path, name: str, figures: dict[str, Any]) -> None:
    """Put the figures of one function into the file."""
    table = json.loads(path.read_text()) if path.exists() else {"schema": 1, "figures": {}}
    table["command"] = "python bench/accuracy.py --json ..."
    table["versions"] = {"mpmath": mpmath.__version__, "speedcube": sc.__version__}
    table["date"] = datetime.date.today().isoformat()
    table["figures"][name] = figures
    table["figures"] = dict(sorted(table["figures"].items()))
    path.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
