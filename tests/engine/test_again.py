"""Single operations that are met again are known by a few words, which tell apart what differs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine.routines import on_device, quick
from speedcube.engine.small import again, first, known, pairs
from speedcube.engine.small.again import Made, Met, few_structure, with_arrays
from speedcube.engine.small.structure import Structure
from speedcube.engine.stepwise.choice import Limits, limited_to
from speedcube.errors import ParameterError
from speedcube.expr.nodes import Expr
from speedcube.kernel.llvm.simd import limited, targets
from speedcube.kernel.lower.many import LONG_LINE

X = np.random.default_rng(0).normal(size=(6, 8))
Y = np.random.default_rng(1).normal(size=(6, 8))


@pytest.fixture(autouse=True)
def _nothing_met() -> Iterator[None]:
    known._met.clear()
    yield
    known._met.clear()


@pytest.fixture
def often() -> Iterator[None]:
    """What is new has a kernel at once."""
    with limited_to(Limits.several, -1):
        yield


def met() -> int:
    return len(known._met._known)


# Each differs from the one before it in one thing, which the key has to tell.
DIFFERENT: dict[str, tuple[Callable[..., sc.Array], Callable[..., sc.Array]]] = {
    "operation": (lambda x, y: x + y, lambda x, y: x - y),
    "one array twice": (lambda x, y: x * y, lambda x, y: x * x),
    "strides": (lambda x, y: x + y, lambda x, y: x + y[::-1]),
    "broadcast": (lambda x, y: x + y, lambda x, y: x + y[:1]),
    "dtype": (lambda x, y: x + y, lambda x, y: x + y.astype("f4").persist()),
    "an array for a number": (lambda x, y: x + y, lambda x, y: x + 2.5),
    "side": (lambda x, y: x - 2.5, lambda x, y: 2.5 - x),
    "shape": (lambda x, y: x + y, lambda x, y: x[:3] + y[:3]),
    "axis": (lambda x, y: x.sum(axis=0), lambda x, y: x.sum(axis=1)),
    "reduction": (lambda x, y: x.max(axis=0), lambda x, y: x.min(axis=0)),
    "of a map": (lambda x, y: x.max(), lambda x, y: abs(x).max()),
    "freedom": (lambda x, y: x.var(axis=1), lambda x, y: x.var(axis=1, ddof=1)),
    "kept axis": (lambda x, y: x.sum(axis=1), lambda x, y: x.sum(axis=1, keepdims=True)),
    "order": (lambda x, y: (x + y) * x, lambda x, y: x * (x + y)),
    "what is shared": (lambda x, y: (x + y) * (x + y), lambda x, y: (x + y) * (y + x)),
    "nesting": (lambda x, y: (x + y) + x, lambda x, y: x + (y + x)),
    "a whole number": (lambda x, y: (x > 0) * 2 + 1, lambda x, y: (x > 0) * 2 + 2),
    "the kind of a number": (lambda x, y: (x > 0) & True, lambda x, y: (x > 0) & 1),
    "choice": (
        lambda x, y: sc.where(x > 0, x, y).sum(axis=1),
        lambda x, y: sc.where(x > 0, y, x).sum(axis=1),
    ),
    "what is read": (lambda x, y: x - x.mean(axis=0), lambda x, y: x - x.mean(axis=1)[:, None]),
    "result": (lambda x, y: x < y, lambda x, y: x + y),
    "places": (lambda x, y: x + sc.arange(8), lambda x, y: x + sc.arange(48).reshape(6, 8)),
    "the first place": (lambda x, y: sc.arange(8) * x, lambda x, y: sc.arange(9)[1:] * x),
    "places and numbers": (lambda x, y: x + sc.arange(8.0), lambda x, y: x + y[0]),
    "a number of others": (
        lambda x, y: x / sc.sqrt((x * x).sum()),
        lambda x, y: x / sc.sqrt((y * y).max()),
    ),
    "the same number twice": (
        lambda x, y: (lambda n: (x - n) / n)(x.std() + 1),
        lambda x, y: (x - x.std() - 1) / (y.std() + 1),
    ),
    "a number of constants": (
        lambda x, y: x * sc.sin(sc.asarray(0.5)),
        lambda x, y: x * sc.cos(sc.asarray(0.5)),
    ),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_the_second_time_gives_the_values_of_what_was_asked(name: str) -> None:
    for text in (*DIFFERENT[name], *DIFFERENT[name]):
        for x, y in ((X, Y), (Y, X)):
            ours = text(sc.asarray(x), sc.asarray(y)).compute(on="core")
            theirs = planned_alone(text(sc.asarray(x), sc.asarray(y)))
            assert ours.tobytes() == theirs.tobytes()
            assert ours.shape == theirs.shape


def test_data_numbers_and_places_are_arguments() -> None:
    for number, start in ((1.5, 0), (-0.0, 3), (np.inf, 5)):
        x = np.random.default_rng(start).normal(size=40)
        got = (sc.asarray(x)[start : start + 30] * number).compute(on="core")
        assert np.array_equal(got, x[start : start + 30] * number, equal_nan=True)
        assert np.array_equal(np.signbit(got), np.signbit(x[start : start + 30] * number))
    assert met() == 1


def test_a_kernel_of_another_target_is_another() -> None:
    x = sc.asarray(X)
    for target in targets():
        with limited(target):
            assert (x + 1.0).compute(on="core").tobytes() == (X + 1.0).tobytes()
    assert met() == len(targets())


def few(array: sc.Array) -> Structure | None:
    return few_structure(array._expr)


def test_what_cannot_be_told_by_a_few_words_is_walked_through() -> None:
    x, y = sc.asarray(X), sc.asarray(Y)
    long = x
    for _ in range(again.MOST_NODES + 1):
        long = long + y
    half = x.astype("f2")
    for array in (x.sum(axis=0)[1:], (x + y)[1:] * 2, long, half + 1.5, x.cumsum()):
        assert few(array) is None
    for array in (sc.arange(5), sc.eye(3) - 1, x / sc.sqrt(x.sum())):
        assert few(array) is not None
    for array in (x + y, x * y + 1.0, x + x, (x * 2 + y).sum(), x.sum(axis=0), (x > 1) & (y < 2)):
        assert few(array) is not None


def test_lines_of_any_length_have_one_key() -> None:
    def key(n: int, text: Callable[[sc.Array], sc.Array]) -> object:
        found = few(text(sc.asarray(np.arange(float(n)))))
        assert found is not None
        return found.key

    for text in (lambda x: x * 2 + 1, lambda x: (x * 2 + 1).sum(), lambda x: x.max()):
        assert key(10, text) == key(1000, text)
        assert key(10, text) != key(1, text)
        assert key(10, text) != key(LONG_LINE, text)
    assert key(10, lambda x: x[::2] + 1) != key(20, lambda x: x[::2] + 1)


def test_reductions_that_are_read_are_made_once() -> None:
    made: list[Expr] = []

    def value(one: Expr) -> np.ndarray:
        made.append(one)
        return np.full(one.shape, 2.0)

    x = sc.asarray(X)
    mean = x.mean(axis=0)
    found = few_structure(((x - mean) / mean)._expr)
    assert found is not None
    assert found.reads
    assert with_arrays(found, value)
    assert [one.shape for one in made] == [(8,)]
    assert [leaf.strides for leaf in found.data] == [(8, 1), (0, 1), (0, 1)]


def test_numbers_that_operations_give_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Expr] = []
    number_of = again.number_of

    def noted(root: Expr, sums: Made) -> Any:
        made.append(root)
        return number_of(root, sums)

    x = sc.asarray(X)
    norm = sc.sqrt((x * x).sum())
    for _ in range(2):
        monkeypatch.setattr(again, "number_of", noted)
        made.clear()
        ours = ((x - norm) / norm).compute(on="core")
        assert len(made) <= 1
    assert len(made) == 1  # the second time nothing else looks for numbers
    length = np.sqrt((X * X).sum())
    np.testing.assert_allclose(ours, (X - length) / length, rtol=1e-15)


NUMBERS: dict[str, tuple[Callable[[Any], Any], Callable[[float], float]]] = {
    "a mean of a square": (lambda t: sc.mean((t + t)[None][0] ** 2), lambda t: 4 * t * t),
    "of an axis": (lambda t: sc.atleast_1d(t * 2)[0] + t, lambda t: 3 * t),
    "of another": (
        lambda t: sc.nextafter((t * 2).reshape(1)[0], t),
        lambda t: np.nextafter(2 * t, t),
    ),
    "the greatest": (lambda t: sc.max(abs(-t)[None][0] * 3), lambda t: 3 * t),
    "a long one": (
        lambda t: sc.asarray([1.0, 2.0])[1] + sum([t * 2] * 20, sc.asarray(0.0))[None][0],
        lambda t: 2 + 40 * t,
    ),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_are_met_often_are_operated_on_once(name: str) -> None:
    """Their kernels are compiled when they were met for some time."""
    ours, theirs = NUMBERS[name]
    for k in range(1, 20):
        assert float(ours(sc.asarray(np.array(float(k)))).compute(on="core")) == theirs(float(k))


def test_one_sum_of_float64_is_one_call_on_cores_too() -> None:
    """As long as it is as quick: records of magnitudes that differ much take ten times as long."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=known.ONE_THREAD) * 2.0 ** rng.integers(-100, 100, known.ONE_THREAD)
    for array in (
        *(sc.asarray(x).sum(), sc.asarray(x).mean(), abs(sc.asarray(x)).sum()),
        sc.asarray(x).var(),
    ):
        one = known.value(array._expr, "cores")
        assert one is not None
        assert one.tobytes() == array.compute(on="core").tobytes()
    for array in (
        sc.asarray(np.append(x, 1.0)).sum(),
        sc.exp(sc.asarray(x)).sum(),
        sc.asarray(x).reshape(2, -1).sum(axis=1),
        sc.asarray(np.append(x, 1.0)).var(),
        sc.asarray(x.astype("f4")).sum(),
    ):
        assert known.value(array._expr, "cores") is None


