"""Complex arrays whose parts are computed alike are computed as reals that lie side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.expr.nodes import Expr
from speedcube.expr.pairs.laid import laid

RNG: Final = np.random.default_rng(12)
Call = Callable[[Any, Any, Any], Any]
ROWS: Final = RNG.integers(0, 40, 70)

ALIKE: Final[dict[str, Call]] = {
    "add": lambda m, x, y: x + y,
    "several": lambda m, x, y: x - y + x - (-y),
    "rint": lambda m, x, y: m.rint(x),
    "diff": lambda m, x, y: m.diff(x, axis=0),
    "a row": lambda m, x, y: x + y[3],
    "a part": lambda m, x, y: x[5:, 2:] - y[:-5, :-2],
    "every other row": lambda m, x, y: x[::2] + y[::-2],
    "narrower": lambda m, x, y: (x + y).astype("complex64"),
    "rows": lambda m, x, y: m.take(x, ROWS, axis=0),
    "itself": lambda m, x, y: x,
}
OTHERWISE: Final[dict[str, Call]] = {
    "product": lambda m, x, y: x * y,
    "conjugate": lambda m, x, y: m.conj(x),
    "to another one": lambda m, x, y: x + y.real,
    "a number": lambda m, x, y: x + (1 + 2j),
    "reversed": lambda m, x, y: x[:, ::-1] + y,
    "columns": lambda m, x, y: x.T + y.T,
    "chosen": lambda m, x, y: m.where(x.real > 0, x, y),
    "columns at": lambda m, x, y: m.take(x, ROWS % 30, axis=1),
    "real and imaginary": lambda m, x, y: x.real + 1j * y.imag,
}


def _numbers(dtype: str) -> np.ndarray[Any, Any]:
    x = RNG.normal(size=(40, 30, 2)).view(complex)[..., 0]
    x[:, :4] = [complex(-0.0, np.nan), complex(np.inf, -0.0), complex(-0.0, 0.0), complex(0, -1)]
    return x.astype(dtype)


def _expr(made: Any) -> Expr:
    return made._expr  # type: ignore[no-any-return]


@pytest.mark.parametrize("on", ["core", "cores:2"])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", [*ALIKE, *OTHERWISE])
def test_its_values_are_numpys(name: str, dtype: str, on: str) -> None:
    x, y = _numbers(dtype), _numbers(dtype)
    call = ALIKE.get(name) or OTHERWISE[name]
    made = call(sc, sc.asarray(x), sc.asarray(y))
    assert (laid(_expr(made)) is not None) is (name in ALIKE)
    with np.errstate(invalid="ignore"):
        wanted = call(np, x, y)
    values = made.compute(on=on)
    assert values.dtype == wanted.dtype
    part = f"f{wanted.itemsize // 2}"
    ours, numpys = (np.ascontiguousarray(one).view(part) for one in (values, wanted))
    if name == "product":  # NumPy rounds half as often where it can
        np.testing.assert_allclose(ours, numpys, rtol=1e-4, atol=1e-6)
        return
    np.testing.assert_array_equal(ours, numpys)
    number = ~np.isnan(numpys)
    np.testing.assert_array_equal(np.signbit(ours)[number], np.signbit(numpys)[number])
    part = abs(made[:, 1:])  # which is made of both
    np.testing.assert_allclose(part.compute(on=on), abs(wanted[:, 1:]), rtol=1e-5)
