"""Programs of several steps: what is shared, kept, made together, scanned and made of pieces."""

from __future__ import annotations

from typing import Any, Final

from ...api.elementwise import exp, maximum, sin, where
from ...api.joining import concatenate
from ...api.namespace.padding import pad
from ...api.namespace.repeats import roll
from .sources import Make, rng, steps


def _four() -> Any:
    """Four sinks of one kernel, of which none is more than a number."""
    x = rng().normal(3, 2, size=(200, 230))
    return (x.sum() - x.max()) * (x.std() - x.min()) + (x * x).mean()


def _four_stored() -> Any:
    x = steps("float32", (210, 220))[::-1, ::2]
    return (x.sum() - x.max()) * (x.var() - x.min())


def _shared() -> Any:
    u = exp(sin(rng().normal(size=40_000)))
    return (u[2:] - 2 * u[1:-1] + u[:-2]) / u.mean() + u[1:-1] * u.max()


def _line(count: int) -> Any:
    u = rng().normal(size=2000)
    for _ in range(count):
        u = (u[:-2] + 2 * u[1:-1] + u[2:]) * 0.25
    return u


def _heat(count: int) -> Any:
    u = rng().random((150, 160))
    for _ in range(count):
        p = pad(u, 1)
        u = u + 0.1 * (p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4 * u)
    return u


def _life(count: int) -> Any:
    alive = rng().random((90, 110)) < 0.4
    for _ in range(count):
        cells = alive.astype("int8")
        rows = cells + roll(cells, 1, 0) + roll(cells, -1, 0)
        around = rows + roll(rows, 1, 1) + roll(rows, -1, 1) - cells
        alive = (around == 3) | (alive & (around == 2))
    return alive


def _anomaly() -> Any:
    x = rng().normal(280, 9, size=(60, 24, 30), dtype="float32")
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    return where(z > 1, z, 0).sum(axis=(1, 2)) / maximum((z > 1).sum(axis=(1, 2)), 1)


def _look_back() -> Any:
    paths = exp((rng().normal(size=(120, 300)) * 0.01).cumsum(axis=1))
    return maximum(paths.max(axis=1) - paths[:, -1], 0).mean()


def _levels() -> Any:
    image = rng().integers(0, 256, (130, 140), dtype="uint8")
    low, high = image.min(), image.max()
    return ((image.astype("float32") - low) / (high - low) * 255).astype("uint8")


def _joined() -> Any:
    x = rng().normal(size=(70, 50))
    both = concatenate([x, x[::-1] * 2, steps("float64", (5, 50))])
    return (both[1:] - both[:-1]).std(axis=0) + both.sum()


PROGRAMS: Final[dict[str, Make]] = {
    "program-four-results": _four,
    "program-four-stored": _four_stored,
    "program-shared": _shared,
    "program-line": lambda: _line(40),
    "program-heat": lambda: _heat(6),
    "program-life": lambda: _life(4),
    "program-anomaly": _anomaly,
    "program-look-back": _look_back,
    "program-levels": _levels,
    "program-joined": _joined,
}