def test_few_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(again, "MOST", 3)
    some: Met[int] = Met()
    for k in range(9):
        some.note(k, k)
    assert [some.get(k) for k in (5, 6, 7, 8)] == [None, 6, 7, 8]


def planned_alone(array: sc.Array) -> np.ndarray:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("speedcube.engine.compute.SMALL", -1)
        return np.asarray(array.compute(on="core"))


# Of complex numbers; numbers among them that kernels fold are told apart by their bits.
COMPLEX: dict[str, Callable[[sc.Array], sc.Array]] = {
    "product": lambda z: z * z,
    "sum with a number": lambda z: z + 1.5,
    "with a complex number": lambda z: z * (2 - 1j),
    "with zeros": lambda z: z * complex(0.0, -0.0),
    "with other zeros": lambda z: z * complex(-0.0, 0.0),
    "quotient": lambda z: z / (z + 1),
    "negative": lambda z: -z,
    "conjugate": lambda z: sc.conj(z) * 2,
    "exponential": lambda z: sc.exp(1j * z.real),
    "its like": lambda z: sc.exp(-1j * z.real),
    "root": lambda z: sc.sqrt(z),
    "power": lambda z: z**3,
    "sum": lambda z: z.sum(),
    "sums of columns": lambda z: z.sum(axis=0),
    "mean": lambda z: (z * z).mean(axis=1),
    "view": lambda z: z[::-1, 1:] - z[:, :-1],
    "broadcast": lambda z: z * z[:1],
    "where": lambda z: sc.where(z.real > 0, z, 1j),
}


