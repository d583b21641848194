"""Sums of parts that a kernel puts together and rounds: the bits of the functions it is made of."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from speedcube.engine.streams import sums
from speedcube.engine.streams.own import PIECE
from speedcube.engine.streams.rounding import rounded
from speedcube.engine.streams.sums import Bounded, finished, nothing


def parts_of(kind: str, count: int) -> list[Bounded]:
    rng, found = np.random.default_rng(count), list[Bounded]()
    for k in range(count):
        far = (-1070, 1020) if kind == "far" else (-40, 40)
        high: Any = np.ldexp(rng.normal(size=PIECE), rng.integers(*far, PIECE))
        low = high * 2.0**-53 * rng.normal(size=PIECE)
        bound = np.abs(low) * np.ldexp(1.0, -rng.integers(1, 60, PIECE))
        if kind == "exact":
            bound[:] = 0
        elif kind == "whole":
            high, low, bound = np.rint(high), np.zeros(PIECE), np.zeros(PIECE)
        elif kind == "none" and k:
            high, bound = -found[0].high, np.zeros(PIECE)
        elif kind == "nan":
            high[::7], low[::7], bound[::7] = np.nan, 0, 0
            high[3::11], low[3::11], bound[3::22] = 0, 0, np.inf
        found.append(Bounded(high, low, bound))
    return found


@pytest.mark.parametrize("op", ["sum", "mean"])
@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("kind", ["usual", "exact", "whole", "none", "nan", "far"])
def test_it_gives_what_numpy_gives(op: str, count: int, kind: str) -> None:
    parts = parts_of(kind, count)
    result, certain = np.empty(PIECE), np.empty(PIECE, np.bool_)
    assert rounded(op, parts, 97, result, certain)
    with np.errstate(all="ignore"):
        wanted, known = finished(op, [sum(parts[1:], parts[0])], 97, 0.0, "float64")
    assert np.array_equal(certain, known)
    assert np.count_nonzero(certain) > 0
    nan = np.isnan(wanted)
    assert np.array_equal(np.isnan(result), nan)
    assert result[~nan].tobytes() == wanted[~nan].tobytes()


def test_what_has_no_kernel_is_left() -> None:
    parts, certain = parts_of("usual", 1), np.empty(PIECE, np.bool_)
    assert not rounded("std", parts, 97, np.empty(PIECE), certain)
    assert not rounded("sum", parts, 97, np.empty(PIECE, np.float32), certain)
    assert not rounded("sum", parts, 97, np.empty(PIECE - 1), certain[1:])
    assert not rounded("sum", parts * 9, 97, np.empty(PIECE), certain)


def test_memory_of_sums_is_used_again_when_nobody_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[Any] = []
    monkeypatch.setattr(sums, "_KEPT", kept)
    one, other = nothing((300, 100)), nothing((300, 100))
    assert not np.shares_memory(one.high, other.high)
    assert not np.shares_memory(one.high, one.bound)
    memory = one.high.base
    one.high[...] = 7
    one.bound[...] = np.nan
    assert kept == []
    del one
    gc.collect()
    assert len(kept) == 1
    again = nothing((100, 200))  # a smaller one
    assert kept == []
    assert again.high.base is memory
    assert not any(np.any(x) for x in (again.high, again.low, again.bound))
    assert not np.any(other.high)
    small = nothing((10,))
    del small
    gc.collect()
    assert kept == []
