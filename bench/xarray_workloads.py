"""Programs of xarray over a Zarr file: the same lines with our arrays and with Dask's.

    python bench/xarray_workloads.py [--mb 256] [--rounds 5] [--only TEXT] [--json FILE]

Only ``chunked_array_type`` differs. The files, one of Zstandard and one that is not encoded, lie in
the page cache. Both take turns. Of the seconds and of the CPU's seconds the least counts.
"""

from __future__ import annotations

import argparse
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

import speedcube as sc
from speedcube.commands.this_machine import processor

CORES: Final = len(os.sched_getaffinity(0))
PLACES: Final = (96, 192)
KINDS: Final = ("speedcube", "dask")


def standardised(t: Any) -> Any:
    return (t - t.mean("time")) / t.std("time")


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
}


def made(folder: Path, megabytes: int) -> dict[str, Path]:
    """A dataset of daily temperatures, of so many megabytes, in both forms."""
    days = max(730, megabytes * 1_000_000 // (4 * PLACES[0] * PLACES[1]))
    draw = sc.random.default_rng(1).normal(15, 8, size=(days, *PLACES), dtype="f4")
    values = (sc.rint(draw * 64) / 64).compute()
    coords = {
        "time": pd.date_range("2000-01-01", periods=days),
        "lat": np.linspace(-89, 89, PLACES[0]),
        "lon": np.linspace(0, 358, PLACES[1]),
    }
    ds = xr.Dataset({"t": (("time", "lat", "lon"), values)}, coords)
    found = {}
    for form, codec in (("zstd", zarr.codecs.ZstdCodec()), ("raw", None)):
        found[form] = folder / f"{form}.zarr"
        how = {"t": {"chunks": (90, *PLACES), "compressors": codec}}
        ds.to_zarr(found[form], encoding=how, consolidated=False)
    return found


def opened(path: Path, kind: str) -> Any:
    options: Any = {"chunks": {}, "consolidated": False, "chunked_array_type": kind}
    return xr.open_zarr(path, **options)


def program(path: Path, kind: str, name: str) -> None:
    """Open, and compute."""
    if name == "standardise and write":
        target = path.with_name("written.zarr")
        shutil.rmtree(target, ignore_errors=True)
        standardised(opened(path, kind).t).to_dataset(name="t").to_zarr(target, consolidated=False)
        return
    PROGRAMS[name](opened(path, kind).t).compute()


def row(form: str, path: Path, name: str, rounds: int) -> dict[str, Any]:
    """The times of both."""
    walls: dict[str, list[float]] = {kind: [] for kind in KINDS}
    works: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(rounds):
        for kind in KINDS:
            begin, work = time.perf_counter(), time.process_time()
            try:
                program(path, kind, name)
            except Exception as err:
                return {"file": form, "program": name, "fails": f"{kind}: {err}"[:200]}
            walls[kind].append(round(time.perf_counter() - begin, 4))
            works[kind].append(round(time.process_time() - work, 4))
    ratios = [min(t["dask"]) / min(t["speedcube"]) for t in (walls, works)]
    print(f"{form:5} {name:26} {min(walls['speedcube']):7.3f} s, {ratios[0]:5.2f} of Dask's speed, "
          f"{ratios[1]:5.2f} by the CPU's seconds", flush=True)  # fmt: skip
    found = {"over_dask": round(ratios[0], 3), "over_dask_cpu": round(ratios[1], 3)}
    return {"file": form, "program": name, **found, "seconds": walls, "cpu_seconds": works}


def main() -> None:
    """Measure, print, and perhaps keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mb", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="")
    parser.add_argument("--folder", default=None)
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
    names = [*PROGRAMS, "standardise and write"]
    with (
        tempfile.TemporaryDirectory(dir=args.folder) as folder,
        dask.config.set(scheduler="threads", num_workers=CORES),
        sc.on(f"cores:{CORES}"),
    ):
        rows = [
            row(form, path, name, args.rounds)
            for form, path in made(Path(folder), args.mb).items()
            for name in names
            if args.only in f"{form} {name}"
        ]
    facts["load"].append(os.getloadavg()[0])
    for key in ("over_dask", "over_dask_cpu"):
        known = [one[key] for one in rows if key in one]
        if known:
            print(f"{key}: median {statistics.median(known):.2f}, least {min(known):.2f}")
    if args.json:
        args.json.write_text(json.dumps({"facts": facts, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
