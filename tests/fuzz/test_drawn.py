"""Random expressions of drawn numbers: kept by the second computation, or drawn, the same bits."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

import dask
import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.known import budget, drawn
from speedcube.engine.stepwise import choice
from speedcube.errors import SpeedcubeError

from .routes import computed, differs
from .texts import Texts

SAMPLE: Final = 60
PARTS: Final = 4
MANY: Final = 150
COMPUTED_AT_LEAST: Final = 0.6
SHAPES: Final[tuple[tuple[int, ...], ...]] = (
    (70_001,), (300, 300), (40, 50, 60), (40_001, 2), (4, 20_000), (5, 5), (1100, 1000),
)  # fmt: skip
Draw = Callable[[Any, tuple[int, ...]], Any]
DRAWS: Final[tuple[Draw, ...]] = (
    lambda rng, shape: rng.normal(size=shape),
    lambda rng, shape: rng.normal(1.0, 3.0, size=shape, dtype="float32"),
    lambda rng, shape: rng.random(shape),
    lambda rng, shape: rng.integers(-5, 9, shape),
    lambda rng, shape: rng.integers(0, 200, shape, dtype="uint8"),
    lambda rng, shape: rng.exponential(2.0, shape),
    lambda rng, shape: rng.gamma(2.5, 2.0, shape),
    lambda rng, shape: rng.normal(size=shape) + 1j * rng.normal(size=shape),
)


@pytest.fixture(autouse=True)
def as_users_have_it() -> Iterator[None]:
    drawn.drop()
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            choice.limited_to(choice.MOST, choice.FIRST),
            dask.config.set({drawn.SETTING: budget.DEFAULT}),
        ):
            yield
    drawn.drop()


def arrays(seed: int, shape: tuple[int, ...], draw: Draw) -> tuple[Any, Any]:
    """Two that are drawn anew."""
    rng = sc.random.default_rng(seed)
    return draw(rng, shape), draw(rng, shape)


def differences(seed: int) -> list[str] | None:
    """What differs in three computations of the same arrays; None: the text is refused."""
    rng = random.Random(seed)
    shape, draw, on = rng.choice(SHAPES), rng.choice(DRAWS), rng.choice(["core", "cores:2"])
    texts = [Texts(rng, len(shape)).text() for _ in range(2)]
    x, y = arrays(seed, shape, draw)
    found, some = [], False
    for text in (texts[0], *texts, texts[0]):
        try:
            with drawn.drawing_again():
                wanted = computed(text, *arrays(seed, shape, draw), on)
        except SpeedcubeError:
            continue
        some = True
        pairs = zip(wanted, computed(text, x, y, on), strict=True)
        said = [said for a, b in pairs if (said := differs(a, b))]
        found += [f"{seed}: {text}, of {x.dtype}{shape} {on}: {one}" for one in said]
    return found if some else None


def run(seeds: range) -> None:
    all_found = [differences(seed) for seed in seeds]
    wrong = [one for found in all_found for one in found or ()]
    assert not wrong, "\n".join(wrong[:9])
    assert sum(found is not None for found in all_found) >= COMPUTED_AT_LEAST * len(seeds)


def test_a_sample_has_the_bits_of_what_is_drawn() -> None:
    run(range(SAMPLE))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_many_have_the_bits_of_what_is_drawn(part: int) -> None:
    run(range(SAMPLE + part * MANY, SAMPLE + (part + 1) * MANY))


def test_a_difference_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would be kept of others' numbers."""
    stored = drawn.Stored
    monkeypatch.setattr(drawn, "Stored", lambda values, dtype: stored(values + 1, dtype))
    seeds = range(12)
    assert any(differences(seed) for seed in seeds)
