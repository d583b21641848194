"""Single elements that are read again and again: few elements are computed together, once."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dask.base import tokenize

import speedcube as sc
from speedcube.api.indexing.items import READ
from speedcube.expr.nodes import Stored


def _is_in_memory(x: Any) -> bool:
    return type(getattr(x._expr, "source", None)) is Stored


def _made() -> Any:
    return sc.floor(513 * 700 * (10 ** (sc.linspace(0, 2840, 42) / 2595) - 1) / 16000)


MADE = {
    "constants": _made,
    "drawn": lambda: sc.random.default_rng(4).normal(size=100) * 2,
    "a list": lambda: sc.sqrt(sc.asarray([4.0, 9.0, 16.0] * 9)),
    "a scan": lambda: (sc.arange(50) + 0.5).cumsum(),
    "rows": lambda: sc.ones((6, 7)) / sc.arange(1, 8),
    "complex": lambda: sc.exp(1j * sc.arange(20)),
}


@pytest.mark.parametrize("name", list(MADE))
def test_few_elements_are_computed_once(name: str) -> None:
    x, want = MADE[name](), np.asarray(MADE[name]().compute())
    before = x + 1
    for k in range(3 * READ):
        place = (k % 5,) * x.ndim
        assert x[place] == want[place]
        assert _is_in_memory(x) is (k + 1 >= READ) or name == "complex"
    assert not _is_in_memory(before)
    np.testing.assert_array_equal(before, want + 1)
    x[(2,) * x.ndim] = 7
    np.testing.assert_array_equal(before, want + 1)


def test_its_expression_is_shown_as_before() -> None:
    """Until it is another one's."""
    x = _made()
    text = repr(x)
    assert "floor(((359100 * " in text
    for k in range(3 * READ):
        float(x[k])
    assert _is_in_memory(x)
    assert repr(x) == text
    assert str(x) == str(x.compute())
    x[3] = 1
    assert repr(x) != text
    y = sc.arange(9) * 2
    for _ in range(READ):
        float(y[3])
    y += 1
    assert "range" not in repr(y)
    assert repr(copy.copy(_made())) == text


def test_what_dask_calls_an_array_is_the_same_when_it_was_read() -> None:
    x = sc.sin(sc.arange(20))
    name, token = x.name, tokenize(x)
    for _ in range(READ):
        float(x[3])
    assert _is_in_memory(x)
    assert x.name == name
    assert tokenize(x) == token
    x[3] = 1
    assert x.name != name


def test_what_others_may_write_to_is_read_each_time() -> None:
    given = np.arange(30.0)
    x = sc.asarray(given) * 2
    for k in range(3 * READ):
        given[k] = -k
        assert x[k] == -2 * k
    assert not _is_in_memory(x)


def test_a_file_is_read_each_time(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(30.0))
    x = sc.from_npy(tmp_path / "a.npy") + 1
    assert [float(x[k]) for k in range(3 * READ)] == [k + 1 for k in range(3 * READ)]
    assert not _is_in_memory(x)


def test_much_is_not_computed_for_a_few_elements() -> None:
    x = sc.sin(sc.arange(1_000_000))
    for k in range(3 * READ):
        assert float(x[k]) == pytest.approx(np.sin(k))
    assert not _is_in_memory(x)