STORED_AT_ONCE = ("product", "sum with a number", "with a complex number", "conjugate", "power")


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_complex_numbers_that_were_met_are_a_call_or_two(name: str, dtype: str) -> None:
    rng = np.random.default_rng(2)
    plain = (rng.normal(size=(30, 40)) + 1j * rng.normal(size=(30, 40))).astype(dtype)
    wild = plain.copy()
    wild.real[rng.random(wild.shape) < 0.2] = np.inf
    wild.imag[rng.random(wild.shape) < 0.2] = np.nan
    wild.imag[rng.random(wild.shape) < 0.2] = -0.0
    text = COMPLEX[name]
    for rung in ("core", "cores:2"):
        for data in (plain, wild, wild, plain[::-1].copy(), wild):
            ours = np.asarray(text(sc.asarray(data)).compute(on=rung))
            theirs = planned_alone(text(sc.asarray(data)))
            assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
            assert_same_bits(ours.real, theirs.real)
            assert_same_bits(ours.imag, theirs.imag)
    root = text(sc.asarray(plain))._expr
    found, wanted = pairs.pair_again(root, lambda _: "core"), planned_alone(text(sc.asarray(plain)))
    if name in ("negative", "view"):  # one call of both, as of twice as many reals
        assert found is None
        return
    assert_same_bits(found.real, wanted.real)
    assert_same_bits(found.imag, wanted.imag)
    assert pairs.pair_again(root, lambda _: None) is None
    other = sc.asarray(np.zeros((130, 130), dtype))  # too many for two calls
    if name in STORED_AT_ONCE:
        assert pairs.pair_again(text(other)._expr, lambda _: "core") is None
        both = pairs.pair_again(text(other)._expr, lambda _: "core")
        assert both is not None  # one call of both, from the second time on
        assert_same_bits(both.real, planned_alone(text(other)).real)


