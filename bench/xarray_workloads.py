"""Programs of xarray over a Zarr file: the same lines with our arrays and with Dask's.

    python bench/xarray_workloads.py [--mb 256] [--rounds 5] [--only TEXT] [--json FILE]

Only ``chunked_array_type`` differs. The files, one of Zstandard and one that is not encoded, lie in
the page cache. Both take turns. Of the seconds and of the CPU's seconds the least counts. Beside
them stands what the process grew by. ``--data DIR`` keeps the files there, or takes those that lie
there; the rows of a program that was measured alone (``--only``) join those of ``--json``.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, Final

import dask
import flox
import numpy as np
import pandas as pd
import xarray as xr
import zarr
from pipelines import forgotten, grown

import speedcube as sc
from speedcube.commands.this_machine import processor

CORES: Final = len(os.sched_getaffinity(0))
PLACES: Final = (96, 192)
KINDS: Final = ("speedcube", "dask")


def standardised(t: Any) -> Any:
    return (t - t.mean("time")) / t.std("time")


def detrended(t: Any) -> Any:
    fit = t.polyfit("time", 1, skipna=False)
    return (t - xr.polyval(t.time, fit.polyfit_coefficients)).std("time")


def of_seasons(t: Any) -> Any:
    groups = t.groupby("time.season")
    return groups - groups.mean()


def regridded(t: Any) -> Any:
    return t.interp(lat=np.linspace(-85, 85, 40), lon=np.linspace(1, 350, 60))


PROGRAMS: Final[dict[str, Callable[[Any], Any]]] = {
    "mean of all": lambda t: t.mean(),
    "mean over time": lambda t: t.mean("time"),
    "zonal mean": lambda t: t.mean("lon"),
    "without skipna": lambda t: t.mean("time", skipna=False),
    "spread over time": lambda t: t.std("time"),
    "extremes": lambda t: t.max("time") - t.min("time"),
    "quadratic mean": lambda t: ((t * t).mean("time")) ** 0.5,
    "anomaly, its spread": lambda t: (t - t.mean("time")).std("time"),
    "where, then mean": lambda t: t.where(t > 10).mean("time"),
    "how many above": lambda t: (t > 20).sum("time"),
    "fillna, then sum": lambda t: t.fillna(0).sum("time"),
    "means of months": lambda t: t.groupby("time.month").mean(),
    "means of days of the year": lambda t: t.groupby("time.dayofyear").mean(),
    "means of seasons": lambda t: t.groupby("time.season").mean(),
    "spread of months": lambda t: t.groupby("time.month").std(),
    "anomaly of months": lambda t: (t.groupby("time.month") - t.groupby("time.month").mean()).mean(
        "lon"
    ),
    "monthly series": lambda t: t.resample(time="MS").mean(),
    "rolling mean": lambda t: t.rolling(time=7).mean().max("time"),
    "coarsen": lambda t: t.coarsen(lat=4, lon=4).mean(),
    "weighted": lambda t: t.weighted(np.cos(np.deg2rad(t.lat))).mean(("lat", "lon")),
    "differences": lambda t: t.diff("time").std("time"),
    "gradient of places": lambda t: (t.shift(lon=-1) - t.shift(lon=1)).mean("time"),
    "dot with a map": lambda t: xr.dot(t, t.isel(time=0), dim=("lat", "lon")),
    "a point's series": lambda t: t.isel(lat=10, lon=20),
    "some places": lambda t: t.isel(lat=[3, 50, 7]).mean("lon"),
    "trend": lambda t: t.polyfit("time", 1, skipna=False).polyfit_coefficients,
    "running sum, its greatest": lambda t: t.cumsum("time").max("time"),
    "anomaly of seasons": lambda t: of_seasons(t).std("time"),
    "quantile over time": lambda t: t.chunk(time=-1, lat=8).quantile(0.9, "time"),
    "another grid": lambda t: regridded(t).mean("time"),
    "without its trend": detrended,
    "where and fillna": lambda t: t.where(t > 0).fillna(-1).mean(("lat", "lon")),
    "yearly greatest": lambda t: t.resample(time="YS").max().mean("time"),
    "rolling, every tenth": lambda t: t.rolling(time=30, center=True).mean()[::10].mean("lon"),
    "correlation with a series": lambda t: xr.corr(t, t.mean(("lat", "lon")), "time"),
    "days above, by year": lambda t: (t > 30).groupby("time.year").sum("time"),
    "some years": lambda t: t.sel(time=slice("2003", "2004")).mean("time"),
}
# What is made is written to a Zarr beside the file.
WRITTEN: Final[dict[str, Callable[[Any], Any]]] = {
    "standardise and write": standardised,
    "anomaly of months, written": lambda t: (
        t.groupby("time.month") - t.groupby("time.month").mean()
    ),
    "anomaly of seasons, written": of_seasons,
    "monthly series, written": lambda t: t.resample(time="MS").mean(),
    "fahrenheit, written": lambda t: t * 1.8 + 32,
}
# Of two files, one after the other.
JOINED: Final[dict[str, Callable[[Any], Any]]] = {
    "two files, mean over time": lambda t: t.mean("time"),
    "two files, means of months": lambda t: t.groupby("time.month").mean(),
}


def made(folder: Path, megabytes: int) -> dict[str, Path]:
    """A dataset of daily temperatures, of so many megabytes, in both forms."""
    found = {form: folder / f"{form}.zarr" for form in ("zstd", "raw")}
    if all(one.exists() for one in found.values()):
        return found
    folder.mkdir(exist_ok=True)
    days = max(730, megabytes * 1_000_000 // (4 * PLACES[0] * PLACES[1]))
    draw = sc.random.default_rng(1).normal(15, 8, size=(days, *PLACES), dtype="f4")
    values = (sc.rint(draw * 64) / 64).compute()
    coords = {
        "time": pd.date_range("2000-01-01", periods=days),
        "lat": np.linspace(-89, 89, PLACES[0]),
        "lon": np.linspace(0, 358, PLACES[1]),
    }
    ds = xr.Dataset({"t": (("time", "lat", "lon"), values)}, coords)
    for form, codec in (("zstd", zarr.codecs.ZstdCodec()), ("raw", None)):
        how = {"t": {"chunks": (90, *PLACES), "compressors": codec}}
        ds.to_zarr(found[form], encoding=how, consolidated=False)
    return found


def opened(path: Path, kind: str) -> Any:
    options: Any = {"chunks": {}, "consolidated": False, "chunked_array_type": kind}
    return xr.open_zarr(path, **options)


def program(path: Path, kind: str, name: str) -> Any:
    """Open, and compute."""
    t = opened(path, kind).t
    if name in JOINED:
        again = path.with_name(f"again-{path.name}")  # another one for Dask, which reads one once
        if not again.exists():
            again.symlink_to(path.name)
        return JOINED[name](xr.concat([t, opened(again, kind).t], "time")).compute()
    if name not in WRITTEN:
        return PROGRAMS[name](t).compute()
    target = path.with_name(f"written-{kind}.zarr")
    shutil.rmtree(target, ignore_errors=True)
    made = WRITTEN[name](t).drop_encoding().to_dataset(name="t")
    if kind == "dask":  # Zarr's chunks have to be even: Dask's are where it is told so
        made = made.chunk(time=90)
    made.to_zarr(target, consolidated=False, encoding={"t": {"chunks": (90, *PLACES)}})
    return None


def same(path: Path, name: str) -> bool:
    """Whether both give the same numbers, to float32's precision, of a short file."""
    found = [program(path, kind, name) for kind in KINDS]
    if name in WRITTEN:
        found = [xr.open_zarr(path.with_name(f"written-{one}.zarr")).t.load() for one in KINDS]
    ours, theirs = found
    try:
        xr.testing.assert_allclose(ours, theirs.transpose(*ours.dims), rtol=2e-4, atol=2e-4)
    except AssertionError as err:
        print(name, err)
        return False
    return bool(ours.dtype == theirs.dtype)


