"""`Array.explain`: a law for every node, and none that takes a less exact path in silence."""

from __future__ import annotations

from typing import Any, get_args

import dask.array as da
import numpy as np
import pytest

import speedcube as sc
from speedcube.commands.verify.expressions import TABLE
from speedcube.engine import laws
from speedcube.engine.prepare import KERNEL_REDUCTION
from speedcube.expr import nodes
from speedcube.expr.routines.table import ROUTINES
from speedcube.expr.through.table import OPERATIONS
from speedcube.kernel.llvm.scans.emit import SCANS
from speedcube.kernel.math import streams
from speedcube.ops import GATHERS, OPS, SAMPLERS


def _normal(*shape: int, dtype: str = "float64") -> sc.Array:
    return sc.random.default_rng(1).normal(10, 1, size=shape, dtype=dtype)


def rows(array: sc.Array) -> list[tuple[str, str]]:
    return [(step.law, step.node) for step in array.explain().steps]


# Every name has a row ----------------------------------------------------------------------------


def test_every_operation_and_reduction_has_a_row() -> None:
    assert set(laws.OPERATIONS) == {*OPS, *SAMPLERS, *GATHERS}
    assert set(laws.REDUCTIONS) == set(KERNEL_REDUCTION)
    assert set(laws.SCANS) == {op for op, _ in SCANS}
    named = {law for law, _ in laws.THROUGH.values()}
    assert set(laws.THROUGH) == {*OPERATIONS, *ROUTINES}
    assert named <= {laws.BITS, laws.EXACT, laws.ORDER_FREE, laws.NOT_COVERED, laws.NO_LAW}


@pytest.mark.parametrize(
    "op",
    [
        "sort",
        "argsort",
        "order_statistics",
        "partition",
        "rank",
        "mode",
        "count",
        "scatter_min",
        "group_max",
        "group_first",
        "group_sort",
    ],
)
def test_what_compares_and_counts_names_the_order_free_law(op: str) -> None:
    assert laws.THROUGH[op][0] == laws.ORDER_FREE == "order-free law"


def test_users_see_the_order_free_law() -> None:
    x, keys = sc.random.default_rng(1).normal(size=3000), np.arange(3000) % 7
    for one in (sc.sort(x), sc.median(x), sc.topk(x, 3), sc.histogram(x, 4, (-1, 1))[0],
                sc.groupby(x, keys).median(), sc.segment_max(x, keys), sc.rank(x)):  # fmt: skip
        assert "order-free law" in repr(one.explain())


def test_every_source_and_distribution_has_a_row() -> None:
    assert set(laws.SOURCES) == set(get_args(nodes.Read))
    named = {name for name, _ in streams._FLOAT} | set(streams._INTEGER)
    assert set(laws.DISTRIBUTIONS) == named


def test_a_new_operation_without_a_row_is_not_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """No default: what has no row has no law."""
    monkeypatch.delitem(laws.OPERATIONS, "exp")
    with pytest.raises(KeyError, match="exp"):
        sc.exp(_normal(5)).explain()


@pytest.mark.parametrize("name", list(TABLE)[::3])
def test_the_whole_list_is_covered(name: str) -> None:
    """Every node of every expression that is verified; the modes of bins that occur have rows."""
    explanation = TABLE[name]().explain()
    assert explanation.covered
    assert repr(explanation).startswith("Laws of ")
    assert max(map(len, repr(explanation).splitlines())) <= 120


# What is said ------------------------------------------------------------------------------------


def test_the_published_expression() -> None:
    explanation = (_normal(300, 300) + 1)[::2, ::2].sum().explain()
    assert repr(explanation).splitlines() == [
        "Laws of (normal(10, 1) + 1)[::2, ::2].sum(): the same bits everywhere",
        "  stage 0: sum of (150, 150) float64",
        "    position law   normal(10, 1)                        stream v1, of key and position "
        "alone, by Box and Muller",
        "    view           [0 + (600, 2)·i]                     positions are mapped, nothing "
        "copied",
        "    position law   1                                    one value everywhere",
        "    bits law       (normal(10, 1)[0 + (600, 2)·i] + 1)  add: one IEEE 754 operation, "
        "rounded once and never contracted;",
        "                                                        integers wrap",
        "    exact-sum law  sum over axes (0, 1)                 the exact sum, rounded once to "
        "float64. Terms below 2**5,",
        "                                                        multiples of 2**-51, kept in bins "
        "(split: two doubles, each term",
        "                                                        split between them without "
        "rounding)",
    ]


def test_stages_are_explained_in_order() -> None:
    x = _normal(30, 20)
    explanation = ((x - x.mean(axis=0)) / x.std(axis=0)).explain()
    assert explanation.stages == (
        "mean of (30, 20) float64", "std of (30, 20) float64", "store of (30, 20) float64",
    )  # fmt: skip
    read = [(s.stage, s.node) for s in explanation.steps if "that stage" in s.how]
    assert read == [(2, "mean of stage 0"), (2, "std of stage 1")]


