"""Our arrays among those of other libraries, and handed to them: with the libraries themselves."""

from __future__ import annotations

import io
import operator
import pickle
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import speedcube as sc
from speedcube.errors import DTypeError, ShapeError

N = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
X = sc.asarray(N)
V = sc.arange(1, 5) * 1.5
NV = np.arange(1, 5) * 1.5
OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "ge", "eq", "ne")


def same(ours: Any, wanted: Any) -> None:
    values = np.asarray(ours)
    assert values.dtype == np.asarray(wanted).dtype
    np.testing.assert_array_equal(values, np.asarray(wanted))


# Dask --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_with_dask_arrays_are_ours(name: str) -> None:
    da = pytest.importorskip("dask.array")
    call, dask_array = getattr(operator, name), da.from_array(N * 2, chunks=(1, 2))
    for result, wanted in (
        (call(X, dask_array), call(N, N * 2)),
        (call(dask_array, X), call(N * 2, N)),
    ):
        assert isinstance(result, sc.Array)
        same(result, wanted)


def test_matrices_of_dask_are_multiplied_either_way_round() -> None:
    da = pytest.importorskip("dask.array")
    other = da.from_array(N, chunks=(1, 2))
    for made in (X @ other.T, other @ X.T, np.matmul(other, X.T), sc.matmul(X, other.T)):
        assert isinstance(made, sc.Array)
        same(made, N @ N.T)


def test_arrays_of_numpy_are_written_at_once() -> None:
    own = N.copy()
    held = own
    own += X
    own *= X > 2
    assert own is held
    same(own, (N + N) * (N > 2))
    assert np.add(X, 1, out=own) is own
    same(own, N + 1)
    np.multiply(own, X, out=own, where=X > 2)
    same(own, np.where(N > 2, (N + 1) * N, N + 1))
    line = np.zeros(3)
    assert X.sum(axis=0, out=line) is line
    same(line, N.sum(axis=0))
    with pytest.raises(ShapeError, match=r"out= has shape \(3,\)"):
        np.add(X, 1, out=line)
    with pytest.raises(DTypeError, match="does not cast to int64"):
        np.add(X, 1, out=np.zeros((2, 3), int))
    own.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        own -= X


def test_functions_take_dask_arrays() -> None:
    da = pytest.importorskip("dask.array")
    other = da.from_array(N, chunks=(1, 2))
    same(np.maximum(other, X * 0.5), N)
    same(np.where(X > 2, other, 0.0), np.where(N > 2, N, 0))
    same(sc.where(other > 2, X, 0.0), np.where(N > 2, N, 0))
    same(np.concatenate([other, X]), np.concatenate([N, N]))
    same(sc.stack([X, other]), np.stack([N, N]))
    same(sc.sin(other).sum(axis=0), sc.sin(X).sum(axis=0))
    assert sc.asarray(other).chunks == ((1, 1), (2, 1))
    held = sc.array(N)
    held += other
    held[0] = other[1]
    same(held, [[4.0, 5.0, 6.0], [8.0, 10.0, 12.0]])


def test_dask_computes_its_part_when_it_is_needed() -> None:
    da = pytest.importorskip("dask.array")
    asked = []

    def block(values: Any) -> Any:
        asked.append(1)
        return values

    total = (X + da.from_array(N, chunks=3).map_blocks(block, dtype=float, meta=N[:0])).sum()
    assert not asked
    assert float(total) == 42.0
    assert asked


def test_dask_arrays_that_cannot_be_read_are_refused() -> None:
    da = pytest.importorskip("dask.array")
    ones = da.ones(4, chunks=2)
    with pytest.raises(ShapeError, match="compute_chunk_sizes"):
        V + ones[ones > 0]
    with pytest.raises(DTypeError, match="datetime64"):
        V + ones.astype("M8[s]")


def test_rechunk_changes_the_grid_alone() -> None:
    assert X.rechunk((1, 2)).chunks == ((1, 1), (2, 1))
    assert X.rechunk((1, 2)).rechunk({-1: 3}).chunks == ((1, 1), (3,))
    same(X.rechunk(1), N)


