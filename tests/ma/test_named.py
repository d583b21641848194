"""Names of numpy.ma besides dask.array.ma's, copies, and what a masked array shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from tests.ma.test_masked import same

import speedcube as sc

MADE: Final[tuple[Callable[[Any, Any], Any], ...]] = (
    lambda ma, x: ma.masked_equal(x, -999),
    lambda ma, x: ma.masked_where(x < 0, x),
    lambda ma, x: ma.masked_invalid(x),
    lambda ma, x: ma.masked_array(x, mask=x < 0),
    lambda ma, x: ma.array(x, mask=x < 0),
)
CALLS: Final = """
    ma.array([1.0, 2, 3], mask=[0, 1, 0]); ma.array([1, 2], float, mask=True)
    ma.array(m, mask=[1, 0, 0, 0]); ma.array(m, mask=[1, 0, 0, 0], keep_mask=False)
    ma.array(m, ndmin=2); ma.concatenate([m, m]); ma.concatenate([m, [1.0, 2.0]])
    ma.sum(m); ma.mean(m); ma.std(m); ma.var(m); ma.min(m); ma.max(m); ma.prod(m); ma.ptp(m)
    ma.any(m > 2); ma.all(m > 2); ma.cumsum(m); ma.compressed(m); ma.argmax(m); ma.median(m)
    ma.median(ma.array([[1.0, 5, 2], [3, 4, 9]], mask=[[0, 1, 0], [0, 0, 1]]), axis=1)
    ma.is_masked(m); ma.is_masked(x); ma.isMaskedArray(m); ma.isMaskedArray(x)
    ma.getmask(m); ma.reshape(m, (2, 2)); ma.masked; ma.max(m) + 1
"""


@pytest.mark.parametrize("text", [one.strip() for one in CALLS.replace("\n", ";").split(";")])
def test_values_are_numpys(text: str) -> None:
    if not text:
        return
    given = np.array([1.0, -999, 3, 40])
    theirs = eval(text, {"ma": np.ma, "x": given, "m": np.ma.masked_equal(given, -999)})
    x = sc.asarray(given)
    same(eval(text, {"ma": sc.ma, "x": x, "m": sc.ma.masked_equal(x, -999)}), theirs)


def test_an_array_without_a_mask_has_none() -> None:
    assert sc.ma.getmask(sc.ones(3)) is sc.ma.nomask
    with pytest.raises(sc.ma.MaskError):
        sc.ma.array([1, 2, 3], mask=[True, False])


@pytest.mark.parametrize("number", range(len(MADE)))
def test_what_is_written_later_does_not_reach_it(number: int) -> None:
    given = np.array([1.0, -999, 3, 40])
    x = sc.asarray(given)
    ours, theirs = MADE[number](sc.ma, x), MADE[number](np.ma, given.copy())
    x[0] = 100
    same(ours, theirs)


def test_nor_what_is_written_to_its_mask() -> None:
    mask = sc.asarray([True, False, True])
    made = sc.ma.masked_array([1, 2, 3], mask), sc.ma.masked_where(mask, [1, 2, 3])
    mask[1] = True
    for one in made:
        assert one.mask.tolist() == [True, False, True]


def test_values_are_shown() -> None:
    ours = sc.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])
    theirs = np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])
    assert (str(ours), f"{ours}") == (str(theirs), f"{theirs}") == ("[1.0 -- 3.0]",) * 2
    assert (str(ours[1]), f"{ours.mean():.2f}") == (str(theirs[1]), "2.00")
    assert repr(ours) == "<speedcube.ma.MaskedArray (3,) float64>"
