"""What is known of values before they are computed."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import speedcube as sc
from speedcube.expr import build
from speedcube.expr.analysis import analyse
from speedcube.expr.bounds import RULES, grain_of
from speedcube.expr.interpret import interpret
from speedcube.expr.nodes import Expr, const
from speedcube.ops import OPS

EXTREMES = ("minimum", "maximum")


@pytest.mark.parametrize("value", [1.0, -3.0, 0.1, 96.0, 2.0**-1074, -(2.0**1023), 5e-310])
def test_a_grain_is_the_largest_power_that_divides(value: float) -> None:
    multiple = Fraction(value) / Fraction(2) ** grain_of(value)
    assert multiple.denominator == 1
    assert multiple.numerator % 2 == 1


def test_zero_has_any_grain_and_what_is_not_finite_the_finest() -> None:
    assert grain_of(0.0) == grain_of(-0.0) > 1023
    for value in (math.inf, -math.inf, math.nan):
        assert grain_of(value) == -1074


def _operand(value: float, dtype: str) -> Expr:
    """An array in memory, of which nothing is known but its dtype."""
    return sc.asarray(np.array([value], dtype))._expr


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("op", RULES)
def test_where_bounds_are_known_no_nan_comes_out(op: str, dtype: str) -> None:
    """Of a NaN and numbers, whichever argument it is, and of what has bounds on one side only."""
    count = OPS[op].arity
    numbers = [const(value, dtype, (1,)) for value in (-2.0, 0.0, 3.0)]
    one_sided = [build.elementwise(f, [_operand(np.nan, dtype), numbers[2]]) for f in EXTREMES]
    nan = [_operand(np.nan, dtype), *one_sided]
    first = [[sc.asarray([True])._expr, sc.asarray([False])._expr]] if op == "where" else []
    others = [[*nan, *numbers]] * (count - len(first))
    for args in product(*first, *others):
        made = build.elementwise(op, list(args))
        if analyse(made).known:
            value = interpret(made, lambda _: None)
            assert not np.isnan(np.asarray(value, "float64")).any(), (op, args)


def test_running_sums_of_what_is_clipped_keep_a_nan() -> None:
    """They were another number on several threads, for clipped numbers were taken for finite."""
    x = np.random.default_rng(0).normal(size=300_000) * 50
    x[77_777] = np.nan
    clipped = sc.clip(sc.asarray(x), 20, 80)
    wanted = np.isnan(np.cumsum(np.clip(x, 20, 80)))
    for on in ("core", "cores:2", "cores:3"):
        np.testing.assert_array_equal(np.isnan(clipped.cumsum().compute(on=on)), wanted)
        assert np.isnan(clipped.sum().compute(on=on))
        assert not np.signbit(clipped.compute(on=on)[77_777])