@pytest.mark.parametrize("rung", ["core", "cores:2"])
def test_many_complex_numbers_are_one_call_with_any_numbers(rung: str) -> None:
    rng = np.random.default_rng(5)
    kernels = pairs._met
    for step in range(8):
        z = rng.normal(size=(170, 140)) + 1j * rng.normal(size=(170, 140))
        ours = ((sc.asarray(z) * complex(step, 2.5)).conj() - 1.5 * step).compute(on=rung)
        np.testing.assert_allclose(ours, (z * complex(step, 2.5)).conj() - 1.5 * step, rtol=1e-12)
        if step == 3:
            before = len(kernels._known)
    assert len(kernels._known) == before  # no number of a step has a kernel of its own
    assert any(type(one) is pairs.Both for one in kernels._known.values())


def test_parts_of_many_reduced_complex_numbers_are_a_call_each() -> None:
    z = np.arange(40000.0).reshape(200, 200) * (1 - 2j)
    for _ in range(3):
        for text in (lambda u: u.sum(), lambda u: u.sum(axis=0), lambda u: u.mean(axis=1)):
            ours = text(sc.asarray(z))
            found, wanted = np.asarray(ours.compute(on="core")), planned_alone(ours)
            assert_same_bits(found.real, wanted.real)
            assert_same_bits(found.imag, wanted.imag)
    root = sc.asarray(z).sum(axis=0)._expr
    assert pairs.pair_again(root, lambda _: "core") is not None
    shared = sc.asarray(
        np.arange(40000).reshape(200, 200)
    )  # a plan makes both sums of them at once
    shared = ((shared + 1j) * (shared - 2j)).sum()._expr
    assert pairs.small_pair([shared], "core") is None


def test_numbers_that_kernels_fold_are_told_apart_by_their_bits() -> None:
    x = np.array([1.0, -2.0, 0.0, np.inf])
    texts = (lambda u: u * (u > 0.5) + 2.0, lambda u: sc.where(u == 2.0, 0.0, u * 0.0))
    for text in texts:
        for _ in range(3):
            ours = text(sc.asarray(x)).compute(on="core")
            assert_same_bits(np.asarray(ours), planned_alone(text(sc.asarray(x))))
    for zero in (0.0, -0.0, 0.0, -0.0):
        ours = sc.exp(complex(0, zero) * sc.asarray(x[:3])).compute(on="core")
        assert (np.signbit(ours.imag) == np.signbit(np.exp(complex(0, zero) * x[:3]).imag)).all()


