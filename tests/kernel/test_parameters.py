"""Parameters of a kernel that is called again: of another constant they are made anew, else not."""

from __future__ import annotations

import math
from typing import Any

import pytest

from speedcube.expr.nodes import Const
from speedcube.kernel.lower import parameters
from speedcube.kernel.lower.parameters import Parameters, refresh


@pytest.mark.parametrize(
    ("first", "second", "dtype", "anew"),
    [
        (float("1.5"), float("1.5"), "float64", False),
        (10**15, 10**15 + 0, "int64", False),
        (0.0, -0.0, "float64", True),
        (-0.0, float("-0.0"), "float64", False),
        (float("nan"), float("nan"), "float64", True),
        (1.5, 2.5, "float64", True),
        (1, 1.0, "float64", True),
        (True, False, "bool", True),
    ],
)
def test_a_constant_is_made_a_word_again_only_where_it_is_another(
    first: Any, second: Any, dtype: str, anew: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Const(first, dtype)
    given = Parameters()
    given.given(source)
    params = given.array()
    made: list[Const] = []
    constant_of = parameters.constant_of
    monkeypatch.setattr(parameters, "constant_of", lambda one: made.append(one) or constant_of(one))
    source.value = second
    refresh(given.uniforms, params)
    assert bool(made) is anew
    wanted = Parameters()
    wanted.given(Const(second, dtype))
    assert params.tolist() == wanted.array().tolist()
    assert math.copysign(1, second) == math.copysign(1, source.value)
