"""Groups of odd shapes: a million of them, of one element, by sorted keys, by strings: one law."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.grouping import folds, products
from speedcube.expr.interpret import interpret
from speedcube.kernel.lower.reference import draw

SIZE: Final = 3_001
_RNG = np.random.default_rng(11)
_X = _RNG.normal(size=SIZE)
_SPECIAL = np.where(_RNG.random(SIZE) < 0.05, np.nan, _X)
_SPECIAL[::7] = np.where(_X[::7] > 0, 0.0, -0.0)
_SPECIAL[::31] = np.inf

KEYS: Final[dict[str, Any]] = {
    "small": _RNG.integers(0, SIZE // 3, SIZE),
    "of one element": _RNG.permutation(SIZE),
    "sorted": np.sort(_RNG.integers(0, 9, SIZE)),
    "one group": np.zeros(SIZE, np.int64),
    "floats with NaN": np.where(_X > 1, np.nan, np.round(_X, 1)),
    "strings": np.array(["b", "", "abc", "é", "b\u4e00"])[_RNG.integers(0, 5, SIZE)],
    "bytes": np.array([b"x", b"yy", b""])[_RNG.integers(0, 3, SIZE)],
}
VALUES: Final[dict[str, Any]] = {
    "normals": _X,
    "special": _SPECIAL,
    "float32": _SPECIAL.astype(np.float32),
    "integers": _RNG.integers(-5, 5, SIZE),
    "bytes": _RNG.integers(0, 255, SIZE).astype(np.uint8),
}


def _same(made: sc.Array) -> None:
    wanted = interpret(made._expr, draw)
    for on in ("core", "cores"):
        found = np.asarray(made.compute(on=on))
        assert found.dtype == wanted.dtype
        assert found.tobytes() == np.ascontiguousarray(wanted).tobytes()


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("name", VALUES)
def test_sorted_groups_and_products(key: str, name: str) -> None:
    groups = sc.groupby(sc.asarray(VALUES[name]), KEYS[key])
    for made in (groups.prod(), groups.prod(skipna=True), groups.median(), groups.min()):
        _same(made)


def test_a_product_is_the_same_by_any_way(monkeypatch: pytest.MonkeyPatch) -> None:
    made = sc.groupby(sc.asarray(_SPECIAL), KEYS["small"]).prod()
    scattered = np.asarray(made.compute(on="core"))
    monkeypatch.setattr(products, "_CACHED", 0)
    assert np.asarray(made.compute(on="core")).tobytes() == scattered.tobytes()


def test_what_is_in_no_group_comes_last_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = _RNG.integers(-3, 40, SIZE)
    groups = sc.groupby(sc.asarray(_SPECIAL), keys, expected_groups=np.arange(0, 40, 2))
    for few in (0, 1 << 30):  # each group sorted, or all before they are dealt out
        monkeypatch.setattr(folds, "_FEW", few)
        _same(groups.median(skipna=True))
        _same(groups.quantile(0.3))
    wanted = [np.nanmedian(_SPECIAL[keys == g]) for g in range(0, 40, 2)]
    np.testing.assert_array_equal(groups.median(skipna=True), wanted)


def test_a_million_groups() -> None:
    keys = _RNG.integers(0, 10**6, 10**5)
    x = _RNG.normal(size=10**5)
    groups = sc.groupby(sc.asarray(x), keys, expected_groups=np.arange(10**6))
    there = np.unique(keys)
    order = np.argsort(keys, kind="stable")
    starts = np.searchsorted(keys[order], there)
    found = np.asarray(groups.max().compute(on="core"))
    np.testing.assert_array_equal(found[there], np.maximum.reduceat(x[order], starts))
    product = np.asarray(groups.prod().compute(on="core"))
    wanted = np.multiply.reduceat(x[order], starts)
    np.testing.assert_allclose(product[there], wanted, rtol=1e-14)
    assert product.sum() == pytest.approx(wanted.sum() + 10**6 - len(there))


@pytest.mark.parametrize("key", ["strings", "bytes"])
def test_labels_of_strings_are_numpys(key: str) -> None:
    keys = KEYS[key]
    groups = sc.groupby(sc.asarray(_X), keys)
    assert groups.labels.tolist() == np.unique(keys).tolist()
    assert groups.labels.dtype == keys.dtype
    assert groups.count().tolist() == np.unique(keys, return_counts=True)[1].tolist()
    unsorted = sc.groupby(sc.asarray(_X), keys, sort=False)
    first = np.sort(np.unique(keys, return_index=True)[1])
    assert unsorted.labels.tolist() == keys[first].tolist()
