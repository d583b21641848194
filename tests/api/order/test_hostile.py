"""All that orders, counts, groups, scatters and resamples, of data that are made to break it.

What NumPy does is the right answer where it does not round, or rounds as we do; exact sums are made
of fractions. Where NumPy raises an exception ours is of that kind.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.api.order.quantiles import METHODS
from speedcube.errors import MemoryLimitError, SpeedcubeError

RUNGS: Final = ("core", "cores")
SIZE: Final = 210
RNG = np.random.default_rng(16)
NORMAL = RNG.normal(size=SIZE)


def _odd() -> Any:
    x = np.where(RNG.random(SIZE) < 0.2, np.nan, NORMAL)
    x = np.where(RNG.random(SIZE) < 0.1, np.inf, x)
    return np.where(RNG.random(SIZE) < 0.1, -np.inf, x)


# Adversaries: each is hard for one way to do it.
ARRAYS: Final[dict[str, Any]] = {
    "NaN and inf everywhere": _odd(),
    "NaN alone": np.full(SIZE, np.nan),
    "NaN with payloads and signs": (
        RNG.integers(1, 2**51, SIZE, dtype="uint64") | np.uint64(0x7FF8 << 48) | (
            RNG.integers(0, 2, SIZE, dtype="uint64") << np.uint64(63))
    ).view(np.float64),
    "infinities of both signs": np.where(RNG.random(SIZE) < 0.5, np.inf, -np.inf),
    "all equal": np.full(SIZE, 0.1),
    "zeros of both signs": np.where(RNG.random(SIZE) < 0.5, -0.0, 0.0),
    "sorted": np.sort(NORMAL),
    "sorted down": -np.sort(NORMAL),
    "one leading key": 1 + RNG.integers(0, 9, SIZE) * 2.0**-52,
    "one key but for an end": np.append(np.full(SIZE - 1, 3.0), -1e300),
    "least and greatest doubles": RNG.choice([5e-324, -5e-324, 1.7e308, -1.7e308, 1.0], SIZE),
    "nothing": np.empty(0),
    "one": np.array([2.5]),
    "float16": RNG.choice(NORMAL, SIZE).astype("float16"),
    "float32 of every size": (NORMAL * 10.0 ** RNG.integers(-40, 38, SIZE)).astype("float32"),
    "uint64 beyond 2**63": RNG.integers(2**63 - 9, 2**63 + 9, SIZE, dtype="uint64"),
    "ends of int64": RNG.choice([-(2**63), 2**63 - 1, 0, -1], SIZE),
    "ends of int8": RNG.choice(np.array([-128, 127, 0], "int8"), SIZE),
    "no integers": np.empty(0, "int64"),
    "true and false": RNG.random(SIZE) < 0.5,
}  # fmt: skip
FLOATS: Final = [name for name, x in ARRAYS.items() if x.dtype.kind == "f"]
EDGES: Final = np.array([-np.inf, -1.0, 0.0, 0.5, 0.5, 1.0, 1e300, np.inf])


def keys_of(x: Any) -> Any:
    """Seven groups, of which one has nothing."""
    return np.arange(len(x)) * 5 % 13 % 6


def outcome(work: Callable[[], Any]) -> Any:
    """The results as NumPy's arrays, or the exception."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = work()
            many = found if isinstance(found, (tuple, list)) else (found,)
            return [np.asarray(one) for one in many]
        except Exception as err:
            return err


def check(ours: Any, wanted: Any, name: str) -> None:
    """The same numbers and dtypes, or an exception of the same kind that is ours."""
    if isinstance(wanted, Exception):
        kinds = [kind for kind in (ValueError, TypeError, IndexError) if isinstance(wanted, kind)]
        assert kinds, (name, wanted)
        assert isinstance(ours, SpeedcubeError), (name, ours, wanted)
        assert isinstance(ours, tuple(kinds)), (name, ours, wanted)
        return
    assert isinstance(ours, list), (name, ours, wanted)
    assert len(ours) == len(wanted)
    for one, other in zip(ours, wanted, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), name
        np.testing.assert_array_equal(one, other, err_msg=name)
        if one.dtype.kind == "f":
            assert not np.signbit(one[np.isnan(one)]).any()  # NaN is NumPy's


