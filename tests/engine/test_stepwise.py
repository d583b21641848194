"""Small programs made node by node with NumPy have the bits that kernels give them."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import dask
import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine import compute as engine
from speedcube.engine import cpu, prepare
from speedcube.engine.pieces import few
from speedcube.engine.stepwise import choice, walk
from speedcube.engine.stepwise.choice import by_kernels, limited_to
from speedcube.engine.stepwise.meaning import FUNCTIONS
from speedcube.ops import OPS

RNG = np.random.default_rng(11)
DTYPES = (
    *("float64", "float32", "float16", "bool"),
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
)
FLOATS = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 7.25, -7.25, 5e-324, -5e-324, 1e-300, 1e300),
    *(np.inf, -np.inf, np.nan, -np.nan, 2.0**53 + 1, 1e16, 127.5, -129.0, 2.0**31, 2.0**63),
)


@pytest.fixture(autouse=True)
def stepwise() -> Iterator[None]:
    choice._seen.clear()
    with limited_to(choice.MOST, choice.FIRST), np.errstate(all="ignore"):
        yield


def values(dtype: str) -> np.ndarray:
    """Numbers at the ends and around what is rounded."""
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return np.array(FLOATS).astype(kind)
    if kind.kind == "b":
        return np.array([False, True])
    ends = np.iinfo(kind)
    few = [0, 1, 2, 3, 5, 7, 8, 31, 63, ends.max, ends.max - 1, ends.min, ends.min + 1]
    return np.array(few + [-1, -2, -7] * (kind.kind == "i"), kind)


def both(make: Callable[[], Any]) -> None:
    """Step by step as by kernels."""
    made, wanted = make().compute(on="core"), _by_kernels(make)
    if made.dtype.kind == "c":
        assert made.dtype == wanted.dtype
        made, wanted = (np.array([z.real, z.imag]) for z in (made, wanted))
    assert_same_bits(made, wanted, "step by step")


def _by_kernels(make: Callable[[], Any]) -> Any:
    with by_kernels():
        return make().compute(on="core")


@pytest.mark.parametrize("name", sorted({*FUNCTIONS, "cast"}))
def test_every_operation_on_every_pair_of_numbers(name: str) -> None:
    for dtype in DTYPES:
        x, y = (sc.asarray(v.ravel()) for v in np.meshgrid(values(dtype), values(dtype)))
        given = [x, y] if OPS[name].arity > 1 else [x]
        if name == "where":
            given = [sc.asarray(np.arange(x.size) % 2 == 0), *given]
        try:
            made = getattr(sc, name)(*given) if name != "cast" else x
        except TypeError:
            continue  # NumPy has none of this dtype
        if name != "cast":
            none = x != x  # so that it is no operation alone
            both(lambda made=made, none=none: made ^ none if made.dtype == bool else made + none)
            both(lambda made=made: made.reshape(-1)[::-1])
            continue
        for other in DTYPES:
            both(lambda x=x, other=other: (x * x).astype(other))


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "a wave": lambda x, y: _wave(x, y),
    "functions": lambda x, y: np.exp(-abs(x)) * np.sin(y) + np.log1p(x * x),
    "a matrix": lambda x, y: (x @ y.T > 0).sum(axis=0) / x.std(),
    "dots": lambda x, y: np.vecdot(x, y) + (x * y).sum(axis=1),
    "drawn": lambda x, y: x + sc.random.default_rng(3).normal(size=x.shape) * y,
    "pieces": lambda x, y: np.pad(np.concatenate([x, y * 2]), 1, mode="edge") * 3,
    "scans": lambda x, y: (x.cumsum(axis=0) * y).cumsum(axis=1) + np.maximum.accumulate(x),
    "sorted": lambda x, y: np.sort(x * y, axis=1)[:, ::2] + np.median(x, axis=1, keepdims=True),
    "chosen": lambda x, y: np.take_along_axis(x * 2, np.argsort(y, axis=1), axis=1),
    "places": lambda x, y: (x * 2)[[3, 1, 1]] + y[[0, 1, 2]],
    "integers": lambda x, y: (x * 10).astype(int) // 3 % 5 + (y > 0).argmax(axis=0),
    "views": lambda x, y: (x * y)[::-1, 1::2].T.reshape(-1)[3:] * 2,
    "signs": lambda x, y: np.copysign(x * 0 / 0, y) + np.signbit(x * np.nan),
    "numbers": lambda x, y: np.add(sc.asarray(2.0), 3) * sc.ones((2, 3)) + 1,
    "products": lambda x, y: (x / 9 + 1).prod(axis=0) + np.linalg.det((y.T @ y) + x.mean()),
    "complex": lambda x, y: (x + 1j * y) * np.conj(y + 2j * x),
    "one number": lambda x, y: sc.full((3, 4), 2.5),
    "none": lambda x, y: np.concatenate([sc.full((0, 2), 2.5), sc.ones((0, 2))]),
    "nothing": lambda x, y: (x[:0] * 2).sum(axis=0) + y[0],
}


def _wave(x: Any, y: Any) -> Any:
    for _ in range(30):
        y = y + (np.roll(x, 1, 0) - 2 * x + np.roll(x, -1, 0)) * 0.1
        x = x + y * 0.5
    return x


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    x, y = RNG.normal(size=(2, 30, 7)).round(2)
    for a, b in ((x, y), (np.asfortranarray(x), y[::-1])):
        both(lambda a=a, b=b: PROGRAMS[name](sc.asarray(a), sc.asarray(b)))


def test_nan_has_numpys_sign_where_it_is_computed() -> None:
    """Processors make negative ones; data that are only viewed keep theirs."""
    x = sc.asarray([0.0, -0.0, np.inf])
    none, data = x * 0 / 0, sc.asarray([-np.nan, 1.0])
    for y in (none, none[::-1], np.concatenate([none, none]), np.copysign(1.0, none[1:])):
        assert not np.signbit(y.compute(on="core")).any()
    kept = np.concatenate([data, none]).compute(on="core")
    np.testing.assert_array_equal(np.signbit(kept), [True, False, False, False, False])


@pytest.mark.parametrize("shape", [(7,), (1, 3, 7)])
def test_the_bits_of_one_number_stand_for_all(shape: tuple[int, ...]) -> None:
    """An array that was assigned to as a whole is one number, and signs are copied by its bits."""
    x = sc.diff(sc.asarray(np.arange(8.0 * 3).reshape(2, 3, 4)), axis=0)
    y = sc.asarray(np.ones(shape)) - 1
    x[:], y[::-1] = -0.25, -0.25
    for one in (x, y):
        found = sc.copysign(one, 3).compute(on="core")
        np.testing.assert_array_equal(found, np.full(one.shape, 0.25), strict=True)


def test_a_new_program_needs_no_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor one of several steps, ever; one that is met often gets its kernel."""
    for module in (prepare, cpu):
        for name in ("prepare", "frame_of"):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, None)
    monkeypatch.setattr("speedcube.engine.small.known.slots_of", None)
    x = np.arange(12.0)

    def program(x: Any) -> Any:  # that no other test has, which would have made its kernel
        return (x * 3.25 - 1) * x - (7 - x) * (x + 0.5)

    many, rest = np.arange(9000.0), choice.OFTEN_OF_FEW - choice.OFTEN
    for one, often in ((many, choice.OFTEN), (x, rest)):
        for _ in range(often):
            found = program(sc.asarray(one)).compute(on="core")
            np.testing.assert_array_equal(found, program(one))
        with pytest.raises(TypeError, match="not callable"):
            program(sc.asarray(many)).compute(on="core")
    with pytest.raises(TypeError, match="not callable"):
        program(sc.asarray(x)).compute(on="core")
    y = sc.asarray(x)
    for _ in range(4):
        y = sc.roll(y, 1) - y
    for _ in range(3):
        y.compute(on="core")


