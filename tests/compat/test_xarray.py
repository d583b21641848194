"""xarray over our arrays: each verb lazily, with the values that it gives over NumPy's arrays."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, Final

import dask
import numpy as np
import pandas as pd
import pytest

import speedcube as sc
from speedcube.api.methods import dask_collection

xr = pytest.importorskip("xarray", reason="is in the extra dev")
pytest.importorskip("zarr", reason='needs pip install "speedcube[io]"')
interpolated: Any = pytest.importorskip("speedcube.compat.for_xarray.interpolated")

warnings.simplefilter("ignore", FutureWarning)
pytestmark = pytest.mark.filterwarnings("ignore")  # what xarray and NumPy say of NaN

RNG: Final = np.random.default_rng(0)
DATA: Any = RNG.normal(size=(40, 6, 8))
DATA[RNG.random(DATA.shape) < 0.1] = np.nan
TIME: Final = pd.date_range("2001-01-01", periods=40, freq="10D")
WEIGHTS: Any = xr.DataArray(np.arange(1.0, 9), dims="x")
POINTS: Final = {"x": ("p", [0.5, 1.5]), "y": ("p", [1.0, 3.0])}


def labelled(data: Any) -> Any:
    coords = {
        "time": TIME,
        "y": np.arange(6.0) * 2,
        "x": np.arange(8.0),
        "lab": ("x", list("aabbccab")),
    }
    return xr.DataArray(data, dims=("time", "y", "x"), coords=coords, name="v")


def parts(d: Any) -> list[Any]:
    return [d.isel(x=slice(0, 2)), d.isel(x=slice(2, None))]


def points(d: Any) -> Any:
    return d.isel(x=xr.DataArray([0, 3], dims="p"), y=xr.DataArray([1, 2], dims="p"))


def parallel(d: Any) -> Any:
    options: Any = {"dask": "parallelized", "output_dtypes": [float]}
    return xr.apply_ufunc(lambda v: v.sum(-1), d, input_core_dims=[["x"]], **options)


def doubled(d: Any) -> Any:
    return xr.apply_ufunc(lambda v: v * 2, d, dask="parallelized", output_dtypes=[float])


VERBS: dict[str, Any] = {
    "arithmetic": lambda d: (d * 2 - d.isel(time=0)) / 3 + d // 1,
    "ufunc": lambda d: np.sin(d),
    "logic": lambda d: (d > 0) & ~(d < 1),
    "astype": lambda d: d.fillna(0).astype("int32"),
    "clip": lambda d: d.clip(-1, 1),
    "round": lambda d: d.round(1),
    "isin": lambda d: d.fillna(0).isin([0]),
    "where": lambda d: d.where(d > 0),
    "where-other": lambda d: d.where(d > 0, -1.0),
    "where-drop": lambda d: d.where(d.x > 3, drop=True),
    "where-of-three": lambda d: xr.where(d > 0, d, 0.0),
    "fillna": lambda d: d.fillna(0.0),
    "fillna-array": lambda d: d.fillna(d.mean("time")),
    "combine_first": lambda d: d.combine_first(d.mean("time")),
    "isnull": lambda d: d.isnull(),
    "notnull": lambda d: d.notnull(),
    "interpolate_na": lambda d: d.interpolate_na("x"),
    "interpolate_na-limit": lambda d: d.interpolate_na("x", limit=1),
    "argmax": lambda d: d.fillna(0).argmax("x"),
    "argmin-skip": lambda d: d.argmin("time"),
    "idxmax": lambda d: d.fillna(0).idxmax("x"),
    "cumsum": lambda d: d.cumsum("time"),
    "cumprod": lambda d: d.cumprod("x"),
    "diff": lambda d: d.diff("time"),
    "min_count": lambda d: d.sum("x", min_count=3),
    "ddof": lambda d: d.std("x", ddof=1),
    "groupby-mean": lambda d: d.groupby("time.month").mean(),
    "groupby-sum": lambda d: d.groupby("lab").sum(),
    "groupby-std": lambda d: d.groupby("time.month").std(),
    "groupby-max": lambda d: d.groupby("time.month").max(),
    "groupby-count": lambda d: d.groupby("time.month").count(),
    "groupby-first": lambda d: d.groupby("lab").first(),
    "groupby-median": lambda d: d.groupby("lab").median(),
    "groupby-quantile": lambda d: d.groupby("lab").quantile(0.5),
    "groupby-quantiles": lambda d: d.groupby("lab").quantile([0.2, 0.5]),
    "groupby-season": lambda d: d.groupby("time.season").mean(),
    "groupby-dayofyear": lambda d: d.groupby("time.dayofyear").mean(),
    "groupby-anomaly": lambda d: d.groupby("time.month") - d.groupby("time.month").mean(),
    "groupby-map": lambda d: d.groupby("lab").map(lambda g: g - g.mean()),
    "groupby_bins": lambda d: d.groupby_bins("x", [0, 3, 8]).mean(),
    "rolling": lambda d: d.rolling(time=3).mean(),
    "rolling-center": lambda d: d.rolling(time=3, center=True, min_periods=1).sum(),
    "rolling-max": lambda d: d.rolling(x=2).max(),
    "rolling-std": lambda d: d.rolling(time=4).std(),
    "rolling-median": lambda d: d.rolling(time=4, min_periods=1).median(),
    "rolling-count": lambda d: d.rolling(time=4, min_periods=1).count(),
    "rolling-two": lambda d: d.rolling(x=2, y=2).mean(),
    "rolling-reduce": lambda d: d.rolling(time=4).reduce(np.sum),
    "rolling-construct": lambda d: d.rolling(time=3).construct("w", stride=2).mean("w"),
    "coarsen": lambda d: d.drop_vars("lab").coarsen(time=4, x=2).mean(),
    "coarsen-trim": lambda d: d.coarsen(time=7, boundary="trim").max(),
    "coarsen-pad": lambda d: d.coarsen(time=7, boundary="pad").sum(),
    "coarsen-construct": lambda d: d.coarsen(x=2).construct(x=("a", "b")),
    "resample": lambda d: d.resample(time="ME").mean(),
    "resample-max": lambda d: d.resample(time="2ME").max(),
    "resample-nearest": lambda d: d.resample(time="5D").nearest(),
    "resample-linear": lambda d: d.resample(time="5D").interpolate("linear"),
    "weighted": lambda d: d.weighted(WEIGHTS).mean("x"),
    "weighted-sum": lambda d: d.weighted(WEIGHTS).sum(),
    "weighted-std": lambda d: d.weighted(WEIGHTS).std("x"),
    "weighted-lazy": lambda d: d.weighted(d.fillna(0) ** 2).mean("time"),
    "interp": lambda d: d.interp(x=[0.5, 1.5]),
    "interp-nearest": lambda d: d.interp(x=[0.2, 1.7], method="nearest"),
    "interp-two": lambda d: d.interp(x=[0.5, 1.5], y=[1.0, 3.0]),
    "interp-cubic": lambda d: d.fillna(0).interp(x=[0.5, 1.5], method="cubic"),
    "interp-points": lambda d: d.interp(**POINTS),
    "shift": lambda d: d.shift(time=2),
    "pad": lambda d: d.pad(x=2),
    "pad-wrap": lambda d: d.pad(x=(1, 2), mode="wrap"),
    "pad-edge": lambda d: d.pad(x=1, mode="edge"),
    "roll": lambda d: d.roll(x=3, roll_coords=True),
    "sortby": lambda d: d.sortby("lab"),
    "sortby-falling": lambda d: d.sortby("x", ascending=False),
    "concat": lambda d: xr.concat([d, d + 1], "n"),
    "concat-along": lambda d: xr.concat(parts(d), "x"),
    "merge": lambda d: xr.merge([d, (d + 1).rename("w")]).to_dataarray(),
    "combine": lambda d: xr.combine_by_coords([p.to_dataset() for p in parts(d)]).v,
    "dot": lambda d: xr.dot(d.fillna(0), d.fillna(0), dim="x"),
    "dot-weights": lambda d: d.fillna(0) @ WEIGHTS,
    "quantile": lambda d: d.quantile([0.1, 0.5], "time"),
    "quantile-all": lambda d: d.quantile(0.25),
    "quantile-no-skip": lambda d: d.fillna(0).quantile(0.5, "x", skipna=False),
    "polyfit": lambda d: d.fillna(0).polyfit("time", 1).polyfit_coefficients,
    "polyval": lambda d: xr.polyval(d.x, d.fillna(0).polyfit("x", 1).polyfit_coefficients),
    "isel-list": lambda d: d.isel(x=[0, 3, 5]),
    "isel-lists": lambda d: d.isel(x=[0, 3], y=[1, 2]),
    "isel-points": points,
    "isel-mask": lambda d: d.isel(x=np.array([True, False] * 4)),
    "isel-step": lambda d: d.isel(time=slice(None, None, -3)),
    "sel": lambda d: d.sel(x=[1.0, 3.0], time="2001-03"),
    "sel-nearest": lambda d: d.sel(x=2.2, method="nearest"),
    "reindex": lambda d: d.reindex(x=[0.0, 1.0, 9.0]),
    "transpose": lambda d: d.transpose("x", "time", "y"),
    "stack": lambda d: d.stack(z=("x", "y")).unstack("z"),
    "expand": lambda d: d.expand_dims(k=3).isel(x=[0]).squeeze("x"),
    "broadcast": lambda d: xr.broadcast(d, xr.DataArray(np.zeros(3), dims="q"))[0],
    "apply_ufunc": doubled,
    "apply_ufunc-allowed": lambda d: xr.apply_ufunc(np.abs, d, dask="allowed"),
    "apply_ufunc-core": lambda d: parallel(d.chunk(x=-1)),
    "map_blocks": lambda d: d.map_blocks(lambda b: b * 2),
    "map_blocks-dataset": lambda d: xr.map_blocks(lambda b: b.mean("x"), d.to_dataset()).v,
    "integrate": lambda d: d.fillna(0).integrate("x"),
    "differentiate": lambda d: d.fillna(0).differentiate("x"),
    "cov": lambda d: xr.cov(d, d + 1, "time"),
    "corr": lambda d: xr.corr(d, d.shift(time=1), "time"),
    "reduce": lambda d: d.reduce(np.nansum, "x"),
    "dataset": lambda d: xr.Dataset({"a": d, "b": d + 1}).mean("x").to_dataarray(),
    "persist": lambda d: d.persist(),
    "chunk": lambda d: d.chunk(time=5),
}
REDUCTIONS: Final = ("sum", "mean", "std", "var", "min", "max", "prod", "median")


@pytest.fixture
def graphs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Each Dask graph that is built of our arrays."""
    built: list[Any] = []
    make = dask_collection.collection_graph

    def counted(*args: Any) -> Any:
        built.append(args)
        return make(*args)

    monkeypatch.setattr(dask_collection, "collection_graph", counted)
    return built


