"""``x.chunks`` is what the same program has in Dask; grids that nobody asks for are not made."""

from __future__ import annotations

import itertools
import pickle
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import dask
import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

import speedcube as sc
from speedcube.errors import ParameterError
from speedcube.interop.even_chunks import even_chunks

da = pytest.importorskip("dask.array")

# Sources -----------------------------------------------------------------------------------------

SOURCES: dict[str, Callable[[Any], Any]] = {
    "ones": lambda m: m.ones((7, 10), chunks=(3, 4)),
    "zeros, one size": lambda m: m.zeros((7, 10), chunks=3),
    "full, whole axes": lambda m: m.full((7, 10), 2.5, chunks=(-1, None)),
    "explicit": lambda m: m.ones((7, 10), chunks=((3, 4), (1, 2, 3, 4))),
    "explicit, one axis": lambda m: m.ones(7, chunks=(3, 4)),
    "dict": lambda m: m.ones((7, 10), chunks={1: 5}),
    "list": lambda m: m.ones((7, 10), chunks=[3, 5]),
    "ndarray": lambda m: m.ones((7, 10), chunks=np.array([3, 5])),
    "auto": lambda m: m.ones((70_000, 80_000), chunks="auto"),
    "auto and a size": lambda m: m.ones((70_000, 80_000), chunks=("auto", 1000)),
    "bytes": lambda m: m.ones((7000, 8000), dtype="float32", chunks="1MiB"),
    "no hint": lambda m: m.ones((70_000, 80_000)),
    "no hint, float32": lambda m: m.ones((70_000, 80_000), dtype="float32"),
    "no hint, later float32": lambda m: m.ones((70_000, 80_000)).astype("float32"),
    "empty": lambda m: m.ones((0, 5), chunks=2),
    "all empty": lambda m: m.ones((0, 0), chunks=()),
    "0-d": lambda m: m.ones((), chunks=()),
    "arange": lambda m: m.arange(3, 1000, 7, chunks=20),
    "arange, float32": lambda m: m.arange(0, 2**30, dtype="float32"),
    "linspace": lambda m: m.linspace(0, 1, 33, chunks=10),
    "linspace, auto": lambda m: m.linspace(0, 1, 2**27),
    "eye": lambda m: m.eye(9, chunks=4),
    "eye of another width": lambda m: (
        m.eye(9, M=13, chunks=4) if m is da else m.eye(9, 13, chunks=4)
    ),
    "normal": lambda m: m.random.RandomState(0).normal(size=(7, 10), chunks=(3, 10)),
    "random, auto": lambda m: m.random.default_rng(0).random((10**5, 10**5)),
    "uniform": lambda m: m.random.default_rng(0).uniform(size=30, chunks=7),
    "integers": lambda m: m.random.default_rng(0).integers(0, 9, size=(30, 2), chunks=7),
    "exponential": lambda m: m.random.default_rng(0).exponential(size=(30, 2), chunks="auto"),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_new_array(name: str) -> None:
    ours, wanted = SOURCES[name](sc), SOURCES[name](da)
    assert ours.shape == wanted.shape
    assert ours.chunks == wanted.chunks
    assert ours.numblocks == wanted.numblocks


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(-1, 50)), max_size=4),
    st.sampled_from(["int8", "float32", "float64"]),
    st.sampled_from([16, 100, 1000, "1 kiB"]),
)
def test_chunks_that_are_plain_are_dasks(
    axes: list[tuple[int, int]], dtype: str, limit: Any
) -> None:
    """Those that are found without it, too."""
    shape, sizes = tuple(n for n, _ in axes), tuple(c for _, c in axes)
    with dask.config.set({"array.chunk-size": limit}):
        for hint in ("auto", sizes if 0 not in sizes else -1):
            found = even_chunks(hint, shape, dtype)
            if found is not None:
                assert found == da.core.normalize_chunks(hint, shape, dtype=np.dtype(dtype))
            elif 0 not in shape and shape:
                assert hint == -1 or hint == "auto"


def test_from_an_array() -> None:
    values = np.arange(24.0).reshape(4, 6)
    assert sc.asarray(values, chunks=(2, 4)).chunks == ((2, 2), (4, 2))
    assert sc.asarray(values).chunks == da.from_array(values).chunks
    dask_array = da.from_array(values, chunks=(3, 4))
    assert sc.from_dask_array(dask_array).chunks == dask_array.chunks
    assert (sc.from_dask_array(dask_array) + 1).chunks == dask_array.chunks


