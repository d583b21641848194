"""The commonest of the composed functions beside NumPy on one core: median of interleaved pairs.

python bench/composed.py [--json measurements/composed/core.json]
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from typing import Any, Final

import numpy as np

import speedcube as sc

PAIRS: Final = 7
ROWS: Final = (
    "np.nansum(x)", "np.nanmean(x)", "np.nanstd(x)", "np.nanmax(x)", "np.nanmean(x, axis=0)",
    "np.nanmean(x, axis=1)", "np.nanstd(x, axis=0)", "np.nanstd(x, axis=1)",
    "np.nanmax(x, axis=0)", "np.nansum(x, axis=1)", "np.mean(x, where=y > 0)",
    "np.diff(x)", "np.diff(x, axis=0)", "np.diff(z)", "np.isclose(x, y)", "np.allclose(z, z)",
    "np.nan_to_num(x)", "np.round(x, 2)", "np.clip(x, -1, 1)", "np.fmin(x, y)",
    "np.copysign(x, y)", "np.logaddexp(x, y)", "np.gradient(z)", "np.gradient(y, axis=1)",
    "np.trapezoid(z)", "np.interp(z, p, q)", "np.interp(z, long, long)",
    "np.convolve(z, p[:5])", "np.convolve(z, p[:31], 'same')", "np.convolve(z[:100_000], long)",
    "np.correlate(z, p[:7])", "np.cov(wide)", "np.cov(few)", "np.corrcoef(few)",
    "np.average(y, axis=0, weights=w)", "np.ptp(y, axis=1)", "np.unwrap(z)", "np.packbits(y > 0)",
    "np.polyval(p[:6], z)", "np.add(y, y, where=y > 0)", "np.frexp(z)[0]", "np.nextafter(z, 0.0)",
    "np.gcd(k, k[::-1])", "np.lcm(k, 60)", "np.piecewise(z, [z < 0, z > 1], [lambda v: -v, 1, 0])",
    "np.corrcoef(wide)", "np.convolve(z, long)", "np.packbits(b)", "np.packbits(b, axis=0)",
    "np.unpackbits(bytes)", "np.unpackbits(bytes, axis=0)", "z[::3].max()", "z[::3].sum()",
    "windows(z, 24).mean(axis=-1)", "windows(z, 24).max(axis=-1)",
    "windows(y, (3, 3)).mean(axis=(2, 3))", "windows(y, 7, axis=0).std(axis=-1)",
    "windows(z, 24) @ p[:24]", "t - t.mean()", "t - t.mean(axis=0)",
)  # fmt: skip


def data() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    y = rng.normal(size=(1000, 2000))
    x = np.where(rng.random(y.shape) < 0.05, np.nan, y)
    return {
        "x": x, "y": y, "z": rng.normal(size=2_000_000), "p": np.arange(100.0) / 10 - 5,
        "q": rng.normal(size=100), "long": np.sort(rng.normal(size=1000)),
        "wide": rng.normal(size=(40, 20_000)), "few": rng.normal(size=(3, 500_000)),
        "w": rng.random(1000), "k": rng.integers(-(2**40), 2**40, 200_000),
        "b": y > 0, "bytes": rng.integers(0, 256, (1000, 500), "uint8"),
        "t": rng.normal(size=(1_000_000, 3)),
    }  # fmt: skip


def seconds(text: str, names: dict[str, Any]) -> float:
    start = time.process_time()
    value = eval(text, names)
    if isinstance(value, sc.Array):
        value.compute(on="core")
    return time.process_time() - start


def measured(text: str, ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, float]:
    for _ in range(3):
        seconds(text, ours)
    pairs = [(seconds(text, ours), seconds(text, theirs)) for _ in range(PAIRS)]
    mine, numpys = (sorted(times)[PAIRS // 2] for times in zip(*pairs, strict=True))
    return {"ours": mine, "numpy": numpys, "ratio": numpys / mine}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    path = parser.parse_args().json
    arrays = data()
    numpys = {"np": np, "windows": np.lib.stride_tricks.sliding_window_view}
    ours = {**numpys, **{name: sc.asarray(value) for name, value in arrays.items()}}
    found = {}
    warnings.simplefilter("ignore")
    before = os.getloadavg()[0]
    for text in ROWS:
        found[text] = measured(text, ours, {**numpys, **arrays})
        print(
            f"{found[text]['ratio']:7.2f}  {1e3 * found[text]['ours']:8.2f} ms  {text}", flush=True
        )
    if path:
        load = {"before": round(before, 1), "after": round(os.getloadavg()[0], 1)}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            json.dumps({"load": load, "numpy": np.__version__, "rows": found}, indent=1)
        )


if __name__ == "__main__":
    main()
