"""Records that become numbers."""

from __future__ import annotations

import numpy as np
import pytest

from speedcube.engine.results import merge
from speedcube.kernel.exact.integers import FINISH
from speedcube.kernel.program import LIMBS


@pytest.mark.parametrize("op", ["sum", "mean", "dot"])
def test_limbs_that_are_full_do_not_overflow_when_merged(op: str) -> None:
    """A limb may hold anything below 2**63: what lies above its digit is carried on first."""
    records = [np.zeros((1, LIMBS), np.int64) for _ in range(3)]
    place = LIMBS // 2
    for record in records:
        record[0, place] = 2**63 - 1
    total = merge(op, True, [record.copy() for record in records])
    digits = [int(limb) for limb in total[0]]
    value = sum(limb << (32 * (k - place)) for k, limb in enumerate(digits) if k >= place)
    assert value == 3 * (2**63 - 1)
    assert not any(digits[:place])
    wanted = [0] * LIMBS
    wanted[place : place + 3] = [value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF, value >> 64]
    finish = FINISH["sum"]
    assert finish(total, "float64", 1, 0.0) == finish(np.array([wanted]), "float64", 1, 0.0)


def test_sums_of_integers_wrap_when_merged() -> None:
    """Their records have one word, which is no limb."""
    records = [np.array([[2**63 - 1], [5]]), np.array([[2], [-7]])]
    np.testing.assert_array_equal(merge("sum", False, records), [[-(2**63) + 1], [-2]])