def test_the_size_auto_aims_at_is_dasks_setting() -> None:
    with dask.config.set({"array.chunk-size": "1MiB"}):
        assert sc.ones((2000, 2000)).chunks == da.ones((2000, 2000)).chunks
        assert len(sc.ones((2000, 2000)).chunks[0]) > 1


# Operations --------------------------------------------------------------------------------------


def _two(m: Any) -> tuple[Any, Any]:
    return m.ones((8, 9), chunks=(3, 4)), m.ones((8, 9), chunks=((2, 6), (9,)))


OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "published": lambda m: (m.ones((100, 100), chunks=(10, 30)) + 1)[::2, ::2],
    "published sum": lambda m: (m.ones((100, 100), chunks=(10, 30)) + 1)[::2, ::2].sum(),
    "two grids": lambda m: _two(m)[0] + _two(m)[1],
    "where": lambda m: m.where(_two(m)[0] > 0, _two(m)[1], 3.0),
    "a row": lambda m: _two(m)[0] * m.ones(9, chunks=5),
    "a column": lambda m: _two(m)[0] * m.ones((8, 1), chunks=5),
    "a column and a row": lambda m: m.ones((8, 1), chunks=3) - m.ones((1, 9), chunks=4),
    "a NumPy array": lambda m: _two(m)[0] + np.ones((8, 9)),
    "power": lambda m: _two(m)[0] ** 2,
    "sqrt": lambda m: np.sqrt(_two(m)[0]),
    "clip": lambda m: m.clip(_two(m)[0], 0, 1),
    "comparison": lambda m: _two(m)[1] < 3,
    "transpose": lambda m: m.ones((3, 4, 5), chunks=(2, 3, 4)).transpose(2, 0, 1),
    "T": lambda m: _two(m)[0].T,
    "moveaxis": lambda m: m.moveaxis(m.ones((3, 4, 5), chunks=(2, 3, 4)), 0, 2),
    "swapaxes": lambda m: m.swapaxes(m.ones((3, 4, 5), chunks=(2, 3, 4)), 0, 2),
    "flip": lambda m: m.flip(m.ones((8, 9), chunks=(3, 4)), 1),
    "squeeze": lambda m: m.squeeze(m.ones((8, 1, 9), chunks=(3, 1, 4))),
    "squeeze everything": lambda m: m.ones((1, 1), chunks=1).squeeze(),
    "expand_dims": lambda m: m.expand_dims(m.ones((8, 9), chunks=(3, 4)), 1),
    "new axes": lambda m: m.ones((8, 9), chunks=(3, 4))[None, :, None, 2],
    "broadcast": lambda m: m.broadcast_to(m.ones((8, 1), chunks=(3, 1)), (2, 8, 9)),
    "broadcast, chunked": lambda m: m.broadcast_to(
        m.ones((8, 1), chunks=(8, 1)), (8, 90), chunks=(8, 20)
    ),
    "reshape, merging": lambda m: m.ones((8, 9), chunks=(3, 4)).reshape(72),
    "reshape, whole rows": lambda m: m.ones((8, 9), chunks=(3, 9)).reshape(-1),
    "reshape, splitting": lambda m: m.ones(72, chunks=10).reshape(8, 9),
    "reshape, both": lambda m: m.ones((8, 9, 4), chunks=(3, 4, 2)).reshape(72, 2, 2),
    "reshape, one chunk": lambda m: m.ones((8, 9), chunks=-1).reshape(6, 12),
    "reshape, as it is": lambda m: m.ones((8, 9), chunks=(3, 4)).reshape(8, 9),
    "ravel": lambda m: m.ravel(m.ones((8, 9), chunks=(3, 4))) if m is da else sc.ones(
        (8, 9), chunks=(3, 4)).ravel(),
    "sum of an axis": lambda m: m.ones((8, 9), chunks=(3, 4)).sum(axis=0),
    "mean of the last": lambda m: m.ones((8, 9), chunks=(3, 4)).mean(axis=-1),
    "var, kept": lambda m: m.ones((8, 9), chunks=(3, 4)).var(axis=1, keepdims=True),
    "min of two": lambda m: m.ones((8, 9, 4), chunks=3).min(axis=(0, 2)),
    "all": lambda m: m.ones((8, 9), chunks=(3, 4)).all(),
    "argmax": lambda m: m.ones((8, 9), chunks=(3, 4)).argmax(axis=1),
    "centred": lambda m: (lambda x: x - x.mean(axis=0))(m.ones((8, 9), chunks=(3, 4))),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation(name: str) -> None:
    ours, wanted = OPERATIONS[name](sc), OPERATIONS[name](da)
    assert ours.shape == wanted.shape
    assert ours.chunks == wanted.chunks


