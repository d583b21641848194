"""One text computed in several ways, which all have the same bits.

By NumPy's own functions for few elements, by kernels, with what is kept of other numbers, by
several threads, from files, and with the elements lying otherwise in memory: each of these is code
of its own for much of what there is.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

import speedcube as sc
from speedcube.engine.stepwise.choice import by_kernels
from speedcube.errors import SpeedcubeError

from .texts import DTYPES, Array, Texts, numbers

SHAPES: Final[tuple[tuple[int, ...], ...]] = (
    (1,), (3,), (16,), (100,), (1000,), (20_003,), (1, 9), (9, 1), (7, 5), (33, 3), (3, 33),
    (1000, 3), (3, 1000), (129, 65), (2, 3, 5), (2, 3, 50), (20, 25, 30), (9001, 2), (4, 6000),
)  # fmt: skip
LARGE: Final[tuple[tuple[int, ...], ...]] = (
    (100_003,), (257, 129), (300, 300), (40, 50, 60), (50_001, 2), (4, 60_000), (12, 30_000),
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """A text and its arrays."""

    seed: int
    text: str
    x: Array
    y: Array

    def __repr__(self) -> str:
        return f"{self.seed}: {self.text}, of {self.x.dtype}{self.x.shape}"


def case(seed: int, shapes: tuple[tuple[int, ...], ...] = SHAPES) -> Case:
    """The random case of this number: the same one each time."""
    rng, numpys = random.Random(seed), np.random.default_rng(seed)
    shape, dtype = rng.choice(shapes), rng.choice(DTYPES.split())
    text = Texts(rng, len(shape)).text()
    return Case(seed, text, numbers(numpys, shape, dtype), numbers(numpys, shape, dtype))


def computed(text: str, x: Any, y: Any, on: Any) -> tuple[Any, ...]:
    """What ``text`` gives where ``on`` says; its lengths are counted by one thread."""
    with sc.on("core"):
        made = eval(text, {"np": sc, "x": x, "y": y})
    return sc.compute(made, on=on)


def _by_kernels(one: Case, _: Path) -> tuple[Any, ...]:
    with by_kernels():
        return computed(one.text, sc.asarray(one.x), sc.asarray(one.y), "core")


def _of_files(one: Case, folder: Path) -> tuple[Any, ...]:
    np.save(folder / "x.npy", one.x)
    np.save(folder / "y.npy", one.y)
    return computed(one.text, sc.open(folder / "x.npy"), sc.open(folder / "y.npy"), "core")


def _lying_otherwise(one: Case, _: Path) -> tuple[Any, ...]:
    x, y = one.x, one.y
    apart = np.repeat(x, 2, axis=0)[::2], np.repeat(y, 3, axis=-1)[..., ::3]
    other_x, other_y = (
        (np.asfortranarray(x), y),
        apart,
        (x[::-1].copy()[::-1], np.asfortranarray(y)),
        (x, y.astype(y.dtype.newbyteorder())),
    )[one.seed % 4]
    return computed(one.text, sc.asarray(other_x), sc.asarray(other_y), "core")


def _seen_before(one: Case, _: Path) -> tuple[Any, ...]:
    """A structure met three times with other numbers: its plan and kernel are used again."""
    for x, y in ((one.y, one.x), (one.y[::-1].copy(), one.x), (one.x, one.x)):
        with suppress(SpeedcubeError):  # what other numbers decide may be refused
            computed(one.text, sc.asarray(x), sc.asarray(y), "core")
    return computed(one.text, sc.asarray(one.x), sc.asarray(one.y), "core")


ROUTES: Final[dict[str, Callable[[Case, Path], tuple[Any, ...]]]] = {
    "by kernels": _by_kernels,
    "seen before": _seen_before,
    "two threads": lambda one, _: computed(
        one.text, sc.asarray(one.x), sc.asarray(one.y), "cores:2"
    ),
    "of files": _of_files,
    "lying otherwise": _lying_otherwise,
}


def differences(one: Case, folder: Path) -> list[str] | None:
    """What differs from the one thread that has all in memory; None: it is refused."""
    try:
        wanted = computed(one.text, sc.asarray(one.x), sc.asarray(one.y), "core")
    except SpeedcubeError:
        return None
    found = []
    for name, route in ROUTES.items():
        try:
            got = route(one, folder)
        except Exception as error:
            found.append(f"{name}: {type(error).__name__}: {error}")
            continue
        pairs = zip(wanted, got, strict=True)
        found += [f"{name}: {said}" for a, b in pairs if (said := differs(a, b))]
    return found


def differs(wanted: Any, got: Any) -> str | None:
    a, b = np.asarray(wanted), np.asarray(got)
    if (a.shape, a.dtype) != (b.shape, b.dtype):
        return f"{b.dtype}{b.shape} for {a.dtype}{a.shape}"
    if a.tobytes() == b.tobytes():
        return None
    size = a.dtype.itemsize
    bits = [np.frombuffer(one.tobytes(), np.uint8).reshape(-1, size) for one in (a, b)]
    places = np.flatnonzero((bits[0] != bits[1]).any(axis=1))
    first = int(places[0])
    return f"{len(places)} differ, at {first}: {b.flat[first]!r} for {a.flat[first]!r}"