def test_an_element_of_nothing_is_not_read() -> None:
    none = sc.nanquantile(np.empty((3, 0), "float32"), 0.5, 1, method="lower")
    np.testing.assert_array_equal(none.compute(on="core"), np.full(3, np.nan, "float32"))


def test_results_have_memory_of_their_own() -> None:
    x = np.arange(6.0)
    y = sc.asarray(x) * 1.0
    one, other, view = sc.compute(y, y, sc.roll(y, 1)[::-1])
    one[:] = 7
    view[0] = 9
    np.testing.assert_array_equal(other, x)
    assert view.flags.writeable
    plain = (sc.asarray(x)[::-1] + 0).compute()
    plain[:] = 1
    np.testing.assert_array_equal(x, np.arange(6.0))


def test_what_is_large_or_lies_elsewhere_is_left_to_kernels(monkeypatch: Any) -> None:
    taken: list[int] = []
    once = walk._NodeValues

    def walked(*args: Any) -> Any:
        taken.append(1)
        return once(*args)

    monkeypatch.setattr(walk, "_NodeValues", walked)
    monkeypatch.setattr(few, "_elements", lambda *_: None)  # regions: `test_few_regions`
    (sc.roll(sc.ones(choice.MOST + 1), 1) * 2).compute(on="core")
    assert not taken
    deferred = sc.asarray(dask.array.ones(10)) if hasattr(dask, "array") else None
    if deferred is not None:
        (deferred * 2 + sc.roll(deferred, 1)).compute(on="core")
    assert not taken
    with dask.callbacks.Callback():
        (sc.roll(sc.ones(9), 1) * 2).compute(on="core")
    assert not taken
    (sc.roll(sc.ones(9), 1) * 2).compute(on="core")
    assert taken


