"""Long lines, sorted, selected and counted: adversaries, all rungs, what the plan promises."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine import rungs
from speedcube.engine.ordering import keys, packed, parting, radix, selecting, sorting
from speedcube.expr.interpret import interpret
from speedcube.expr.through import ordering
from speedcube.kernel.lower.reference import draw

SIZE: Final = 300_000
_RNG = np.random.default_rng(8)


def _nans(x: Any, share: float) -> Any:
    return np.where(_RNG.random(SIZE) < share, np.nan, x)


LINES: Final[dict[str, Any]] = {
    "normals": _RNG.normal(size=SIZE),
    "sorted": np.sort(_RNG.normal(size=SIZE)),
    "falling": -np.sort(_RNG.normal(size=SIZE)),
    "all equal": np.full(SIZE, 3.5),
    "two values": np.where(_RNG.random(SIZE) < 0.5, 1.0, 2.0),
    "few integers": _RNG.integers(0, 10, SIZE),
    "wide integers": _RNG.integers(-(2**62), 2**62, SIZE),
    "unsigned": _RNG.integers(0, 2**64, SIZE, dtype="uint64"),
    "a low end": np.where(np.arange(SIZE) < SIZE // 2, 0, 2.0**-1074 * np.arange(SIZE)),
    "one key for the leading bits": 1 + np.arange(SIZE)[::-1] * 2.0**-52,
    "magnitudes": _RNG.normal(size=SIZE) * 10.0 ** _RNG.integers(-300, 300, SIZE),
    "NaN": _nans(_RNG.normal(size=SIZE), 0.01),
    "mostly NaN": _nans(_RNG.normal(size=SIZE), 0.9),
    "NaN only": np.full(SIZE, np.nan),
    "infinities": np.where(_RNG.random(SIZE) < 0.6, np.inf, -np.inf),
    "zeros of both signs": np.where(_RNG.random(SIZE) < 0.5, 0.0, -0.0),
    "float32": _RNG.normal(size=SIZE).astype("float32"),
    "float16": _RNG.normal(size=SIZE).astype("float16"),
    "mostly zeros": np.where(_RNG.random(SIZE) < 0.8, 0.0, _RNG.normal(size=SIZE)),
    "mostly negative zeros": np.where(np.arange(SIZE) % 5 > 0, -0.0, np.arange(SIZE) - 7.0),
    "nearly alike": 1.9 + _RNG.integers(0, 5000, SIZE) * 2.0**-52,
    "a period": np.tile(_RNG.normal(size=64), SIZE // 64 + 1)[:SIZE],
    "bool": _RNG.random(SIZE) < 0.3,
    "bytes": _RNG.integers(-128, 128, SIZE).astype("int8"),
}
PLACES: Final = (0, 1, SIZE // 100, SIZE // 2 - 1, SIZE // 2, SIZE - 2, SIZE - 1)


def _same(found: Any, wanted: Any) -> None:
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)
    if wanted.dtype.kind == "f":
        known = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found)[known], np.signbit(wanted)[known])


@pytest.mark.parametrize("name", LINES)
def test_a_long_line(name: str) -> None:
    x = LINES[name]
    a = sc.asarray(x)
    wanted = np.sort(x, kind="stable")
    lazy = sc.where(sc.arange(SIZE) >= 0, a, a)  # no memory that can be read as it lies
    for on, line in (("core", a), ("cores", lazy)):
        _same(sc.topk(line, -2).compute(on=on), wanted[:2])
        some = sc.api.order.lines.order_statistics(line, PLACES)  # type: ignore[attr-defined]
        _same(some.compute(on=on), wanted[list(PLACES)])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_single_zero_among_negative_ones_stays(dtype: str) -> None:
    """NumPy's sort takes the lesser and the greater of 0 and -0: either may be written twice."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        x = np.round(rng.normal(0, 1e3, int(rng.integers(9_000, 40_000))), 1).astype(dtype)
        x[rng.integers(0, len(x), 100)] = -0.0
        x[rng.integers(0, len(x), 2)] = 0.0
        _same(sc.sort(sc.asarray(x)).compute(on="core"), np.sort(x, kind="stable"))


