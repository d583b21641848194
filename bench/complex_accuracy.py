"""The largest error of each elementary function of complex128, in ulps, against a wider float.

python bench/complex_accuracy.py [--points 1000000] [--only exp,log] [--json FILE]:
so many points of each function: moduli from 2**-30 to 2**8 at any angle, and as many near the unit
circle, near the axes and near 1, -1, i and -i. The reference is NumPy's of complex256, whose parts
have 64 bits (glibc's functions). Of each part the error is given in ulps of the modulus of the
result; and in ulps of the part, at the points where no digits of it cancel (a part of at least an
eighth of the modulus).
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

import speedcube as sc

Array = NDArray[Any]
FUNCTIONS: Final = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "square", "reciprocal"),
    *("sin", "cos", "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan"),
    *("arcsinh", "arccosh", "arctanh", "absolute", "angle"),
)
BRANCHES: Final = (1, -1, 1j, -1j)


def points(count: int) -> Array:
    """So many numbers, about."""
    rng = np.random.default_rng(1)
    each = count // 8

    def turned(size: Array) -> Array:
        return np.asarray(size * np.exp(2j * np.pi * rng.random(len(size))))

    def small() -> Array:
        return np.asarray(2.0 ** rng.uniform(-30, 0, each))

    wide = turned(2.0 ** rng.uniform(-30, 8, 3 * each))
    circle = turned(1 + rng.choice([-1, 1], each) * small())
    axes = turned(np.ones(each)).real * 4 + 1j * small()
    beside = np.concatenate([np.asarray(b + turned(small())) for b in BRANCHES])[:: len(BRANCHES)]
    return np.concatenate([wide, circle, axes, axes * 1j, beside, turned(small())])


def reference(name: str, z: Array) -> Array:
    """NumPy's, wider; where its own formula loses digits, one that does not."""
    wide = z.astype(np.clongdouble)
    x, y = wide.real, wide.imag
    if name == "expm1":
        half = np.sin(y / 2)
        re = np.expm1(x) * np.cos(y) - 2 * half * half
        return np.asarray(re + 1j * (np.exp(x) * np.sin(y)))
    if name == "log1p":
        near = np.log1p(x * (2 + x) + y * y) / 2
        re = np.where(np.abs(wide) < 0.5, near, np.log(np.hypot(1 + x, y)))
        return np.asarray(re + 1j * np.arctan2(y, 1 + x))
    return np.asarray(getattr(np, name)(wide))


def ulps(off: Array, of: Array) -> Array:
    """``off`` in units of the last place of float64 numbers like ``of``."""
    return np.asarray(off / np.spacing(np.abs(of).astype(float)), float)


def measure(name: str, z: Array) -> dict[str, Any]:
    """The largest errors of one function, and where they are."""
    with np.errstate(all="ignore"):
        exact = reference(name, z)
        got = np.asarray(getattr(sc, name)(sc.asarray(z)).compute(on="core"))
        size = np.abs(exact)
        known = np.isfinite(exact) & (size > 0)
        figures: dict[str, Any] = {"points": int(known.sum())}
        parts = ("real", "imag") if exact.dtype.kind == "c" else ("real",)
        for part in parts:
            value = getattr(exact, part)
            off = np.where(known, np.abs(getattr(got, part) - value), 0)
            of_modulus = ulps(off, np.where(known, size, 1))
            plain = known & (np.abs(value) >= size / 8)
            of_part = np.where(plain, ulps(off, np.where(plain, value, 1)), 0)
            for kind, found in (("of modulus", of_modulus), ("of part", of_part)):
                place = int(np.argmax(found))
                figures[f"{part} {kind}"] = float(found[place])
                figures[f"{part} {kind} at"] = [z[place].real.hex(), z[place].imag.hex()]
    return figures


def main() -> None:
    """Measure each function, and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--only", default=",".join(FUNCTIONS))
    parser.add_argument("--json", type=Path, help="where figures go")
    options = parser.parse_args()
    z, figures = points(options.points), {}
    for name in options.only.split(","):
        figures[name] = measure(name, z)
        shown = {k: round(v, 3) for k, v in figures[name].items() if isinstance(v, float)}
        print(f"{name:10} {shown}", flush=True)
    if options.json:
        table = {
            "schema": 1,
            "command": "python bench/complex_accuracy.py --json ...",
            "versions": {"numpy": np.__version__, "speedcube": sc.__version__},
            "libc": " ".join(platform.libc_ver()),
            "bits of the reference": int(np.finfo(np.longdouble).nmant + 1),
            "date": datetime.date.today().isoformat(),
            "figures": figures,
        }
        options.json.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
