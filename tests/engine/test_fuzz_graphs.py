"""Random programs: nodes that several others read, loops, results computed together and alone.

A program's results are computed together, on one thread and on two, with values kept in a block and
without. They have the bits that the evaluator of the IR gives, which computes each node by itself,
and those that each result has when it is computed alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle import assert_same_bits, elements

import speedcube as sc
from speedcube.engine import compute as engine
from speedcube.engine.stepwise.choice import limited_to
from speedcube.plan import costs
from speedcube.plan import plan as planning

_BINARY = ("add", "subtract", "multiply", "maximum", "minimum", "hypot", "divide")
_UNARY = ("exp", "abs", "sqrt", "negative", "sin", "square")
_ONE = ("sum", "mean", "var", "std", "min", "max", "argmax", "prod")
_SHAPES = ((2600,), (61, 43), (5, 150, 3))


@dataclass
class Graph:
    """Arrays of one shape, results of any, and the code that made them."""

    arrays: list[sc.Array]
    results: list[sc.Array] = field(default_factory=list)
    code: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        return "\n  ".join(["", *self.code])


def _sources(draw: Any, shape: tuple[int, ...]) -> Graph:
    dtype = draw(st.sampled_from(["float64", "float32", "int32"]))
    data = (np.random.default_rng(draw(st.integers(0, 3))).normal(size=shape) * 9).astype(dtype)
    normals = sc.random.default_rng(7).normal(size=shape)
    turned = sc.asarray(np.asfortranarray(data))
    return Graph([sc.asarray(data), normals, turned], [], [f"a: {dtype}{shape}, b: normals, c"])


def _shift(draw: Any, x: sc.Array) -> sc.Array:
    """``x`` at other places: rolled, mirrored, or what lies beside it in a stencil."""
    axis = draw(st.integers(0, x.ndim - 1))
    way = draw(st.sampled_from(["roll", "pad", "reverse", "slice"]))
    if way == "roll":
        return sc.roll(x, draw(st.sampled_from([1, -1, 2])), axis)
    if way == "reverse":
        return sc.flip(x, axis)
    inner = [slice(None)] * x.ndim
    inner[axis] = slice(2, None) if way == "pad" else slice(None, -1)
    if way == "pad":
        wide = sc.pad(x, [(1, 1) if k == axis else (0, 0) for k in range(x.ndim)], mode="edge")
        return wide[tuple(inner)]
    edge = [slice(None)] * x.ndim
    edge[axis] = slice(0, 1)
    return sc.concatenate([x[tuple(edge)], x[tuple(inner)]], axis=axis)


def _box(draw: Any, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """All of an array, or a part of it: few elements, some of an axis, one."""
    if not draw(st.booleans()):
        return ()
    items: list[Any] = []
    for extent in shape:
        first = draw(st.integers(0, extent - 1))
        end = draw(st.sampled_from([extent, min(extent, first + 3)]))
        step = draw(st.sampled_from([1, 1, 2, 7]))
        part, back = slice(first, end, step), slice(None, None, -1)
        items.append(draw(st.sampled_from([part, part, first, slice(None), back])))
    return tuple(items)


def _grow(draw: Any, graph: Graph) -> None:
    pick = st.integers(0, len(graph.arrays) - 1)
    j, k = draw(pick), draw(pick)
    x, y = graph.arrays[j], graph.arrays[k]
    kind = draw(st.sampled_from(["binary", "binary", "unary", "shift", "centre", "loop", "scan"]))
    if kind == "binary":
        op = draw(st.sampled_from(_BINARY))
        made, text = getattr(sc, op)(x, y), f"{op}({j}, {k})"
    elif kind == "unary":
        op = draw(st.sampled_from(_UNARY))
        made, text = getattr(sc, op)(x), f"{op}({j})"
    elif kind == "shift":
        made, text = _shift(draw, x) - x, f"shifted {j} - {j}"
    elif kind == "centre":
        axis = draw(st.sampled_from([None, *range(x.ndim)]))
        made = x - x.mean(axis=axis, keepdims=True) * y.max(axis=axis, keepdims=True)
        text = f"{j} - mean of {j} * max of {k} over {axis}"
    elif kind == "loop":
        made, text = x, f"4 steps of {j} and {k}"
        for _ in range(4):
            made = (made + sc.roll(made, 1, 0)) * 0.5 + y
    else:
        made, text = x.cumsum(axis=draw(st.integers(0, x.ndim - 1))) * 0.25, f"running sums of {j}"
    graph.arrays.append(made)
    graph.code.append(f"{len(graph.arrays) - 1} = {text}")


@st.composite
def graphs(draw: Any) -> Graph:
    graph = _sources(draw, draw(st.sampled_from(_SHAPES)))
    for _ in range(draw(st.integers(2, 7))):
        _grow(draw, graph)
    for _ in range(draw(st.integers(2, 6))):
        k = draw(st.integers(max(0, len(graph.arrays) - 4), len(graph.arrays) - 1))
        x = graph.arrays[k]
        op = draw(st.sampled_from(["all of it", "statistics", *_ONE]))
        axis = draw(st.sampled_from([None, None, *range(x.ndim)]))
        if op == "statistics":  # along axes they share their sums
            made = [getattr(x, one)(axis=axis) for one in ("mean", "std", "var")]
        else:
            made = [x if op == "all of it" else getattr(x, op)(axis=axis)]
        box = _box(draw, made[0].shape)
        graph.results += [one[box] for one in made]
        graph.code.append(f"result: {op} of {k}, axis {axis}, {box}")
    return graph


FUZZ = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with np.errstate(all="ignore"):
        yield


@FUZZ
@given(graph=graphs())
def test_together_as_alone_and_as_the_evaluator(graph: Graph) -> None:
    wanted = [elements(array._expr) for array in graph.results]
    together = sc.compute(*graph.results, on="core")
    for value, right, array in zip(together, wanted, graph.results, strict=True):
        assert_same_bits(value, right, graph)
        assert_same_bits(array.compute(on="core"), right, graph)


@settings(FUZZ, max_examples=25)
@given(graph=graphs())
def test_step_by_step_as_by_kernels(graph: Graph) -> None:
    wanted = sc.compute(*graph.results, on="core")
    with limited_to(1 << 14, 1 << 14):
        together = sc.compute(*graph.results, on="core")
        alone = [array.compute(on="cores:2") for array in graph.results]
    for value, one, right in zip(together, alone, wanted, strict=True):
        assert_same_bits(value, right, graph)
        assert_same_bits(one, right, graph)


@settings(FUZZ, max_examples=25)
@given(graph=graphs())
def test_on_two_threads_and_from_values_that_are_kept(graph: Graph) -> None:
    wanted = sc.compute(*graph.results, on="core")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("speedcube.plan.costs.FEW", 1025)  # so that parts are many
        roots = [array._expr for array in graph.results]
        with sc.cache("100MB"):
            for _ in range(2):
                for value, right in zip(engine.compute_all(roots, "cores:2"), wanted, strict=True):
                    assert_same_bits(value, right, graph)


@settings(FUZZ, max_examples=20)
@given(graph=graphs(), launch=st.sampled_from([0.0, math.inf]))
def test_what_is_kept_decides_nothing(graph: Graph, launch: float) -> None:
    """As much as can be is kept, or as little."""
    wanted = sc.compute(*graph.results, on="core")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(costs, "LAUNCH", launch)
        plan = planning.make_plan(
            [array._expr for array in graph.results], planning.Resources("core", 1), "", 1024
        )
    rung = engine.resolve("core", None, 1, False, "float64")
    values = engine._run(plan, [array._expr for array in graph.results], rung, "numpy")
    for value, right in zip(values, wanted, strict=True):
        assert_same_bits(value, right, graph)