def test_lists_of_places_leave_the_other_axes_cut() -> None:
    x = sc.ones((90, 40, 100), chunks=(9, 40, 30))
    assert x[:, [3, 1, 7]].chunks == ((9,) * 10, (3,), (30, 30, 30, 10))
    assert x[np.arange(90)[::-1]].chunks == x[::-1].chunks
    assert x[:, np.arange(4, 30, 3)].chunks == ((9,) * 10, (9,), (30, 30, 30, 10))
    uneven = np.delete(np.arange(100), 3)
    assert x[..., uneven].chunks == ((9,) * 10, (40,), (30, 30, 30, 9))


@pytest.mark.parametrize("places", [[0], [5, 3, 1], [-1, 0, 1], [0, 1, 2], [7, 7], [2, 4, 6, 9]])
def test_lists_of_places_are_numpys_whether_slices_have_them_or_not(places: list[int]) -> None:
    data = np.arange(90 * 40 * 100.0).reshape(90, 40, 100)
    x, index = sc.asarray(data), np.array(places)
    keys = [(index,), (slice(None), index), (..., index), (3, index), (index, None, 2)]
    for key in (*keys, (3, slice(None), index), (None, index)):
        np.testing.assert_array_equal(x[key].compute(), data[key])
    with pytest.raises(IndexError):
        x[np.array([80, 90])].compute()


def test_where_dask_cannot_reshape() -> None:
    """Dask raises; we know the elements, and give the grid a new array would have."""
    with pytest.raises(NotImplementedError):
        da.ones((8, 9), chunks=(3, 4)).reshape(6, 12)
    x = sc.ones((8, 9), chunks=(3, 4)).reshape(6, 12)
    assert x.chunks == ((6,), (12,))
    assert x.sum().compute() == 72


# Random programs ---------------------------------------------------------------------------------


def _cuts(n: int) -> st.SearchStrategy[Any]:
    """A hint for one axis of ``n`` elements."""
    if n == 0:  # beside "auto" Dask itself divides by the size of a chunk that is all of the axis
        return st.sampled_from([1, 3, "auto"])
    if n == 1:
        return st.sampled_from([1, 3, -1, None, "auto", (n,)])
    points = st.lists(st.integers(1, n - 1), max_size=4, unique=True).map(sorted)
    explicit = points.map(lambda p: tuple(b - a for a, b in zip([0, *p], [*p, n], strict=True)))
    return st.one_of(st.integers(1, n + 3), st.sampled_from([-1, None, "auto"]), explicit)


@st.composite
def _sources(draw: Any, shape: tuple[int, ...] | None = None) -> tuple[tuple[int, ...], Any]:
    if shape is None:
        shape = tuple(draw(st.lists(st.integers(0, 13), min_size=1, max_size=3)))
    return shape, tuple(draw(_cuts(n)) for n in shape)


def _dask_misreads(item: slice, n: int) -> bool:
    """Dask begins a backward slice at the last element, where it begins before the first."""
    return (item.step or 1) < 0 and item.start is not None and item.start < -n


def _slices(n: int) -> st.SearchStrategy[Any]:
    bounds = st.one_of(st.none(), st.integers(-n - 2, n + 2))
    steps = st.one_of(st.none(), st.integers(-4, 4).filter(bool))
    whole = st.builds(slice, bounds, bounds, steps).filter(lambda s: not _dask_misreads(s, n))
    return st.one_of(whole, st.integers(-n, n - 1)) if n else whole


Step = tuple[str, Callable[[Any, Any], Any]]


