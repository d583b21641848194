"""Whole lines at indices are copied, with the bits that a kernel's gather gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine.pieces import lines
from speedcube.engine.stepwise.choice import by_kernels
from speedcube.expr.interpret import interpret

RNG = np.random.default_rng(4)
A = RNG.normal(size=(900, 1200))
A[5, :7] = [-0.0, np.inf, np.nan, -np.nan, 5e-324, -5e-324, 0.0]
WHOLE = RNG.integers(0, 100, (900, 1200))
ROWS = RNG.integers(-900, 900, 1100)


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    found: list[bool] = []
    into = lines.Lines.into

    def counted(*args: Any) -> None:
        found.append(True)
        into(*args)

    monkeypatch.setattr(lines.Lines, "into", counted)
    return found


def _bytes(array: np.ndarray) -> np.ndarray:
    return array.view(np.uint8)


@pytest.mark.parametrize("on", ["core", "cores:2"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int8", "uint64"])
def test_rows_at_indices(on: str, dtype: str, taken: list[bool]) -> None:
    a = A.astype(dtype) if dtype[0] == "f" else WHOLE.astype(dtype)
    made = sc.asarray(a)[ROWS].compute(on=on)
    assert taken
    wanted = a[ROWS]
    if dtype == "float16":  # which kernels compute as float32
        wanted = np.where(np.isnan(wanted), np.float16(np.nan), wanted)
    assert np.array_equal(_bytes(made), _bytes(wanted))  # NaN as they lie there


@pytest.mark.parametrize(
    "case",
    [
        lambda m, a, rows: a.reshape(300, 60, 60)[rows % 300],
        lambda m, a, rows: m.take(a, rows % 900, axis=0),
        lambda m, a, rows: a[(rows % 900).astype("int16")],
        lambda m, a, rows: a[np.repeat(rows % 900, 2)[::-2]],
        lambda m, a, rows: a.reshape(-1, 8)[rows],
        lambda m, a, rows: a.reshape(-1, 2)[rows],
        lambda m, a, rows: a[3:][rows % 897],
        lambda m, a, rows: a.reshape(300, 60, 60)[:, rows % 60],
        lambda m, a, rows: a.reshape(300, 60, 60)[:, (rows % 60).reshape(11, 100)],
        lambda m, a, rows: a.reshape(30, 30, 1200)[:, rows % 30][6:9],
        lambda m, a, rows: a.reshape(30, 30, 1200)[:, rows % 30][28:],
        lambda m, a, rows: a.reshape(30, 30, 1200)[7:9][:, rows % 30],
        lambda m, a, rows: a.reshape(10, 90, 1200)[::2][:, rows % 90],
        lambda m, a, rows: a.reshape(30, 30, 1200)[:, rows % 30][:, 5:90],
        lambda m, a, rows: a[:600][rows % 600],
        lambda m, a, rows: a.reshape(-1, 1).T[:, rows[:30]],
        lambda m, a, rows: a[:, rows[:20] % 1200],
        lambda m, a, rows: a.reshape(-1)[rows[:32]],
        lambda m, a, rows: m.take(a, m.asarray(rows % 900)[::3], axis=0),
    ],
)
def test_other_lines(case: Any, taken: list[bool]) -> None:
    assert_same_bits(case(sc, sc.asarray(A), ROWS).compute(on="core"), case(np, A, ROWS))
    assert any(taken)


@pytest.mark.parametrize(
    "case",
    [
        lambda a, rows: a[:, rows],
        lambda a, rows: a[:, 1:][rows],
        lambda a, rows: a[:, ::-1][rows],
        lambda a, rows: a[::2][rows // 2],
        lambda a, rows: a.reshape(9, 100, 1200)[::2][:, rows % 100],
        lambda a, rows: a.reshape(30, 30, 1200)[:, rows % 30][::-1],
        lambda a, rows: a.T[rows],
        lambda a, rows: a[rows] + 1,
        lambda a, rows: a[rows][:, 5:],
    ],
)
def test_what_is_no_whole_line_is_gathered(case: Any, taken: list[bool]) -> None:
    made = case(sc.asarray(A), ROWS % 900).compute(on="core")
    assert_same_bits(made, case(A, ROWS % 900))
    assert not any(taken)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("width", [1, 3, 20])
def test_nan_at_indices_are_those_in_memory(
    dtype: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever moves them: copies, kernels, NumPy step by step, the interpreter."""
    size = np.dtype(dtype).itemsize
    x = RNG.normal(size=(60, width)).astype(dtype)
    bits = x.reshape(-1).view(f"u{size}")
    info = np.array([np.inf, -np.inf], dtype).view(bits.dtype)
    bits[:6] = [*(info + bits.dtype.type(1)), *(info + bits.dtype.type(3)), *info]
    rows = RNG.integers(0, 60, 150)
    rows[:8] = range(8)
    a = sc.asarray(x)
    computed = a[sc.asarray(rows) * 1]
    found = {
        "copied": a[rows].compute(on="core"),
        "interpreted": interpret(a[rows]._expr, lambda _: None),
    }
    found["step by step"] = computed.compute(on="core")
    found["of float16"] = a[rows].astype(dtype).compute(on="cores:2")
    monkeypatch.setattr(lines, "_lines_of", lambda *_: None)
    with by_kernels():
        for on in ("core", "cores:2"):
            found[f"kernel on {on}"] = a[rows].compute(on=on)
            found[f"computed on {on}"] = computed.compute(on=on)
    wanted = x[rows]
    if dtype == "float16":
        wanted = np.where(np.isnan(wanted), np.float16(np.nan), wanted)
        del found["interpreted"]
    for name, values in found.items():
        assert np.array_equal(_bytes(np.ascontiguousarray(values)), _bytes(wanted)), name


