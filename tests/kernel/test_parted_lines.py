"""Lines parted by a kernel, each by bounds of its own, beside the definition in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.ordering import parting
from speedcube.expr.through import ordering
from speedcube.expr.through.ordering import lines_parted_by, parted_by
from speedcube.kernel.llvm import simd

PLACES = ((0,), (7,), (30,), (3, 20), (0, 1, 30))


def lines(dtype: str, odd: bool) -> np.ndarray:
    """Lines of 31 with numbers that are equal, and, where ``odd``, NaN, zeros and infinities."""
    rng = np.random.default_rng(7)
    x = (rng.normal(size=(60, 31)) * 9).astype(dtype)
    if odd:
        for value in (0.0, -0.0, np.inf, -np.inf):
            x[rng.random(x.shape) < 0.1] = value
        x[20:30][rng.random((10, 31)) < 0.1] = np.nan
        x[30:32] = np.nan
        x[32:34] = -0.0
        x[34, ::2] = 0.0
    x[40] = x[40, 0]
    return x


@pytest.mark.parametrize("target", simd.runnable())
@pytest.mark.parametrize(
    "dtype", ["float64", "float32", "float16", "int8", "uint16", "int32", "uint32", "int64"]
)
def test_they_are_dealt_out_as_they_come(dtype: str, target: str) -> None:
    with simd.limited(target):
        for odd in (False, True) if dtype.startswith("float") else (False,):
            x = lines(dtype, odd)
            for places in PLACES:
                wanted = lines_parted_by(x, np.sort(x, axis=1)[:, list(places)])
                found = sc.partition(sc.asarray(x), places, axis=1).compute(on="core")
                assert found.tobytes() == wanted.tobytes(), (odd, places)


def test_numpy_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("by NumPy")

    monkeypatch.setattr(parting, "lines_parted_by", refused)
    x = lines("float64", False)
    part = sc.partition(sc.asarray(x), 4, axis=1).compute(on="core")
    assert (part[:, 4] == np.sort(x, axis=1)[:, 4]).all()
    x[3] = np.nan  # whose bound is none
    with pytest.raises(AssertionError, match="by NumPy"):
        sc.partition(sc.asarray(x), 4, axis=1).compute(on="core")


@pytest.mark.parametrize("dtype", ["int16", "uint8"])
def test_one_long_line_of_narrow_integers(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(3).integers(0, 99, 100_003).astype(dtype)
    wanted = parted_by(x, np.sort(x)[[70, 50_000]])
    monkeypatch.setattr(parting, "parted_by", lambda *_: pytest.fail("by NumPy"))
    for on in ("core", "cores:2"):
        found = sc.partition(sc.asarray(x), (70, 50_000)).compute(on=on)
        assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("vectors", [False, True])
def test_words_are_sorted_by_digits_or_by_vectors(
    vectors: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ordering, "_words_in_vectors", lambda: vectors)
    kinds: list[str | None] = []
    for dtype in ("int16", "uint16"):
        x = np.random.default_rng(3).integers(0, 2**16, (3, 20_000)).astype(dtype)
        y = sc.sort(sc.asarray(x), axis=1).compute(on="core")
        assert y.tobytes() == np.sort(x, axis=1).tobytes()
        own = x.copy().view(_Noted)
        own.kinds = kinds
        ordering.put_in_order(own)
        assert own.tobytes() == y.tobytes()
    assert kinds == [None if vectors else "stable"] * 2


class _Noted(np.ndarray):
    """Numbers that note by which kind they are sorted."""

    kinds: list[str | None]

    def sort(self, axis: int = -1, kind: str | None = None, **_: object) -> None:  # type: ignore[override]
        self.kinds.append(kind)
        super().sort(axis=axis, kind=kind)