def test_arrays_go_after_their_last_use(monkeypatch: pytest.MonkeyPatch) -> None:
    alive: list[weakref.ref[np.ndarray]] = []
    most = 0
    once = walk.mapped

    def counted(node: Any, args: Any) -> Any:
        nonlocal most
        made = once(node, args)
        alive.append(weakref.ref(made))
        most = max(most, sum(one() is not None for one in alive))
        return made

    monkeypatch.setattr(walk, "mapped", counted)
    x = sc.asarray(np.arange(9.0))
    for _ in range(50):
        x = sc.roll(x, 1) * 0.5 + x
    assert x.compute(on="core").shape == (9,)
    gc.collect()
    assert len(alive) == 100
    assert most < 8


def test_a_very_long_program_is_quick_to_walk() -> None:
    x = sc.asarray(np.ones(3))
    for _ in range(20_000):
        x = x * 0.5 + 1
    assert_same_bits(engine.compute(x._expr, "core"), np.full(3, 2.0), "halves")


@pytest.mark.parametrize("shape", [(5,), (3, 4), (70_000,)])
def test_one_number_everywhere_is_an_array_of_its_own(shape: tuple[int, ...]) -> None:
    for made in ((sc.ones(shape) / 5).compute(on="core"), (sc.ones(shape) > 0).compute(on="core")):
        assert made.flags.carray
        assert made.strides == np.empty(shape, made.dtype).strides


def test_routines_take_one_number_everywhere() -> None:
    line = np.random.default_rng(4).normal(size=1000)
    x, window = sc.asarray(line), sc.ones(5) / 5
    for mode in ("same", "full", "valid"):
        made = sc.convolve(x, window, mode=mode).compute(on="core")
        np.testing.assert_allclose(made, np.convolve(line, np.ones(5) / 5, mode=mode), atol=1e-14)
    square = sc.asarray(line[:25].reshape(5, 5))
    np.testing.assert_allclose(
        (square @ (sc.ones(5) / 5) + 1).compute(on="core"),
        line[:25].reshape(5, 5).mean(axis=1) + 1,
        atol=1e-14,
    )


VIEWED = {
    "neighbours": lambda x, m: (x * 2)[1:] - (x * 2)[:-1],
    "backwards": lambda x, m: np.exp(x)[::-1] * 2,
    "turned": lambda x, m: (m + 1).T / 3,
    "columns": lambda x, m: (m * 2)[:, 0] + (m * 2)[:, 1],
    "summed": lambda x, m: (m + 1).reshape(-1, 2).sum(axis=1),
    "all of them": lambda x, m: ((x + 1)[1:] * (x - 1)[:-1]).sum(),
    "all pairs": lambda x, m: (x + 1)[:, None] * (x - 1)[None, :],
}


@pytest.mark.parametrize("name", VIEWED)
def test_few_numbers_through_views_look_for_no_kernel(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    m = np.random.default_rng(4).normal(size=(8, 4))
    x = m.reshape(-1)
    program = VIEWED[name]
    with by_kernels():
        wanted = program(sc.asarray(x), sc.asarray(m)).compute(on="core")
    looked: list[Any] = []
    monkeypatch.setattr(
        "speedcube.engine.small.structure.in_place", lambda *given: looked.append(1) or given[0]
    )
    for _ in range(choice.OFTEN_OF_FEW + 2):
        got = program(sc.asarray(x), sc.asarray(m)).compute(on="core")
        assert_same_bits(got, wanted)
    assert not looked