# pandas ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_with_pandas_are_pandas_with_its_labels(name: str) -> None:
    pd = pytest.importorskip("pandas")
    call = getattr(operator, name)
    series = pd.Series(NV[::-1], index=list("abcd"))
    frame = pd.DataFrame(N * 2, columns=list("xyz"))
    cases = (V, series), (series, V), (X, frame), (frame, X), (X[0], frame), (frame, X[0])
    for left, right in cases:
        wanted = call(
            *(np.asarray(one) if isinstance(one, sc.Array) else one for one in (left, right))
        )
        result = call(left, right)
        assert type(result) is type(wanted)
        assert result.equals(wanted), (type(left), type(right))


def test_pandas_takes_our_arrays() -> None:
    pd = pytest.importorskip("pandas")
    series = pd.Series(NV, index=list("abcd"))
    assert np.maximum(V, series).equals(np.maximum(NV, series))
    assert np.arctan2(series, V).equals(np.arctan2(series, NV))
    assert (series[np.asarray(V > 2)] > V.mean()).equals(series[NV > 2] > NV.mean())
    series += V
    assert series.equals(pd.Series(NV * 2, index=list("abcd")))
    assert ((series > 4) & (V > 2)).tolist() == [False, True, True, True]
    frame = pd.DataFrame(X, columns=list("abc")).assign(d=V[:2])
    frame["a"] -= X[:, 0]
    assert frame.equals(pd.DataFrame({"a": [0.0, 0.0], "b": N[:, 1], "c": N[:, 2], "d": NV[:2]}))
    held = V.copy()
    held += pd.Series(NV)
    assert isinstance(held, sc.Array)
    same(held, NV * 2)


def _filled(place: Any) -> Callable[[Any, Any], Any]:
    def call(one: Any, mask: Any) -> Any:
        new = one.copy() if place(one) is not one or one.ndim == 1 else one["x"].copy()
        place(new)[mask] = 0.0
        return new

    return call


MASKED: dict[str, Callable[[Any, Any], Any]] = {
    "[]": lambda one, mask: one[mask],
    "loc": lambda one, mask: one.loc[mask],
    "iloc": lambda one, mask: one.iloc[mask],
    "[] =": _filled(lambda one: one),
    "loc =": _filled(lambda one: one.loc),
    "iloc =": _filled(lambda one: one.iloc),
    "index": lambda one, mask: one.index[mask],
    "where": lambda one, mask: one.where(mask) if one.ndim == 1 else one,
    "assign": lambda one, mask: one.to_frame("a").assign(b=mask) if one.ndim == 1 else one,
    "two": lambda one, mask: one.loc[mask, "x"] if one.ndim == 2 else one,
}


@pytest.mark.parametrize("call", MASKED.values(), ids=MASKED)
@pytest.mark.parametrize("mask", [[True, False, True, False], [False] * 4, [True] * 4])
def test_pandas_takes_our_masks(mask: list[bool], call: Callable[[Any, Any], Any]) -> None:
    pd = pytest.importorskip("pandas")
    series = pd.Series(NV, index=list("abcd"))
    frame = pd.DataFrame({"x": NV, "y": NV * 2}, index=list("abcd"))
    for one in (series, frame):
        wanted = call(one, np.array(mask))
        for ours in (sc.asarray(np.array(mask)), sc.asarray(np.array(mask, "i1")) > 0):
            result = call(one, ours)
            assert type(result) is type(wanted)
            assert result.equals(wanted)


def test_pandas_takes_masks_along_columns_and_refuses_short_ones() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(N, columns=list("abc"))
    mask = sc.asarray([True, False, True])
    assert frame.iloc[:, mask].equals(frame.iloc[:, np.asarray(mask)])
    assert frame.loc[:, mask].equals(frame[["a", "c"]])
    asks = r"pandas takes NumPy's arrays there: frame\[np.asarray\(x\)\] = "
    with pytest.raises(TypeError, match=f"unhashable.*{asks}"):
        frame[mask[:2]] = 0.0
    with pytest.raises(AttributeError, match=r"there: pd.factorize\(np.asarray\(x\)\)"):
        pd.factorize(mask)
    frame[np.asarray(mask[:2])] = 0.0
    assert (frame == 0).all(axis=1).tolist() == [True, False]
    for short in (mask, np.asarray(mask)):
        with pytest.raises(IndexError, match="wrong length"):
            frame["a"][short]


