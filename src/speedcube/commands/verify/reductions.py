"""Reductions to verify, sums that other libraries get wrong, and dots."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import numpy as np

from ...api.array import Array
from ...api.creation import full, zeros
from ...api.dot import vecdot
from ...api.functions.extremes import nanmax, nanmin
from ...api.sources import asarray
from . import data
from .sources import Make, cancelling, rng, stored, wild_dot

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


def reductions() -> dict[str, Make]:
    """Every reduction in its dtypes, along its axes."""
    return {
        f"{op}-{dtype}-{along}": partial(_reduced, op, dtype, _ALONG[along])
        for dtype, ways in _REDUCED.items()
        for along in ways
        for op in (_REDUCTIONS if along in ("outer", "first") else _REDUCTIONS + _PLACES)
    }


def _reduced(op: str, dtype: str, axis: Any) -> Array:
    result: Array = getattr(stored(dtype, (6, 31, 17), 2), op)(axis=axis)
    return result


def _terms(*values: float, dtype: str = "float64") -> Make:
    return lambda: asarray(np.array(values, dtype)).sum()


def _holes(dtype: str) -> Array:
    """60 rows of 100 numbers, some of them NaN."""
    values = data.wide(dtype, 6000).reshape(60, 100).copy()
    values[::3, ::7] = np.nan
    return asarray(values)


# Sums that depend on the order, overflow on the way, or are rounded twice elsewhere.
SUMS: Final[dict[str, Make]] = {
    "sum-cancelling": lambda: cancelling("float64", 3000).sum(),
    "sum-cancelling32": lambda: cancelling("float32", 3000).sum(),
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
    "nanmax-of-nan": lambda: nanmax(asarray(np.array([np.nan, -np.inf, -0.0, 0.0, np.nan]))),
    "nanmin-rows": lambda: nanmin(_holes("float64"), axis=1),
    "nanmax-columns32": lambda: nanmax(_holes("float32"), axis=0),
    "sum-integers-wrap": lambda: full(3, 2**63 - 1, "int64").sum(),
    "mean-integers": lambda: full(3, 2**63 - 1, "int64").mean(),
}


def _products(*pairs: tuple[float, float]) -> Make:
    return lambda: vecdot(*(np.array([pair[k] for pair in pairs]) for k in (0, 1)))


DOTS: Final[dict[str, Make]] = {
    "dot-normals": lambda: rng().normal(size=3000) @ rng().exponential(size=3000),
    "dot32": lambda: rng().normal(size=3000, dtype="float32") @ stored("float32", (3000,)),
    "dot-wild16": lambda: wild_dot("float16", 5000),
    "dot-wild": lambda: wild_dot("float64", 5000),
    "dot-wild32": lambda: wild_dot("float32", 5000),
    "dot-rows": lambda: vecdot(stored("float64", (40, 90)), stored("float64", (90,), 3)),
    "dot-columns": lambda: vecdot(
        asarray(data.wide("float64", 3600).reshape(90, 40)), stored("float64", (90, 40)), axis=0
    ),
    "dot-integers": lambda: stored("int16", (3000,)) @ stored("int16", (3000,), 1),
    "dot-overflow-on-the-way": _products((1e308, 1e308), (1e308, -1e308), (3.0, 2.0)),
    "dot-below-the-least": _products((1.0, 1.0), (2.0**-53, 1.0), (2.0**-1074, 2.0**-1074)),
    "dot-infinities": _products((float("inf"), 2.0**-1074), (1e200, -1e200)),
    "dot-nan": _products((float("inf"), 0.0), (1.0, 1.0)),
}