def on_rungs(name: str, ours: Callable[[Any], Any], wanted: Any) -> None:
    """``ours`` of an array is ``wanted`` on one core and on all, with the same bits."""
    bits = []
    for rung in RUNGS:
        with sc.on(rung):
            found = outcome(lambda: ours(sc.asarray(ARRAYS[name])))
        check(found, wanted, name)
        bits.append([one.tobytes() for one in found] if isinstance(found, list) else type(found))
    assert bits[0] == bits[1]


def _canonical(x: Any) -> Any:
    return np.where(np.isnan(x), np.array(np.nan, x.dtype), x) if x.dtype.kind == "f" else x


def _least(x: Any) -> Any:
    """``x`` as whole numbers from 0 to 9, as counts take them."""
    with np.errstate(all="ignore"):
        held = np.nan_to_num(np.asarray(x).astype("float64"), posinf=9, neginf=0)
        return np.abs(held).clip(0, 9).astype("int64")


def _put(np_: Any, x: Any) -> Any:
    places = np.arange(len(np.asarray(x)))[::-1].copy()
    if np_ is sc:
        y = sc.asarray(np.asarray(x).copy())
        sc.put_along_axis(y, places, x, 0)
        return y
    y = x.copy()
    np.put_along_axis(y, places, x, 0)
    return y


