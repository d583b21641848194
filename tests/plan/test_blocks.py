"""Steps over large arrays by blocks of rows: which plans have them, and the bits of the whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine import compute as engine
from speedcube.engine import graph
from speedcube.engine.known import alone, memory
from speedcube.plan import blocks


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Blocks of few rows, of arrays that are small; and only what a plan does."""
    monkeypatch.setattr(blocks, "LARGE", 1 << 10)
    monkeypatch.setattr(blocks, "BLOCK", 1 << 12)
    monkeypatch.setattr(engine, "SMALL", -1)
    monkeypatch.setattr("speedcube.plan.costs.LAUNCH", 0.0)  # so that what is small is a stage
    memory._known.clear()
    yield
    memory._known.clear()


def heat(u: Any, steps: int) -> Any:
    for _ in range(steps):
        inner = u[1:-1, 1:-1]
        around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u = inner + (around - inner * 4) * 0.1
    return u


def life(b: Any, steps: int) -> Any:
    for _ in range(steps):
        rows = b[:-2] + b[1:-1] + b[2:]
        near = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:] - b[1:-1, 1:-1]
        b = ((near == 3) | ((near == 2) & (b[1:-1, 1:-1] == 1))).astype("uint8")
    return b


def smooth(u: Any, steps: int) -> Any:
    """In three axes."""
    for _ in range(steps):
        u = (u[1:] + u[:-1]) * 0.5 + u[1:] * u[1:] * 1e-3
        u = (u[:, 1:] - u[:, :-1]) * 0.3 + u[:, 1:]
    return u


def twice(u: Any, steps: int) -> Any:
    """Each step reads the two before it."""
    before, now = u[1:-1, 1:-1], heat(u, 1)
    for _ in range(steps):
        inner = now[1:-1, 1:-1]
        around = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:]
        before, now = inner, 2 * inner - before[1:-1, 1:-1] + around * 0.01
    return now


PROGRAMS: dict[str, tuple[Callable[[Any, int], Any], tuple[int, ...], str]] = {
    "heat": (heat, (150, 40), "f8"),
    "heat, float32": (heat, (200, 41), "f4"),
    "life": (life, (700, 33), "u1"),
    "three axes": (smooth, (160, 12, 9), "f8"),
    "waves": (twice, (180, 40), "f8"),
}


def source(shape: tuple[int, ...], dtype: str, seed: int = 1) -> Any:
    drawn = np.random.default_rng(seed).normal(size=shape)
    return (drawn > 0).astype(dtype) if dtype == "u1" else drawn.astype(dtype)