def _key(extent: int, draw: np.random.Generator) -> slice:
    first, last = sorted(draw.integers(0, extent + 1, 2))
    return (
        slice(first, last, int(draw.choice([1, 1, 2, 3]))) if draw.random() < 0.7 else slice(None)
    )


@pytest.mark.parametrize("seed", range(6))
def test_places_of_parts_of_turned_arrays(seed: int) -> None:
    """Whatever is cut off before and after: places are of the axis, not of what is left of it."""
    draw = np.random.default_rng(seed)
    for _ in range(250):
        shape = tuple(draw.integers(1, 9, int(draw.integers(1, 5))))
        wanted = draw.normal(size=shape)
        made = sc.asarray(wanted)
        for _ in range(int(draw.integers(1, 5))):
            if 0 in wanted.shape:
                break
            axis = int(draw.integers(0, wanted.ndim))
            choice = draw.integers(0, 3)
            if choice == 0:
                item: Any = tuple(_key(n, draw) for n in wanted.shape[: axis + 1])
                wanted, made = wanted[item], made[item]
            elif choice == 1:
                places = draw.integers(-wanted.shape[axis], wanted.shape[axis], draw.integers(1, 5))
                item = (*(slice(None),) * axis, places)
                wanted, made = wanted[item], made[item]
            else:
                order = tuple(draw.permutation(wanted.ndim))
                wanted, made = wanted.transpose(order), made.transpose(order)
        for on in ("core", "cores:2"):
            assert_same_bits(np.asarray(made.compute(on=on)), np.ascontiguousarray(wanted), on)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_lines_are_copied_some_at_a_time(axis: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two calls of NumPy's it is seen whether to stop."""
    calls: list[int] = []
    take = np.take

    def counted(*args: Any) -> None:
        calls.append(args[3].size)
        take(*args)

    monkeypatch.setattr(lines, "_AT_ONCE", 512)
    x = RNG.normal(size=(50, 40, 6))
    places = RNG.integers(0, x.shape[axis], 5 if axis == 2 else 300)
    wanted = take(x, places, axis)
    monkeypatch.setattr(np, "take", counted)
    assert_same_bits(sc.asarray(x)[(*(slice(None),) * axis, places)].compute(on="core"), wanted)
    assert sum(calls) == wanted.size
    assert len(calls) > 1
    assert max(calls) <= max(512, wanted[0].size)
