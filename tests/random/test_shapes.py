"""Random draws with parameters of any shapes: sizes, dtypes and places as NumPy has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

import speedcube as sc
from speedcube.errors import ShapeError

# method -> two values for each parameter; any of the first fits any of the second
VALUES: Final[dict[str, list[tuple[Any, Any]]]] = {
    "beta": [(1.5, 0.4), (2.0, 0.7)],
    "binomial": [(9, 200), (0.3, 0.9)],
    "chisquare": [(2.0, 0.5)],
    "exponential": [(1.0, 3.0)],
    "f": [(2.0, 7.0), (3.0, 0.5)],
    "gamma": [(1.5, 0.2), (2.0, 4.0)],
    "geometric": [(0.5, 0.01)],
    "gumbel": [(0.0, 2.0), (1.0, 3.0)],
    "hypergeometric": [(50, 6), (60, 70), (7, 44)],
    "integers": [(1, -3), (9, 300)],
    "laplace": [(0.0, 2.0), (1.0, 3.0)],
    "logistic": [(0.0, 2.0), (1.0, 3.0)],
    "lognormal": [(0.0, 2.0), (1.0, 3.0)],
    "logseries": [(0.5, 0.99)],
    "negative_binomial": [(4, 0.5), (0.3, 0.9)],
    "noncentral_chisquare": [(2.0, 0.5), (1.0, 8.0)],
    "noncentral_f": [(2.0, 0.5), (3.0, 9.0), (1.0, 8.0)],
    "normal": [(0.0, 2.0), (1.0, 3.0)],
    "pareto": [(1.5, 9.0)],
    "poisson": [(3.0, 300.0)],
    "power": [(1.5, 9.0)],
    "rayleigh": [(1.0, 2.0)],
    "standard_gamma": [(1.5, 0.1)],
    "standard_t": [(3.0, 0.9)],
    "triangular": [(0.0, 0.5), (1.0, 1.5), (2.0, 7.0)],
    "uniform": [(0.0, -1.0), (1.0, 3.0)],
    "vonmises": [(0.0, 2.0), (1.0, 30.0)],
    "wald": [(1.0, 3.0), (1.0, 9.0)],
    "weibull": [(1.5, 0.3)],
    "zipf": [(2.5, 1.1)],
}


def arrays(method: str, shapes: Sequence[tuple[int, ...] | None]) -> list[Any]:
    """Parameters of these shapes: numbers where the shape is None."""
    return [
        pair[0] if shape is None else np.resize(np.array(pair), shape)
        for pair, shape in zip(VALUES[method], shapes, strict=True)
    ]


@settings(max_examples=150, deadline=None)
@given(data=st.data(), method=st.sampled_from(sorted(VALUES)))
def test_shapes_and_dtypes_are_numpys(data: Any, method: str) -> None:
    count = len(VALUES[method])
    drawn = data.draw(mutually_broadcastable_shapes(num_shapes=count, max_dims=3, min_side=0))
    numbers = data.draw(st.lists(st.booleans(), min_size=count, max_size=count))
    shapes = [None if n else s for n, s in zip(numbers, drawn.input_shapes, strict=True)]
    small = st.integers(0, 3)
    size = data.draw(
        st.none()
        | small
        | st.lists(small, max_size=3).map(tuple)
        | st.just(drawn.result_shape)
        | small.map(lambda n: (n, *drawn.result_shape))
    )
    given_here = arrays(method, shapes)
    # NumPy's integers drops bounds that do not fit a size without elements; ours, like all others,
    # refuses them.
    numpys = "uniform" if method == "integers" else method
    try:
        wanted = getattr(np.random.default_rng(1), numpys)(*given_here, size=size)
        wanted = wanted if numpys == method else np.asarray(wanted, np.int64)
    except ValueError:
        with pytest.raises(ShapeError):
            getattr(sc.random.default_rng(1), method)(*given_here, size=size)
        return
    for values in (given_here, [sc.asarray(v) for v in given_here]):
        found = getattr(sc.random.default_rng(1), method)(*values, size=size)
        assert (found.shape, found.dtype) == (np.shape(wanted), np.asarray(wanted).dtype)


# The noncentral ones are made of others, and compile longest.
@pytest.mark.parametrize("method", [m for m in VALUES if not m.startswith("noncentral")])
def test_every_place_has_its_own_parameters(method: str) -> None:
    """Broadcast as NumPy does; what is strided, a list or a lazy array too."""

    def draw(*parameters: Any, size: Any = None) -> Any:
        return getattr(sc.random.default_rng(5), method)(*parameters, size=size).compute(on="core")

    shapes = ((2, 1), (3,), ())
    mixed = arrays(method, shapes[: len(VALUES[method])])
    whole = [np.array(np.broadcast_to(m, (4, 2, 3))) for m in mixed]
    drawn = draw(*mixed, size=(4, 2, 3))
    np.testing.assert_array_equal(drawn, draw(*whole))
    np.testing.assert_array_equal(drawn, draw(*(w.tolist() for w in whole)))
    strided = [np.asfortranarray(w)[:, ::-1][:, ::-1] for w in whole]
    np.testing.assert_array_equal(drawn, draw(*strided))
    np.testing.assert_array_equal(drawn, draw(*(sc.asarray(w) for w in whole)))


@pytest.mark.parametrize("size", [None, (), 3, (2, 3), (0, 3)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floats_of_both_dtypes(size: Any, dtype: str) -> None:
    rng = sc.random.default_rng(1)
    for method in ("random", "standard_normal", "standard_exponential"):
        drawn = getattr(rng, method)(size, dtype)
        assert (drawn.shape, drawn.dtype) == (np.empty(size or ()).shape or (size or ()), dtype)
        assert drawn.compute(on="core").dtype == dtype
    drawn = rng.standard_gamma(2.0, size, dtype)
    assert drawn.compute(on="core").dtype == dtype


@pytest.mark.parametrize("dtype", [*np.typecodes["AllInteger"], "?"])
def test_integers_of_every_dtype(dtype: str) -> None:
    """Each number of the whole range, as NumPy's bounds are."""
    rng, least, most = sc.random.default_rng(1), 0, 1
    if dtype != "?":
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    drawn = rng.integers(least, most, 3000, dtype, endpoint=True).compute(on="core")
    assert drawn.dtype == np.dtype(dtype)
    if most - least < 256:
        assert set(drawn.tolist()) == set(range(least, most + 1))
    else:
        width = float(most) - float(least)
        assert (drawn.astype(float).min() - least) / width < 0.01
        assert (most - drawn.astype(float).max()) / width < 0.01
