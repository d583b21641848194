"""What is rare and long: a function of its own where a kernel is to be compiled soon, same bits."""

from __future__ import annotations

import re

import numpy as np
import pytest
from oracle import assert_same_bits, run_body

from speedcube.kernel.builder import Builder
from speedcube.kernel.evaluate import evaluate
from speedcube.kernel.ir import Body
from speedcube.kernel.llvm.compile import compile_object, source, styles
from speedcube.kernel.llvm.simd import targets
from speedcube.kernel.lower.rules import RULES
from speedcube.kernel.math.bits import canonical
from speedcube.kernel.program import LeafCode, Program, Sink

LARGE = np.array([1e9, -(2.0**31), 1e22, 2.0**1023, -np.inf, np.nan, 0.5, -0.0] * 5 + [7e300, 3.0])


def _chain(op: str, times: int, dtype: str = "float64") -> Body:
    """A function of a function, made large between; of two where it takes two."""
    b = Builder()
    x = b.input("leaf0", dtype)
    for _ in range(times):
        scaled = x * b.const(1e12, dtype)
        x = RULES[op](b, scaled, scaled) if op == "power" else RULES[op](b, scaled)
    b.output("x", canonical(b, x))
    return b.body()


def _text(body: Body, target: str, tier: int) -> str:
    leaves = (LeafCode("stored", body.output_type("x"), "unit"),)
    program = Program(leaves, body, Sink("store", body.output_type("x")), 0, 0, False)
    return source(program, target, styles(program, target)[tier])


@pytest.mark.parametrize("target", targets())
@pytest.mark.parametrize("op", ["sin", "cos", "tan", "power", "gammaln"])
def test_both_ways_give_the_evaluators_bits(op: str, target: str) -> None:
    for times in (1, 3, 9):
        body = _chain(op, times)
        inputs = {"leaf0": LARGE}
        with np.errstate(all="ignore"):
            wanted = evaluate(body, inputs)["x"]
        for quick in (False, True):
            assert_same_bits(run_body(body, inputs, target, quick=quick), wanted)


def test_quick_text_calls_one_function_and_full_text_none() -> None:
    target = targets()[0]
    quick, full = (_text(_chain("sin", 4), target, tier) for tier in (0, 1))
    assert len(re.findall(r"define internal <8 x double> @rare_", quick)) == 1
    assert (
        len(re.findall(r"= call <8 x double> @rare_", quick)) == 2 * 4
    )  # whole vectors, and the last
    assert "@rare_" not in full


def test_of_many_full_text_calls_it_too() -> None:
    """Else a chain of 60 sines takes LLVM three seconds."""
    target = targets()[0]
    full = _text(_chain("sin", 30), target, 1)
    assert full.count("define internal") == 1
    assert len(re.findall(r"= call <\d+ x double> @rare_", full)) == 2 * 30
    assert len(compile_object(full, target)) < 400_000


def test_what_is_short_stays_where_it_is() -> None:
    assert "@rare_" not in _text(_chain("log", 20), targets()[0], 0)