def test_pandas_holds_copies_of_our_masks() -> None:
    pd = pytest.importorskip("pandas")
    values = np.array([True, False])
    mask = sc.asarray(values)
    for made in (pd.Series(mask), pd.Series(mask, copy=False), pd.DataFrame({"a": mask})["a"]):
        assert made.dtype == bool
        made.iloc[0] = False
        assert mask.to_numpy().tolist() == values.tolist() == [True, False]


# torch, SciPy ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_with_tensors_are_ours(name: str) -> None:
    torch = pytest.importorskip("torch")
    call, tensor = getattr(operator, name), torch.tensor(N * 2)
    for result, wanted in ((call(X, tensor), call(N, N * 2)), (call(tensor, X), call(N * 2, N))):
        assert isinstance(result, sc.Array)
        same(result, wanted)


def test_torch_reads_our_arrays() -> None:
    torch = pytest.importorskip("torch")
    for read in (torch.as_tensor, torch.asarray, torch.tensor, torch.from_dlpack):
        for ours in (X, X > 2, X.sum(), X.T[::-1], X.astype("float16"), X.astype("uint8")):
            tensor = read(ours)
            assert isinstance(tensor, torch.Tensor)
            same(tensor.numpy(), ours.compute())
    same(np.from_dlpack(X), N)
    same(sc.from_dlpack(torch.tensor(N)), N)
    tensor = torch.tensor(N)
    same(np.add(tensor, X), N * 2)


def test_scipys_functions_that_are_ours_are_lazy() -> None:
    special = pytest.importorskip("scipy.special")
    assert isinstance(special.erf(X), sc.Array)
    same(special.erf(X), sc.erf(X))

    def erf(x: float) -> float:  # of the same name, and another function
        return -x

    with pytest.raises((TypeError, NotImplementedError)):
        np.frompyfunc(erf, 1, 1)(X)


# Python, NumPy's files and texts ------------------------------------------------------


def test_numbers_on_the_left() -> None:
    whole = np.arange(1, 5)
    ours = sc.asarray(whole)
    for name in ("lshift", "rshift", "or_", "xor", "and_", "mod", "floordiv", "pow", "sub"):
        call = getattr(operator, name)
        same(call(2, ours), call(2, whole))
        same(call(np.int16(2), ours), call(np.int16(2), whole))
    same(True & (ours > 2), True & (whole > 2))
    same(divmod(7, ours)[1], divmod(7, whole)[1])


def test_pickles_are_the_same_arrays() -> None:
    drawn = sc.random.default_rng(1).normal(size=(2, 3))
    for ours in (X + drawn, (X * drawn).cumsum(axis=1), X[X > 2], sc.pad(X, 1)):
        for protocol in (2, pickle.HIGHEST_PROTOCOL):
            same(pickle.loads(pickle.dumps(ours, protocol)), ours.compute())


def test_numpy_writes_the_values() -> None:
    file = io.BytesIO()
    np.save(file, X)
    file.seek(0)
    same(np.load(file), N)
    file = io.BytesIO()
    np.savez(file, X, named=V)
    file.seek(0)
    with np.load(file) as held:
        same(held["arr_0"], N)
        same(held["named"], NV)
    texts = io.StringIO(), io.StringIO()
    np.savetxt(texts[0], X)
    np.savetxt(texts[1], N)
    assert texts[0].getvalue() == texts[1].getvalue()
    assert np.array2string(X, precision=1) == np.array2string(N, precision=1)
    same(X.view("int64"), N.view("int64"))
    with pytest.raises(ValueError, match="dtype"):
        sc.asarray(np.zeros(3, "uint8")).view("int64")


