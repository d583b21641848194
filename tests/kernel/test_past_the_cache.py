"""Results that are larger than a cache are stored past it: the same elements, wherever they lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.known.text import source_of
from speedcube.kernel.llvm import simd
from speedcube.kernel.llvm.memory import FAR, FAR_TOGETHER, LONG_ROW

LENGTH: Final = FAR // 8 + 1003
LINE: Final = np.random.default_rng(1).normal(size=LENGTH)
CASES: Final[dict[str, Callable[[Any], Any]]] = {
    "float64": lambda x: x + 1,
    "shifted": lambda x: x[3:] * x[:-3],
    "narrower": lambda x: x[1:].astype("float32"),
    "in rows": lambda x: x[: 2000 * 1049].reshape(2000, 1049)[:, 1:] * 2,
    "in rows that are no whole vectors": lambda x: x[: 20765 * 101].reshape(-1, 101) + x[:101],
    "in rows of whole vectors": lambda x: x[: 2000 * 1048].reshape(2000, 1048) + x[:1048],
    "bool": lambda x: x > 0.5,
}


@pytest.mark.parametrize("target", simd.runnable())
def test_large_results(target: str) -> None:
    with simd.limited(target):
        for name, case in CASES.items():
            expected = case(LINE)
            for on in ("core", "cores:2"):
                value = case(sc.asarray(LINE)).compute(on=on)
                assert np.array_equal(value, expected), (name, on)


def test_bytes() -> None:
    data = np.random.default_rng(2).integers(0, 255, FAR + 77, dtype="uint8")
    assert np.array_equal((sc.asarray(data)[5:] + 9).compute(on="core"), data[5:] + 9)


def test_an_identity() -> None:
    assert np.array_equal(sc.eye(1600).compute(on="core"), np.eye(1600))


def test_which_stores_go_past_it() -> None:
    x = sc.asarray(LINE)
    text = source_of((x + 1)._expr, "cpu")
    assert "!nontemporal" in text
    assert "fence seq_cst" in text
    assert "!nontemporal" not in source_of((x > 0.5)._expr, "cpu")  # eight bytes at a time


def test_rows_are_whole_vectors_or_long() -> None:
    """Else lines are stored both ways: tables of 101 columns took five times as long."""
    x = sc.asarray(LINE)
    table = x[: 20765 * 101].reshape(-1, 101)
    assert f", {LONG_ROW}\n" in source_of((table + table[0])._expr, "cpu")
    assert f", {LONG_ROW}\n" not in source_of((x + 1)._expr, "cpu")


def test_what_is_read_counts_where_all_is_in_one_line() -> None:
    """Three arrays do not fit a cache that holds one of them; a row that is repeated does."""
    x, y = sc.asarray(LINE), sc.asarray(LINE[::-1].copy())
    rows = x[: 2000 * 1000].reshape(2000, 1000)
    three, two = FAR_TOGETHER // 24, FAR_TOGETHER // 16
    assert three < two < FAR // 8
    assert f", {three}\n" in source_of((x + y)._expr, "cpu")
    assert f", {two}\n" in source_of((x + 1)._expr, "cpu")
    assert f", {FAR // 8}\n" in source_of((rows + rows[0])._expr, "cpu")
    a, b = LINE[: three + 5], LINE[::-1][: three + 5]
    assert np.array_equal((x[: three + 5] + y[: three + 5]).compute(on="core"), a + b)


def test_half_a_line_at_a_time_where_only_memory_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """On processors that read so sooner; not where results are short, or much is computed."""
    x = sc.asarray(LINE)
    cases = [x + x[::-1][::-1], x > 0.5, ((x * 3 + 2) * x + 1) * x + 5]

    def widths(foresees: bool) -> list[bool]:
        monkeypatch.setattr("speedcube.kernel.llvm.compile.foresees", lambda: foresees)
        return ["<4 x double>" in source_of(case._expr, "cpu") for case in cases]

    with simd.limited("avx512" if "avx512" in simd.runnable() else None):
        assert widths(False) == [False, False, False]
        assert widths(True) == [True, False, False]


def test_gathers_are_left_to_loads_on_processors_that_load_sooner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for beside in (True, False):
        monkeypatch.setattr(simd, "adds_beside", lambda beside=beside: beside)
        assert ("prefer-no-gather" in simd.features("avx512")) == beside
