"""Random sources to verify, by parameters, seeds and positions."""

from __future__ import annotations

from typing import Final

from ...random import default_rng
from .sources import Make, rng

# Positions on both sides of 2**60.
_FAR: Final = slice(2**60 - 700, 2**60 + 900)

STREAMS: Final[dict[str, Make]] = {
    "normal": lambda: rng().normal(size=4096),
    "normal32-strided": lambda: rng().normal(size=(9, 4096), dtype="float32")[::-2, ::4],
    "normal-parameters": lambda: rng().normal(-3.3, 1e-5, size=3000),
    "uniform": lambda: rng().random(4096),
    "uniform-parameters": lambda: rng().uniform(-7, 1e-3, 3000),
    "uniform32": lambda: rng().random(4096, dtype="float32"),
    "uniform32-parameters": lambda: rng().uniform(-7, 1e-3, 3000, dtype="float32"),
    "exponential": lambda: rng().exponential(size=4096),
    "exponential-parameters": lambda: rng().exponential(1e300, size=3000),
    "exponential32": lambda: rng().exponential(size=4096, dtype="float32"),
    "integers-wide": lambda: rng().integers(-(2**62), 2**62, 3000),
    "integers-uint8": lambda: rng().integers(0, 256, 3000, dtype="uint8"),
    "bits64": lambda: rng().integers(-(2**63), 2**63, 3000),
    "bits64-unsigned": lambda: rng().integers(0, 2**64, 3000, dtype="uint64"),
    "spawned": lambda: rng().spawn(3)[2].normal(size=3000),
    "seed-of-many": lambda: default_rng([1, 2**70, 3]).random(3000),
    "legacy": lambda: default_rng(0).integers(0, 10, (3, 1000)).T,
    "far": lambda: rng().normal(size=2**61)[_FAR],
    "far-float32": lambda: rng().normal(size=2**61, dtype="float32")[_FAR],
    "far-integers": lambda: rng().integers(0, 1000, 2**61)[_FAR],
}
