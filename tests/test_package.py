"""The public surface is the list ``speedcube.__all__``, and the list tells the truth."""

from __future__ import annotations

import pytest

import speedcube


def test_names_are_sorted_and_listed_once() -> None:
    assert list(speedcube.__all__) == sorted(set(speedcube.__all__))


@pytest.mark.parametrize("name", speedcube.__all__)
def test_a_name_is_public_and_there(name: str) -> None:
    assert not name.startswith("_")
    assert hasattr(speedcube, name), f"speedcube.__all__ promises {name}"
