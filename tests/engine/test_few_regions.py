"""Regions of few elements, made step by step until they were met often: borders, mostly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine import cpu
from speedcube.engine.stepwise import choice
from speedcube.engine.stepwise.choice import by_kernels, limited_to

RNG = np.random.default_rng(4)


@pytest.fixture(autouse=True)
def stepwise() -> Iterator[None]:
    choice._seen.clear()
    with limited_to(-1, choice.FIRST), np.errstate(all="ignore"):
        yield


def around(u: Any) -> Any:
    """The four neighbours of each element, beyond the edges nothing."""
    p = sc.pad(u, 1)
    return p[:-2, 1:-1] + p[2:, 1:-1] * 2 + p[1:-1, :-2] + p[1:-1, 2:]


def burning(steps: int) -> Any:
    grid = sc.asarray(np.random.default_rng(0).random((300, 300)) < 0.62)
    s = sc.where(grid, 1, 0)
    s[150] = sc.where(s[150] == 1, 2, s[150])
    for _ in range(steps):
        fire = sc.pad(s == 2, 1)
        near = fire[:-2, 1:-1] | fire[2:, 1:-1] | fire[1:-1, :-2] | fire[1:-1, 2:]
        s = sc.where(s == 2, 3, sc.where((s == 1) & near, 2, s))
    return s


def called(make: Any, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many elements each kernel that stores was called for."""
    found: list[int] = []
    run = cpu.run_store

    def counted(prepared: Any, inputs: Any, out: Any, stop: Any) -> None:
        found.append(out.size)
        run(prepared, inputs, out, stop)

    with monkeypatch.context() as patch:
        patch.setattr(cpu, "run_store", counted)
        make()
    return found


def test_edges_have_no_kernels_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    u = sc.asarray(RNG.normal(size=(700, 800)))
    for _ in range(choice.OFTEN_OF_FEW):
        assert called(lambda: around(u).compute(on="core"), monkeypatch) == [698 * 798]
    # the four corners take one another's place: in the end each of the nine has one
    for _ in range(choice.OFTEN_OF_FEW):
        last = called(lambda: around(u).compute(on="core"), monkeypatch)
    assert len(last) == 9
    assert sum(last) == 700 * 800


def test_a_program_with_borders_of_its_own_in_each_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty steps compiled 400 kernels, in half a minute."""
    sizes = called(lambda: burning(20).sum().compute(on="core"), monkeypatch)
    assert min(sizes) > 40_000  # the middles; edges are 300
    assert len(sizes) < 60


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "uint16", "bool"])
@pytest.mark.parametrize("name", ["reflect", "edge", "constant", "wrap"])
def test_the_bits_are_those_of_kernels(dtype: str, name: str) -> None:
    data = (RNG.normal(size=(60, 2000)) * 50).astype(dtype)
    kept = sc.asarray(RNG.normal(size=(60, 2000)))

    def made() -> list[Any]:
        u = sc.asarray(data)
        p = sc.pad(u, 2, mode=name)
        wide = p[1:-3, 1:-3] * 3 + p[:-4, 4:] - (p[4:, 2:-2] > 1)
        exp = sc.exp(-sc.abs(wide * 1.0)) / 3 + sc.cumsum(kept, axis=1)[:, ::-1]
        asked = [wide, exp, exp.sum(), wide.max(), exp.sum(axis=1), exp.min(axis=0), wide.argmax()]
        return [one.compute() for one in asked] + [exp.mean().compute(), wide.sum(axis=0).compute()]

    few = made()
    with by_kernels():
        for ours, wanted in zip(few, made(), strict=True):
            assert_same_bits(np.asarray(ours), np.asarray(wanted))


REDUCTIONS = (
    *("sum", "prod", "mean", "var", "std", "min", "max", "any", "all", "argmin", "argmax"),
    *("nansum", "nanmean", "nanmin", "nanargmax", "median", "ptp", "count_nonzero"),
)


def parts(value: Any) -> Any:
    """An array; of complex numbers with their parts beside each other."""
    array = np.ascontiguousarray(value)
    return array.view(array.real.dtype) if array.dtype.kind == "c" else array


@pytest.mark.parametrize("dtype", ["float64", "float16", "int32", "complex128"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_every_reduction_has_the_bits_of_kernels(dtype: str, axis: int | None) -> None:
    data = (RNG.normal(size=(9, 30)) * 3).astype(dtype)

    def made() -> list[Any]:
        p = sc.roll(sc.pad(sc.asarray(data), ((0, 0), (1, 2)), mode="edge") * 3 - 1, 4, axis=1)
        found = []
        for name in REDUCTIONS:
            if dtype != "complex128" or name not in ("median", "ptp"):
                found.append(getattr(sc, name)(p, axis=axis).compute(on="core"))
        if axis is not None:
            found.append(sc.vecdot(p, p[:, ::-1] + 0.1, axis=axis).compute(on="core"))
            found.append(sc.linalg.norm(p.astype("complex64").real, axis=axis).compute(on="core"))
        found.append(sc.einsum("ij,ij", p, p).compute(on="core"))
        return found

    few = made()
    with by_kernels():
        for ours, wanted in zip(few, made(), strict=True):
            assert_same_bits(parts(ours), parts(wanted))


def test_nan_of_a_border_are_a_kernels() -> None:
    data = np.full((40, 40), np.inf)

    def made() -> Any:
        p = sc.pad(sc.asarray(data), 1, constant_values=np.inf)
        return (p[:-2, 1:-1] - p[1:-1, :-2] + 1).compute()

    few = made()
    with by_kernels():
        assert_same_bits(few, made())
