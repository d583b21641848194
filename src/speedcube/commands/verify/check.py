"""Every expression of the list on one rung, its hash beside the committed one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...api.array import Array
from ...dataclass import dataclass
from ...engine import machine, rungs
from ...engine.known.drawn import drawing_again
from ...engine.rungs import Rung
from ...engine.stepwise.choice import by_kernels
from ...expr.pairs.node import is_pair
from ...expr.show import show
from ...kernel.llvm.simd import limited
from ...kernel.lower.reference import elements
from .expressions import TABLE
from .hash_list import digest
from .sources import Make


@dataclass(frozen=True)
class Difference:
    """A result with other bits; ``element`` says which element, where that is known."""

    name: str
    expression: str
    expected: str
    found: str
    element: str


@dataclass(frozen=True)
class RungCheck:
    """One rung: how many results it gave, how many of them equal, and the first that is not."""

    rung: str
    workers: int
    results: int
    equal: int
    seconds: float
    first_difference: Difference | None = None
    problem: str = ""

    @property
    def passed(self) -> bool:
        return self.equal == self.results and not self.problem


def check(rung: Rung, listed: Mapping[str, str], table: Mapping[str, Make] = TABLE) -> RungCheck:
    """Compute ``table`` on ``rung`` and compare with ``listed``.

    What a computation raises ends the check of this rung and is its ``problem``.
    """
    start, equal, first, name = time.perf_counter(), 0, None, "its start"
    try:
        rung = rungs.started(rung)
        with by_kernels(), drawing_again(), _digests(rung, table) as digests:
            for name, future in digests.items():
                if future.result() == listed[name]:
                    equal += 1
                elif first is None:
                    first = difference(name, table[name](), rung, listed[name])
        problem = ""
    except Exception as err:
        problem = f"failed at {name}: {type(err).__name__}: {err}"
    seconds = time.perf_counter() - start
    return RungCheck(rung.name, rung.workers, len(table), equal, seconds, first, problem)


@contextmanager
def _digests(rung: Rung, table: Mapping[str, Make]) -> Iterator[dict[str, Future[str]]]:
    """The hash of every result, as they come; several at once on GPUs, where compiling on the CPU
    takes most of the time.
    """

    def one(make: Make) -> str:
        return digest(make().compute(on=rung))

    pool = ThreadPoolExecutor(min(16, machine.cores()) if rung.devices else 1)
    try:
        yield {name: pool.submit(one, make) for name, make in table.items()}
    finally:
        pool.shutdown(cancel_futures=True)


def difference(name: str, array: Array, rung: Rung, expected: str) -> Difference:
    """What is wrong with ``array`` on ``rung``; it is computed again."""
    with by_kernels():
        value = np.asarray(array.compute(on=rung))
        element = _compared(value, array, expected)
    return Difference(name, show(array._expr), expected, digest(value), element)


def _compared(value: Any, array: Array, expected: str) -> str:
    """The first element that differs from the right ones: those that have the committed hash."""
    if digest(value) == expected:
        return "computed again, it has the committed bits: the rung does not repeat itself"
    for who, right in _others(array):
        if digest(right) == expected:
            return _first(value, right, who)
    return "no other way of computing it here has the committed bits either"


def _others(array: Array) -> Iterator[tuple[str, Any]]:
    if not is_pair(array._expr):
        yield "the IR's evaluator in NumPy", elements(array._expr)
    yield "core", np.asarray(array.compute(on="core"))
    with limited("plain"):
        yield "core without fused multiply-add", np.asarray(array.compute(on="core"))


def _first(value: Any, right: Any, who: str) -> str:
    if (value.dtype, value.shape) != (right.dtype, right.shape):
        return f"{value.dtype} of shape {value.shape}, not {right.dtype} of shape {right.shape}"
    one, other = (np.ascontiguousarray(v).reshape(-1) for v in (value, right))
    word, words = f"u{min(one.dtype.itemsize, 8)}", max(1, one.dtype.itemsize // 8)
    unequal = (one.view(word) != other.view(word)).reshape(-1, words).any(axis=1)
    differing = np.flatnonzero(unequal)
    at = tuple(int(k) for k in np.unravel_index(differing[0], value.shape))
    return (
        f"{len(differing)} of {value.size} differ, the first at {at}: "
        f"{_text(one[differing[0]])} instead of {_text(other[differing[0]])} ({who})"
    )


def _text(value: Any) -> str:
    """A number with all of its bits."""
    item = value.item()
    if not isinstance(item, float):
        return repr(item)
    return f"{item.hex()} ({value!s})"


def hashes(on: str, table: Mapping[str, Make] = TABLE) -> tuple[dict[str, str], dict[str, Array]]:
    """The hash of every expression on the rung ``on``, and the expressions."""
    arrays = {name: make() for name, make in table.items()}
    with by_kernels():
        return {name: digest(array.compute(on=on)) for name, array in arrays.items()}, arrays
