"""Every function of the Array API beside its reference, `array-api-strict`: values and dtypes."""

from __future__ import annotations

import re
import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import speedcube as sc
from speedcube.errors import SpeedcubeError

from .calls import CALLS, LATER

strict = pytest.importorskip("array_api_strict")  # on a machine for GPU tests alone

INTEGERS: Final = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
FLOATS: Final = ("float32", "float64")
DTYPES: Final = {
    "all": ("bool", *INTEGERS, *FLOATS),
    "bool": ("bool",),
    "integers": INTEGERS,
    "numbers": (*INTEGERS, *FLOATS),
    "floats": FLOATS,
    "complex": ("complex64", "complex128"),
    "none": ("bool",),
}
SHAPES: Final = ((), (0,), (1,), (3,), (2, 3), (3, 0), (1, 4), (2, 1, 3))
SPECIAL: Final = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5)
# Rounded otherwise than by NumPy; bounds are of its error.
ROUNDED: Final = re.compile(
    r"sum|prod|mean|std|var|vecdot|matmul|cos|sin|tan|exp|log|hypot|pow|\*\*|linspace"
    r"|x \* y|x / y|multiply|divide|square|sqrt|abs|reciprocal|sign|diff|fft"
)
CASES: Final = [
    (kind, call.strip())
    for kind, text in CALLS.items()
    for line in text.strip().splitlines()
    for call in line.split(";")
    if call.strip()
]


def numbers(dtype: str, shape: tuple[int, ...], seed: int) -> Any:
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in DTYPES["complex"]:
        return np.asarray(rng.normal(size=shape) + 1j * rng.normal(size=shape), dtype)
    if dtype not in FLOATS:
        return rng.integers(-9 if dtype[0] == "i" else 0, 10, shape).astype(dtype)
    values = rng.normal(size=shape) * 3
    return np.where(rng.random(shape) < 0.15, rng.choice(SPECIAL, shape), values).astype(dtype)


def value_of(xp: Any, call: str, inputs: dict[str, Any]) -> Any:
    arrays = {n: xp.asarray(a) if isinstance(a, np.ndarray) else a for n, a in inputs.items()}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return eval(call, {"xp": xp, **arrays})


def same(ours: Any, wanted: Any, rounded: bool) -> None:
    if isinstance(wanted, (list, tuple)):
        assert len(ours) == len(wanted)
        for one, other in zip(ours, wanted, strict=True):
            same(one, other, rounded)
    elif hasattr(wanted, "__array_namespace__"):
        assert isinstance(ours, sc.Array)
        assert (ours.shape, str(ours.dtype)) == (wanted.shape, _named(wanted.dtype))
        got, numpys = np.asarray(ours), np.asarray(wanted)
        if rounded and numpys.dtype.kind in "fc":
            near = 1e-4 if numpys.dtype in ("float32", "complex64") else 1e-10
            np.testing.assert_allclose(got, numpys, rtol=near, atol=near)
        else:
            np.testing.assert_array_equal(got, numpys)
    elif hasattr(wanted, "_np_dtype"):
        assert str(ours) == _named(wanted)
    else:
        assert ours == wanted
        assert type(ours) is type(wanted) or isinstance(wanted, float)


def _named(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


@pytest.mark.parametrize(("kind", "call"), CASES)
def test_calls_give_what_the_reference_gives(kind: str, call: str) -> None:
    @settings(max_examples=1 if kind == "none" else 6)
    @given(
        dtype=st.sampled_from(DTYPES[kind]),
        shape=st.sampled_from(SHAPES),
        seed=st.integers(0, 99),
        k=st.integers(-3, 3),
    )
    def check(dtype: str, shape: tuple[int, ...], seed: int, k: int) -> None:
        inputs = {
            "x": numbers(dtype, shape, seed),
            "y": numbers(dtype, shape, seed + 1),
            "b": numbers("bool", shape, seed + 2),
            "k": k,
        }
        try:
            wanted = value_of(strict, call, inputs)
        except Exception:
            with suppress(SpeedcubeError, TypeError):  # what the reference refuses is open
                value_of(sc, call, inputs)
            return
        if "can_cast" in call and not wanted:
            return  # the standard forbids no cast
        same(value_of(sc, call, inputs), wanted, bool(ROUNDED.search(call)))

    check()


def test_every_function_of_the_standard_is_called() -> None:
    names = {n for n in strict.__all__ if "flags" not in n.lower() and n != "Device"}
    text = " ".join(CALLS.values())
    called = set(re.findall(r"xp\.(\w+)", text))
    dtypes = {*DTYPES["all"], *DTYPES["complex"], "bool"}
    assert names - called - set(LATER) - dtypes - {"__version__"} == set()
    assert {n for n in names if not hasattr(sc, n)} == set(LATER)


def test_special_values_are_numpys() -> None:
    """Every pair of special values through every function of one and of two numbers."""
    line = [*SPECIAL, 1.5, -1.5, 2.0, -2.0, 3.0, -3.0, 1e5, -1e-5, np.pi, 1e30, 2**53 + 2.0]
    ones = re.findall(r"xp\.(\w+)\(x\)", CALLS["floats"] + CALLS["numbers"])
    twos = re.findall(r"xp\.(\w+)\(x, y\)", CALLS["floats"] + CALLS["numbers"])
    reductions = {"mean", "std", "var", "sum", "prod", "max", "min", "argmax", "argmin", "diff"}
    for dtype in FLOATS:
        v = np.array(line, dtype)
        x, y = (part.ravel() for part in np.meshgrid(v, v))
        for name in sorted(
            {*ones, *twos} - reductions - {"clip", "finfo", "sort", "argsort", "tensordot"}
        ):
            args = (v,) if name in ones else (x, y)
            with np.errstate(all="ignore"):
                wanted = getattr(np, name)(*args)
            got = np.asarray(getattr(sc, name)(*map(sc.asarray, args)))
            assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape), name
            ends = ~np.isfinite(wanted) | (wanted == 0)
            np.testing.assert_array_equal(got[ends], wanted[ends], err_msg=name)
            np.testing.assert_allclose(got, wanted, rtol=1e-5 if dtype == "float32" else 1e-14)
            zeros = wanted == 0
            np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(wanted[zeros]), name)


def test_the_page_counts_what_is_there() -> None:
    page = " ".join((Path(__file__).parents[3] / "docs/array-api.md").read_text().split())
    names = {n for n in strict.__all__ if "flags" not in n.lower() and n != "Device"}
    names = {n for n in names if not n.startswith("__")}
    there = {n for n in names if hasattr(sc, n)}
    assert f"{len(there)} of its {len(names)} names" in page
    assert f"{len(CASES)} calls" in page
    for name in names - there:
        assert f"`{name}`" in page, name
