"""`vectorize` and `frompyfunc`: functions of numbers beside NumPy's, and who asks for values."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc

X: Final = np.linspace(-2, 3, 12).reshape(3, 4)
N: Final = np.arange(-6, 6).reshape(3, 4)
TABLE: Final = sc.asarray([10.0, 20.0, 30.0])

# Functions that NumPy calls for each element, and arguments.
FUNCTIONS: Final[dict[str, tuple[Callable[..., Any], tuple[Any, ...]]]] = {
    "arithmetic": (lambda a, b: a * b - 3 / (a * a + 1), (X, 2.5)),
    "integers": (lambda n: n // 4 * 10 + n % 4, (N,)),
    "python's": (lambda a: abs(a) ** 2 + (-a), (X,)),
    "functions": (lambda a: np.sqrt(np.abs(a)) + np.floor(a), (X,)),
    "where": (lambda a, n: np.where(a > n, a, n * 2), (X, N)),
    "clip": (lambda a: np.clip(a, -1, 1), (X,)),
    "broadcast": (lambda a, b: a + b, (X, N[0])),
    "a number": (lambda a: 7, (X,)),
    "itself": (lambda a: a, (N,)),
    "comparison": (lambda a: a > 0, (X,)),
    "two results": (lambda a, b: (a + b, a * b), (X, N)),
    "divmod": (divmod, (N, 4)),
    "bits": (lambda n: (n << 2) ^ (n & 3), (N,)),
    "no axes": (lambda a: a * 2, (1.5,)),
    "small ints": (lambda n: n * 2, (N.astype("int8"),)),
    "read twice": (lambda a: (a - 1) * (a - 1) + a, (X,)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_gives_what_numpys_gives(name: str) -> None:
    function, args = FUNCTIONS[name]
    ours = sc.vectorize(function)(*(sc.asarray(one) for one in args))
    right = np.vectorize(function)(*args)
    pairs = zip(ours, right, strict=True) if isinstance(ours, tuple) else [(ours, right)]
    for one, other in pairs:
        assert isinstance(one, sc.Array)
        assert one.shape == np.shape(other)
        assert one.dtype == np.asarray(other).dtype
        np.testing.assert_array_equal(one.compute(), other)


def test_it_is_part_of_one_kernel_with_the_law() -> None:
    calls = []

    def bend(a: Any) -> Any:
        calls.append(a.shape)
        return np.where(a > 0, np.exp(-a), 1 - a)

    x = sc.asarray(X)
    y = sc.vectorize(bend)(x * 2).sum()
    assert calls == [()]
    assert y.explain().covered
    assert len(y.plan(on="core").stages) == 1
    direct = np.where(x * 2 > 0, np.exp(-(x * 2)), 1 - x * 2).sum()
    assert y.compute().tobytes() == direct.compute().tobytes()


def test_captured_arrays_and_reductions_are_constants() -> None:
    total = TABLE.sum()
    np.testing.assert_array_equal(
        sc.vectorize(lambda a: a + total + TABLE[1])(X).compute(), X + 60.0 + 20.0
    )


def test_arguments_by_name_and_as_they_are() -> None:
    scale = sc.vectorize(lambda a, how, k=2: a * k if how == "times" else a + k, excluded={1})
    np.testing.assert_array_equal(scale(X, "times", k=N).compute(), X * N)
    np.testing.assert_array_equal(scale(X, "plus").compute(), X + 2)


def test_otypes() -> None:
    half = sc.vectorize(lambda n: n / 2, otypes="f")
    assert half(N).dtype == "float32"
    with pytest.raises(ValueError, match="gives 1 numbers, and otypes= has 2"):
        sc.vectorize(lambda n: n, otypes=[int, int])(N)


def test_a_signature_is_numpys_and_at_once() -> None:
    spread = sc.vectorize(lambda v: v.max() - v.min(), signature="(n)->()")
    np.testing.assert_array_equal(spread(sc.asarray(X)).compute(), np.ptp(X, axis=1))


def test_frompyfunc() -> None:
    both = sc.frompyfunc(lambda a, b: (a + b, a - b), 2, 2)
    assert (both.nin, both.nout, both.nargs) == (2, 2, 4)
    one, two = both(sc.asarray(X), N)
    np.testing.assert_array_equal(one.compute(), X + N)
    np.testing.assert_array_equal(two.compute(), X - N)
    with pytest.raises(TypeError, match="takes 2 arrays, not 1"):
        both(X)
    with pytest.raises(ValueError, match="gives 2 numbers, and nout= says 1"):
        sc.frompyfunc(divmod, 2, 1)(N, 4)
    with pytest.raises(TypeError, match="takes a function, not 3"):
        sc.frompyfunc(3, 1, 1)


BRANCHES: Final[dict[str, Callable[..., Any]]] = {
    "if": lambda a: a if a > 0 else -a,
    "and": lambda a: (a > 0) and a,
    "max": lambda a: max(a, 1),
    "math": lambda a: math.sin(a),
    "int": lambda a: int(a),
    "item": lambda a: a.item(),
    "chained": lambda a: 0 < a < 1,
    "range": lambda a: sum(range(a)),
}


@pytest.mark.parametrize("name", sorted(BRANCHES.keys() - {"item"}))  # NumPy gives Python's numbers
def test_who_asks_for_a_value_is_called_for_each_element(name: str) -> None:
    x = N - N.min() if name == "range" else X
    mine = sc.vectorize(BRANCHES[name])(sc.asarray(x))
    theirs = np.vectorize(BRANCHES[name])(x)
    assert isinstance(mine, sc.Array)
    assert mine.dtype == theirs.dtype
    np.testing.assert_array_equal(mine.compute(), theirs)


@pytest.mark.parametrize("name", BRANCHES)
def test_what_makes_objects_in_numpy_is_told_of_where(name: str) -> None:
    x = N if name == "range" else X
    with pytest.raises(TypeError, match=r"frompyfunc: .*lambda.* needs the value.*numpy\.where"):
        sc.frompyfunc(BRANCHES[name], 1, 1)(sc.asarray(x))


def test_the_users_line_is_in_the_traceback() -> None:
    def steps(a: Any) -> Any:
        return 1 if a > 0 else 0

    with pytest.raises(TypeError) as found:
        sc.frompyfunc(steps, 1, 1)(X)
    assert any("return 1 if a > 0 else 0" in str(entry.statement) for entry in found.traceback)


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda a: sc.asarray([1, 2]) * a, r"gives an array of shape \(2,\)"),
        (lambda a: a.sum(), "does more than compute a number from numbers"),
        (lambda a: None, "returned NoneType"),
        (lambda a: "text", "returned str"),
    ],
)
def test_what_is_no_function_of_numbers(function: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        sc.vectorize(function)(X)


def test_an_error_of_its_own_is_the_functions() -> None:
    with pytest.raises(KeyError, match="mine"):
        sc.vectorize(lambda a: {}["mine"])(X)


_counted = 0


def _count_globally(a: Any) -> Any:
    global _counted
    _counted += 1
    return a + _counted


def _counter() -> Callable[[Any], Any]:
    count = 0

    def counted(a: Any) -> Any:
        nonlocal count
        count += 1
        return a + count

    return counted


def test_a_function_that_sets_names_outside_is_called_for_each_element() -> None:
    global _counted
    _counted = 0
    line = np.arange(4.0)
    wanted = np.vectorize(_counter(), otypes="d")(line)
    assert wanted.tolist() == [1.0, 3.0, 5.0, 7.0]
    for function in (_counter(), _count_globally):
        got = sc.vectorize(function, otypes="d")(sc.asarray(line))
        np.testing.assert_array_equal(got.compute(), wanted)


@pytest.mark.parametrize("make", [_counter, lambda: _count_globally])
def test_frompyfunc_calls_who_counts_for_each_element(make: Callable[[], Any]) -> None:
    global _counted
    _counted = 0
    got = sc.frompyfunc(make(), 1, 1)(sc.asarray(np.zeros((2, 2))))
    assert got.dtype == "float64"
    assert got.compute().tolist() == [[1.0, 2.0], [3.0, 4.0]]


_rng = np.random.default_rng(3)
_numbers = itertools.count()
DRAWS: Final[dict[str, Callable[[Any], Any]]] = {
    "random": lambda a: a + random.random(),
    "numpy.random": lambda a: a + np.random.random(),
    "a generator": lambda a: a + _rng.random(),
    "an iterator": lambda a: a + next(_numbers),
    "a method": random.Random(2).expovariate,
}


@pytest.mark.parametrize("name", DRAWS)
def test_a_function_that_draws_is_called_for_each_element(name: str) -> None:
    line = sc.ones(20)
    assert len(np.unique(sc.vectorize(DRAWS[name])(line).compute())) == 20
    assert len(np.unique(sc.frompyfunc(DRAWS[name], 1, 1)(line).compute())) == 20


def test_who_only_names_numpy_is_part_of_the_kernel() -> None:
    assert sc.vectorize(lambda a: np.sin(a) + math.pi)(sc.ones(3)).explain().covered


def test_what_a_function_appends_happens_once() -> None:
    seen: list[int] = []

    def noted(a: Any) -> Any:
        seen.append(len(seen))
        return a * 2

    assert sc.vectorize(noted)(sc.arange(4.0)).compute().tolist() == [0.0, 2.0, 4.0, 6.0]
    assert seen == [0]


def _is_a_float(a: Any) -> int:
    return 1 if isinstance(a, float) else 0


def _matched(a: Any) -> int:
    match a:
        case float():
            return 1
        case _:
            return 0


def _anyway(a: Any) -> float:
    try:
        return float(a) * 2
    except Exception:
        return -1.0


# A number that is not known is no Python number: these are called for each element.
KINDS: Final[dict[str, Callable[[Any], Any]]] = {
    "isinstance": lambda a: a * 2 if isinstance(a, float) else a,
    "in another function": lambda a: _is_a_float(a),
    "in a function within": lambda a: sum(1 for _ in range(2) if isinstance(a, float)),
    "type": lambda a: type(a)(1) + a,
    "match": _matched,
    "who catches everything": _anyway,
    "is_integer": lambda a: a.is_integer(),
    "math.trunc": math.trunc,
    "as_integer_ratio": lambda a: a.as_integer_ratio()[1],
}


@pytest.mark.parametrize("name", KINDS)
def test_who_asks_for_the_kind_of_a_number_is_called_for_each(name: str) -> None:
    wanted = np.vectorize(KINDS[name])(X)
    got = sc.vectorize(KINDS[name])(sc.asarray(X))
    assert got.dtype == wanted.dtype
    np.testing.assert_array_equal(got.compute(), wanted)


def test_a_power_that_may_be_negative_is_pythons() -> None:
    line = np.array([3, -1, 0, -3])
    half = sc.vectorize(lambda n: 2**n, otypes="d")
    assert half(sc.asarray(line)).compute().tolist() == [8.0, 0.5, 1.0, 0.125]
    assert sc.vectorize(lambda n: n**3)(sc.asarray(line)).explain().covered


class _Dice:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(1)

    def throw(self, a: Any) -> Any:
        return a + self.rng.random()


def _thrown(a: Any) -> Any:
    return a + random.random()


@pytest.mark.parametrize("function", [lambda a: _thrown(a), _Dice().throw])
def test_what_a_called_function_draws_is_drawn_for_each_element(function: Any) -> None:
    assert len(np.unique(sc.vectorize(function)(sc.ones(20)).compute())) == 20


COMPLEX: Final[dict[str, Callable[[Any], Any]]] = {
    "arithmetic": lambda z: z * z - 1 / (z + 3),
    "parts": lambda z: abs(z) + z.real * z.imag,
    "functions": lambda z: np.exp(z) + np.conj(z),
    "two": lambda z: (z + 1, z.imag),
    "a constant": lambda z: 2j,
}


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", COMPLEX)
def test_functions_of_complex_numbers_are_part_of_the_kernel(name: str, dtype: str) -> None:
    z = (X[::-1, ::2] + 1j * X[:, 1::2]).astype(dtype)
    ours = sc.vectorize(COMPLEX[name])(sc.asarray(z))
    right = COMPLEX[name](z)
    pairs = zip(ours, right, strict=True) if isinstance(ours, tuple) else [(ours, right)]
    for one, other in pairs:
        assert one.explain().covered
        assert one.shape == z.shape
        np.testing.assert_allclose(one.compute(), other, rtol=1e-5)
