"""Differences that are made with the units that multiply: where, and that they are the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.prepare import prepare_many
from speedcube.kernel.llvm import compile as compiling
from speedcube.kernel.llvm import simd
from speedcube.plan.stages import make_stage

_X = np.random.default_rng(5).standard_normal((300, 400)) * 8 + 15
_SUMS: dict[str, Callable[[Any], Any]] = {
    "rows": lambda x: x.sum(axis=1),
    "columns": lambda x: x.sum(axis=0),
    "of few": lambda x: x[:, :3].sum(axis=1),
}


def _written(name: str, target: str, beside: bool, monkeypatch: pytest.MonkeyPatch) -> str:
    """The text of a sum's kernel, for a processor that has such units or has not."""
    monkeypatch.setattr(compiling, "adds_beside", lambda: beside)
    monkeypatch.setattr(compiling, "QUICK", compiling.ByTarget(**compiling.QUICK._shapes))
    reduction = _SUMS[name](sc.asarray(_X))._expr.source
    stage = make_stage(reduction.arg, reduction, 1)
    prepared = prepare_many(stage, stage.parts[0])
    assert prepared is not None
    quick, _ = compiling.styles(prepared.program, target)
    return compiling.source(prepared.program, target, quick)


@pytest.mark.parametrize("name", _SUMS)
@pytest.mark.parametrize("target", ["avx512", "avx2"])
def test_only_where_they_are_not_those_that_add(
    name: str, target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [_written(name, target, beside, monkeypatch) for beside in (True, False)]
    beside, plain = ([text.count(f" {word} ") for word in ("fsub", "fadd")] for text in texts)
    assert beside[0] < plain[0]
    assert beside[1] == plain[1]
    products = [text.count("@llvm.fma.") for text in texts]
    assert products[0] - products[1] >= plain[0] - beside[0] > 0


@pytest.mark.parametrize("name", _SUMS)
def test_never_without_such_an_instruction(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be a call of a library for each element."""
    texts = [_written(name, "plain", beside, monkeypatch) for beside in (True, False)]
    assert texts[0] == texts[1]


def test_the_same_sums() -> None:
    x = sc.asarray(_X)
    for target in simd.runnable():
        with simd.limited(target):
            assert x.sum().compute(on="core") == math.fsum(_X.ravel())
            assert x.sum(axis=1).compute(on="core").tolist() == [math.fsum(row) for row in _X]
            assert x.sum(axis=0).compute(on="core").tolist() == [math.fsum(row) for row in _X.T]