def row(form: str, path: Path, name: str, rounds: int) -> dict[str, Any]:
    """The times of both."""
    walls: dict[str, list[float]] = {kind: [] for kind in KINDS}
    works: dict[str, list[float]] = {kind: [] for kind in KINDS}
    peaks: dict[str, list[int]] = {kind: [] for kind in KINDS}
    for _ in range(rounds):
        for kind in KINDS:
            gc.collect()
            before = forgotten()
            begin, work = time.perf_counter(), time.process_time()
            try:
                program(path, kind, name)
            except Exception as err:
                return {"file": form, "program": name, "fails": f"{kind}: {err}"[:200]}
            walls[kind].append(round(time.perf_counter() - begin, 4))
            works[kind].append(round(time.process_time() - work, 4))
            peaks[kind].append(grown(before) // 1_000_000)
    ratios = [min(t["dask"]) / min(t["speedcube"]) for t in (walls, works)]
    most = [max(peaks[kind]) for kind in KINDS]
    print(f"{form:5} {name:26} {min(walls['speedcube']):7.3f} s, {ratios[0]:5.2f} of Dask's speed, "
          f"{ratios[1]:5.2f} by the CPU's seconds, grew by {most[0]}, Dask {most[1]} MB",
          flush=True)  # fmt: skip
    found = {"over_dask": round(ratios[0], 3), "over_dask_cpu": round(ratios[1], 3)}
    each = {"seconds": walls, "cpu_seconds": works, "grew_mb": peaks}
    return {"file": form, "program": name, **found, **each}


def joined(path: Path | None, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """``rows``, and those of other programs that ``path`` has."""
    if path is None or not path.exists():
        return rows
    old = json.loads(path.read_text())["rows"]
    here = {(one["file"], one["program"]) for one in rows}
    return [one for one in old if (one["file"], one["program"]) not in here] + rows


def main() -> None:
    """Measure, print, and perhaps keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--folder", default=None)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--same", action="store_true", help="compare numbers; measure nothing")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    facts: dict[str, Any] = {
        "date": str(date.today()),
        "command": " ".join(sys.argv),
        "machine": processor(),
        "python": platform.python_version(),
        "versions": {m.__name__: m.__version__ for m in (np, zarr, dask, xr, flox, sc)},
        "cores": CORES,
        "megabytes": args.mb,
        "load": [os.getloadavg()[0]],
    }
    names = [*PROGRAMS, *JOINED, *WRITTEN]
    with (
        tempfile.TemporaryDirectory(dir=args.folder) as folder,
        dask.config.set(scheduler="threads", num_workers=CORES),
        sc.on(f"cores:{CORES}"),
    ):
        todo = [
            (form, path, name)
            for form, path in made(args.data or Path(folder), args.mb).items()
            for name in names
            if args.only in f"{form} {name}"
        ]
        if args.same:
            print("differ:", [name for _, path, name in todo if not same(path, name)])
            return
        rows = joined(args.json, [row(*one, args.rounds) for one in todo])
    facts["load"].append(os.getloadavg()[0])
    for key in ("over_dask", "over_dask_cpu"):
        known = [one[key] for one in rows if key in one]
        if known:
            print(f"{key}: median {statistics.median(known):.2f}, least {min(known):.2f}")
    if args.json:
        args.json.write_text(json.dumps({"facts": facts, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
