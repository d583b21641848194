"""The published experiments: one expression for us and for plain Dask, and what it should give."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from typing import Any, Final

from ...dataclass import dataclass
from ...errors import ParameterError
from ...random import default_rng

OPS: Final = ("sum", "mean", "var", "min", "max")
DTYPES: Final = ("float64", "float32")
LOC, SCALE = 10.0, 1.0


@dataclass(frozen=True)
class Experiment:
    """``(x + 1)[::2, ::2].<op>()`` over normals of mean 10 and deviation 1."""

    name: str
    shape: tuple[int, ...]
    op: str
    dtype: str = "float64"
    seed: int = 0

    @property
    def text(self) -> str:
        """The expression as a user would write it."""
        dtype = "" if self.dtype == "float64" else f", dtype={self.dtype}"
        steps = ", ".join(["::2"] * len(self.shape))
        return f"x = normal(10, 1, size={self.shape}{dtype}); (x + 1)[{steps}].{self.op}()"

    @property
    def view(self) -> tuple[slice, ...]:
        return (slice(None, None, 2),) * len(self.shape)

    @property
    def needed(self) -> int:
        """Source elements that the result depends on."""
        return math.prod(-(-n // 2) for n in self.shape)

    @property
    def logical(self) -> int:
        """Source elements as written."""
        return math.prod(self.shape)

    def ours(self) -> Any:
        """The expression as a speedcube array."""
        x = default_rng(self.seed).normal(LOC, SCALE, size=self.shape, dtype=self.dtype)
        return getattr((x + 1)[self.view], self.op)()

    def with_dask(self, random_state: Any, chunks: tuple[int, ...]) -> Any:
        """The same expression written for Dask, in chunks of shape ``chunks``."""
        x = random_state.normal(LOC, SCALE, size=self.shape, chunks=chunks)
        if self.dtype != "float64":
            x = x.astype(self.dtype)
        return getattr((x + 1)[self.view], self.op)()

    def smaller(self, needed: float) -> Experiment:
        """The same experiment over about ``needed`` needed elements."""
        factor = min(1.0, (needed / self.needed) ** (1 / len(self.shape)))
        return replace(self, shape=tuple(max(1, int(n * factor)) for n in self.shape))

    def expected(self) -> tuple[float, float] | None:
        """(value, one standard error) where theory gives them."""
        n = self.needed
        if self.op in ("min", "max"):
            # The float32 stream has no tail beyond 6.66 deviations: theory does not hold there.
            return None if self.dtype == "float32" else _extreme(n, 1 if self.op == "max" else -1)
        rules: dict[str, tuple[float, float]] = {
            "mean": (LOC + 1, SCALE / math.sqrt(n)),
            "sum": ((LOC + 1) * n, SCALE * math.sqrt(n)),
            "var": (SCALE**2 * (1 - 1 / n), SCALE**2 * math.sqrt(2 * max(n - 1, 1)) / n),
        }
        return rules[self.op]


def _extreme(n: int, sign: int) -> tuple[float, float]:
    """Mean and deviation of the largest (``sign`` 1) or least of ``n`` elements.

    The largest is below z with probability cdf(z)**n, so its quantiles are known; a thousand of
    them give both numbers to a few thousandths of a deviation.
    """
    normal = statistics.NormalDist()
    shares = [(k + 0.5) / 1000 for k in range(1000)]
    # The upper tail, since cdf**(1 / n) is too close to 1.
    quantiles = [-normal.inv_cdf(-math.expm1(math.log(share) / n)) for share in shares]
    value = LOC + 1 + sign * SCALE * statistics.fmean(quantiles)
    return value, SCALE * statistics.pstdev(quantiles)


PRESETS: Final[dict[str, Experiment]] = {
    "morizet": Experiment("morizet", (100_000, 100_000), "mean"),
    "rocklin": Experiment("rocklin", (500_000, 500_000), "sum"),
}


def experiment(preset: str, shape: str | None, op: str | None, dtype: str) -> Experiment:
    """The experiment a command line asks for; `ParameterError` for one that is none."""
    base = PRESETS[_one_of("--preset", preset, tuple(PRESETS))]
    op = _one_of("--op", op or base.op, OPS)
    dtype = _one_of("--dtype", dtype, DTYPES)
    if shape is None:
        return replace(base, op=op, dtype=dtype)
    return Experiment("custom", _shape(shape), op, dtype)


def _one_of(option: str, value: str, known: tuple[str, ...]) -> str:
    if value not in known:
        raise ParameterError(
            f"{option} {value!r} is unknown; it takes {', '.join(known)}: give one of these"
        )
    return value


def _shape(text: str) -> tuple[int, ...]:
    problem = f"--shape takes sizes of 1 or more, like 20000,20000, not {text!r}"
    try:
        sizes = tuple(int(part) for part in text.split(","))
    except ValueError as err:
        raise ParameterError(problem) from err
    if min(sizes) < 1:
        raise ParameterError(problem)
    if math.prod(sizes) >= 2**63:
        raise ParameterError(
            f"--shape {text!r} has 2**63 elements or more; positions are 63-bit numbers: "
            "give a smaller one"
        )
    return sizes
