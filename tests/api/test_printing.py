"""What `print` and formats show: the values, as NumPy writes them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc

_RNG: Final = np.random.default_rng(0)
ARRAYS: Final[list[Any]] = [
    *(np.array(3.5), np.array(True), np.float32(2) / 3, np.int8(-3), np.array(1 - 2j)),
    *(_RNG.normal(size=3), _RNG.normal(size=(2, 3)), _RNG.normal(size=(7, 2)) > 0),
    *(np.zeros((0, 3)), np.zeros((0, 5000)), np.zeros((2000, 0)), np.array([np.nan, 1e300])),
    *(np.arange(5000), _RNG.normal(size=(50, 60)), _RNG.normal(size=(3, 400, 2))),
    *(np.arange(2000.0) ** 9, _RNG.normal(size=(12, 11, 10)), _RNG.normal(size=1001) + 1j),
]


@pytest.mark.parametrize("number", range(len(ARRAYS)))
def test_the_text_is_numpys(number: int) -> None:
    theirs = ARRAYS[number]
    ours = sc.asarray(theirs)
    assert (str(ours), f"{ours}") == (str(theirs), f"{theirs}")
    assert repr(ours).startswith("<speedcube.Array ")


def test_options_of_printing_are_numpys() -> None:
    theirs = _RNG.normal(size=(40, 40))
    for options in ({"precision": 2}, {"threshold": 2000}, {"edgeitems": 1}):
        with np.printoptions(**options):
            assert str(sc.asarray(theirs)) == str(theirs)


def test_corners_alone_are_computed() -> None:
    """A terabyte is shown in no time."""
    large = sc.random.default_rng(0).normal(size=(400_000, 400_000))
    with np.printoptions(linewidth=200):
        lines = str(large).split("\n")
        assert len(lines) == 7
        assert lines[3] == " ..."
        corner = np.concatenate([large[:3, :3].compute(), large[:3, -3:].compute()], 1)
        assert [float(word) for word in lines[1].strip(" []").replace("... ", "").split()] == [
            float(f"{number:.8f}") for number in corner[1]
        ]


def test_a_number_that_is_printed_is_computed() -> None:
    x = sc.asarray(np.arange(10.0))
    assert f"{x.sum()} {x.max()}" == "45.0 9.0"
    assert f"{x.mean():.2f}" == "4.50"
