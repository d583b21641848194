"""NumPy, Dask, CuPy and speedcube as texts see them: names, arrays, results on the host."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import dask
import numpy as np

import speedcube as sc
from speedcube.ops import ALIASES

# Names that only some libraries have, by another name of the same function. SciPy has what NumPy
# lacks; what Dask lacks of both, it maps over its chunks.
OTHERS: Final = {
    **{ours: theirs for theirs, ours in ALIASES.items() if theirs.startswith("arc")},
    "pow": "power",
    "sigmoid": "expit",
    "bitwise_invert": "invert",
    "permute_dims": "transpose",
    "cumulative_sum": "cumsum",
    "cumulative_prod": "cumprod",
}
MODULES: Final = {
    "numpy": ("numpy", "scipy.special"),
    "dask": ("dask.array",),
    "cupy": ("cupy", "cupyx.scipy.special"),
    "speedcube": ("speedcube",),
}
MAPPED: Final = ("erf", "erfc", "gammaln", "sigmoid")


class Drawn:
    """CuPy's generator, with the distributions that only its older functions have."""

    def __init__(self, generator: Any, older: Any) -> None:
        self.generator, self.older = generator, older

    def __getattr__(self, name: str) -> Any:
        return getattr(self.generator, name, None) or getattr(self.older, name)


class Random:
    """`cupy.random` with such generators."""

    def __init__(self, random: Any) -> None:
        self.random = random

    def default_rng(self, seed: int) -> Drawn:
        return Drawn(self.random.default_rng(seed), self.random)


class Names:
    """What ``np`` is in a text."""

    def __init__(self, library: str) -> None:
        self.library = library
        self.modules = [importlib.import_module(name) for name in MODULES[library]]

    def __getattr__(self, name: str) -> Any:
        if name == "random" and self.library == "cupy":
            return Random(self.modules[0].random)
        for module in self.modules:
            for known in (name, OTHERS.get(name, name)):
                if hasattr(module, known):
                    return getattr(module, known)
        if self.library == "dask" and name in MAPPED:
            function = getattr(Names("numpy"), name)
            return lambda x: x.map_blocks(function, dtype=x.dtype)
        raise AttributeError(f"{self.library} has no {name}")


@dataclass(frozen=True)
class Library:
    """``wrap`` makes its array of one in memory, ``run`` calls a text and waits for its values.

    ``clock`` is what its calls are timed by.
    """

    names: Any
    wrap: Callable[[Any], Any]
    run: Callable[[Callable[[], Any]], Any]
    clock: Callable[[], float] = time.perf_counter


# On one core the seconds that the processor worked: what else runs on the machine is left out.
OF_A_CORE: Final = time.process_time


def collected(compute: Callable[..., Any]) -> Callable[[Callable[[], Any]], Any]:
    """Runs a text, and computes what it left lazy."""

    def run(text: Callable[[], Any]) -> Any:
        value = text()
        if isinstance(value, tuple):
            return compute(*value)
        return compute(value)[0] if dask.is_dask_collection(value) else value

    return run


def ours(rung: str) -> Library:
    """speedcube on ``rung``; on a GPU its results stay there, as CuPy's do."""
    names, on_gpu = Names("speedcube"), rung.startswith("gpu")
    dask.config.set({"speedcube.keep-drawn": 0})  # a row that draws draws in each run
    together = getattr(sc, "compute", dask.compute)

    def run(text: Callable[[], Any]) -> Any:
        with sc.on(rung):
            value = text()
            if isinstance(value, tuple) and not on_gpu:
                return together(*value)
            if isinstance(value, tuple):
                return together(*value, to="cupy")
            if not isinstance(value, sc.Array):
                return value
            return value.compute(to="cupy") if on_gpu else value.compute()

    if rung == "core":
        return Library(names, sc.asarray, run, OF_A_CORE)
    return Library(names, sc.asarray, waiting(run) if on_gpu else run)


def waiting(run: Callable[[Callable[[], Any]], Any]) -> Callable[[Callable[[], Any]], Any]:
    """The same, and nothing is under way on the GPU when it returns."""
    cupy = importlib.import_module("cupy")

    def waited(text: Callable[[], Any]) -> Any:
        value = run(text)
        cupy.cuda.Device().synchronize()
        return value

    return waited


def numpys() -> Library:
    return Library(Names("numpy"), lambda a: a, lambda text: text(), OF_A_CORE)


def dasks() -> Library:
    """Its threads, two of them, with the chunks that it takes by itself."""
    da = importlib.import_module("dask.array")

    def compute(*values: Any) -> Any:
        return dask.compute(*values, scheduler="threads", num_workers=2)

    return Library(Names("dask"), da.from_array, collected(compute))


def cupys() -> Library:
    return Library(Names("cupy"), lambda a: a, waiting(lambda text: text()))


THEIRS: Final[dict[str, Callable[[], Library]]] = {"numpy": numpys, "dask": dasks, "cupy": cupys}


def result_of(value: Any) -> Any:
    """NumPy's or CuPy's array of a result, or a tuple of them."""
    if isinstance(value, (tuple, list)):
        return tuple(result_of(each) for each in value)
    return value if hasattr(value, "get") else np.asarray(value)


def module_of(array: Any) -> Any:
    """NumPy, or CuPy where an array lies on a GPU: it is compared where it is."""
    return importlib.import_module("cupy") if hasattr(array, "get") else np


def on_host(array: Any) -> Any:
    return array.get() if hasattr(array, "get") else array
