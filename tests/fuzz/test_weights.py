"""The frozen weights are of a hundred each."""

from __future__ import annotations

import pytest

from . import weights


@pytest.mark.parametrize("name", ["STATEMENT", "DTYPE", "AXES", "LENGTHS", "KEY"])
def test_weights_are_of_a_hundred(name: str) -> None:
    assert sum(getattr(weights, name).values()) == 100