# matplotlib, zarr, einops ------------------------------------------------------


def test_matplotlib_draws_our_arrays() -> None:
    figures = pytest.importorskip("matplotlib.figure")
    axes = figures.Figure().subplots()
    (line,) = axes.plot(V, V**2)
    same(line.get_ydata(), NV**2)
    bars = axes.bar(V, V, yerr=V)
    assert [bar.get_height() for bar in bars] == NV.tolist()
    assert [bar.get_width() for bar in axes.barh(V, V)] == NV.tolist()
    counts, edges, _ = axes.hist(V, bins=3)
    same(counts, np.histogram(NV, bins=3)[0].astype(float))
    same(edges, np.histogram(NV, bins=3)[1])
    same(axes.imshow(X).get_array(), N)
    axes.scatter(V, V, c=V, s=V)
    axes.errorbar(V, V, yerr=V)
    axes.fill_between(V, V, V + 1, where=V > 2)
    axes.contourf(X)
    axes.pcolormesh(X)
    axes.boxplot(V)
    axes.set_xlim(V.min(), V.max())
    axes.figure.savefig(io.BytesIO())


def test_zarr_stores_our_arrays() -> None:
    zarr = pytest.importorskip("zarr")
    store = zarr.storage.MemoryStore()
    target = zarr.create_array(store=store, name="a", shape=(2, 3), chunks=(1, 2), dtype="float64")
    target[:] = X + 1
    same(target[:], N + 1)
    target[0] = X[1]
    same(target[0], N[1])
    same(zarr.create_array(store=store, name="b", data=X)[:], N)
    same(sc.asarray(target) + X, target[:] + N)
    same(target.oindex[sc.asarray([1])], target[1:])


def test_einops_knows_our_arrays_whenever_it_is_imported() -> None:
    einops = pytest.importorskip("einops")
    turned = einops.rearrange(X, "a b -> b a")
    assert isinstance(turned, sc.Array)
    same(turned, N.T)
    same(einops.reduce(X, "a b -> b", "mean"), N.mean(axis=0))
    same(einops.repeat(X, "a b -> a b c", c=2), np.repeat(N[..., None], 2, axis=2))
    same(einops.pack([X, X], "* b")[0], np.concatenate([N, N]))


def test_einops_is_given_our_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked of the backend, without einops: by a class that stands for its own."""
    from speedcube.api import for_einops

    module: Any = types.ModuleType("einops._backends")
    module.AbstractBackend = type("AbstractBackend", (), {})
    monkeypatch.setitem(sys.modules, "einops._backends", module)
    for_einops._prepare()
    backend = module.AbstractBackend.__subclasses__()[0]()
    assert backend.is_appropriate_type(X)
    assert not backend.is_appropriate_type(N)
    made: list[tuple[Callable[..., Any], Any]] = [
        (lambda: backend.from_numpy(N), N),
        (lambda: backend.to_numpy(X), N),
        (lambda: backend.arange(1, 3), np.arange(1, 3)),
        (lambda: backend.stack_on_zeroth_dimension([X, X]), np.stack([N, N])),
        (lambda: backend.add_axis(X, 1), N[:, None]),
        (lambda: backend.tile(X, (2, 1)), np.tile(N, (2, 1))),
        (lambda: backend.concat([X, X], 1), np.concatenate([N, N], 1)),
    ]
    for call, wanted in made:
        same(call(), wanted)
    assert backend.is_float_type(X)
    assert not backend.is_float_type(X > 1)


def test_opt_einsum_plans_and_contracts_our_arrays() -> None:
    opt_einsum = pytest.importorskip("opt_einsum")
    path, _ = opt_einsum.contract_path("ij,kj,k->i", X, X, X[:, 0])
    assert path == opt_einsum.contract_path("ij,kj,k->i", N, N, N[:, 0])[0]
    product = opt_einsum.contract("ij,kj->ik", X, X)
    assert isinstance(product, sc.Array)
    np.testing.assert_allclose(product.compute(), N @ N.T)
