"""What is known of values before they are computed."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from speedcube.expr.bounds import grain_of


@pytest.mark.parametrize("value", [1.0, -3.0, 0.1, 96.0, 2.0**-1074, -(2.0**1023), 5e-310])
def test_a_grain_is_the_largest_power_that_divides(value: float) -> None:
    multiple = Fraction(value) / Fraction(2) ** grain_of(value)
    assert multiple.denominator == 1
    assert multiple.numerator % 2 == 1


def test_zero_has_any_grain_and_what_is_not_finite_the_finest() -> None:
    assert grain_of(0.0) == grain_of(-0.0) > 1023
    for value in (math.inf, -math.inf, math.nan):
        assert grain_of(value) == -1074
