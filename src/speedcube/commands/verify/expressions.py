"""The expressions of the committed list: name -> what makes it.

Small ones, since compiling a kernel takes longer than running it, but of every kind: all random
sources, all operations, views, reductions over any axes, sums that other libraries get wrong, and
some of 2**15 elements and more, which all workers of a rung share.
"""

from __future__ import annotations

from typing import Any, Final

from ...api.array import Array
from ...api.elementwise import exp, floor, rint, sqrt, where
from ...api.namespace.ranges import arange
from ...api.sources import asarray
from . import data
from .complexes import complexes
from .draws import DRAWS
from .functions import bits, casts, functions, mixed
from .groups import GROUPS
from .orders import ORDERS
from .programs import PROGRAMS
from .reductions import DOTS, SUMS, reductions
from .scans import scans
from .sources import Make, rng, steps, stored, wild_dot
from .streams import STREAMS
from .views import views


def _centred(x: Array) -> Any:
    return (x - x.mean(axis=0)) / x.std(axis=0)


# Long enough that threads and GPUs share them.
SHARED: Final[dict[str, Make]] = {
    "published": lambda: (rng().normal(10, 1, size=(300, 300)) + 1)[::2, ::2].sum(),
    "published-mean": lambda: (rng().normal(10, 1, size=(300, 300)) + 1)[::2, ::2].mean(),
    "published-elements": lambda: (rng().normal(10, 1, size=(200, 300)) + 1)[::2, ::2],
    "normal32": lambda: rng().normal(size=(250, 201), dtype="float32"),
    "normal32-sum": lambda: rng().normal(size=(250, 201), dtype="float32").sum(),
    "transposed": lambda: rng().normal(size=(210, 190)).T[::-1, 1:] * 2,
    "uniform-axis": lambda: rng().uniform(-1, 1, (400, 120)).sum(axis=0),
    "uniform32-axis": lambda: rng().random((120, 400), dtype="float32").mean(axis=1),
    "exponential-var": lambda: rng().exponential(2, (60_000,)).var(),
    "exponential32-std": lambda: rng().exponential(2, (60_000,), dtype="float32").std(ddof=1),
    "integers": lambda: rng().integers(-100, 100, (40_000,)),
    "integers-sum": lambda: rng().integers(-(2**62), 2**62, (300, 150)).sum(axis=0),
    "exp-sum": lambda: exp(rng().normal(size=(220, 180))).sum(axis=1),
    "exp32": lambda: exp(rng().normal(0, 30, size=40_000, dtype="float32")),
    "division": lambda: (1 / rng().normal(size=40_000)).sum(),
    "sqrt-where": lambda: where(rng().random(40_000) < 0.5, 1.0, sqrt(arange(40_000))),
    "min-max": lambda: rng().normal(size=(200, 200)).min(axis=0) + rng().random((200,)).max(),
    "argmin": lambda: rng().integers(0, 50, (200, 200)).argmin(axis=1),
    "argmax-all": lambda: rng().integers(0, 50, (50_000,)).argmax(),
    "any-all": lambda: (rng().normal(size=(100, 400)) > 3).any(axis=0),
    "stored-sum": lambda: steps("float64", (50_000,)).sum(),
    "stored-a*2+b": lambda: (steps("float64", (250, 200)) * 2 + 1e-9).sum(),
    "stored32": lambda: steps("float32", (250, 200))[:, ::-3].var(axis=1),
    "centred": lambda: _centred(rng().normal(3, 2, size=(150, 250))),
    "wide-range": lambda: (rng().normal(size=40_000) ** 9 * 1e200).sum(),
    "int8-wrap": lambda: rng().integers(-128, 128, 40_000, dtype="int8") * 3,
    "modulo": lambda: (rng().uniform(-50, 50, 40_000) % 0.7).sum(),
    "wild-shared-sum": lambda: asarray(data.wide("float64", 70_000)).sum(),
    "wild-shared-var": lambda: asarray(data.wide("float32", 70_000)).var(),
}

SMALL: Final[dict[str, Make]] = {
    "small-normal": lambda: rng().normal(1, 2, size=1500),
    "small-normal-sum": lambda: (rng().normal(size=(50, 40)) + 1)[::2, ::2].sum(),
    "small-normal32": lambda: rng().normal(size=1500, dtype="float32").var(),
    "small-exponential": lambda: rng().exponential(size=1500).std(),
    "small-exponential32": lambda: rng().exponential(size=1500, dtype="float32"),
    "small-uniform": lambda: rng().uniform(-1, 1, (30, 50)).sum(axis=0),
    "small-integers": lambda: rng().integers(-9, 9, 1500, dtype="int16") // 4,
    "small-wide": lambda: rng().integers(-(2**62), 2**62, 1500).sum(),
    "small-exp": lambda: exp(rng().normal(0, 100, size=1500)),
    "small-exp32": lambda: exp(rng().normal(0, 30, size=1500, dtype="float32")),
    "small-modulo": lambda: rng().uniform(-9, 9, 1500) % 0.7,
    "small-stored": lambda: steps("float32", (1500,)).sum(),
    "small-float16": lambda: (rng().normal(size=1500).astype("float16") / 3)[::-1],
    "small-float16-sum": lambda: (stored("float16", (1500,)) * 3 + 1).sum(),
    "small-dot": lambda: rng().normal(size=1500) @ steps("float64", (1500,)),
    "small-dot-wild": lambda: wild_dot("float64", 1500),
    "small-extremes": lambda: steps("float64", (30, 50)).argmax(axis=1),
    "small-bool": lambda: (rng().random(1500) < 0.5) & (arange(1500) % 3 == 0),
    "small-rounding": lambda: rint(rng().normal(0, 9, 1500)) + floor(rng().random(1500) * 5),
}


TABLE: Final[dict[str, Make]] = {
    **SHARED,
    **SMALL,
    **STREAMS,
    **views(),
    **reductions(),
    **SUMS,
    **DOTS,
    **scans(),
    **functions(),
    **mixed(),
    **casts(),
    **bits(),
    **DRAWS,
    **PROGRAMS,
    **ORDERS,
    **GROUPS,
    **complexes(),
}
