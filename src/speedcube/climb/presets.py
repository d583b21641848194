"""The published experiments: one expression for us and for plain Dask, and what it should give."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from ..errors import ParameterError
from ..random import default_rng

OPS: Final = ("sum", "mean", "var", "min", "max")
LOC, SCALE, PUBLISHED_CHUNK = 10.0, 1.0, 10_000


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
        return (
            f"normal(10, 1, size={self.shape}, dtype={self.dtype}): (x + 1)[::2, ...].{self.op}()"
        )

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

    def with_dask(self, random_state: Any, chunk: int) -> Any:
        """The same expression written for Dask, in square chunks of ``chunk``."""
        x = random_state.normal(LOC, SCALE, size=self.shape, chunks=chunk)
        if self.dtype != "float64":
            x = x.astype(self.dtype)
        return getattr((x + 1)[self.view], self.op)()

    def smaller(self, needed: float) -> Experiment:
        """The same experiment over about ``needed`` needed elements."""
        factor = (needed / self.needed) ** (1 / len(self.shape))
        shape = tuple(max(2, int(n * factor)) for n in self.shape)
        return Experiment(self.name, shape, self.op, self.dtype, self.seed)

    def expected(self) -> tuple[float, float] | None:
        """(value, one standard error) where theory gives them."""
        n = self.needed
        rules: dict[str, tuple[float, float]] = {
            "mean": (LOC + 1, SCALE / math.sqrt(n)),
            "sum": ((LOC + 1) * n, SCALE * math.sqrt(n)),
            "var": (SCALE**2, SCALE**2 * math.sqrt(2 / n)),
        }
        return rules.get(self.op)


PRESETS: Final[dict[str, Experiment]] = {
    "morizet": Experiment("morizet", (100_000, 100_000), "mean"),
    "rocklin": Experiment("rocklin", (500_000, 500_000), "sum"),
}


def experiment(preset: str, shape: str | None, op: str | None, dtype: str) -> Experiment:
    """The experiment a command line asks for; `ParameterError` for one that is none."""
    if preset not in PRESETS:
        raise ParameterError(f"unknown preset {preset!r}; presets: {', '.join(PRESETS)}")
    base = PRESETS[preset]
    chosen = op or base.op
    if chosen not in OPS:
        raise ParameterError(f"unknown op {chosen!r}; ops: {', '.join(OPS)}")
    if dtype not in ("float32", "float64"):
        raise ParameterError(f"unknown dtype {dtype!r}; dtypes: float32, float64")
    sizes = base.shape if shape is None else _shape(shape)
    return Experiment(preset if shape is None else "custom", sizes, chosen, dtype)


def _shape(text: str) -> tuple[int, ...]:
    try:
        sizes = tuple(int(part) for part in text.split(","))
    except ValueError as err:
        raise ParameterError(f"--shape takes integers like 20000,20000, not {text!r}") from err
    if not sizes or min(sizes) < 1:
        raise ParameterError(f"--shape takes sizes of 1 or more, not {text!r}")
    return sizes


Make = Callable[[], Any]
