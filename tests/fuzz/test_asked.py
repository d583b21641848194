"""Random loops that ask now and then: with what was asked before kept, or made anew, one value."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, Final

import dask
import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.asked import reading as asked
from speedcube.engine.stepwise import choice

from .routes import differs

SAMPLE: Final = 40
MANY: Final = 150
STEPS: Final = 16
SHAPES: Final = ((17,), (12, 30), (5, 4, 6), (260, 510), (1, 9), (2000,))
Step = Callable[[Any, Any, random.Random], Any]


def _assigned(u: Any, v: Any, rng: random.Random) -> Any:
    new = u.copy()
    new[rng.randrange(u.shape[0])] = v[0]
    new[1:-1] = (u[2:] + u[:-2]) / 2
    return new


def _in_place(u: Any, v: Any, rng: random.Random) -> Any:
    u[u > 1] *= 0.5
    u[-1] = rng.random()
    return u


STEPS_OF: Final[tuple[Step, ...]] = (
    lambda u, v, rng: u * 0.75 + v,
    lambda u, v, rng: np.roll(u, rng.randrange(3), rng.randrange(u.ndim)) - 0.25 * v,
    lambda u, v, rng: np.where(u > v, u, np.sin(v)),
    lambda u, v, rng: (u - u.mean()) / (u.std() + 1),
    lambda u, v, rng: np.sort(u, axis=-1)[..., ::-1] + v,
    lambda u, v, rng: u.cumsum(axis=0) / (1 + u.shape[0]) + 0.5 * v,
    lambda u, v, rng: np.concatenate([u[:1], (u[1:] + u[:-1]) * 0.5]),
    lambda u, v, rng: u[::-1] * rng.random() + v.max(axis=0),
    lambda u, v, rng: np.take(u, np.argsort(v.sum(axis=tuple(range(1, v.ndim)))), axis=0),
    lambda u, v, rng: abs(u + 1j * v).astype(u.dtype),
    lambda u, v, rng: np.tanh(u) + sc.random.default_rng(7).normal(size=u.shape),
    lambda u, v, rng: (u * 8).astype("int16") % 5 + v,
    _assigned,
    _in_place,
)
QUESTIONS: Final[tuple[Callable[[Any, Any], Any], ...]] = (
    lambda u, v: u.sum(),
    lambda u, v: abs(u - v).max(),
    lambda u, v: u,
    lambda u, v: u.mean(axis=0),
    lambda u, v: u[-1],
    lambda u, v: np.argmax(v),
    lambda u, v: (u > v).all(),
    lambda u, v: np.median(u),
    lambda u, v: u[u > 0.5],
    lambda u, v: u + 1j * v,
)


@pytest.fixture(autouse=True)
def as_users_have_it() -> Iterator[None]:
    asked.drop()
    with np.errstate(all="ignore"), choice.limited_to(choice.MOST, choice.FIRST):
        yield
    asked.drop()


def answers(seed: int, on: str) -> list[Any]:
    """What one loop is told; its data are written to in the middle."""
    rng = random.Random(seed)
    shape = rng.choice(SHAPES)
    a, b = np.random.default_rng(seed).normal(size=(2, *shape))
    u, v = sc.asarray(a), (sc.array if rng.random() < 0.5 else sc.asarray)(b)
    steps = rng.sample(STEPS_OF, rng.randint(1, 4))
    questions = rng.sample(QUESTIONS, rng.randint(1, 3))
    every, swaps, writes = rng.choice([1, 1, 2, 3]), rng.random() < 0.3, rng.random() < 0.3
    found = []
    with sc.on(on):
        for k in range(STEPS):
            for step in steps:
                u = step(u, v, rng)
            u, v = (v, u) if swaps else (u, v)
            if k % every == 0:
                found += [np.asarray(question(u, v)) for question in questions]
            if writes and k == STEPS // 2:
                a[0], b[-1] = rng.random(), rng.random()
    return found


def run(seeds: range) -> int:
    """Compares; how many arrays were kept."""
    wrong, before = [], asked._state.computations
    for seed in seeds:
        on = random.Random(seed).choice(["core", "core", "cores:2"])
        found = answers(seed, on)
        with dask.config.set({asked.SETTING: 0}):
            wanted = answers(seed, on)
        for k, (one, other) in enumerate(zip(found, wanted, strict=True)):
            if said := differs(one, other):
                wrong.append(f"{seed}, answer {k}: {said}")
                break
    assert not wrong, "\n".join(wrong[:9])
    return asked._state.computations - before


def test_a_sample_of_loops_is_told_what_it_would_be() -> None:
    assert run(range(SAMPLE)) > 5 * SAMPLE


@pytest.mark.slow
def test_many_loops_are_told_what_they_would_be() -> None:
    assert run(range(SAMPLE, SAMPLE + MANY)) > 5 * MANY
