"""One row for each operation of `Through`; each way to make it has what the upper layers need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.ordering import rounds, run
from speedcube.expr.nodes import Through, whole
from speedcube.expr.through import table
from speedcube.expr.through.operation import BITS, Operation
from speedcube.plan import shares, working

ROWS = table.OPERATIONS.items()


def _ways(wanted: Callable[[Operation], bool] = lambda row: True) -> set[str]:
    return {row.way for _, row in ROWS if wanted(row)}


def test_each_way_has_bytes_and_a_function() -> None:
    assert _ways() == set(working._WORKING) == set(run._RUN)


def test_each_way_in_rounds_has_their_number_and_an_answer() -> None:
    by_rounds = _ways(lambda row: row.line == "rounds")
    assert by_rounds == set(shares.ROUNDS) == set(rounds.ASKED)


def test_a_gpu_makes_known_operations() -> None:
    from speedcube.engine.ordering.on_gpu import run as on_gpu

    assert set(on_gpu._RUN) <= set(table.OPERATIONS)
    assert set(working._ON_GPU) <= set(table.OPERATIONS)


def test_every_row_says_why() -> None:
    for name, row in ROWS:
        assert row.why, name
        assert callable(row.meaning), name


def test_one_row_is_an_operation(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new operation of a known way: planned, run, explained, interpreted."""

    def reversed_(x: Any, options: tuple[Any, ...]) -> Any:
        return x[..., ::-1] * options[0]

    row = Operation(reversed_, BITS, "each by itself", "lines", of="lines")
    monkeypatch.setitem(table.OPERATIONS, "reversed", row)
    monkeypatch.setitem(sc.engine.laws.THROUGH, "reversed", (row.law, row.why))  # type: ignore[attr-defined]
    given = np.arange(6.0).reshape(2, 3)
    leaf = sc.asarray(given)._expr
    made = sc.Array(whole(Through("reversed", leaf, (2, 3), "float64", (2.0,)), (2, 3)))
    wanted = given[:, ::-1] * 2
    np.testing.assert_array_equal(np.asarray(made.compute(on="core")), wanted)
    assert "stage 0: reversed of (2, 3) -> (2, 3) float64" in repr(made.plan(on="core"))
    assert "reversed" in repr(made.explain())