def unblocked(array: sc.Array) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "LARGE", 1 << 62)
        rung = engine.resolve("core", None, 1, False)
        return engine._run(
            engine.planned_on([array._expr], rung, {}), [array._expr], rung, "numpy"
        )[0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_blocks_give_the_bits_of_the_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program, shape, dtype = PROGRAMS[name]
    made: list[int] = []
    make_rows = alone.make_rows
    monkeypatch.setattr(
        alone, "make_rows", lambda *given: (made.append(given[1].count), make_rows(*given))
    )
    for seed in (1, 2, 3):  # the second time the plan is known, with other data
        a = source(shape, dtype, seed)
        array = program(sc.asarray(a), 4)
        value = array.compute(on="core")
        assert value.tobytes() == unblocked(array).tobytes()
        np.testing.assert_allclose(value, program(a, 4), rtol=1e-5, atol=1e-5)
    assert len(made) >= 3
    assert min(made) > 3


@pytest.mark.parametrize("workers", [2, 3, 7])
@pytest.mark.parametrize("name", PROGRAMS)
def test_workers_share_the_blocks(name: str, workers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each makes its own; of more workers than blocks some have none."""
    program, shape, dtype = PROGRAMS[name]
    array = program(sc.asarray(source(shape, dtype)), 4)
    made: list[tuple[int, int]] = []
    run_rows = graph.run_rows
    monkeypatch.setattr(
        graph, "run_rows", lambda *given: (made.append(given[2]), run_rows(*given))[1]
    )
    value = array.compute(on=f"cores:{workers}")
    assert value.tobytes() == unblocked(array).tobytes()
    assert sorted(made) == [(k, workers) for k in range(workers)]


def test_what_follows_a_chain_on_cores() -> None:
    """Results on the way, a reduction of the last, and a second chain."""
    u = sc.asarray(source((300, 40), "f8"))
    third = heat(u, 3)
    last = heat(third, 3)
    arrays = [third, last, last.sum(), third.max(axis=0)]
    for value, array in zip(sc.compute(*arrays, on="cores:2"), arrays, strict=True):
        assert value.tobytes() == unblocked(array).tobytes()


@pytest.mark.parametrize("steps", [2, 9, 10, 11, 23])
def test_any_number_of_steps_and_rows(steps: int) -> None:
    for rows in (130, 131, 150):
        array = heat(sc.asarray(source((rows, 60), "f8")[:, 3:]), steps)
        assert array.compute(on="core").tobytes() == unblocked(array).tobytes()


def test_a_plan_says_what_is_made_by_blocks() -> None:
    u = sc.asarray(source((300, 40), "f8"))
    plan = heat(u, 5).plan(on="core")
    (chain,) = plan.blocks
    assert (chain.first, chain.end) == (0, 5)
    assert chain.step == (1 << 12) // (8 * 30)  # of the last array
    assert f"stages 0 to 4 by {chain.count} blocks of {chain.step} rows" in repr(plan)
    (shared,) = heat(u, 5).plan(on="cores:2").blocks
    assert (shared.step, shared.count) == (chain.step, chain.count)
    assert not heat(u, 1).plan(on="core").blocks  # there is nothing between


def test_blocks_of_long_rows_are_larger() -> None:
    """Of fewer too much would be made again."""
    plan = heat(sc.asarray(source((300, 150), "f8")), 3).plan(on="core")
    (chain,) = plan.blocks
    assert chain.step == 4 * (1 << 12) // (8 * 144)
    assert not heat(sc.asarray(source((300, 500), "f8")), 3).plan(on="core").blocks


def test_what_others_read_ends_a_chain() -> None:
    u = sc.asarray(source((300, 40), "f8"))
    third = heat(u, 3)
    last = heat(third, 3)
    plan = last.plan(on="core", together=[third])
    assert [(chain.first, chain.end) for chain in plan.blocks] == [(0, 3), (3, 6)]
    for value, array in zip(sc.compute(third, last, on="core"), (third, last), strict=True):
        assert value.tobytes() == unblocked(array).tobytes()


OTHERS: dict[str, Callable[[Any], Any]] = {
    "turned": lambda u: heat(heat(u, 1).T, 1)[:30, :30],
    "a whole row": lambda u: heat(heat(u, 2) * heat(u, 2)[:1].sum(axis=0), 2),
    "drawn": lambda u: heat(heat(u, 2) + sc.random.default_rng(1).normal(size=(296, 36)), 2),
    "positions": lambda u: heat(heat(u, 2) * sc.arange(36), 2),
    "every second": lambda u: heat(heat(u, 2)[::2], 2),
    "backwards": lambda u: heat(heat(u, 2)[::-1], 2),
    "pieces": lambda u: heat(sc.pad(heat(u, 2), 3), 2),
    "a number": lambda u: heat(heat(u, 2) - heat(u, 2).mean(), 2),
    "a column": lambda u: heat(heat(u, 2) - u[2:-2, :1] * u[0, 0], 2),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_move_is_made_as_it_was(name: str) -> None:
    array = OTHERS[name](sc.asarray(source((300, 40), "f8")))
    assert array.compute(on="core").tobytes() == unblocked(array).tobytes()


CHAINS: dict[str, tuple[Callable[[Any], Any], list[tuple[int, int, int]]]] = {
    "every second": (lambda u: heat(heat(u, 2)[::2], 2), [(0, 4, 4)]),
    "in another shape": (lambda u: heat(heat(u, 2).reshape(148, -1), 2), [(0, 4, 4)]),
    "taken rows": (lambda u: heat(sc.take(heat(u, 2), np.arange(5, 290), axis=0), 2), []),
    "turned": (lambda u: heat(heat(u, 1).T, 1), []),
}


@pytest.mark.parametrize("name", CHAINS)
def test_a_block_has_the_stages_of_the_plan(name: str) -> None:
    """Each makes only the rows that the next ones read, and the next block's lie further on."""
    program, expected = CHAINS[name]
    array = program(sc.asarray(source((300, 40), "f8")))
    found = array.plan(on="core").blocks
    assert [(one.first, one.end, len(one.block.stages)) for one in found] == expected
    assert array.compute(on="core").tobytes() == unblocked(array).tobytes()
    for chain in found:
        rows = [stage.shape[0] for stage in chain.block.stages]
        assert rows[-1] == chain.step
        assert all(before > after for before, after in pairwise(rows))
        (move,) = {move for _, move in chain.sources}
        assert move == chain.step * 40 * 2  # of rows of the stored array: each is two of the last