def assert_alike(verb: Any, graphs: list[Any]) -> Any:
    want = verb(labelled(DATA))
    want = want.compute()  # chunk() makes Dask's arrays of NumPy's
    got = verb(labelled(sc.asarray(DATA, chunks=(10, 3, 8))))
    assert isinstance(got.data, sc.Array)
    assert not graphs
    values = got.compute()
    assert type(values.data) is np.ndarray
    assert values.dtype == want.dtype
    xr.testing.assert_allclose(want, values, rtol=1e-12, atol=1e-13)
    return got


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_is_lazy_and_as_over_numpy(verb: str, graphs: list[Any]) -> None:
    assert_alike(VERBS[verb], graphs)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("skipna", [None, True, False])
def test_reductions(name: str, skipna: Any, graphs: list[Any]) -> None:
    for dim in (None, "x", ("time", "x")):
        assert_alike(lambda d, dim=dim: getattr(d, name)(dim, skipna=skipna), graphs)


@pytest.mark.parametrize("name", ["count", "any", "all"])
def test_reductions_of_what_is_there(name: str, graphs: list[Any]) -> None:
    for dim in (None, "x", ("time", "x")):
        assert_alike(lambda d, dim=dim: getattr(d > 0, name)(dim), graphs)


@pytest.mark.parametrize("with_flox", [True, False])
def test_groups_with_flox_and_without(with_flox: bool, graphs: list[Any]) -> None:
    if with_flox:
        pytest.importorskip("flox", reason="is in the extra dev")
    with xr.set_options(use_flox=with_flox):
        got = assert_alike(lambda d: d.groupby("time.dayofyear").mean(), graphs)
        assert_alike(lambda d: d.groupby("x").sum(), graphs)
    if with_flox:  # ours, not the blocks of Dask that flox would make
        assert "group_mean" in repr(got.data.plan())