@pytest.mark.parametrize("length", [2, 3, 15, 16, 40, 512])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "uint8"])
def test_many_short_lines(length: int, dtype: str) -> None:
    """Places of many lines are found together, and so are the parts of each."""
    rng = np.random.default_rng(length)
    lines = rng.integers(0, length, (3_000 // length, length)).astype(dtype)
    if dtype.startswith("float"):
        lines[::3] = rng.normal(size=lines[::3].shape)
        lines[::7, 0], lines[1::7, -1] = np.nan, -0.0
    order, k = np.argsort(lines, axis=-1, kind="stable"), length // 2
    a = sc.asarray(lines)
    np.testing.assert_array_equal(sc.argsort(a, axis=1).compute(on="core"), order)
    _same(
        sc.partition(a, k, axis=1).compute(on="core"),
        np.array([ordering.parted_by(line, np.sort(line)[[k]]) for line in lines]),
    )


@pytest.mark.parametrize("length", [4_000, 9_000, 20_000, 70_000])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "uint32", "uint8"])
def test_several_places_of_lines_that_are_held(length: int, dtype: str) -> None:
    """By a partition, or by a sort: with NaN, infinities, zeros of both signs and ties."""
    rng = np.random.default_rng(length)
    lines = rng.integers(0, 200, (5, length)).astype(dtype)
    if dtype.startswith("float"):
        lines[1], lines[2, ::3], lines[3, ::9] = rng.normal(size=length), np.nan, -0.0
        lines[4, ::4], lines[4, 1::4] = np.inf, -np.inf
    wanted = np.sort(lines, axis=-1, kind="stable")
    for places in ((3, length // 2, length - 1), tuple(range(0, length, length // 40))):
        some = sc.api.order.lines.order_statistics(sc.asarray(lines), places)  # type: ignore[attr-defined]
        _same(some.compute(on="core"), wanted[:, list(places)])
        one = sc.api.order.lines.order_statistics(sc.asarray(lines[1]), places)  # type: ignore[attr-defined]
        _same(one.compute(on="core"), wanted[1, list(places)])


def test_which_lines_are_parted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of 64 KiB and more, at up to sixteen places; the others are sorted."""
    sorts: list[Any] = []
    real = selecting.put_in_order
    monkeypatch.setattr(selecting, "put_in_order", lambda x: (sorts.append(x.shape), real(x)))
    line = np.random.default_rng(1).normal(size=8192)
    for x, q, sorted_ones in (
        (line, [5, 95], 0),
        (line[:-1], [5, 95], 1),
        (line.astype("float32"), [5, 95], 1),
        (line, list(range(0, 99, 10)), 1),
    ):
        sorts.clear()
        found = sc.percentile(sc.asarray(x), q).compute(on="core")
        np.testing.assert_allclose(found, np.percentile(x, q), 1e-6)
        assert len(sorts) == sorted_ones


@pytest.mark.gpu
@pytest.mark.skipif("gpu" not in rungs.available(), reason="no GPU is visible here")
@pytest.mark.parametrize("name", LINES)
def test_a_long_line_on_a_gpu(name: str) -> None:
    x = LINES[name]
    a, order = sc.asarray(x), np.argsort(x, kind="stable")
    some = sc.api.order.lines.order_statistics(a, PLACES)  # type: ignore[attr-defined]
    _same(some.compute(on="gpu"), x[order][list(PLACES)])
    _same(sc.sort(a).compute(on="gpu"), np.sort(x, kind="stable"))
    np.testing.assert_array_equal(sc.argsort(a).compute(on="gpu"), order)
    if x.dtype.kind == "f":
        number = sc.where(a > 0, 3, sc.where(a < 0, 1, 0))
        histogram = sc.histogram(sc.where(sc.isfinite(a), a, 9.0), 50, (-3, 3))[0]
        for made in (histogram, sc.bincount(number.astype("int32"), a), sc.bincount(number)):
            np.testing.assert_array_equal(made.compute(on="gpu"), made.compute(on="core"))


HARD: Final = "all equal,few integers,magnitudes,NaN,float32,zeros of both signs"


@pytest.mark.parametrize("name", [*HARD.split(","), "one key for the leading bits"])
def test_a_miss_costs_passes_and_no_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample that says nothing, and no room for what lies between: keys are counted."""
    x = LINES[name]
    for module in (keys, selecting):
        monkeypatch.setattr(module, "COLLECTED", 50)
    wanted = np.sort(x, kind="stable")[list(PLACES)]
    some = sc.api.order.lines.order_statistics  # type: ignore[attr-defined]
    _same(some(sc.asarray(x), PLACES).compute(on="cores"), wanted)
    _, high = selecting._ends(np.sort(x).dtype)
    monkeypatch.setattr(
        selecting, "brackets_of", lambda *_: [selecting.Bracket(high, high, PLACES)]
    )
    _same(some(sc.asarray(x), PLACES).compute(on="core"), wanted)


def test_what_is_alike_is_neither_kept_nor_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """One value between the two of a sample is known; of many that are near one pass tells."""
    passes: list[int] = []
    count = keys.counts_within

    def counted(elements: Any, within: keys.KeyRange) -> Any:
        passes.append(within.shift)
        return count(elements, within)

    monkeypatch.setattr(keys, "counts_within", counted)
    monkeypatch.setattr(selecting, "COLLECTED", 50)
    for x, wanted in (
        (LINES["all equal"], []),
        (LINES["all equal"].astype("int32"), []),
        (np.where(np.arange(SIZE) % 9, 0.0, -1.0), []),
        (LINES["nearly alike"], [0]),
        (LINES["bytes"], [0]),
    ):
        passes.clear()
        found = sc.median(sc.asarray(x)).compute(on="core")
        assert (found, passes) == (np.median(x), wanted)


@pytest.mark.parametrize("name", LINES)
def test_a_long_sort_on_threads(name: str) -> None:
    x = np.concatenate([LINES[name], LINES[name][::-1]])  # long enough for two
    for on in ("core", "cores:2"):
        _same(sc.sort(x).compute(on=on), np.sort(x, kind="stable"))
        np.testing.assert_array_equal(sc.argsort(x).compute(on=on), np.argsort(x, kind="stable"))


_X = _RNG.normal(size=(400, 300))
_INDEX = _RNG.integers(0, 400, 400)
PROGRAMS: Final[dict[str, Callable[[], Any]]] = {
    "sort": lambda: sc.sort(_drawn() * 2, axis=0),
    "argsort": lambda: sc.argsort(sc.asarray(_X)),
    "median": lambda: sc.median(_drawn()),
    "median of rows": lambda: sc.median(sc.asarray(_X) + 1, axis=1),
    "quantiles of columns": lambda: sc.quantile(_drawn(), [0.1, 0.9], axis=0),
    "nanmedian of columns": lambda: sc.nanmedian(sc.asarray(_X), axis=0),
    "histogram": lambda: sc.histogram(_drawn(), 50, (-3, 3))[0],
    "weighted histogram": lambda: sc.histogram(_X, 50, (-3, 3), weights=_X)[0],
    "searchsorted": lambda: sc.searchsorted(np.linspace(-2, 2, 30), _drawn()).sum(axis=0),
    "pieces": lambda: sc.sort(sc.pad(_X, 1), axis=None)[5:-5],
    "less the median": lambda: (sc.asarray(_X) - sc.median(_X, axis=0))[::2],
    "above the median": lambda: (_drawn() > sc.median(_drawn())).sum(),
    "partition": lambda: sc.partition(sc.asarray(_X), 7, axis=1),
    "added": lambda: sc.asarray(_X).at[_INDEX, 5].add(_drawn()[_INDEX, 0]),
    "segments": lambda: sc.segment_sum(_drawn(), _INDEX, 400),
    "segments of integers": lambda: sc.segment_sum(_INDEX, _INDEX % 7),
    "least of segments": lambda: sc.segment_min(_drawn(), _INDEX % 9, 11),
    "greatest of segments": lambda: sc.segment_max(sc.asarray(_X), _INDEX % 9, 11)[:, ::7],
}


def _drawn() -> Any:
    return sc.random.default_rng(3).normal(size=(400, 300))


@pytest.mark.parametrize("name", PROGRAMS)
def test_all_rungs_and_the_interpreter_agree(name: str) -> None:
    made = PROGRAMS[name]()
    one = made.compute(on="core")
    _same(np.asarray(made.compute(on="cores")), np.asarray(one))
    _same(interpret(made._expr, draw), np.asarray(one))
    assert made.explain().steps
    with sc.cache("10MB"):
        _same(np.asarray(made.compute()), np.asarray(one))


def test_what_is_drawn_and_selected_takes_no_memory() -> None:
    x = sc.random.default_rng(1).normal(size=10**10)
    assert sc.median(x).plan().peak_bytes < 2**30
    assert sc.histogram(x, 100, (-5, 5))[0].plan().peak_bytes < 2**30
    with pytest.raises(sc.errors.MemoryLimitError):
        sc.sort(sc.random.default_rng(1).normal(size=10**13)).plan()


@pytest.mark.parametrize(
    "name", [name for name, x in LINES.items() if x.dtype.name in radix.DTYPES]
)
@pytest.mark.parametrize("dtype", ["", "float32", "int32", "uint32"])
def test_digits_sort_as_numpy_does(name: str, dtype: str) -> None:
    with np.errstate(all="ignore"):
        x = np.array(LINES[name][:9000], dtype or LINES[name].dtype)
    assert radix.has_digits(x)
    wanted = np.argsort(x, kind="stable")
    np.testing.assert_array_equal(radix.places(x), wanted)
    np.testing.assert_array_equal(
        sorting.places_of(x[::2].repeat(2)), np.argsort(x[::2].repeat(2), kind="stable")
    )
    values = x.copy()
    radix.sort(values)
    np.testing.assert_array_equal(values, np.sort(x))


_MANY: Final = np.random.default_rng(9).normal(size=9000)
LEADING: Final[dict[str, tuple[Any, bool]]] = {
    "few are alike": (np.concatenate([_MANY, _MANY[:99] * (1 + 2.0**-52), _MANY[:50]]), True),
    "NaN and zeros": (np.where(_MANY > 1, np.nan, np.where(_MANY < -1, -0.0, _MANY)), False),
    "one NaN": (np.concatenate([_MANY, [np.nan, -np.nan, np.inf, -0.0, 0.0, -0.0]]), True),
    "a narrow range": (1 + _MANY * 1e-9, True),
    "far and near": (np.where(_MANY < 0, _MANY, 1 + _MANY * 1e-13), False),
    "integers": (np.random.default_rng(9).integers(-(2**63), 2**63, 9000), True),
    "few bits": (np.arange(9000) % 7 - 3, True),
    "equal": (np.full(9000, -2.5), True),
    "unsigned": (np.random.default_rng(9).integers(0, 2**64, 9000, dtype="uint64"), True),
}


@pytest.mark.parametrize("name", LEADING)
def test_places_by_leading_bits(name: str) -> None:
    """Those that these do not tell apart come in order; where they are many, whole keys do."""
    x, known = LEADING[name]
    found, wanted = packed.places(x), np.argsort(x, kind="stable")
    assert (found is not None) == known
    if found is not None:
        np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(radix.places(x), wanted)


def test_digits_leave_numpys_nan_last() -> None:
    x = np.frombuffer(np.arange(9000).astype("uint64") + np.uint64(0xFFF8 << 48), "float64").copy()
    x[1::2] = np.inf
    x[::4] = -np.inf
    for dtype in ("float64", "float32"):
        own = x.astype(dtype)
        radix.sort(own)
        assert np.isinf(own[:6750]).all()
        rest = own[6750:]
        assert (
            rest.view(f"uint{8 * own.itemsize}")
            == np.full(1, np.nan, dtype).view(f"uint{8 * own.itemsize}")
        ).all()


@pytest.mark.parametrize("by_digits", [True, False])
@pytest.mark.parametrize(
    "name", ["normals", "NaN", "zeros of both signs", "wide integers", "float32"]
)
def test_both_ways_of_sorting_give_the_same_bits(
    name: str, by_digits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which one is taken depends on the processor."""
    x = LINES[name]
    asked: list[int] = []
    sort = radix.sort

    def counted(line: Any) -> None:
        asked.append(len(line))
        sort(line)

    monkeypatch.setattr(radix, "sorts_values", lambda: by_digits)
    monkeypatch.setattr(radix, "sort", counted)
    for on in ("core", "cores:2"):
        _same(sc.sort(x).compute(on=on), np.sort(x, kind="stable"))
        table = x[: SIZE // 10 * 10].reshape(10, -1)
        _same(sc.sort(table, axis=1).compute(on=on), np.sort(table, axis=1, kind="stable"))
        _same(sc.argsort(x).compute(on=on), np.argsort(x, kind="stable"))
    assert bool(asked) == by_digits


@pytest.mark.parametrize(
    "name", ["normals", "NaN", "zeros of both signs", "few integers", "float32"]
)
def test_the_distinct_of_a_long_line(name: str) -> None:
    """Equal ones that meet where blocks do, NaN apart or as one, and none that are equal."""
    x = LINES[name]
    wanted = np.unique(x)
    some = x[np.flatnonzero(x == 0)[0]] if name.startswith("zeros") else wanted[0]
    for held in (x, sc.asarray(x) * 1):
        found = sc.unique(held).compute(on="core")
        _same(found, np.array([some, *wanted[1:]], x.dtype))
    _same(sc.unique_values(x).compute(on="core"), np.unique(x, equal_nan=False) + x.dtype.type(0))
    twice = sc.unique(np.repeat(x[:40_000], 2)).compute(on="core")
    np.testing.assert_array_equal(twice, np.unique(x[:40_000]))


def test_where_numpys_sort_is_slow_is_asked_once() -> None:
    assert radix.sorts_values() in (True, False)
    assert radix.sorts_values() is radix.sorts_values()


def test_very_long_lines_are_not_sorted_by_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their keys would take as much memory as four copies."""
    monkeypatch.setattr(radix, "BY_DIGITS", 10_000)
    assert not radix.has_digits(LINES["normals"])
    _same(sc.argsort(LINES["NaN"]).compute(on="core"), np.argsort(LINES["NaN"], kind="stable"))


def test_a_kernel_lives_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two threads that load one at the same time, the cache keeps one."""
    compiled = radix.compiled

    class Loaded:
        def __init__(self, step: Any) -> None:
            own, alive = compiled(step), weakref.ref(self)

            def run(*addresses: int) -> None:
                assert alive() is not None
                own.function(*addresses)

            self.function = run

    monkeypatch.setattr(radix, "compiled", Loaded)
    x = LINES["normals"]
    np.testing.assert_array_equal(radix.places(x), np.argsort(x, kind="stable"))


@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("places", [(SIZE // 2,), (5, SIZE // 3, SIZE - 2), (1, 2, 3, 5, SIZE - 1)])
def test_partitions_have_the_bits_of_their_meaning(
    name: str, places: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every NaN too, which moves and is not made anew. Calls of the kernel follow one another."""
    monkeypatch.setattr(parting, "_CALL", 70_001)
    x = LINES[name]
    word = f"u{x.itemsize}"
    wanted = ordering.partition(x, places).view(word)
    lazy = sc.where(sc.arange(SIZE) >= 0, x, x)
    for on, line in (("core", x), ("cores:2", lazy)):
        found = np.asarray(sc.partition(line, places).compute(on=on))
        np.testing.assert_array_equal(found.view(word), wanted)
    if len(places) == 1:  # as by the places that a partition has
        order = np.asarray(sc.argpartition(x, places).compute(on="core"))
        np.testing.assert_array_equal(x[order].view(word), wanted)
    table = x[: 30 * 100].reshape(30, 100)
    short = sc.partition(table, [p % 100 for p in places], axis=1).compute(on="core")
    for row, line in zip(np.asarray(short), table, strict=True):
        alone = ordering.partition(line, sorted({p % 100 for p in places}))
        np.testing.assert_array_equal(row.view(word), alone.view(word))


def test_a_partition_at_many_places_is_a_sort() -> None:
    x = LINES["NaN"]
    _same(sc.partition(x, range(0, SIZE, 1000)).compute(on="core"), np.sort(x, kind="stable"))
    none = np.array([], np.int64)
    np.testing.assert_array_equal(sc.partition(x, none).compute(on="core"), x)