@st.composite
def _steps(draw: Any, shape: tuple[int, ...]) -> Step:
    """One operation on an array of ``shape``, with its text."""
    kinds = ["slice", "transpose", "newaxis", "other grid", "scalar"]
    kinds += ["sum"] * bool(shape) + ["flatten"] * bool(shape)
    kind = draw(st.sampled_from(kinds))
    if kind == "slice":
        item = tuple(draw(_slices(n)) for n in shape[: draw(st.integers(0, len(shape)))])
        return f"[{item}]", lambda m, x: x[item]
    if kind == "transpose":
        order = tuple(draw(st.permutations(range(len(shape)))))
        return f".transpose({order})", lambda m, x: x.transpose(order) if order else x
    if kind == "newaxis":
        return "[None]", lambda m, x: x[None]
    if kind == "other grid":
        other, hint = draw(_sources(tuple(1 if draw(st.booleans()) else n for n in shape)))
        return f" + ones({other}, {hint})", lambda m, x: x + m.ones(other, chunks=hint)
    if kind == "sum":
        axis, keep = draw(st.integers(0, len(shape) - 1)), draw(st.booleans())
        return f".sum({axis}, {keep})", lambda m, x: x.sum(axis=axis, keepdims=keep)
    if kind == "flatten":
        return ".reshape(-1)", lambda m, x: x.reshape(-1)
    return " * 2", lambda m, x: x * 2


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_random_programs(data: st.DataObject) -> None:
    shape, hint = data.draw(_sources(), label="source")
    ours, wanted = sc.ones(shape, chunks=hint), da.ones(shape, chunks=hint)
    assert ours.chunks == wanted.chunks
    for _ in range(data.draw(st.integers(1, 4), label="steps")):
        if ours.ndim > 5 or 0 in ours.shape:
            break  # Dask itself fails on many empty arrays; see test_empty_arrays
        text, step = data.draw(_steps(ours.shape))
        note(text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", da.PerformanceWarning)
            try:
                wanted = step(da, wanted)
                ours = step(sc, ours)
            except (NotImplementedError, sc.errors.ShapeError):
                break  # Dask cannot reshape this grid, or we this view
        assert ours.shape == wanted.shape
        assert ours.chunks == wanted.chunks


@pytest.mark.parametrize(
    "item", [slice(3, 3), slice(5, 2), (slice(None), slice(9, 99)), slice(-1, 0)], ids=str
)
def test_empty_arrays(item: Any) -> None:
    ours, wanted = sc.ones((8, 9), chunks=(3, 4))[item], da.ones((8, 9), chunks=(3, 4))[item]
    assert ours.shape == wanted.shape
    assert ours.chunks == wanted.chunks


@pytest.mark.parametrize("step", [None, 1, 2, 5, -1, -2, -3, -7])
def test_chunks_add_up_to_the_shape(step: int | None) -> None:
    """For every slice of short arrays; Dask itself takes [-9:-6:-2] of eight elements for six."""
    assert sc.arange(8, chunks=2)[-9:-6:-2].chunks == ((0,),)
    bounds = (None, *range(-11, 12))
    for x in (sc.arange(8, chunks=3), sc.arange(6, chunks=((1, 2, 3),)), sc.arange(0)):
        for start, stop in itertools.product(bounds, bounds):
            view = x[start:stop:step]
            ours = tuple(map(sum, view.chunks))
            assert ours == view.shape, f"[{start}:{stop}:{step}] of {x.chunks}"


# Cost --------------------------------------------------------------------------------------------


def test_grids_nobody_asks_for_cost_nothing() -> None:
    """A hint of 1e12 chunks, and Dask's array module not even imported."""
    program = """
import sys
import speedcube as sc
x = sc.random.default_rng(0).normal(size=(10**6, 10**6), chunks=(1, 1))
y = ((x + 1)[::2, ::-3].T[None] * 2)[0, 5:7, 3]
assert y.compute(on="core").shape == (2,)
assert "dask.array" not in sys.modules
try:
    sc.ones((3, 4), chunks=(2, 3, 4))
except sc.errors.ParameterError:
    pass
assert "dask.array" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_long_loops_over_many_chunks_work_out_no_grid() -> None:
    """Each step breaks chunks up further: two thousand of them took minutes to build."""
    u = sc.asarray(np.zeros(5000), chunks=(100,))
    for _ in range(2200):
        u = u[1:] + u[:-1]
    assert u._grid.depth == 4400
    assert "chunks" not in vars(u._grid)
    assert u.shape == (2800,)


def test_long_programs() -> None:
    """Thousands of views: the recipe of the grid is worked out without recursion, or pickled."""
    ours, wanted = sc.ones((6000,), chunks=500), 6000
    for _ in range(3000):
        ours = ours[1:]
        wanted -= 1
    assert pickle.loads(pickle.dumps(ours._grid)).depth == 0
    assert sum(ours.chunks[0]) == wanted


# Bad hints ---------------------------------------------------------------------------------------

BAD: dict[str, tuple[Any, str]] = {
    "too many axes": ((2, 3, 4), "3 entries for 2 axes"),
    "too few axes": ((2,), "1 entries for 2 axes"),
    "zero": (0, "a chunk cannot hold 0 elements"),
    "negative": ((3, -2), "a chunk cannot hold -2 elements"),
    "float": (2.5, "2.5 is not the size of a chunk"),
    "bool": (True, "True is not the size of a chunk"),
    "text": ("big", "'big' is neither 'auto' nor a size in bytes"),
    "no bytes": ("0MiB", "'0MiB' holds nothing"),
    "two sizes in bytes": (("1MiB", "2MiB"), "one size in bytes at most, not ['1MiB', '2MiB']"),
    "sums": (((3, 4), (4, 4)), "8 elements in chunks of an axis of 10"),
    "negative part": (((3, 4), (11, -1)), "(11, -1) are not sizes of chunks"),
    "no part": (((3, 4), ()), "() are not sizes of chunks"),
    "unknown axis": ({2: 5}, "there is no axis 2"),
    "object": (object, "is not the size of a chunk"),
    "nan": (((3, 4), (float("nan"),)), "(nan,) are not sizes of chunks"),
}
MAKERS: dict[str, Callable[[Any], Any]] = {
    "ones": lambda hint: sc.ones((7, 10), chunks=hint),
    "normal": lambda hint: sc.random.RandomState(0).normal(size=(7, 10), chunks=hint),
    "asarray": lambda hint: sc.asarray(np.ones((7, 10)), chunks=hint),
    "broadcast_to": lambda hint: sc.broadcast_to(sc.ones(10), (7, 10), chunks=hint),
}


@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("name", BAD)
def test_bad_chunks_are_refused_at_the_call(maker: str, name: str) -> None:
    hint, why = BAD[name]
    with pytest.raises(ParameterError) as caught:
        MAKERS[maker](hint)
    message = str(caught.value)
    assert message.startswith(f"chunks={hint!r} does not fit shape (7, 10): ")
    assert why in message
    assert "sizes that add up to it" in message


@pytest.mark.parametrize(
    "ask",
    [
        lambda: sc.arange(10, chunks=0),
        lambda: sc.linspace(0, 1, 10, chunks=(3, 3)),
        lambda: sc.eye(10, chunks="much"),
        lambda: sc.eye(10, chunks=(3, 3)),
        lambda: sc.random.default_rng(0).integers(0, 5, 10, chunks=(5, 6)),
    ],
)
def test_every_maker_checks(ask: Callable[[], Any]) -> None:
    with pytest.raises(ParameterError, match="chunks="):
        ask()


def test_arrays_with_the_same_grid_share_it() -> None:
    x, y = (sc.asarray(np.zeros(10), chunks=np.array([4, 6])) for _ in range(2))
    assert (x + y)._grid is x._grid
    assert (x + y).chunks == ((4, 6),)
    assert (x + sc.asarray(np.zeros(10), chunks=np.array([5, 5]))).chunks == ((4, 1, 5),)
    assert (x + sc.zeros((3, 10), chunks=(2, 10))).chunks == ((2, 1), (4, 6))


# to_dask_array ------------------------------------------------------------------------------------


def test_to_dask_array_has_the_grid() -> None:
    x = (sc.random.default_rng(4).normal(size=(30, 40), chunks=(7, 15)) + 1)[::2, ::-3]
    dask_array = x.to_dask_array()
    assert dask_array.chunks == x.chunks == ((4, 3, 4, 3, 1), (4, 5, 5))
    assert dask_array.compute().tobytes() == x.compute(on="core").tobytes()
    assert dask_array.dtype == x.dtype