READS_OTHERS: dict[str, Callable[[sc.Array], sc.Array]] = {
    "anomalies": lambda x: x - x.mean(axis=0),
    "standardised": lambda x: (x - x.mean(axis=0)) / x.std(axis=0),
    "a reduction of them": lambda x: ((x - x.mean(axis=0)) ** 2).sum(axis=1),
    "a number": lambda x: x / x.max(),
    "through views": lambda x: (x - x.mean(axis=0))[::-1, 1:] * x.min(axis=0)[1:],
    "of one another": lambda x: x - (x - x.mean(axis=0)).std(axis=1, keepdims=True),
    "float32": lambda x: x.astype("f4") - x.astype("f4").mean(axis=1, keepdims=True),
    "places": lambda x: x + x.argmax(axis=0),
    "between results": lambda x: (x - x.min(axis=0)) / (x.max(axis=0) - x.min(axis=0) + 1),
    "softmax": lambda x: _softmax(x),
    "spread without NaN": lambda x: sc.nanstd(x, axis=1),
    "bool": lambda x: sc.where((x > 3).any(axis=0), x, 0),
}


def _softmax(x: sc.Array) -> sc.Array:
    e = sc.exp((x - x.max(axis=1, keepdims=True)) / 9)
    return e / e.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("name", ["between results", "softmax", "spread without NaN"])