def test_polyfit_around_nan_computes_the_values_it_needs() -> None:
    want = labelled(DATA).polyfit("x", 2).polyfit_coefficients
    got = labelled(sc.asarray(DATA)).polyfit("x", 2).polyfit_coefficients
    xr.testing.assert_allclose(want, got)


def test_dask_is_asked_for_no_graph(graphs: list[Any]) -> None:
    x = sc.asarray(DATA)
    d = labelled(x)
    assert dask.is_dask_collection(x)
    assert not xr.namedarray.utils.is_dask_collection(x)
    assert not dask.is_dask_collection(d)
    assert not dask.is_dask_collection(d.to_dataset())
    html = d._repr_html_()
    assert "speedcube" in repr(d)
    assert "v" in html
    assert not graphs
    assert np.array_equal(dask.compute(x)[0], DATA, equal_nan=True)


def test_chunks_and_managers() -> None:
    d = labelled(sc.asarray(DATA, chunks=(10, 3, 8)))
    assert d.chunks == ((10,) * 4, (3, 3), (8,))
    assert d.chunk(time=20, y=-1).chunks == ((20, 20), (6,), (8,))
    assert d.chunk({}).chunks == d.chunks
    manager = xr.namedarray.parallelcompat.get_chunked_array_type(d.data)
    assert type(manager).__name__ == "SpeedcubeManager"
    assert type(labelled(DATA).chunk(time=5).data).__module__.startswith("dask")  # the default
    mine = labelled(DATA).chunk(time=5, chunked_array_type="speedcube")
    assert isinstance(mine.data, sc.Array)
    with pytest.raises(TypeError, match="Mixing chunked array types"):
        xr.Dataset({"a": mine, "b": labelled(DATA).chunk(time=5) + 1}).compute()


