"""Every elementary function of one float32, at all 2**32 of them: how far off, and a hash.

python bench/every_float32.py [--on core] [--only exp,log] [--first 0 --last 4294967296] [--json
FILE]. ``--on gpu`` computes the same on a GPU: seconds a function instead of minutes. ``--rounded``
compares with the float64 function's results, rounded, bit for bit: half a minute a function of
`kernel/math/elementary/near` on one core.

The reference is our own function of the same argument in float64, at most one of its ulps off
(bench/accuracy.py), which is 2**-29 of a float32's; where that cannot decide which float32 is
nearest, mpmath does. The hash is the sum, modulo 2**64, of a mix of each argument's and result's
bits: no order, chunk or device changes it.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
sys.path.insert(0, str(Path(__file__).parents[1]))

from elementary import machine
from tests.kernel import test_elementary as cases

import speedcube as sc
from speedcube.ops import ELEMENTARY, OPS

ALL: Final = 1 << 32
CHUNK: Final = {"core": 1 << 22, "gpu": 1 << 26}
UNSURE: Final = 2.0**-27  # ulps about a tie
UNARY: Final = sorted(op for op in ELEMENTARY if OPS[op].arity == 1)


@dataclass
class Found:
    """What is known of one function so far."""

    ulps: float = 0.0
    at: int = 0
    not_nearest: int = 0
    special_wrong: int = 0
    unsure: list[tuple[int, int]] = field(default_factory=list)  # bits of argument and result
    hash: int = 0


def mixed(bits: sc.Array, result: sc.Array) -> sc.Array:
    """The finalizer of splitmix64 (Steele, Lea, Flood 2014)."""
    z = (bits.astype("uint64") << np.uint64(32)) | result.astype("uint64")
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def ulps(result: sc.Array, exact: sc.Array, exact_bits: sc.Array) -> sc.Array:
    """The error of each result; infinity, and whatever lies beyond, counts as 2**128."""
    exponent = (exact_bits >> np.int64(52)) & np.int64(2047)
    exponent = sc.minimum(sc.maximum(exponent, np.int64(1023 - 126)), np.int64(1023 + 127))
    wide = result.astype("float64")
    wide = sc.where(sc.isinf(result), sc.where(sc.signbit(result), -(2.0**128), 2.0**128), wide)
    near = sc.minimum(sc.maximum(exact, -(2.0**128)), 2.0**128)
    off = abs(wide - near) * sc.exp2((np.int64(1023 + 23) - exponent).astype("float64"))
    return sc.where(sc.isnan(exact), 0.0, off)


class Slice:
    """A function at ``count`` consecutive arguments; its arrays are written anew for each slice."""

    def __init__(self, op: str, count: int, on: str) -> None:
        self.on, self.to = on, "cupy" if on == "gpu" else "numpy"
        self.module: Any = importlib.import_module(self.to)
        empty = self.module.empty
        self.bits, self.result = empty(count, "uint32"), empty(count, "float32")
        self.wide = empty(count, "float64")
        x = sc.asarray(self.bits.view("float32"))
        result, exact = sc.asarray(self.result), sc.asarray(self.wide)
        self.function = getattr(sc, op)(x), getattr(sc, op)(x.astype("float64"))
        off = ulps(result, exact, sc.asarray(self.wide.view("int64")))
        same_sign = sc.signbit(result) == sc.signbit(exact)
        ends = sc.isinf(exact) | (exact == 0.0)
        right = same_sign & (~ends | (result.astype("float64") == exact)) & ~sc.isnan(result)
        right = sc.where(sc.isnan(exact), sc.isnan(result), right)
        self.close = abs(off - 0.5) <= UNSURE
        self.off = off
        self.sums = {
            "not_nearest": (off > 0.5 + UNSURE).sum(),
            "special_wrong": (~right).sum(),
            "hash": mixed(sc.asarray(self.bits), sc.asarray(self.result.view("uint32"))).sum(),
        }
        self.most, self.worst, self.ties = off.max(), off.argmax(), self.close.sum()

    def value(self, array: sc.Array) -> Any:
        return array.compute(on=self.on).item()

    def take(self, first: int, so_far: Found) -> None:
        """Arguments whose bits are ``first`` and the following ones."""
        self.bits[...] = self.module.arange(first, first + len(self.bits), dtype="uint32")
        for buffer, values in zip((self.result, self.wide), self.function, strict=True):
            buffer[...] = values.compute(on=self.on, to=self.to)
        for name, array in self.sums.items():
            setattr(so_far, name, getattr(so_far, name) + self.value(array))
        most = self.value(self.most)
        if most > so_far.ulps:
            so_far.ulps, so_far.at = most, first + self.value(self.worst)
        if self.value(self.ties):
            where = self.close.compute(on=self.on, to=self.to).nonzero()[0]
            results = self.result.view("uint32")[where].tolist()
            so_far.unsure += list(zip(self.bits[where].tolist(), results, strict=True))


def differing(op: str, first: int, last: int) -> int:
    """Arguments at which ``op`` is not the float64 function's result, rounded, bit for bit."""
    count = min(CHUNK["core"], last - first)
    bits = np.empty(count, "uint32")
    x = sc.asarray(bits.view("float32"))
    function = getattr(sc, op)
    narrow, wide = function(x), function(x.astype("float64")).astype("float32")
    found = 0
    for begin in range(first, last, count):
        bits[...] = np.arange(begin, begin + count, dtype="uint32")
        a, b = (y.compute(on="core").view("uint32") for y in (narrow, wide))
        found += int(np.count_nonzero(a != b))
    return found


def as_float(bits: int) -> float:
    return float(np.array(bits, np.uint32).view(np.float32))


def measure(op: str, first: int, last: int, on: str) -> dict[str, Any]:
    so_far, start = Found(), time.perf_counter()
    count = min(CHUNK[on], last - first)
    part = Slice(op, count, on)
    for begin in range(first, last, count):
        part.take(begin, so_far)
    seconds = time.perf_counter() - start
    ties = [
        cases.error(op, as_float(result), (as_float(argument),), "float32")
        for argument, result in so_far.unsure
    ]
    return {
        "ulps": round(so_far.ulps, 7),
        "at": f"0x{so_far.at:08x}",
        "not correctly rounded": so_far.not_nearest + sum(tie > 0.5 for tie in ties),
        "decided by mpmath": len(ties),
        "special values wrong": so_far.special_wrong,
        "hash": f"{so_far.hash % 2**64:016x}",
        "seconds": round(seconds, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--on", default="core", choices=sorted(CHUNK))
    parser.add_argument("--only", default=",".join(UNARY))
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--last", type=int, default=ALL)
    parser.add_argument("--rounded", action="store_true", help="only count where `near` differs")
    parser.add_argument("--json", type=Path, help="results are added to those of other functions")
    options = parser.parse_args()
    for op in options.only.split(","):
        if options.rounded:
            different = differing(op, options.first, options.last)
            print(f"{op:8} differs from the float64 function's, rounded: {different}", flush=True)
            continue
        figures = measure(op, options.first, options.last, options.on)
        print(f"{op:8} {figures}", flush=True)
        if options.json:
            add(options.json, op, figures, options.on)


def add(path: Path, op: str, figures: dict[str, Any], on: str) -> None:
    """Put the figures of one function into the file."""
    table = json.loads(path.read_text()) if path.exists() else {"schema": 1, "figures": {}}
    table["command"] = f"python bench/every_float32.py --on {on} --json ..."
    table["date"] = datetime.date.today().isoformat()
    table["machine"] = machine(on == "gpu")
    table["figures"][op] = figures
    path.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
