"""``np.add.reduceat`` and its kin beside NumPy: few ranges, many, some of one element."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.errors import DTypeError

PLACES: Final = {"few": [0, 2, 1, 300], "many": list(range(0, 400, 7)), "alone": [5, 5, 5]}
NAMES: Final = (
    *("add", "multiply", "maximum", "minimum", "fmax"),
    *("logical_and", "logical_xor", "bitwise_or", "gcd"),
)
DTYPES: Final = ["bool", "int8", "uint8", "uint32", "int64", "float64", "complex128"]


def _data(dtype: str) -> Any:
    x = np.random.default_rng(1).normal(size=(400, 3)) * 3
    return (x + 1j * x[::-1]).astype(dtype) if dtype[0] == "c" else x.astype(int).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("places", PLACES)
def test_each_range_is_numpys(places: str, dtype: str) -> None:
    x, indices = _data(dtype), PLACES[places]
    for name in NAMES:
        try:
            wanted = getattr(np, name).reduceat(x, indices, axis=0)
        except TypeError:
            continue  # of bits, and there are none
        made = np.asarray(getattr(np, name).reduceat(sc.asarray(x), indices, axis=0))
        assert made.dtype == wanted.dtype, name
        np.testing.assert_allclose(made, wanted, rtol=1e-12, atol=1e-12, err_msg=name)


def test_running_extremes_of_complex_numbers_are_refused() -> None:
    with pytest.raises(DTypeError, match=r"maximum.accumulate takes no complex elements; compute"):
        sc.maximum.accumulate(sc.asarray([1j, 2]))