def how(array: Any) -> tuple[str, str]:
    last = array.explain().steps[-1]
    return last.law, last.how


_WILD = sc.asarray(np.array([1.0, 1e300]))
_WHOLE = sc.asarray(np.arange(9))


@pytest.mark.parametrize(
    ("array", "law", "words"),
    [
        (
            _WILD.sum(),
            laws.EXACT,
            ["rounded once to float64", "Terms of any size", "(search: two doubles"],
        ),
        (sc.rint(_normal(9)).sum(), laws.EXACT, ["multiples of 2**0", "(plain: a double"]),
        (
            sc.random.default_rng(1).normal(size=9).sum(),
            laws.EXACT,
            ["superaccumulator", "(residual: "],
        ),
        (_normal(9, dtype="float32").mean(), laws.EXACT, ["over the count", "once to float32"]),
        (_WILD.var(), laws.EXACT, ["x*x, split exactly by fma", "(search: "]),
        (_WILD.std(), laws.EXACT, ["the root of the variance"]),
        (_WILD @ _WILD, laws.EXACT, ["the exact sum of the products, split exactly by fma"]),
        (_WHOLE @ _WHOLE, laws.BITS, ["integers wrap in 64 bits"]),
        (_WHOLE.mean(), laws.EXACT, ["Integers, in halves"]),
        (_WHOLE.var(), laws.EXACT, ["Integers, in halves where a double cannot hold them"]),
        (_WHOLE.astype("int32").var(), laws.EXACT, ["Integers, in halves"]),
        (_WHOLE.sum(), laws.BITS, ["integers wrap in 64 bits"]),
        (_WILD.max(), laws.BITS, ["NaN first, -0 below +0"]),
        (sc.nanmax(_WILD), laws.BITS, ["NaN last, -0 below +0"]),
        (_WILD.argmin(), laws.BITS, ["then by place"]),
        ((_WILD > 0).any(), laws.BITS, ["by integer keys"]),
        (sc.exp(_WILD), laws.BITS, ["exp: of correctly rounded operations alone: within 1 ulp"]),
        (sc.gammaln(_WILD), laws.BITS, ["2 in float64, or 2**-53 below 1 in size"]),
        (_WILD.astype("int8"), laws.BITS, ["cast: rounded once to a float; truncated"]),
        (_WHOLE.sum(dtype="float64"), laws.EXACT, ["rounded once to float64"]),
    ],
)
def test_how(array: sc.Array, law: str, words: list[str]) -> None:
    row = how(array)
    assert row[0] == law
    for word in words:
        assert word in row[1]


def test_what_dask_computes_is_not_covered() -> None:
    x = sc.from_dask_array(da.ones((4, 6), chunks=2))
    explanation = (sc.sqrt(x.T) + sc.arange(4)).sum(axis=0).explain()
    assert not explanation.covered
    first = repr(explanation).splitlines()[0]
    assert first.endswith("not the same bits everywhere (docs/same-bits.md has tolerances)")
    uncovered = [step for step in explanation.steps if step.law == laws.NOT_COVERED]
    assert [step.node for step in uncovered] == ["dask"]
    assert uncovered[0].how.startswith("computed by Dask, with its own order and rounding")


def test_views_of_what_is_stored() -> None:
    x = sc.asarray(np.ones((4, 6)))
    assert rows(x) == [(laws.BITS, "stored")]
    assert rows(x[::-1]) == [(laws.BITS, "stored"), (laws.VIEW, "[18 + (-6, 1)·i]")]
    assert rows(sc.full((2, 3), 1.5)) == [(laws.POSITION, "1.5")]
    assert rows(sc.asarray(2.0)) == [(laws.BITS, "stored")]


def test_nothing_is_computed() -> None:
    """2 PB are explained at once."""
    explanation = (_normal(2**24, 2**24) + 1).mean(axis=1).explain()
    assert explanation.covered
    assert len(explanation.steps) == 4


def test_a_notebook_shows_the_text() -> None:
    class Printer:
        said = ""

        def text(self, text: str) -> None:
            self.said += text

    printer, explanation = Printer(), _normal(3).explain()
    explanation._repr_pretty_(printer, False)
    assert printer.said == repr(explanation)


def test_a_view_of_one_piece_is_explained_by_that_piece() -> None:
    """Where one piece alone is read, also after an assignment that left it."""
    x = sc.asarray(np.arange(40000.0).reshape(2, 20000))  # fewer would be written at once
    x[0] = 0
    assert x[1].explain().covered
    assert (laws.BITS, "stored[20000 + (1)·i]") not in rows(x[1].sum())
    assert [law for law, _ in rows(np.exp(x[1]).sum())] == [
        laws.BITS, laws.VIEW, laws.BITS, laws.EXACT
    ]  # fmt: skip
    assert [law for law, _ in rows(x[:1])] == [laws.POSITION]
