"""Write what the printers print for some thirty expressions, so that two trees can be compared.

Usage: ``python tools/texts.py FOLDER``, then ``diff -r`` of two folders. For each expression there
is the IR, the LLVM IR and the CUDA C of its last kernel, and ``compiled``: every LLVM text that is
compiled while one core computes it, in order, from an empty kernel cache. ``SPEEDCUBE_SIMD`` names
the instructions. Only public names are used, so an older tree can be asked in the same words.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np

import speedcube as sc

FLOATS = (np.arange(5000.0) * 0.618034) % 7 - 3
SINGLES = FLOATS.astype("float32").reshape(50, 100)
HALVES = FLOATS.astype("float16")
WILD = FLOATS * 2.0 ** (np.arange(5000) % 1800 - 900)
WHOLE = (np.arange(6000) * 7919 % 251 - 125).reshape(60, 100)


def rng() -> sc.random.Generator:
    return sc.random.default_rng(2026)


def stored(values: Any) -> sc.Array:
    return sc.asarray(values)


EXPRESSIONS: dict[str, Callable[[], Any]] = {
    "published": lambda: (rng().normal(10, 1, size=(300, 300)) + 1)[::2, ::2].sum(),
    "normal": lambda: rng().normal(size=(40, 200)),
    "normal32-sum": lambda: rng().normal(size=(40, 200), dtype="float32").sum(),
    "uniform-axis": lambda: rng().uniform(-1, 1, (40, 120)).sum(axis=0),
    "exponential32-std": lambda: rng().exponential(2, (6000,), dtype="float32").std(ddof=1),
    "integers-strided": lambda: rng().integers(-100, 100, (90, 70))[::-3, 1:],
    "gamma": lambda: rng().gamma(2.5, size=900),
    "poisson": lambda: rng().poisson(100.0, size=900),
    "binomial-of-array": lambda: rng().binomial(100, FLOATS[:900] * 0.1 + 0.4).sum(),
    "permutation": lambda: rng().permutation(3000)[::7],
    "choice": lambda: rng().choice(30, 700, p=np.arange(30) / 435).mean(),
    "stored-sum": lambda: (stored(FLOATS) * 2 + 1).sum(),
    "stored-wild-sum": lambda: stored(WILD).sum(),
    "stored32-var": lambda: stored(SINGLES)[:, ::-3].var(axis=1),
    "stored-columns": lambda: stored(FLOATS.reshape(500, 10)).sum(axis=0),
    "half-sum": lambda: (stored(HALVES) * 3 + 1).sum(),
    "half-elements": lambda: stored(HALVES)[::-1] / 3,
    "integers-sum": lambda: stored(WHOLE).sum(axis=1),
    "dot": lambda: sc.dot(stored(WILD), stored(FLOATS)),
    "elementary": lambda: sc.exp(stored(FLOATS)) + sc.log(abs(stored(FLOATS))) * sc.sin(FLOATS),
    "elementary32": lambda: sc.tanh(stored(SINGLES)).T * sc.cos(stored(SINGLES)).T,
    "special": lambda: sc.erf(stored(FLOATS)) + stored(FLOATS) ** stored(FLOATS),
    "where-modulo": lambda: sc.where(stored(WHOLE) % 7 < 3, stored(WHOLE) // 4, 1.5),
    "centred": lambda: stored(SINGLES) - stored(SINGLES).mean(axis=0),
    "min": lambda: stored(SINGLES).min(axis=0),
    "argmax": lambda: stored(WHOLE).argmax(axis=1),
    "any": lambda: (stored(FLOATS) > 3).any(),
    "cumsum": lambda: stored(WILD).cumsum(),
    "cumprod32": lambda: stored(SINGLES).cumprod(axis=1),
    "prod-of-integers": lambda: stored(WHOLE).prod(axis=0),
    "take": lambda: sc.take(stored(FLOATS), WHOLE[0] % 50) * 2,
}


def compiled(expression: sc.Array) -> list[str]:
    """The LLVM texts that are compiled while one core computes ``expression``."""
    texts: list[str] = []
    parse = llvm.parse_assembly

    def noted(text: str, *rest: Any) -> Any:
        texts.append(text)
        return parse(text, *rest)

    llvm.parse_assembly = noted
    try:
        expression.compute(on="core")
    finally:
        llvm.parse_assembly = parse
    return texts


def main(folder: str) -> None:
    """Write four files for each expression into ``folder``."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as empty:
        os.environ["SPEEDCUBE_CACHE_DIR"] = empty
        for name, make in EXPRESSIONS.items():
            for printer in ("ir", "cpu", "cuda"):
                (target / f"{name}.{printer}").write_text(make().source(printer))
            texts = "\n; ---\n".join(compiled(make()))
            (target / f"{name}.compiled").write_text(texts)
    print(f"{len(EXPRESSIONS)} expressions, {len(list(target.iterdir()))} files in {target}")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        raise SystemExit(__doc__)
    main(sys.argv[1])
