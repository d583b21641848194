"""Single operations that are met again are known by a few words, which tell apart what differs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine.small import again, first, known
from speedcube.engine.small.again import Made, Met, few_structure, with_arrays
from speedcube.engine.small.structure import Structure
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
    for array in (x.sum(axis=0)[1:], sc.arange(5), (x + y)[1:] * 2, long, half + 1.5, x.cumsum()):
        assert few(array) is None
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


READS_OTHERS: dict[str, Callable[[sc.Array], sc.Array]] = {
    "anomalies": lambda x: x - x.mean(axis=0),
    "standardised": lambda x: (x - x.mean(axis=0)) / x.std(axis=0),
    "a reduction of them": lambda x: ((x - x.mean(axis=0)) ** 2).sum(axis=1),
    "a number": lambda x: x / x.max(),
    "through views": lambda x: (x - x.mean(axis=0))[::-1, 1:] * x.min(axis=0)[1:],
    "of one another": lambda x: x - (x - x.mean(axis=0)).std(axis=1, keepdims=True),
    "float32": lambda x: x.astype("f4") - x.astype("f4").mean(axis=1, keepdims=True),
    "places": lambda x: x + x.argmax(axis=0),
    "bool": lambda x: sc.where((x > 3).any(axis=0), x, 0),
}


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

    def counted(root: Expr, rung: str, made: Made | None = None) -> object:
        nonlocal calls
        calls += 1
        return one_call(root, rung, made)

    monkeypatch.setattr(known, "_one_call", counted)
    x = sc.asarray(X)
    for _ in range(20):  # each step reads those of all steps before
        x = x - x.mean(axis=0)
    small = known.value(x._expr)
    assert small is not None
    assert small.tobytes() == planned_alone(x).tobytes()
    assert calls == 22  # one in vain, twenty means, and the result


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