# What NumPy has, too: called with NumPy or ours.
NUMPYS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "sort": lambda np_, x: np_.sort(x, kind="stable"),
    "argsort": lambda np_, x: np_.argsort(x, kind="stable"),
    "lexsort": lambda np_, x: np_.lexsort((x, x[::-1])),
    "unique": lambda np_, x: np_.unique(x),
    "unique_values": lambda np_, x: np_.sort(np_.unique_values(x)),
    "union1d": lambda np_, x: np_.union1d(x, x[: len(x) // 2]),
    "intersect1d": lambda np_, x: np_.intersect1d(x, x[: len(x) // 2]),
    "setdiff1d": lambda np_, x: np_.setdiff1d(x, x[: len(x) // 2]),
    "isin": lambda np_, x: np_.isin(x, x[:3]),
    "searchsorted": lambda np_, x: np_.searchsorted(np_.sort(x), x, side="right"),
    "digitize": lambda np_, x: np_.digitize(x, EDGES),
    "digitize, bins that fall": lambda np_, x: np_.digitize(x, EDGES[::-1]),
    "histogram": lambda np_, x: np_.histogram(x, 7),
    "histogram with a range": lambda np_, x: np_.histogram(x, 7, (-1, 2)),
    "histogram with edges": lambda np_, x: np_.histogram(x, EDGES),
    "histogram, bins that fall": lambda np_, x: np_.histogram(x, EDGES[::-1]),
    "histogram, one edge": lambda np_, x: np_.histogram(x, [1.0]),
    "histogram, no edge": lambda np_, x: np_.histogram(x, []),
    "histogram, no edge, weights": lambda np_, x: np_.histogram(x, [], weights=x),
    "histogram2d": lambda np_, x: np_.histogram2d(x, x[::-1], 3)[0],
    "histogram2d, edges": lambda np_, x: np_.histogram2d(x, x, [EDGES, EDGES])[0],
    "histogram2d, bins that fall": lambda np_, x: np_.histogram2d(x, x, [EDGES[::-1], EDGES]),
    "bincount": lambda np_, x: np_.bincount(_least(x), minlength=3),
    "bincount, keys of another length": lambda np_, x: np_.bincount(_least(x), _least(x)[1:]),
    "count_nonzero": lambda np_, x: np_.count_nonzero(x),
    "partition": lambda np_, x: np_.sort(np_.partition(x, len(x) // 2)[: len(x) // 2]),
    "the element of a partition": lambda np_, x: np_.partition(x, len(x) // 2)[len(x) // 2 :][:1],
    "argpartition": lambda np_, x: x[np_.argpartition(x, len(x) // 2)][len(x) // 2 :][:1],
    "put_along_axis": _put,
    "several quantiles": lambda np_, x: np_.quantile(x, [0, 0.3, 0.5, 1], method="higher"),
    "nanquantile": lambda np_, x: np_.nanquantile(x, 0.3, method="lower"),
    "percentile": lambda np_, x: np_.percentile(x, 75, method="nearest"),
    "nanpercentile": lambda np_, x: np_.nanpercentile(x, [10, 75], method="inverted_cdf"),
    "a probability below 0": lambda np_, x: np_.quantile(x, -1e-9),
    "a probability above 1": lambda np_, x: np_.nanquantile(x, [0.5, 1 + 1e-9]),
    "a percentage above 100": lambda np_, x: np_.percentile(x, 100.1),
    "weighted quantile": lambda np_, x: np_.quantile(
        x, [0.2, 0.7], weights=np.arange(len(np.asarray(x))) % 3, method="inverted_cdf"
    ),
}  # fmt: skip
# NumPy adds no bools.
ELSEWHERE: Final = {("histogram, no edge, weights", "true and false")}


@pytest.mark.parametrize("what", NUMPYS)
def test_as_numpy(what: str) -> None:
    for name in ARRAYS:
        if (what, name) not in ELSEWHERE:
            wanted = outcome(lambda n=name: NUMPYS[what](np, _canonical(ARRAYS[n])))  # type: ignore[misc]
            on_rungs(name, lambda x: NUMPYS[what](sc, x), wanted)


@pytest.mark.parametrize("name", ARRAYS)
def test_every_method_of_quantiles(name: str) -> None:
    x = _canonical(ARRAYS[name])
    q = np.array([0.0, 1e-9, 0.25, 0.5, 0.9, 1.0])
    for method in METHODS:
        wanted = outcome(lambda m=method: np.quantile(x, q, method=m))  # type: ignore[misc]
        on_rungs(name, lambda a, m=method: sc.quantile(a, q, method=m), wanted)  # type: ignore[misc]


def _middle(x: Any) -> Any:
    """The exact mean of the two elements in the middle, rounded once."""
    kind = x.dtype if x.dtype.kind == "f" else np.dtype("float64")
    if not len(x) or (x != x).any():
        return kind.type(np.nan)
    low, high = np.sort(x)[[(len(x) - 1) // 2, len(x) // 2]].tolist()
    if abs(low) == np.inf or abs(high) == np.inf:
        return kind.type((low + high) / 2)
    return kind.type(float((Fraction(low) + Fraction(high)) / 2))


@pytest.mark.parametrize("name", [one for one in ARRAYS if one != "true and false"])
def test_medians_are_exact_means_of_the_middle(name: str) -> None:
    x = ARRAYS[name]
    on_rungs(name, sc.median, [np.asarray(_middle(x))])
    on_rungs(name, sc.nanmedian, [np.asarray(_middle(x[x == x]))])


@pytest.mark.parametrize("name", ARRAYS)
def test_the_greatest_and_the_least(name: str) -> None:
    ordered = np.sort(_canonical(ARRAYS[name]), kind="stable")
    on_rungs(name, lambda x: sc.topk(x, 5), [ordered[::-1][:5]])
    on_rungs(name, lambda x: sc.topk(x, -5), [ordered[:5]])
    on_rungs(name, lambda x: sc.where(x == x, x, x)[sc.argtopk(x, 5)], [ordered[::-1][:5]])


@pytest.mark.parametrize("name", ARRAYS)
def test_ranks_modes_and_counts(name: str) -> None:
    x = _canonical(ARRAYS[name])
    values, counts = np.unique(x, return_counts=True)
    rank = np.searchsorted(np.sort(x), x, "left") + 1.0
    on_rungs(name, lambda a: sc.rank(a, "min"), [np.where(x == x, rank, np.nan)])
    if len(x):
        at = int(np.argmax(counts))
        on_rungs(name, sc.mode, [values[at], counts[at]])
    on_rungs(name, lambda a: sc.value_counts(a, sort=False, dropna=False), [values, counts])


# Exact sums ---------------------------------------------------------------------------------------


def exact(values: Any, divisor: int = 1) -> float:
    """The sum over ``divisor``, rounded once."""
    if (values != values).any() or {np.inf, -np.inf} <= set(values.tolist()):
        return np.nan
    if np.isinf(values).any():
        return float(values[np.isinf(values)][0])
    if not divisor:
        return np.nan
    total = sum(map(Fraction, values.tolist()), start=Fraction(0)) / divisor
    try:
        return total.numerator / total.denominator
    except OverflowError:
        return np.inf if total > 0 else -np.inf


DOUBLES: Final = [name for name in FLOATS if ARRAYS[name].dtype == np.float64]


@pytest.mark.parametrize("name", DOUBLES)
def test_sums_by_key_are_exact(name: str) -> None:
    x = ARRAYS[name]
    keys = keys_of(x)
    wanted = [np.array([exact(x[keys == k]) for k in range(7)])]
    counted = wanted if len(x) else [np.zeros(7, "int64")]
    on_rungs(name, lambda a: sc.bincount(keys, a, minlength=7), counted)
    on_rungs(name, lambda a: sc.zeros(7).at[keys].add(a), wanted)
    on_rungs(name, lambda a: sc.segment_sum(a, keys, 7), wanted)
    edges = np.arange(8) - 0.5
    on_rungs(name, lambda a: sc.histogram(keys, edges, weights=a)[0], wanted)
    order = np.argsort(keys, kind="stable")
    ends = np.searchsorted(keys[order], np.arange(8))
    on_rungs(name, lambda a: sc.csr_matvec(a[order], order * 0, ends, [1.0]), wanted)

    def added(a: Any) -> Any:
        sums = sc.zeros(7)
        np.add.at(sums, keys, a)
        return sums

    on_rungs(name, added, wanted)


@pytest.mark.parametrize("name", DOUBLES)
def test_rows_of_one_length_are_exact(name: str) -> None:
    x = ARRAYS[name][: len(ARRAYS[name]) // 7 * 7]
    wanted = [np.array([exact(row) for row in x.reshape(-1, 7)])]
    columns, ends = np.zeros(len(x), int), np.arange(0, len(x) + 1, 7)
    on_rungs(name, lambda a: sc.csr_matvec(a[: len(x)], columns, ends, [1.0]), wanted)


@pytest.mark.parametrize("name", ARRAYS)
def test_the_least_and_greatest_at_places(name: str) -> None:
    x = ARRAYS[name]
    if x.dtype == bool:
        return
    keys = keys_of(x)
    for op, ufunc in (("min", np.minimum), ("max", np.maximum)):
        known = np.full(3, x.dtype.type(1))
        wanted = known.copy()
        with np.errstate(all="ignore"):
            for k in range(3):
                wanted[k] = ufunc.reduce([known[k], *x[keys == k]])
        few = keys < 3

        def ours(a: Any, op: str = op, few: Any = few, known: Any = known) -> Any:
            return getattr(sc.asarray(known).at[keys[few]], op)(a[few])

        on_rungs(name, ours, [_canonical(wanted)])


# Groups -------------------------------------------------------------------------------------------


def _nothing(dtype: Any) -> Any:
    return np.nan if dtype.kind == "f" else False if dtype.kind == "b" else np.iinfo(dtype).min


def _place(name: str, values: Any) -> int:
    return int(getattr(np, name)(values))


GROUPED: Final[dict[str, Callable[[Any], Any]]] = {
    "min": lambda v: v.min(),
    "max": lambda v: v.max(),
    "first": lambda v: v[0],
    "last": lambda v: v[-1],
    "count": lambda v: int((v == v).sum()),
    "any": lambda v: bool(v.any()),
    "all": lambda v: bool(v.all()),
    "median": _middle,
    "sum": lambda v: exact(v) if v.dtype.kind == "f" else v.sum(),
    "mean": lambda v: exact(v, len(v)),
}
EMPTY: Final = {"count": 0, "any": False, "all": True, "sum": 0}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("func", GROUPED)
def test_results_of_groups(func: str, name: str) -> None:
    x, kept = _canonical(ARRAYS[name]), {"min", "max", "first", "last"}
    if x.dtype == bool and func in ("median", "sum"):
        return
    keys, parts = keys_of(x), range(7)
    with np.errstate(all="ignore"):
        empty = EMPTY.get(func, _nothing(x.dtype) if func in kept else np.nan)
        each = [GROUPED[func](x[keys == k]) if (keys == k).any() else empty for k in parts]
    if func == "median" and not len(x):
        on_rungs(name, lambda a: sc.groupby(a, keys, expected_groups=parts).median(), ValueError())
        return
    for rung in RUNGS:
        with sc.on(rung):
            found = getattr(sc.groupby(sc.asarray(x), keys, expected_groups=parts), func)()
            found = np.asarray(found)
        with np.errstate(all="ignore"):
            wanted = np.array(each, found.dtype)
        if func in ("sum", "mean") and x.dtype.kind == "f" and x.dtype != np.float64:
            np.testing.assert_allclose(found, wanted, 1e-3 if x.dtype == np.float16 else 1e-7)
        else:
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("func", ["var", "std", "argmin", "argmax", "prod", "quantile"])
def test_groups_have_the_bits_of_arrays(func: str, name: str) -> None:
    x = _canonical(ARRAYS[name])
    keys = np.arange(len(x)) % 3
    if not len(x):
        return
    for rung in RUNGS:
        with sc.on(rung), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            options = {"q": 0.3} if func == "quantile" else {}
            found = getattr(sc.groupby(sc.asarray(x), keys), func)(**options).compute()
            for k in range(len(found)):
                part = sc.asarray(x[keys == k])
                if func == "prod":
                    part = sc.where(sc.asarray(keys == k), sc.asarray(x), x.dtype.type(1))
                one = getattr(sc, func)(part, **options).compute()
                one = np.flatnonzero(keys == k)[one] if func.startswith("arg") else one
                np.testing.assert_array_equal(found[k], one)


KEYS: Final[dict[str, Any]] = {
    "strings": np.array(["b", "", "aa", "b", "a" * 40, ""]),
    "strings of objects": np.array(["b", "", "aa", "b", "é", ""], object),
    "bytes": np.array([b"b", b"", b"aa", b"b", b"z", b""]),
    "beyond 2**63": np.array([2**64 - 1, 0, 2**63, 2**64 - 1, 2**63 - 1, 0], np.uint64),
    "ends of int64": np.array([-(2**63), 2**63 - 1, 0, -(2**63), -1, 0]),
    "floats": np.array([np.inf, -0.0, 5e-324, np.inf, -np.inf, 0.0]),
    "NaN": np.array([np.nan, 1.0, 2.0, np.nan, 3.0, 1.0]),
    "dates": np.array(["2020-01-02", "1700-01-01", "NaT", "2020-01-02", "NaT", "1700"], "M8[D]"),
}  # fmt: skip


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_every_kind(kind: str, rung: str) -> None:
    keys, x = KEYS[kind], np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
    labels = np.unique(keys)
    labels = labels[labels == labels]
    with sc.on(rung):
        groups = sc.groupby(x, keys)
        assert groups.labels.tolist() == labels.tolist()
        assert groups.sum().tolist() == [float(x[keys == label].sum()) for label in labels]


# More than there is room for, and what has no meaning ---------------------------------------------

MOST: Final = 2**45
REFUSED: Final[dict[str, tuple[Callable[[Any], Any], Any]]] = {
    "a huge number": (lambda x: sc.bincount(sc.asarray([2**47])), MemoryLimitError),
    "a number without bound": (lambda x: sc.bincount(sc.asarray([2**59])), MemoryLimitError),
    "a number beyond all": (lambda x: sc.bincount(sc.asarray([2**62])), ValueError),
    "a number beyond 2**63": (
        lambda x: sc.bincount(sc.asarray(np.array([2**64 - 1], np.uint64))), ValueError),
    "a negative number": (lambda x: sc.bincount(sc.asarray([3, -(2**63)])), ValueError),
    "a lazy negative number": (lambda x: sc.bincount(sc.arange(9) - 4), ValueError),
    "counted strings": (lambda x: sc.bincount(np.array(["a"])), TypeError),
    "a huge least length": (lambda x: sc.bincount(sc.asarray([1]), minlength=MOST), MemoryError),
    "more bins than memory": (lambda x: sc.histogram(x, MOST), MemoryLimitError),
    "edges beyond memory": (lambda x: sc.histogram_bin_edges(x, MOST), MemoryLimitError),
    "more bins in two axes": (lambda x: sc.histogram2d(x, x, 2**22)[0], MemoryError),
    "more segments": (lambda x: sc.segment_sum(x, np.zeros(SIZE, int), MOST), MemoryError),
    "a far segment": (lambda x: sc.segment_sum(x, np.full(SIZE, 2**62)), MemoryError),
    "complex quantiles": (lambda x: sc.quantile(x * 1j, 0.5), TypeError),
    "a lazy probability": (lambda x: sc.quantile(x, sc.asarray([0.5, 2.0])), ValueError),
    "a probability that is NaN": (lambda x: sc.nanpercentile(x, np.nan), ValueError),
    "a probability of groups": (
        lambda x: sc.groupby(x, np.zeros(SIZE, int)).quantile([0.5, -0.1]), ValueError),
    "keys of another length": (lambda x: sc.groupby(x, np.zeros(SIZE - 1)), ValueError),
    "keys of objects": (lambda x: sc.groupby(x, np.array([None] * SIZE)), TypeError),
    "more groups than memory": (
        lambda x: sc.groupby(x, np.zeros(SIZE, int), expected_groups=range(MOST)),
        MemoryError,
    ),
    "more combinations of keys": (
        lambda x: sc.groupby(x, *[np.zeros(SIZE, int)] * 4, expected_groups=(range(2**17),) * 4),
        MemoryError,
    ),
    "bins of groups that fall": (
        lambda x: sc.groupby_reduce(x, x, func="sum", expected_groups=[3, 1], isbin=True),
        ValueError),
    "a segment below 0": (lambda x: sc.segment_sum(x, np.full(SIZE, -1), 3), IndexError),
    "a place beyond": (lambda x: x.at[[SIZE]].add(1.0), IndexError),
    "a column beyond": (lambda x: sc.csr_matvec([1.0], [5], [0, 1], x[:5]), IndexError),
    "rows that fall": (lambda x: sc.csr_matvec([1.0], [0], [0, 2, 1], x), ValueError),
    "a resample of nothing": (lambda x: sc.random.bootstrap(x[:0], np.mean), ValueError),
    "a jackknife of nothing": (lambda x: sc.random.jackknife(x[:0], np.mean), ValueError),
    "a sample of nothing": (
        lambda x: sc.random.permutation_test((x, x[:0]), lambda a, b, axis: a.mean(axis)),
        ValueError),
    "more folds than there are": (lambda x: sc.random.cross_validation(x, SIZE + 1), ValueError),
}  # fmt: skip


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused(what: str, rung: str) -> None:
    work, kind = REFUSED[what]

    def whole() -> Any:
        found = work(sc.asarray(NORMAL))
        return [np.asarray(one) for one in (found if isinstance(found, tuple) else (found,))]

    with sc.on(rung), pytest.raises(SpeedcubeError) as caught:
        whole()
    assert isinstance(caught.value, kind), caught.value


# Resampling ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [one for one in DOUBLES if len(ARRAYS[one]) > 1])
def test_resamples_of_hostile_numbers(name: str) -> None:
    x = ARRAYS[name]
    index = sc.random.default_rng(9).integers(0, len(x), size=(6, len(x))).compute()
    wanted = [np.array([exact(x[row], len(x)) for row in index])]

    def drawn(a: Any) -> Any:
        found = sc.random.bootstrap(a, np.mean, 6, method="basic", rng=9)
        return found.bootstrap_distribution

    on_rungs(name, drawn, wanted)
    last = [sc.random.jackknife(x, np.mean).jackknife_distribution]
    assert last[0].tolist() == pytest.approx(
        [exact(np.delete(x, k), len(x) - 1) for k in range(len(x))], nan_ok=True, rel=1e-9
    )


@pytest.mark.parametrize("rung", RUNGS)
@pytest.mark.parametrize("name", ["all equal", "NaN and inf everywhere", "zeros of both signs"])
def test_permutations_of_hostile_numbers(name: str, rung: str) -> None:
    stats = pytest.importorskip("scipy.stats")
    x, y = ARRAYS[name][:3], ARRAYS[name][3:6]

    def difference(a: Any, b: Any, axis: int = -1) -> Any:
        return np.mean(a, axis=axis) - np.mean(b, axis=axis)

    with sc.on(rung), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        ours = sc.random.permutation_test((x, y), difference, n_resamples=np.inf)
        theirs = stats.permutation_test((x, y), difference, n_resamples=np.inf)
    np.testing.assert_allclose(ours.null_distribution, theirs.null_distribution, atol=1e-15)
    np.testing.assert_allclose(ours.pvalue, theirs.pvalue)
