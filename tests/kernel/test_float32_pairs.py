"""Functions of float32 by pairs of float32: the bits of the rule they stand for, seldom asked.

All 2**32 arguments of a function of one: `bench/every_float32.py`, whose hashes are held here.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from oracle import assert_same_bits, run_body

import speedcube as sc
from speedcube.kernel.builder import Builder
from speedcube.kernel.evaluate import evaluate
from speedcube.kernel.ir import Body
from speedcube.kernel.llvm.emit import has_many_rare
from speedcube.kernel.llvm.simd import targets
from speedcube.kernel.math.bits import canonical
from speedcube.kernel.math.elementary import ELEMENTARY
from speedcube.kernel.math.elementary.pairs import PAIRS

OPS = sorted(PAIRS)
HASHES = Path(__file__).parents[2] / "measurements" / "accuracy-every-float32.json"
ODD = np.array(
    [0.0, np.inf, np.nan, 1e-45, 1.1754942e-38, 2.0**-40, 2.0**40, 87.0, 100.0, 1.0, 3.4e38],
    np.float32,
)
# Beside what the rules choose by: pieces of logarithms, edges of angles, exponents, halves.
EDGES = (1, 2, 0.5, 1 / 30, 0.1, 47 / 48, 49 / 48, 2.0**-9, np.log(2) / 32, 0.04, 8, 2.0**127)


def _inputs(op: str) -> dict[str, np.ndarray]:
    """Any bits, usual numbers, both sides of every edge, and odd ones; of atan2 all against all."""
    rng = np.random.default_rng(5)
    count = 2 if op == "atan2" else 1
    columns = []
    for _ in range(count):
        beside = np.outer(EDGES, 1 + np.arange(-20, 21) * 2.0**-24).ravel().astype(np.float32)
        beside = np.concatenate([beside, -beside])
        parts = [
            rng.integers(0, 2**32, 30_000, dtype=np.uint32).view(np.float32),
            rng.uniform(-10, 10, 30_000).astype(np.float32),
            np.exp(rng.uniform(-20, 4, 30_000)).astype(np.float32),
            rng.permutation(beside),
            rng.permutation(np.tile(np.concatenate([ODD, -ODD]), 40)),
        ]
        columns.append(np.concatenate(parts))
    if count == 2:  # quotients beside the edges between the table's entries
        edge = (np.arange(len(columns[0])) % 15 + 0.5) / 15
        off = 1 + rng.integers(-9, 10, edge.size) * 2.0**-23
        with np.errstate(all="ignore"):
            near = (columns[0] * edge * off).astype(np.float32)
        columns = [np.concatenate([columns[0], near]), np.concatenate([columns[1], columns[0]])]
    return {f"leaf{k}": column for k, column in enumerate(columns)}


def _body(op: str, wide: bool = False) -> Body:
    """The function; ``wide``: that of float64, rounded."""
    b = Builder()
    args = [b.input(f"leaf{k}", "float32") for k in range(2 if op == "atan2" else 1)]
    if wide:
        args = [a.cast("float64") for a in args]
    b.output("x", canonical(b, ELEMENTARY[op](b, *args).cast("float32")))
    return b.body()


@pytest.mark.parametrize("target", targets())
@pytest.mark.parametrize("op", OPS)
def test_bits_are_those_of_float64_rounded(op: str, target: str) -> None:
    inputs = _inputs(op)
    wanted = run_body(_body(op, wide=True), inputs, target)
    for quick in (False, True):
        assert_same_bits(run_body(_body(op), inputs, target, quick=quick), wanted)


@pytest.mark.parametrize("op", OPS)
def test_the_evaluator_has_the_same_bits(op: str) -> None:
    inputs = {name: values[::37] for name, values in _inputs(op).items()}
    with np.errstate(all="ignore"):
        wanted = evaluate(_body(op), inputs)["x"]
    assert_same_bits(run_body(_body(op), inputs, targets()[0]), wanted)


def _part(op: str, name: str) -> Body:
    b = Builder()
    args = [b.input(f"leaf{k}", "float32") for k in range(2 if op == "atan2" else 1)]
    found = PAIRS[op](b, *args)
    never = b.const(False, "bool")
    made = {
        "high": lambda: found.high,
        "low": lambda: found.low,
        "margin": lambda: found.margin(b),
        "odd": lambda: never if found.odd is None else found.odd,
    }
    b.output("x", made[name]())
    return b.body()


@pytest.mark.parametrize("op", OPS)
def test_pairs_are_as_near_as_they_say(op: str) -> None:
    """Of two arguments, of which not all pairs can be tried, half as much."""
    inputs, target = _inputs(op), targets()[0]
    high, low, margin, odd = (
        run_body(_part(op, name), inputs, target) for name in ("high", "low", "margin", "odd")
    )
    wide = (sc.asarray(x).astype("float64") for x in inputs.values())
    wanted = abs(getattr(sc, op)(*wide)).compute(on="core")
    with np.errstate(all="ignore"):
        off = abs(abs(high.astype(np.float64) + low) - wanted)
        believed = ~odd & np.isfinite(off) & (wanted > 2.0**-80)
    allowed = margin * (0.5 if op == "atan2" else 1.0)
    assert believed.mean() > 0.2
    assert (off[believed] / allowed[believed]).max() <= 1.0


@pytest.mark.parametrize("op", OPS)
def test_the_other_rule_is_seldom_asked(op: str) -> None:
    """Once in five hundred usual numbers at most; at zeros, and for all but acosh at 1, never."""
    b = Builder()
    args = [b.input(f"leaf{k}", "float32") for k in range(2 if op == "atan2" else 1)]
    asked = b.instrs[ELEMENTARY[op](b, *args).id]
    assert asked.op == "rare"
    doubt = Body(tuple(b.instrs), (("x", asked.args[0]),))
    low, high = {"atanh": (-1, 1), "acosh": (1, 50)}.get(op, (0.001, 50))
    rng = np.random.default_rng(6)
    usual = [rng.uniform(low, high, 100_000).astype(np.float32) for _ in args]
    share = run_body(doubt, {f"leaf{k}": x for k, x in enumerate(usual)}, targets()[0]).mean()
    assert 0 < share < 1 / 500
    zeros = [np.zeros(64, np.float32), np.ones(64, np.float32)][: len(args)]
    if op not in ("log2", "log10", "acosh"):
        odd = run_body(doubt, {f"leaf{k}": x for k, x in enumerate(zeros)}, targets()[0])
        assert not odd.any()


def test_what_is_rare_within_what_is_rare_counts() -> None:
    b = Builder()
    x = b.input("leaf0", "float32")
    for times in range(1, 9):
        x = ELEMENTARY["asinh"](b, x)
        assert has_many_rare(Body(tuple(b.instrs), (("x", x.id),))) == (times == 8)


@pytest.mark.slow
@pytest.mark.parametrize("op", [op for op in OPS if op != "atan2"])
def test_every_argument_has_the_bits_it_had(op: str) -> None:
    """The hash of every argument's and result's bits, by the finalizer of splitmix64."""
    count = 1 << 22
    bits, result = np.empty(count, np.uint32), np.empty(count, np.float32)
    function = getattr(sc, op)(sc.asarray(bits.view(np.float32)))
    z = sc.asarray(bits).astype("uint64") << np.uint64(32)
    z = z | sc.asarray(result.view(np.uint32)).astype("uint64")
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed, total = (z ^ (z >> np.uint64(31))).sum(), 0
    for first in range(0, 1 << 32, count):
        bits[...] = np.arange(first, first + count, dtype=np.uint32)
        result[...] = function.compute(on="core")
        total += int(mixed.compute(on="core").item())
    wanted = json.loads(HASHES.read_text())["figures"][op]["hash"]
    assert f"{total % 2**64:016x}" == wanted
