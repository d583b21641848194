"""Where expressions are cut: programs stay linear, and every choice has the same bits."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine.stepwise.choice import by_kernels
from speedcube.engine.writer import Writer
from speedcube.errors import UnsupportedError
from speedcube.expr.graph import below
from speedcube.expr.interpret import interpret
from speedcube.expr.nodes import Expr, Leaf, Map, walk
from speedcube.expr.push import Nodes, places
from speedcube.expr.space import TILE
from speedcube.kernel.lower.reference import draw
from speedcube.plan import costs, cuts
from speedcube.plan.cuts import cut
from speedcube.plan.plan import Resources, make_plan

DATA = np.random.default_rng(3).normal(size=(60, 50))


def line(u: Any) -> Any:
    return (u[:-2] + u[1:-1] * 2 + u[2:]) * 0.25


def heat(u: Any) -> Any:
    inner = u[1:-1, 1:-1]
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return inner + (around - inner * 4) * 0.1


def repeated(step: Any, u: Any, times: int) -> Any:
    for _ in range(times):
        u = step(u)
    return u


def whys(array: sc.Array) -> list[str]:
    return [stage.why for stage in array.plan(on="core").stages]


# A program is a graph ----------------------------------------------------------------------------


def test_a_step_adds_the_same_nodes_whatever_came_before() -> None:
    u = sc.asarray(np.arange(5000.0))
    sizes = [len(below(repeated(line, u, times)._expr)) for times in (1, 2, 3, 50, 1000)]
    each = sizes[1] - sizes[0]
    assert [size - sizes[0] for size in sizes] == [each * (n - 1) for n in (1, 2, 3, 50, 1000)]


@pytest.mark.parametrize(("step", "times", "shape"), [(line, 200, (5000,)), (heat, 20, (90, 80))])
@pytest.mark.parametrize("rung", ["core", "cores:2"])
def test_many_steps_have_numpys_bits(step: Any, times: int, shape: Any, rung: str) -> None:
    data = np.random.default_rng(1).normal(size=shape)
    result = repeated(step, sc.asarray(data), times).compute(on=rung)
    assert_same_bits(result, repeated(step, data, times))


def test_a_thousand_steps_and_ten_thousand_operations_are_planned() -> None:
    u = repeated(line, sc.asarray(np.arange(3000.0)), 1000)
    assert_same_bits(u.compute(on="core"), repeated(line, np.arange(3000.0), 1000))
    x = sc.asarray(np.linspace(-1.0, 1.0, 7))
    y, z = x, np.linspace(-1.0, 1.0, 7)
    for k in range(5000):
        y, z = y * 0.999 + k, z * 0.999 + k
    assert len(y.plan(on="core").stages) < 60
    assert_same_bits(y.compute(on="core"), z)


def test_no_kernel_is_longer_than_is_quick_to_compile() -> None:
    x = sc.asarray(DATA)
    programs = [repeated(line, x, 12).sum(), repeated(lambda u: np.exp(-u) * 0.5, x, 300)]
    doubled = repeated(lambda u: u * u, x, 300)  # 300 operations, 2**300 paths
    for array in (*programs, doubled):
        stages = array.plan(on="core").stages
        for stage in stages:
            nodes = {id(n): n for n in below(stage.root)}
            assert sum(map(costs.weight, nodes.values())) <= costs.MOST
    assert len(doubled.plan(on="core").stages) == 2
    assert "its reader's kernel is long enough" in whys(doubled)


# What is kept, and what is made again ------------------------------------------------------------


def test_what_is_cheap_is_made_again_and_what_is_dear_is_kept() -> None:
    x = sc.asarray(np.ones(4_000_000))
    cheap, dear = x * 2, np.exp(np.sin(x))
    assert whys(cheap[2:] - cheap[1:-1] + cheap[:-2]) == ["the result"]
    assert whys(dear[2:] - dear[1:-1] + dear[:-2]) == ["read in 3 ways", "the result"]
    assert whys(dear[::2] + 1) == ["the result"], "one reader, of half of it"


def test_what_is_selected_from_is_kept_where_it_is_dear(tmp_path: Path) -> None:
    """Elements that are nearly alike would be computed in pass after pass."""
    again = "its elements are asked for again and again"
    dear = repeated(lambda u: np.sin(u) + 1, sc.random.default_rng(2).normal(size=400_000), 12)
    for asked in (sc.median(dear), sc.partition(dear, 7), sc.quantile(dear, [0.1, 0.9])):
        assert whys(asked)[0] == again
        assert_same_bits(asked.compute(on="core"), asked.compute(on="cores:2"))
    rows = dear.reshape(100, 4000)
    few = repeated(lambda u: np.sin(u) + 1, sc.random.default_rng(2).normal(size=400_000), 5)
    np.save(tmp_path / "x.npy", np.ones(400_000))
    read = repeated(lambda u: np.sin(u) + 1, sc.open(tmp_path / "x.npy"), 12)
    for once in (sc.median(rows, axis=1), sc.sort(dear), sc.median(few), sc.median(read)):
        assert again not in whys(once)


def test_a_line_that_workers_share_is_kept_where_it_is_dear() -> None:
    """They add it up twice; one worker does so once, and one of a cluster has no memory of all."""
    again = "its elements are asked for again and again"
    x = sc.random.default_rng(2).normal(size=400_000)
    dear = repeated(lambda u: np.sin(u) + 1, x, 12)

    def kept(array: sc.Array, *, workers: int, **options: bool) -> bool:
        resources = Resources("a test", workers, **options)
        plan = make_plan(array._expr, resources, "a test", TILE)
        return again in [stage.why for one in plan.passes for stage in one.stages]

    assert kept(dear.cumsum(), workers=2)
    assert not kept(dear.cumsum(), workers=1)
    assert not kept(dear.cumsum(), workers=2, shared=False, apart=True)
    assert not kept(dear.cumsum(), workers=2, gpu=True)
    assert not kept((x * 2).cumsum(), workers=2)
    assert not kept(dear.reshape(1000, 400).cumsum(axis=1), workers=2)
    assert not kept(dear.sum(), workers=2)
    assert_same_bits(dear.cumsum().compute(on="core"), dear.cumsum().compute(on="cores:2"))


def test_a_small_value_that_everything_reads_is_made_once() -> None:
    rows, columns = sc.asarray(np.ones(3000)), sc.asarray(np.ones((2000, 3000)))
    why = ["read again and again", "the result"]
    assert whys(np.exp(rows)[None, :] * columns) == why


def test_a_number_made_of_a_reduction_is_no_stage_of_its_own() -> None:
    x = sc.asarray(np.ones((2000, 300)))
    assert whys(x - x.sum() / 7) == ["a sum", "the result"]


def test_random_numbers_are_drawn_again_where_keeping_them_does_not_pay_twice() -> None:
    x = sc.random.default_rng(1).normal(size=10_000_000) * 2
    assert whys(x[1:] - x[:-1]) == ["the result"]


def test_what_does_not_fit_is_made_again() -> None:
    x = np.exp(sc.random.default_rng(1).normal(size=(10**6, 10**6)))
    every = x[:, ::1000]
    total = (every[2:] - every[1:-1] + every[:-2]).sum()
    assert whys(total) == ["a sum"]


def test_a_copy_is_kept_where_its_order_needs_it() -> None:
    turned = sc.asarray(DATA).T.reshape(-1)
    assert whys(turned * 2) == ["cannot be computed in the reader's order", "the result"]
    assert_same_bits((turned * 2).compute(), DATA.T.reshape(-1) * 2)
    rows = sc.asarray(DATA)[::2].reshape(-1)
    assert whys(rows[1:] * 2) == ["cannot be computed in the reader's order", "the result"]
    assert whys(rows * 2) == ["cannot be computed in the reader's order"]  # and is the result
    assert_same_bits((rows * 2).compute(), DATA[::2].reshape(-1) * 2)
    doubled = (sc.asarray(DATA) * 2)[:, ::2]
    assert_same_bits(doubled.reshape(-1)[::3].compute(), (DATA * 2)[:, ::2].reshape(-1)[::3])


@pytest.mark.parametrize("rung", ["core", "cores:2"])
def test_a_gather_reads_what_was_kept_for_it(rung: str) -> None:
    """Small on the core it takes another way, which had read the data beneath the copy."""
    turned, places = sc.asarray(DATA).T.reshape(-1), [1, 2, 5, 2999]
    assert_same_bits(sc.take(turned, places).compute(on=rung), DATA.T.reshape(-1)[places])
    doubled = sc.take((sc.asarray(DATA).T * 2).reshape(-1)[1:], places[:3]) + 1
    assert_same_bits(doubled.compute(on=rung), (DATA.T * 2).reshape(-1)[1:][places[:3]] + 1)


def test_a_kernel_alone_refuses_what_needs_a_copy() -> None:
    with pytest.raises(UnsupportedError, match="by one kernel, and this needs a copy in memory"):
        Writer((sc.asarray(DATA).T.reshape(-1) * 2)._expr)


def test_what_two_read_in_the_same_way_is_one_node() -> None:
    y = sc.asarray(DATA) * 2
    (one,) = cut([(y[1:] + y[1:] * y[:-1])._expr]).requests
    maps = [node for node in below(one.root) if isinstance(node, Map)]
    assert len(maps) == 4, "two products of 2, one of both, one sum"


def test_intermediates_are_counted_while_they_are_needed() -> None:
    u = sc.asarray(np.ones(1 << 20))
    peak = {n: repeated(line, u, n).plan(on="core").peak_bytes for n in (1, 20, 40)}
    assert len(whys(repeated(line, u, 40))) > 10
    assert peak[20] - peak[1] <= 2 * (8 << 20)
    assert peak[40] == peak[20], "those before the last are gone"


# Same bits, whatever is chosen -------------------------------------------------------------------

OPERATIONS = {
    "add": lambda a, b: a + b,
    "multiply": lambda a, b: a * b,
    "difference": lambda a, b: np.abs(a - b),
    "where": lambda a, b: np.where(a < b, a, b * 0.5),
    "exp": lambda a, b: np.exp(-np.abs(a)) + b,
    "centred": lambda a, b: a - b.max(axis=0),
}
VIEWS = {
    "shift": lambda a: a[1:, :-1],
    "back": lambda a: a[::-1],
    "every other": lambda a: a[:, ::2],
    "turned": lambda a: a.T,
    "flat": lambda a: a.reshape(-1)[1:].reshape(-1, 1),
    "row": lambda a: a[:1],
    "running": lambda a: np.cumsum(a, axis=1),
    "same": lambda a: a,
}


def program(choices: list[tuple[str, str, str, int, int]], data: Any) -> Any:
    """Arrays made one after the other, each of two before it, cut to what both have."""
    arrays = [data]
    for name, left, right, i, j in choices:
        a, b = VIEWS[left](arrays[i % len(arrays)]), VIEWS[right](arrays[j % len(arrays)])
        rows, columns = (min(m, n) for m, n in zip(a.shape, b.shape, strict=True))
        if rows and columns:
            arrays.append(OPERATIONS[name](a[:rows, :columns], b[:rows, :columns]))
    return arrays[-1]


CHOICES = st.lists(
    st.tuples(
        st.sampled_from(sorted(OPERATIONS)),
        st.sampled_from(sorted(VIEWS)),
        st.sampled_from(sorted(VIEWS)),
        st.integers(0, 5),
        st.integers(0, 5),
    ),
    min_size=1,
    max_size=6,
)


@given(CHOICES, st.sampled_from(["float64", "float32", "float16"]))
def test_every_choice_gives_the_interpreters_bits(choices: Any, dtype: str) -> None:
    data = DATA[:9, :7].astype(dtype)
    array = program(choices, sc.asarray(data))
    chosen = array.compute(on="core")
    kept, again = (_computed(array._expr, keep) for keep in (True, False))
    assert_same_bits(chosen, kept)
    assert_same_bits(chosen, again)
    if not any(name == "exp" or "running" in (a, b) for name, a, b, *_ in choices):
        assert_same_bits(chosen, interpret(array._expr, draw))


def _computed(expr: Expr, keep: bool) -> Any:
    """``expr`` with every map that is read through views kept, or none that need not be."""

    def choose(cutter: Any, source: Expr) -> bool:
        readers = cutter.readers[id(source)]
        root = cutter.emitted[id(source)]
        return keep or not all(cutter.nodes.can_push(root, leaf) for leaf in readers)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuts._Cutter, "_is_kept", choose)
        return sc.Array(expr).compute(on="core")


@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=3),
    st.data(),
)
def test_places_are_those_that_a_leaf_reads(shape: list[int], data: st.DataObject) -> None:
    """Any leaf over an array: its places, or none, never others."""
    size = math.prod(shape)
    extents = tuple(data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    strides = tuple(data.draw(st.integers(-size, size)) for _ in extents)
    low = sum(min(0, s * (n - 1)) for s, n in zip(strides, extents, strict=True))
    high = sum(max(0, s * (n - 1)) for s, n in zip(strides, extents, strict=True))
    if high - low >= size:
        return
    offset = data.draw(st.integers(-low, size - 1 - high))
    whole = np.arange(size).reshape(shape)
    source = sc.asarray(whole)._expr
    leaf = Leaf(source, extents, offset, strides)
    grid = np.indices(extents).reshape(len(extents), -1)
    read = offset + np.array(strides) @ grid
    where = places(leaf, tuple(shape))
    if where is not None:
        start, matrix = where
        indices = np.array(start)[:, None] + np.array(matrix) @ grid
        assert np.array_equal(whole[tuple(indices)], read)
    pushed = Nodes().pushed(source, leaf)
    assert pushed is not None, "stored data that lie in order can be read anyhow"
    assert np.array_equal(interpret(pushed, draw).reshape(-1), read)


def _generation(alive: sc.Array) -> sc.Array:
    cells = alive.astype("int8")
    rows = cells + sc.roll(cells, 1, 0) + sc.roll(cells, -1, 0)
    around = rows + sc.roll(rows, 1, 1) + sc.roll(rows, -1, 1) - cells
    return (around == 3) | (alive & (around == 2))


def test_what_a_kernel_makes_on_the_way_is_not_repeated_from_the_start() -> None:
    """The cells are read in nine ways and kept; whether they live is read as it is."""
    alive = sc.asarray(np.random.default_rng(1).random((300, 400)) < 0.4)
    wanted = np.asarray(alive.compute(on="core"))
    sizes = []
    for _ in range(12):
        alive, cells = _generation(alive), wanted.astype("int8")
        rows = cells + np.roll(cells, 1, 0) + np.roll(cells, -1, 0)
        around = rows + np.roll(rows, 1, 1) + np.roll(rows, -1, 1) - cells
        wanted = (around == 3) | (wanted & (around == 2))
        stages = alive.plan(on="core").stages
        sizes.append(max(len(walk(stage.root)) for stage in stages))
    assert "made for others on the way" in {stage.why for stage in stages}
    assert max(sizes) < 40, sizes
    assert_same_bits(alive.compute(on="core"), wanted)


def _by_momentum(w: Any, v: Any, grad: Any) -> tuple[Any, Any]:
    v = 0.9 * v + grad
    return w - 0.05 * v, v


def _by_moments(w: Any, m: Any, grad: Any) -> tuple[Any, Any]:
    m = 0.9 * m + 0.1 * grad * abs(grad)
    return w - 0.05 * m / (abs(m) + 1), m


@pytest.mark.parametrize("step", [_by_momentum, _by_moments])
def test_what_a_loop_goes_on_with_beside_its_state_is_kept_with_it(step: Any) -> None:
    """Each kernel made the momentum from the first step on, and was longer than the last."""
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(64, 30)), rng.normal(size=64)
    one: Any = sc.zeros(30), sc.zeros(30)
    other: Any = np.zeros(30), np.zeros(30)
    for _ in range(60):
        one = step(*one, x.T @ (x @ one[0] - y) / 64)
        other = step(*other, x.T @ (x @ other[0] - y) / 64)
    stages = cut([one[0]._expr]).requests
    assert max(len(walk(stage.root)) for stage in stages) < 130
    assert "steps of a loop go on from it" in {stage.why for stage in stages}
    np.testing.assert_allclose(one[0].compute(on="core"), other[0], rtol=1e-9)


def _split_step(m: Any, steps: int) -> Any:
    """A wave packet by FFTs there and back, between factors that every step takes."""
    x = m.linspace(-10, 10, 2048)
    half, k = m.exp(-0.0025j * x**2), m.arange(2048) / 20
    kinetic, psi = m.exp(-0.005j * k**2), m.exp(-(x**2) + 2j * x)
    for _ in range(steps):
        psi = half * m.fft.ifft(kinetic * m.fft.fft(half * psi))
    return (abs(psi) ** 2).sum()


def test_factors_that_many_calls_of_a_library_take_are_made_once() -> None:
    """Each of sixty steps made their sines and cosines again, by kernels of their own."""
    few, many = _split_step(sc, 2), _split_step(sc, 60)
    assert "several stages read it" not in [one.why for one in cut([few._expr]).requests]
    whys = [one.why for one in cut([many._expr]).requests]
    assert whys.count("several stages read it") == 4  # the parts of both factors
    # What one call alone takes is no state that others go on from.
    assert "each step would make it again" not in whys
    assert len(whys) == 4 + 2 * 60 + 1  # and the sum
    np.testing.assert_allclose(many.compute(on="core"), _split_step(np, 60), rtol=1e-9)


def test_what_several_take_of_a_file_is_read_again_for_each(tmp_path: Path) -> None:
    """Kept for all of them, it would lie in memory as a whole."""
    data = np.random.default_rng(0).random((2000, 1000))
    np.save(tmp_path / "x.npy", data)
    for x, is_kept in ((sc.open(tmp_path / "x.npy"), False), (sc.asarray(data), True)):
        y = sc.exp(sc.sin(x * 1.5))
        asked = [sc.percentile(y, q)._expr for q in (10, 30, 50, 70, 90)]
        whys = [one.why for one in cut(asked).requests]
        assert ("several stages read it" in whys) is is_kept


def _centred(u: Any) -> Any:
    return u - u.mean(axis=0)


def _softened(u: Any) -> Any:
    return u / (1 + abs(u).sum(axis=1, keepdims=True))


def _run_on(u: Any) -> Any:
    return u + u.cumsum(axis=0) * 0.1


def _shorter(u: Any) -> Any:
    return u[1:] - u[1:].max()


@pytest.mark.parametrize("step", [_centred, _softened, _run_on, _shorter])
@pytest.mark.parametrize("size", [200, 1000])
def test_steps_that_reduce_and_go_on_do_not_begin_at_the_first(step: Any, size: int) -> None:
    """Sixty steps were sixty kernels, each longer than the last: 29 seconds to compile."""
    u = sc.asarray(np.zeros((size, size)))
    for _ in range(60):
        u = step(u)
    stages = cut([u._expr]).requests
    assert max(len(walk(stage.root)) for stage in stages) < 60
    assert "each step would make it again" in {stage.why for stage in stages}
    few = sc.asarray(np.random.default_rng(1).normal(size=(size // 10, size // 10)))
    u, alone = few, few
    for _ in range(12):
        u, alone = step(u), sc.asarray(step(alone).compute(on="core"))
    made = make_plan(u._expr, Resources("core", 1), "", TILE)
    assert "each step would make it again" in {stage.why for stage in made.stages}
    assert_same_bits(u.compute(on="core"), alone.compute(on="core"))


def _epidemic(m: Any, rng: Any, size: int, steps: int) -> Any:
    """Who can become ill and who is, of draws in each step; and how many those are."""
    well, ill, told = m.ones(size, dtype=bool), rng.random(size) < 0.01, []
    well = well & ~ill
    for _ in range(steps):
        new = well & (rng.random(size) < 0.5 * ill.mean())
        gone = ill & (rng.random(size) < 0.1)
        well, ill = well & ~new, (ill | new) & ~gone
        told.append(ill.sum())
    return m.stack(told)


def test_of_a_loop_of_draws_each_step_is_made_once() -> None:
    """Each of sixty kernels drew all before again: nine seconds to compile, and by the square."""
    size = 300_000
    told = _epidemic(sc, sc.random.default_rng(3), size, 60)
    stages = cut([told._expr]).requests
    assert max(len(walk(stage.root)) for stage in stages if len(stage.root.shape)) < 80
    whys = Counter(stage.why for stage in stages)
    assert whys["each step would make it again"] > 20
    assert whys["steps of a loop go on from it"] > 20
    few = _epidemic(sc, sc.random.default_rng(3), 3000, 12)
    with by_kernels():
        assert_same_bits(few.compute(on="core"), _epidemic(np, _Drawn(3), 3000, 12))


class _Drawn:
    """What the same generator draws, in memory."""

    def __init__(self, seed: int) -> None:
        self._rng = sc.random.default_rng(seed)

    def random(self, size: int) -> Any:
        return np.asarray(self._rng.random(size))


def test_draws_that_two_reductions_read_are_drawn_again() -> None:
    """They take no memory."""
    x = sc.random.default_rng(1).normal(size=10**7)
    y = (x - x.mean()) / x.std()
    z = abs(y) / abs(y).max()
    assert {len(one.root.shape) for one in cut([z.mean()._expr]).requests if not one.source} <= {0}


def test_what_waits_for_a_reduction_of_the_same_reads_what_was_kept() -> None:
    """``(x - x.mean()).sum()`` made x twice, 2.5 times as slow as in two steps."""
    for size, dear in ((300_000, True), (20_000_000, True), (10_000, False)):
        x = sc.exp(sc.sin(sc.asarray(np.zeros(size))))
        for y in ((x - x.mean()) ** 2, x / x.max() + sc.sin(x)):
            whys = [one.why for one in cut([y.sum()._expr]).requests]
            assert whys.count("several stages read it") == dear
    for turned in (False, True):  # x ** 1.5 of columns took 30 ms where it was kept, and 23
        x = sc.asarray(np.zeros((2000, 2000)).T if turned else np.zeros((2000, 2000))) ** 1.5
        whys = [one.why for one in cut([(x / x.max())._expr]).requests]
        assert whys.count("several stages read it") != turned
    for size, dear in ((20_000_000, True), (300_000, False)):  # a GPU's memory is as fast
        x = sc.log(sc.asarray(np.zeros(size)))
        whys = [one.why for one in cut([(x - x.mean())._expr], traffic=3.0).requests]
        assert whys.count("several stages read it") == dear
    x = sc.exp(sc.sin(sc.asarray(np.zeros(300_000))))
    together = cut([x.sum()._expr, x.max()._expr, (x * x).mean()._expr]).requests
    assert [one.why for one in together] == ["a sum", "a max", "a mean"]  # in one pass
    few = cut([x.sum()._expr, (x - 1)._expr, (x - x.max())._expr]).requests
    assert [one.why for one in few].count("several stages read it") == 1


def test_what_waits_in_a_chain_is_kept_where_it_is_made_last() -> None:
    x = sc.asarray(np.zeros(300_000))
    for _ in range(20):
        x = sc.sin(x) + 1
    y = x - x.mean()
    z = sc.exp(sc.exp(y) / y.std())
    kept = [one for one in cut([(z / z.sum())._expr]).requests if not one.source]
    assert [one.why for one in kept].count("several stages read it") == 2
    assert len(walk(kept[0].root)) == 42  # twenty sines: nothing on the way


def test_what_is_read_twice_but_in_no_loop_is_not_kept_for_that() -> None:
    x = sc.asarray(DATA) * 2
    assert len(cut([(x - x.mean(axis=0))._expr]).requests) == 2


def test_a_gpus_memory_is_dearer_beside_its_operations() -> None:
    """So more steps of a stencil share a kernel there."""
    u = sc.asarray(np.zeros((4096, 4096)))
    for _ in range(12):
        inner = u[1:-1, 1:-1]
        u = inner + (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * inner) * 0.1
    stages = {
        traffic: len(make_plan(u._expr, Resources("a rung", 1, traffic=traffic), "", 1024).stages)
        for traffic in (1.0, costs.GPU_TRAFFIC)
    }
    assert stages[costs.GPU_TRAFFIC] < stages[1.0]


# What several stages would make -------------------------------------------------------------------


def test_what_several_stages_would_make_is_kept() -> None:
    """A state that each step's stage and the next state need: not all steps again for each."""

    def steps(size: int, times: int) -> list[str]:
        s = sc.asarray(np.zeros((size, size), np.int64))
        for _ in range(times):
            p = sc.pad(s == 2, 1)
            near = p[:-2, 1:-1] | p[2:, 1:-1] | p[1:-1, :-2] | p[1:-1, 2:]
            s = sc.where(s == 2, 3, sc.where((s == 1) & near, 2, s))
        return whys(s.sum())

    kept = steps(300, 20)
    assert kept.count("several stages read it") > 5
    assert len(kept) < 45
    # Where keeping costs more than a few operations, they are repeated.
    assert "several stages read it" not in steps(20, 6)