def test_load_and_values() -> None:
    d = labelled(sc.asarray(DATA))
    assert np.array_equal(d.values, DATA, equal_nan=True)
    assert float(d.isel(time=0, y=0, x=0)) == DATA[0, 0, 0]
    assert d.load() is d
    assert type(d.data) is np.ndarray
    held = labelled(sc.asarray(DATA) * 2).persist()
    assert isinstance(held.data, sc.Array)


def dataset() -> Any:
    data = np.where(np.isnan(DATA), 0, DATA).astype("float32")
    variables = {
        "v": (("time", "y", "x"), data),
        "text": ("x", list("abcdefgh")),
        "whole": ("y", np.arange(6, dtype="int16")),
        "later": ("time", TIME + np.timedelta64(1, "h")),
    }
    return xr.Dataset(variables, coords={"time": TIME})


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("scaled", [False, True])
def test_open_zarr(tmp_path: Path, version: Any, scaled: bool) -> None:
    encoding: Any = {"chunks": (10, 3, 8)}
    if scaled:
        encoding |= {"scale_factor": 0.5, "dtype": "int16", "_FillValue": -1}
    path = tmp_path / "x.zarr"
    options: Any = {"zarr_format": version, "consolidated": False}
    dataset().to_zarr(path, encoding={"v": encoding}, **options)
    want = xr.open_zarr(path, chunks=None, consolidated=False).load()
    got = xr.open_zarr(path, chunks={}, chunked_array_type="speedcube", consolidated=False)
    assert got.v.chunks == ((10,) * 4, (3, 3), (8,))
    assert {name: isinstance(one.data, sc.Array) for name, one in got.items()} == {
        **{"v": True, "whole": True},
        **{"text": False, "later": False},  # no kernel computes texts and times
    }
    xr.testing.assert_identical(got.compute(), want)
    all_at_once = xr.open_zarr(
        path, chunks={"time": -1}, chunked_array_type="speedcube", consolidated=False
    )
    assert all_at_once.v.chunks == ((40,), (3, 3), (8,))
    few = all_at_once.v.isel(time=slice(None, None, 10), x=3)
    xr.testing.assert_equal(few.compute(), want.v.isel(time=slice(None, None, 10), x=3))
    if version == 3 and not scaled:
        assert "reads zarr /v[3 + (480, 8)·i]" in repr(few.data.plan())


