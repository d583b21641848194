"""The expressions of the committed list: name -> what makes it.

Small ones, since compiling a kernel takes longer than running it, but of every kind: all random
sources, all operations, views, reductions over any axes, sums that other libraries get wrong, and
some of 2**15 elements and more, which all workers of a rung share.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeAlias

import numpy as np

from ... import dtypes
from ...api.array import Array
from ...api.creation import arange, asarray, full, zeros
from ...api.dot import dot, vecdot
from ...api.elementwise import exp, floor, rint, sqrt, where
from ...api.shapes import broadcast_to
from ...random import Generator, default_rng
from . import data
from .draws import DRAWS
from .functions import casts, functions, mixed

Make: TypeAlias = Callable[[], Array]


def _rng() -> Generator:
    return default_rng(2026)


def _steps(dtype: str, shape: tuple[int, ...]) -> Array:
    """Multiples of 2**-12 below 2**12, in memory."""
    flat = np.arange(np.prod(shape), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    steps = (flat >> np.uint64(40)).astype(dtype).reshape(shape)
    return asarray(steps / np.dtype(dtype).type(1 << 12))


def _stored(dtype: str, shape: tuple[int, ...], seed: int = 0) -> Array:
    return asarray(data.moderate(dtype, int(np.prod(shape)), seed).reshape(shape))


def _centred(x: Array) -> Any:
    return (x - x.mean(axis=0)) / x.std(axis=0)


# Long enough that threads and GPUs share them.
SHARED: Final[dict[str, Make]] = {
    "published": lambda: (_rng().normal(10, 1, size=(300, 300)) + 1)[::2, ::2].sum(),
    "published-mean": lambda: (_rng().normal(10, 1, size=(300, 300)) + 1)[::2, ::2].mean(),
    "published-elements": lambda: (_rng().normal(10, 1, size=(200, 300)) + 1)[::2, ::2],
    "normal32": lambda: _rng().normal(size=(250, 201), dtype="float32"),
    "normal32-sum": lambda: _rng().normal(size=(250, 201), dtype="float32").sum(),
    "transposed": lambda: _rng().normal(size=(210, 190)).T[::-1, 1:] * 2,
    "uniform-axis": lambda: _rng().uniform(-1, 1, (400, 120)).sum(axis=0),
    "uniform32-axis": lambda: _rng().random((120, 400), dtype="float32").mean(axis=1),
    "exponential-var": lambda: _rng().exponential(2, (60_000,)).var(),
    "exponential32-std": lambda: _rng().exponential(2, (60_000,), dtype="float32").std(ddof=1),
    "integers": lambda: _rng().integers(-100, 100, (40_000,)),
    "integers-sum": lambda: _rng().integers(-(2**62), 2**62, (300, 150)).sum(axis=0),
    "exp-sum": lambda: exp(_rng().normal(size=(220, 180))).sum(axis=1),
    "exp32": lambda: exp(_rng().normal(0, 30, size=40_000, dtype="float32")),
    "division": lambda: (1 / _rng().normal(size=40_000)).sum(),
    "sqrt-where": lambda: where(_rng().random(40_000) < 0.5, 1.0, sqrt(arange(40_000))),
    "min-max": lambda: _rng().normal(size=(200, 200)).min(axis=0) + _rng().random((200,)).max(),
    "argmin": lambda: _rng().integers(0, 50, (200, 200)).argmin(axis=1),
    "argmax-all": lambda: _rng().integers(0, 50, (50_000,)).argmax(),
    "any-all": lambda: (_rng().normal(size=(100, 400)) > 3).any(axis=0),
    "stored-sum": lambda: _steps("float64", (50_000,)).sum(),
    "stored-a*2+b": lambda: (_steps("float64", (250, 200)) * 2 + 1e-9).sum(),
    "stored32": lambda: _steps("float32", (250, 200))[:, ::-3].var(axis=1),
    "centred": lambda: _centred(_rng().normal(3, 2, size=(150, 250))),
    "wide-range": lambda: (_rng().normal(size=40_000) ** 9 * 1e200).sum(),
    "int8-wrap": lambda: _rng().integers(-128, 128, 40_000, dtype="int8") * 3,
    "modulo": lambda: (_rng().uniform(-50, 50, 40_000) % 0.7).sum(),
    "wild-shared-sum": lambda: asarray(data.wide("float64", 70_000)).sum(),
    "wild-shared-var": lambda: asarray(data.wide("float32", 70_000)).var(),
}

SMALL: Final[dict[str, Make]] = {
    "small-normal": lambda: _rng().normal(1, 2, size=1500),
    "small-normal-sum": lambda: (_rng().normal(size=(50, 40)) + 1)[::2, ::2].sum(),
    "small-normal32": lambda: _rng().normal(size=1500, dtype="float32").var(),
    "small-exponential": lambda: _rng().exponential(size=1500).std(),
    "small-exponential32": lambda: _rng().exponential(size=1500, dtype="float32"),
    "small-uniform": lambda: _rng().uniform(-1, 1, (30, 50)).sum(axis=0),
    "small-integers": lambda: _rng().integers(-9, 9, 1500, dtype="int16") // 4,
    "small-wide": lambda: _rng().integers(-(2**62), 2**62, 1500).sum(),
    "small-exp": lambda: exp(_rng().normal(0, 100, size=1500)),
    "small-exp32": lambda: exp(_rng().normal(0, 30, size=1500, dtype="float32")),
    "small-modulo": lambda: _rng().uniform(-9, 9, 1500) % 0.7,
    "small-stored": lambda: _steps("float32", (1500,)).sum(),
    "small-float16": lambda: (_rng().normal(size=1500).astype("float16") / 3)[::-1],
    "small-float16-sum": lambda: (_stored("float16", (1500,)) * 3 + 1).sum(),
    "small-dot": lambda: _rng().normal(size=1500) @ _steps("float64", (1500,)),
    "small-dot-wild": lambda: _out_of_range("float64", 1500),
    "small-extremes": lambda: _steps("float64", (30, 50)).argmax(axis=1),
    "small-bool": lambda: (_rng().random(1500) < 0.5) & (arange(1500) % 3 == 0),
    "small-rounding": lambda: rint(_rng().normal(0, 9, 1500)) + floor(_rng().random(1500) * 5),
}

# Random sources: parameters, seeds, and the places of a run, of a block and of a far position.
_FAR: Final = slice(2**60 - 700, 2**60 + 900)
STREAMS: Final[dict[str, Make]] = {
    "normal": lambda: _rng().normal(size=4096),
    "normal32-strided": lambda: _rng().normal(size=(9, 4096), dtype="float32")[::-2, ::4],
    "normal-parameters": lambda: _rng().normal(-3.3, 1e-5, size=3000),
    "uniform": lambda: _rng().random(4096),
    "uniform-parameters": lambda: _rng().uniform(-7, 1e-3, 3000),
    "uniform32": lambda: _rng().random(4096, dtype="float32"),
    "uniform32-parameters": lambda: _rng().uniform(-7, 1e-3, 3000, dtype="float32"),
    "exponential": lambda: _rng().exponential(size=4096),
    "exponential-parameters": lambda: _rng().exponential(1e300, size=3000),
    "exponential32": lambda: _rng().exponential(size=4096, dtype="float32"),
    "integers-wide": lambda: _rng().integers(-(2**62), 2**62, 3000),
    "integers-uint8": lambda: _rng().integers(0, 256, 3000, dtype="uint8"),
    "bits64": lambda: _rng().integers(-(2**63), 2**63, 3000),
    "bits64-unsigned": lambda: _rng().integers(0, 2**64, 3000, dtype="uint64"),
    "spawned": lambda: _rng().spawn(3)[2].normal(size=3000),
    "seed-of-many": lambda: default_rng([1, 2**70, 3]).random(3000),
    "legacy": lambda: default_rng(0).integers(0, 10, (3, 1000)).T,
    "far": lambda: _rng().normal(size=2**61)[_FAR],
    "far-float32": lambda: _rng().normal(size=2**61, dtype="float32")[_FAR],
    "far-integers": lambda: _rng().integers(0, 1000, 2**61)[_FAR],
}

_SLICES: Final[dict[str, Any]] = {
    "step-2": np.s_[:, ::2],
    "step-3": np.s_[::2, ::3],
    "step-1024": np.s_[::256, :],
    "flipped": np.s_[::-1, ::-1],
    "flipped-step-5": np.s_[3:, ::-5],
    "row": np.s_[7],
    "column": np.s_[:, 200],
    "new-axis": np.s_[None, 3:9, None, ::4],
    "nothing": np.s_[5:5],
}


def _views() -> dict[str, Make]:
    sources: dict[str, Make] = {
        "generated": lambda: _rng().normal(size=(300, 260)),
        "stored": lambda: _stored("float64", (300, 260)),
    }
    sliced: dict[str, Make] = {
        f"{name}-{view}": partial(_viewed, make, item)
        for name, make in sources.items()
        for view, item in _SLICES.items()
    }
    return sliced | {
        f"{name}-{way}": partial(_turned, make, way)
        for name, make in sources.items()
        for way in ("transposed", "reshaped", "broadcast")
    }


def _viewed(make: Make, item: Any) -> Array:
    return make()[item]


def _turned(make: Make, way: str) -> Any:
    x = make()
    if way == "transposed":
        return x.T[2:]
    if way == "reshaped":
        return x.reshape(52, 5, 300).swapaxes(0, 2)
    return broadcast_to(x[:4, None, :90], (4, 7, 90)) + 0


# Reductions of each dtype, over axes of every place.
_ALONG: Final[dict[str, Any]] = {"all": None, "last": 2, "first": 0, "outer": (0, 2)}
_REDUCED: Final[dict[str, tuple[str, ...]]] = {
    "float64": tuple(_ALONG),
    "float32": ("all", "last"),
    "float16": ("all", "last"),
    "int16": ("all", "last"),
    "uint64": ("all", "last"),
    "bool": ("outer",),
}
_REDUCTIONS: Final = ("sum", "mean", "var", "std", "min", "max")
_PLACES: Final = ("argmin", "argmax")


def _reductions() -> dict[str, Make]:
    return {
        f"{op}-{dtype}-{along}": partial(_reduced, op, dtype, _ALONG[along])
        for dtype, ways in _REDUCED.items()
        for along in ways
        for op in (_REDUCTIONS if along in ("outer", "first") else _REDUCTIONS + _PLACES)
    }


def _reduced(op: str, dtype: str, axis: Any) -> Array:
    folded: Array = getattr(_stored(dtype, (6, 31, 17), 2), op)(axis=axis)
    return folded


def _terms(*values: float, dtype: str = "float64") -> Make:
    return lambda: asarray(np.array(values, dtype)).sum()


def _cancelling(dtype: str, count: int) -> Array:
    """Numbers of every size and their negatives, in another order, and one that is left."""
    half = data.wide(dtype, count, 9)
    return asarray(np.concatenate([half, np.array([2.0**-140], dtype), -half[::-1]]))


# Sums that depend on the order, overflow on the way, or are rounded twice elsewhere.
SUMS: Final[dict[str, Make]] = {
    "sum-cancelling": lambda: _cancelling("float64", 3000).sum(),
    "sum-cancelling32": lambda: _cancelling("float32", 3000).sum(),
    "sum-wild": lambda: asarray(data.wide("float64", 5000)).sum(),
    "sum-wild-rows": lambda: asarray(data.wide("float64", 6000).reshape(60, 100)).sum(axis=1),
    "sum-wild32": lambda: asarray(data.wide("float32", 5000)).sum(),
    "mean-wild": lambda: asarray(data.wide("float64", 5000)).mean(),
    "var-wild": lambda: asarray(data.floats("float64", 512, 1535, 5000)).var(),
    "std-wild32": lambda: asarray(data.wide("float32", 5000)).std(),
    "sum-subnormals": lambda: asarray(data.floats("float64", 0, 0, 3000)).sum(),
    "mean-subnormals32": lambda: asarray(data.floats("float32", 0, 0, 3000)).mean(),
    "sum-equal-terms": lambda: full(1_000_000, 0.1).sum(),
    "sum-equal-terms32": lambda: full(1_000_000, 0.1, "float32").sum(),
    "sum-overflow-on-the-way": _terms(1.7e308, 1.7e308, -1.7e308, 1.0),
    "sum-overflow": _terms(1.7e308, 1.7e308),
    "sum-rounded-once32": _terms(1.0, 2.0**-24, 2.0**-60, dtype="float32"),
    "sum-wild16": lambda: asarray(data.wide("float16", 5000)).sum(),
    "mean-wild16": lambda: asarray(data.wide("float16", 5000)).mean(),
    "std-wild16": lambda: asarray(data.wide("float16", 5000)).std(),
    "sum-rounded-once16": _terms(2048.0, 1.0, 2.0**-24, dtype="float16"),
    "sum-half-way": _terms(1.0, 2.0**-53, 2.0**-1074),
    "sum-one-below": _terms(2.0**53, 1.0, -(2.0**-1074)),
    "sum-negative-zeros": _terms(-0.0, -0.0),
    "sum-cancelled-zeros": _terms(1.0, -1.0, -0.0),
    "sum-infinity": _terms(1.0, float("inf"), 1.7e308, 1.7e308),
    "sum-infinities": _terms(float("inf"), float("-inf")),
    "sum-nan": _terms(1.0, float("nan"), float("inf")),
    "sum-nothing": lambda: zeros((0, 5)).sum(axis=0),
    "mean-nothing": lambda: zeros((0, 5)).mean(axis=0),
    "sum-single": lambda: asarray(data.special("float64").reshape(-1, 1)).sum(axis=1),
    "mean-single": lambda: asarray(data.special("float64").reshape(-1, 1)).mean(axis=1),
    "min-of-zeros": lambda: asarray(np.array([0.0, -0.0, 0.0])).min(),
    "max-of-nan": lambda: asarray(np.array([1.0, np.nan, np.inf])).max(),
    "argmax-of-nan": lambda: asarray(np.array([1.0, np.nan, np.inf, np.nan])).argmax(),
    "sum-integers-wrap": lambda: full(3, 2**63 - 1, "int64").sum(),
    "mean-integers": lambda: full(3, 2**63 - 1, "int64").mean(),
}


def _out_of_range(dtype: str, count: int) -> Any:
    """A dot whose products overflow and vanish: every exponent times every exponent."""
    return asarray(data.wide(dtype, count)) @ asarray(data.wide(dtype, count, 5))


def _products(*pairs: tuple[float, float]) -> Make:
    return lambda: dot(*(np.array([pair[k] for pair in pairs]) for k in (0, 1)))


DOTS: Final[dict[str, Make]] = {
    "dot-normals": lambda: _rng().normal(size=3000) @ _rng().exponential(size=3000),
    "dot32": lambda: _rng().normal(size=3000, dtype="float32") @ _stored("float32", (3000,)),
    "dot-wild16": lambda: _out_of_range("float16", 5000),
    "dot-wild": lambda: _out_of_range("float64", 5000),
    "dot-wild32": lambda: _out_of_range("float32", 5000),
    "dot-rows": lambda: vecdot(_stored("float64", (40, 90)), _stored("float64", (90,), 3)),
    "dot-columns": lambda: vecdot(
        asarray(data.wide("float64", 3600).reshape(90, 40)), _stored("float64", (90, 40)), axis=0
    ),
    "dot-integers": lambda: _stored("int16", (3000,)) @ _stored("int16", (3000,), 1),
    "dot-overflow-on-the-way": _products((1e308, 1e308), (1e308, -1e308), (3.0, 2.0)),
    "dot-below-the-least": _products((1.0, 1.0), (2.0**-53, 1.0), (2.0**-1074, 2.0**-1074)),
    "dot-infinities": _products((float("inf"), 2.0**-1074), (1e200, -1e200)),
    "dot-nan": _products((float("inf"), 0.0), (1.0, 1.0)),
}

# Products by a tree, and what runs along an axis: long enough for several tiles.
_SIZES: Final[dict[str, Callable[[str], Any]]] = {
    "long": lambda dtype: _factors(dtype, (1500,)),
    "rows": lambda dtype: _factors(dtype, (30, 170)),
    "columns": lambda dtype: _factors(dtype, (170, 30)).T,
}


def _factors(dtype: str, shape: tuple[int, ...]) -> Any:
    """Numbers near one, whose products stay finite; odd integers, whose products are not 0."""
    if not dtypes.is_float(dtype):
        return _stored(dtype, shape, 3) | 1
    half = {"float16": 15, "float32": 127, "float64": 1023}[dtype]
    return asarray(data.floats(dtype, half - 1, half, int(np.prod(shape)), 3).reshape(shape))


def _ordered() -> dict[str, Make]:
    made: dict[str, Make] = {
        f"{op}-{dtype}-{size}": partial(_along_the_last, op, dtype, size)
        for op in ("prod", "cumsum", "cumprod")
        for dtype in (*dtypes.FLOATS, "int64")
        for size in _SIZES
    }
    return made | {
        "cumsum-wild": lambda: asarray(data.wide("float64", 5000)).cumsum(),
        "cumsum-cancelling32": lambda: _cancelling("float32", 2000).cumsum(),
        "cumsum-infinities": lambda: asarray(np.array([1.0, np.inf, -np.inf, 1.0])).cumsum(),
        "cumsum-shared": lambda: _rng().normal(size=70_000).cumsum(),
        "prod-shared": lambda: _rng().uniform(0.5, 1.5, 70_000).prod(),
        "cumprod-shared": lambda: _rng().uniform(0.5, 1.5, (3, 30_000)).cumprod(axis=1),
    }


def _along_the_last(op: str, dtype: str, size: str) -> Array:
    folded: Array = getattr(_SIZES[size](dtype), op)(axis=-1)
    return folded


TABLE: Final[dict[str, Make]] = {
    **SHARED,
    **SMALL,
    **STREAMS,
    **_views(),
    **_reductions(),
    **SUMS,
    **DOTS,
    **_ordered(),
    **functions(),
    **mixed(),
    **casts(),
    **DRAWS,
}
