"""Random programs give with ours what they give with NumPy, statement by statement."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest

from . import weights
from .programs import REASONS, Outcome, outcome, program

SAMPLE = 100
PARTS = 10  # of all programs, so that several run at a time


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def run(seeds: range) -> list[Outcome]:
    """What became of each; those that went wrong fail the test, with their text."""
    written = [program(seed) for seed in seeds]
    found = [outcome(one) for one in written]
    wrong = [
        f"{one!r}\n-> {end.fault}" for one, end in zip(written, found, strict=True) if end.fault
    ]
    assert not wrong, f"{len(wrong)} of {len(written)} programs\n" + "\n\n".join(wrong[:5])
    return found


def test_a_sample_of_programs_is_numpys() -> None:
    assert all(end.refused is None for end in run(range(SAMPLE)))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_programs_are_numpys(part: int) -> None:
    many = weights.PROGRAMS // PARTS
    found = run(range(part * many, (part + 1) * many))
    refused = [end.refused for end in found if end.refused is not None]
    assert len(refused) <= weights.REFUSED_AT_MOST * many
    assert set(refused) <= set(REASONS)


def test_programs_are_the_same_each_time() -> None:
    assert repr(program(7)) == repr(program(7))


def test_every_kind_of_statement_is_drawn() -> None:
    texts = [line.text for seed in range(SAMPLE) for line in program(seed).lines]
    for word in (" += ", "] = ", "np.concatenate", ".sum(", "cumsum", "wrong = ", "np.where", "[["):
        assert any(word in text for text in texts), word