def test_to_zarr(tmp_path: Path) -> None:
    source, path = tmp_path / "a.zarr", tmp_path / "b.zarr"
    dataset()[["v"]].to_zarr(source, encoding={"v": {"chunks": (10, 3, 8)}}, consolidated=False)
    opened = xr.open_zarr(source, chunks={}, chunked_array_type="speedcube", consolidated=False)
    made = (opened * 2).drop_encoding()
    want = (dataset()[["v"]] * 2).load()
    made.to_zarr(path, consolidated=False)
    xr.testing.assert_equal(xr.open_zarr(path, chunks=None, consolidated=False).load(), want)
    later = made.to_zarr(tmp_path / "c.zarr", compute=False, consolidated=False)
    later.compute()
    there = xr.open_zarr(tmp_path / "c.zarr", chunks=None, consolidated=False)
    xr.testing.assert_equal(there.load(), want)
    part = made.isel(time=slice(10, 20)) + 1
    part.to_zarr(path, region={"time": slice(10, 20)}, consolidated=False)
    back = xr.open_zarr(path, chunks=None, consolidated=False).v
    assert np.array_equal(back[10:20], want.v[10:20] + 1)
    assert np.array_equal(back[20:], want.v[20:])


def test_to_zarr_leaves_nothing_to_dask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = (dataset()[["v"]] * 2).chunk({"time": 10}, chunked_array_type="speedcube")
    assert isinstance(made.v.data, sc.Array)

    def no_tasks(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("chunk after chunk by Dask's tasks")

    monkeypatch.setattr(dask.array, "store", no_tasks)
    made.to_zarr(tmp_path / "a.zarr", consolidated=False)
    there = xr.open_zarr(tmp_path / "a.zarr", chunks=None, consolidated=False)
    xr.testing.assert_equal(there.load(), (dataset()[["v"]] * 2).load())


@pytest.mark.parametrize("engine", ["netcdf4", "h5netcdf", "scipy"])
def test_netcdf(tmp_path: Path, engine: Any) -> None:
    pytest.importorskip({"netcdf4": "netCDF4"}.get(engine, engine))
    path, want = tmp_path / "x.nc", dataset()[["v"]].load()
    want.chunk(time=10, chunked_array_type="speedcube").to_netcdf(path, engine=engine)
    got = xr.open_dataset(path, engine=engine, chunks={}, chunked_array_type="speedcube")
    assert isinstance(got.v.data, sc.Array)
    xr.testing.assert_equal(got.compute(), want)
    xr.testing.assert_allclose(got.mean("x").compute(), want.mean("x"))
    got.close()


def test_weighted_means() -> None:
    """xarray multiplies what is there, bools, by weights of one axis."""
    field = np.random.default_rng(3).normal(size=(4, 3, 5)).astype("float32")
    field[0, 0, 0] = np.nan
    weights = xr.DataArray(np.array([0.1, 0.5, 0.9]), dims="y")
    wanted = xr.DataArray(field, dims=("t", "y", "x")).weighted(weights).mean(("y", "x"))
    ours = xr.DataArray(sc.asarray(field), dims=("t", "y", "x")).weighted(weights)
    assert np.allclose(ours.mean(("y", "x")).compute(), wanted)


@pytest.mark.parametrize("how", [{}, {"full": True}, {"w": np.linspace(1, 2, 12)}])
def test_fits_of_files_are_sums_in_one_reading(tmp_path: Path, how: dict[str, Any]) -> None:
    data = np.random.default_rng(3).normal(size=(12, 4, 5)) + np.arange(12.0)[:, None, None]
    sc.asarray(data).to_zarr(tmp_path / "x.zarr", chunks=(3, 4, 5))
    coords = {"t": np.arange(12.0)}
    dims = ("t", "y", "x")
    ours = xr.DataArray(sc.open(tmp_path / "x.zarr"), coords, dims).polyfit("t", 1, **how)
    numpys = xr.DataArray(data, coords, dims).polyfit("t", 1, **how)
    assert "reads 1.92 kB of 1.92 kB" in str(ours.polyfit_coefficients.data.plan())
    for name in numpys:
        np.testing.assert_allclose(ours[name].values, numpys[name].values, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("version", [2, 3])
def test_zarr_in_local_files_is_decoded_by_our_readers(tmp_path: Path, version: Any) -> None:
    data = np.random.default_rng(3).normal(size=(12, 4)).astype("float32")
    data[3, 2] = np.nan
    ds = xr.Dataset({"t": (("y", "x"), data)})
    ds.to_zarr(
        tmp_path / "x.zarr",
        zarr_format=version,
        consolidated=False,
        encoding={"t": {"chunks": (5, 4)}},
    )
    how: Any = {"chunks": {}, "consolidated": False, "chunked_array_type": "speedcube"}
    t = xr.open_zarr(tmp_path / "x.zarr", **how).t
    assert type(t.data._expr.source.tiles).__name__ == "EncodedZarr"
    np.testing.assert_array_equal(t.values, data)


def test_masks_that_are_not_nan_stay(tmp_path: Path) -> None:
    data = np.arange(12.0).reshape(3, 4)
    ds = xr.Dataset({"t": (("y", "x"), data)})
    ds.to_zarr(tmp_path / "x.zarr", encoding={"t": {"_FillValue": 5.0}}, consolidated=False)
    how: Any = {"chunks": {}, "consolidated": False, "chunked_array_type": "speedcube"}
    want = np.where(data == 5.0, np.nan, data)
    np.testing.assert_array_equal(xr.open_zarr(tmp_path / "x.zarr", **how).t.values, want)


@pytest.mark.parametrize("chunks", [None, (7, 5, 3), 4])
def test_to_zarr_has_the_chunks_that_are_asked_for(tmp_path: Path, chunks: Any) -> None:
    cut = {"time": (9, 3, 28), "y": (2, 4), "x": (5, 3)}
    made = (dataset()[["v"]] * 2).chunk(cut, chunked_array_type="speedcube").drop_encoding()
    encoding = None if chunks is None else {"v": {"chunks": chunks}}
    made.to_zarr(tmp_path / "a.zarr", encoding=encoding, consolidated=False)
    there = xr.open_zarr(tmp_path / "a.zarr", chunks=None, consolidated=False)
    assert there.v.encoding["chunks"] == {None: (28, 4, 5), 4: (4, 4, 4)}.get(chunks, chunks)
    xr.testing.assert_equal(there.load(), (dataset()[["v"]] * 2).load())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("down", [False, True])
def test_straight_lines_between_places_are_scipys(dtype: str, down: bool) -> None:
    d = labelled(DATA.astype(dtype))
    d = d.isel(y=slice(None, None, -1)) if down else d
    ours = d.chunk(time=7, chunked_array_type="speedcube")
    for places in (
        {"y": [-1.0, 0.0, 3.3, 10.0, 11.0]},
        {"y": [1.0], "x": np.linspace(0, 7, 20)},
        {"x": xr.DataArray([0.5, 2.5], dims="p")},
        {"y": 3.25},
    ):
        found, want = ours.interp(places), d.interp(places)
        assert isinstance(found.data, sc.Array)
        assert found.dims == want.dims
        assert found.dtype == dtype
        tight = 1e-6 if dtype == "float32" else 0
        np.testing.assert_allclose(found.values, want.values, rtol=0, atol=tight)
    grid = ours.interp({"y": [1.0, 5.0]}).data.chunks
    assert grid[0] == ours.data.chunks[0]


def test_blocks_that_are_interpolated_stay_as_they_lie(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labelled(DATA).to_dataset(name="t").to_zarr(tmp_path / "x.zarr", consolidated=False)
    how: Any = {"chunks": {}, "consolidated": False, "chunked_array_type": "speedcube"}
    t, given = xr.open_zarr(tmp_path / "x.zarr", **how).t, list[Any]()
    theirs = interpolated.between

    def told(values: Any, *args: Any, axis: int, **named: Any) -> Any:
        given.append((values.shape, axis, values.flags.c_contiguous))
        return theirs(values, *args, axis=axis, **named)

    monkeypatch.setattr(interpolated, "between", told)
    monkeypatch.setattr(interpolated, "_SLAB", 1)  # a row at a time
    found = t.interp(y=[1.0, 3.3], x=[0.5, 2.5, 4.0])
    want = labelled(DATA).interp(y=[1.0, 3.3], x=[0.5, 2.5, 4.0])
    np.testing.assert_allclose(found.values, want.values, rtol=1e-12)
    assert {(len(shape), axis, whole) for shape, axis, whole in given} == {
        (3, 1, True),
        (3, 2, True),
    }