def test_what_reads_results_of_others_is_known_when_it_is_met_again(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = (READS_OTHERS[name](sc.asarray(X)).compute(on="core") for _ in range(2))
    monkeypatch.setattr(known, "_by_structure", lambda *_: pytest.fail("walked through again"))
    again = READS_OTHERS[name](sc.asarray(X + 0)).compute(on="core")
    assert again.tobytes() == first.tobytes()


@pytest.mark.parametrize("name", READS_OTHERS)
def test_reductions_of_few_are_made_first(name: str) -> None:
    array = READS_OTHERS[name](sc.asarray(X))
    small = known.value(array._expr)
    assert small is not None
    long = planned_alone(array)
    assert (small.dtype, small.shape) == (long.dtype, long.shape)
    assert small.tobytes() == long.tobytes()


def test_each_reduction_is_made_once_however_often_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = 0
    one_call = known._one_call

    def counted(root: Expr, rung: str, *given: Made | None) -> object:
        nonlocal calls
        calls += 1
        return one_call(root, rung, *given)

    monkeypatch.setattr(known, "_one_call", counted)
    x = sc.asarray(X)
    for _ in range(20):  # each step reads those of all steps before
        x = x - x.mean(axis=0)
    small = known.value(x._expr)
    assert small is not None
    assert small.tobytes() == planned_alone(x).tobytes()
    # Thirteen in vain, for what is nested too deep; one, with the first mean and what it cannot
    # have; twenty means, and the result.
    assert calls == 35


def test_what_reads_reductions_of_many_is_planned() -> None:
    x = sc.asarray(np.ones((first.FEW // 64, 100)))
    assert known.value(((x - x.mean(axis=0)) / x.std(axis=0))._expr) is None
    long = sc.broadcast_to(x, (10, *x.shape))
    assert long.size > first.MOST
    assert known.value((x - long.mean(axis=0))._expr) is None
    y = sc.asarray(X)
    assert known.value((y - y.prod(axis=0))._expr) is None
    assert known.value((y - y.cumsum(axis=0)).sum()._expr) is None


def test_a_constant_and_an_array_do_not_change_places() -> None:
    """Both have no strides here, or zeros: x / 2 and 2 / x are told apart all the same."""
    for shape in ((), (5,)):
        x = sc.broadcast_to(sc.asarray(np.float32(0.375)), shape)
        for _ in range(2):
            assert (np.asarray((2 / x).compute(on="core")) == 2 / np.float32(0.375)).all()
            assert (np.asarray((x / 2).compute(on="core")) == np.float32(0.1875)).all()


SUMS: dict[str, Callable[[sc.Array], sc.Array]] = {
    "sum": lambda x: x.sum(),
    "mean": lambda x: (x * 2.5).mean(),
    "var": lambda x: x.var(ddof=1),
    "std": lambda x: (x * x + x).std(),
    "dot": lambda x: sc.vecdot(x, x * 3),
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@pytest.mark.parametrize("name", SUMS)
def test_one_sum_of_a_short_line_is_finished_by_one_kernel_of_all_lengths(
    name: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = np.random.default_rng(5)
    lengths = (2, 3, 7, 8, 9, 64, 100, 1000, 8192, 8193, 20_000)
    for k, n in enumerate(lengths):
        x = draw.normal(size=n).astype(dtype)
        wanted = planned_alone(SUMS[name](sc.asarray(x)))
        if k:  # neither a record, nor another kernel
            monkeypatch.setattr("speedcube.engine.small.call.OneCall", None)
            monkeypatch.setattr(known, "slots_of", None)
        got = SUMS[name](sc.asarray(x)).compute(on="core")
        monkeypatch.undo()
        assert got.dtype == wanted.dtype
        assert got.tobytes() == wanted.tobytes()


def test_a_short_sum_that_is_not_certain_is_made_of_its_record() -> None:
    for x in (
        np.array([1e300, 1.0, -1e300, 2.0**-1000]),
        np.array([np.inf, 1.0, -np.inf]),
        np.array([np.nan, 1.0]),
        np.array([5e-324, 5e-324, -5e-324]),
        np.array([-0.0, -0.0]),
        np.array([1.7e308, 1.7e308, -1.7e308]),
    ):
        for name in SUMS:
            with np.errstate(all="ignore"):
                wanted = planned_alone(SUMS[name](sc.asarray(x)))
                got = SUMS[name](sc.asarray(x)).compute(on="core")
            assert got.tobytes() == wanted.tobytes(), (name, x)


def test_no_freedom_is_left_to_records() -> None:
    x = sc.asarray(np.array([1.0, 2.0, 4.0]))
    assert x.var(ddof=1).compute(on="core") == 7 / 3
    with np.errstate(all="ignore"):
        assert np.isnan(sc.asarray(np.array([2.5])).var(ddof=1).compute(on="core"))


def test_several_small_values_are_a_call_each() -> None:
    x = sc.asarray(X)
    arrays = [x.sum(), x.max(axis=0), x * 2, x - x.mean(axis=0), x * 2]
    found = known.few_values([one._expr for one in arrays], "core")
    assert found is not None
    for got, array in zip(found, arrays, strict=True):
        assert np.asarray(got).tobytes() == planned_alone(array).tobytes()
    assert not np.shares_memory(found[2], found[4])
    drawn = sc.random.default_rng(1).normal(size=1 << 15)
    long = sc.asarray(np.ones(1 << 15))
    for others in ([x.sum()] * 9, [long, x], [drawn.sum()], [x.cumsum(), x.sum()]):
        assert known.few_values([one._expr for one in others], "core") is None


def test_masks_of_any_count_are_one_kernel() -> None:
    x = np.random.default_rng(6).normal(size=500)
    for limit in (-1.0, 0.0, 0.5):
        got = (sc.asarray(x) * 2)[x > limit].compute(on="core")
        assert got.tobytes() == (x * 2)[x > limit].tobytes()
    assert met() == 1


def test_what_is_written_to_a_mask_before_it_is_needed_is_seen() -> None:
    x, mask = np.arange(6.0), np.zeros(6, bool)
    chosen = sc.asarray(x)[sc.asarray(mask)]
    mask[2:4] = True
    assert chosen.compute(on="core").tolist() == [2.0, 3.0]


def test_an_unknown_place_is_refused_the_second_time_too() -> None:
    x = sc.asarray(X) + 1
    for _ in range(2):
        x.compute(on="core")
        with pytest.raises(ParameterError, match="to='somewhere' is not possible"):
            x.compute(on="core", to="somewhere")
        with pytest.raises(ParameterError, match="to='cupy' is not possible"):
            x.compute(on="core", to="cupy")


def test_arithmetic_is_not_taken_for_a_routine(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is met in every step of a loop: what looks for routines is not asked."""

    def refuse(*_: object) -> None:
        raise AssertionError("asked")

    monkeypatch.setattr(quick, "called", refuse)
    monkeypatch.setattr(on_device, "all_called", refuse)
    x = sc.asarray(X)
    assert np.array_equal((x * 2 + 1).compute(on="core"), X * 2 + 1)
    assert x.max().compute(on="core") == X.max()
    with pytest.raises(AssertionError, match="asked"):
        (x + 1j).compute(on="core")
    with pytest.raises(AssertionError, match="asked"):
        sc.linalg.inv(x[:, :6]).compute(on="core")
