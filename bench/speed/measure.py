"""One row or program in this process: its result beside the other's, then pairs of times."""

from __future__ import annotations

import hashlib
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from .libraries import Library, module_of, on_host, result_of

Told = Callable[[dict[str, Any]], None]
Text = Callable[[], Any]

WARM: Final = 4  # more calls that tell how long one takes
SAMPLE: Final = 4e-3  # seconds of one sample at least: calls that are shorter are repeated in it
# How far results may be apart: of stored data by their dtype, of random numbers by chance.
APART: Final = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-8}
BY_CHANCE: Final = 0.1
BLOCK: Final = 1 << 17  # elements


@dataclass(frozen=True)
class Patience:
    """Pairs go on for ``seconds``, but no fewer than ``pairs``, unless that takes ``at_most``."""

    seconds: float = 0.12
    pairs: int = 7
    at_most: float = 1.5


def first(library: Library, text: Text) -> tuple[float, Any]:
    """Seconds of a call by the library's clock, and what it returned."""
    start = library.clock()
    value = library.run(text)
    return library.clock() - start, value


def timed(library: Library, text: Text, calls: int = 1) -> float:
    """Seconds of a call whose result is dropped at once, so that both find the same memory."""
    start = library.clock()
    for _ in range(calls):
        library.run(text)
    return (library.clock() - start) / calls


def bits(value: Any) -> str:
    """A hash of the results' dtypes, shapes and bytes; on a GPU of a million even steps of them."""
    digest = hashlib.sha256()
    for each in value if isinstance(value, tuple) else (value,):
        digest.update(f"{each.dtype.str}{each.shape}".encode())
        step = 1 if isinstance(each, np.ndarray) else max(1, each.size // 1_000_000)
        digest.update(np.ascontiguousarray(on_host(each.ravel()[::step])).data)
    return digest.hexdigest()[:16]


def wrong(ours: Any, theirs: Any, chance: bool, dtype: str = "float64") -> str | None:
    """What is wrong with ``ours``; ``chance``: both drew other numbers, so only sizes can agree."""
    if isinstance(ours, tuple) or isinstance(theirs, tuple):
        if not isinstance(ours, tuple) or not isinstance(theirs, tuple):
            return "one result, and several"
        if len(ours) != len(theirs):
            return f"{len(ours)} results instead of {len(theirs)}"
        faults = (wrong(a, b, chance, dtype) for a, b in zip(ours, theirs, strict=True))
        return next((fault for fault in faults if fault), None)
    if ours.shape != theirs.shape:
        return f"shape {ours.shape} instead of {theirs.shape}"
    if chance:
        a, b = (float(each.mean(dtype=np.float64)) for each in (ours, theirs))
        return None if abs(a - b) <= BY_CHANCE * max(abs(b), 1e-3) else f"{a} instead of {b}"
    floats = [t for t in (ours.dtype, theirs.dtype, np.dtype(dtype)) if t.kind == "f"]
    inexact = ours.dtype.kind == "f" and min(floats, key=lambda t: t.itemsize)
    apart = APART[str(inexact)] if inexact else 0.0
    return None if close(ours, theirs, apart) else farthest(ours, theirs)


def close(ours: Any, theirs: Any, apart: float) -> bool:
    """A block at a time, which stays in the cache; ``apart`` is also of the largest magnitude."""
    xp = module_of(theirs)
    a, b = xp.asarray(ours).ravel(), theirs.ravel()
    length = BLOCK if xp is np else 1000 * BLOCK
    blocks = [slice(k, k + length) for k in range(0, a.size, length)]
    if all(xp.array_equal(a[block], b[block]) for block in blocks):
        return True
    finite = (xp.abs(b[block][xp.isfinite(b[block])]) for block in blocks)
    scale = max(float(each.max()) if each.size else 0.0 for each in finite)
    return all(
        xp.allclose(a[block], b[block], rtol=apart, atol=apart * scale, equal_nan=True)
        for block in blocks
    )


def farthest(ours: Any, theirs: Any) -> str:
    a, b = (on_host(each).astype(np.float64) for each in (ours, theirs))
    off = np.where(np.isnan(a) & np.isnan(b), 0.0, np.nan_to_num(np.abs(a - b), nan=np.inf))
    place = np.unravel_index(int(np.argmax(off)), a.shape)
    return f"{a[place]} instead of {b[place]} at {tuple(int(k) for k in place)}"


def measured(
    ours: tuple[Library, Text],
    theirs: tuple[Library, Text],
    tell: Told,
    chance: bool = False,
    patience: Patience = Patience(),
    dtype: str = "float64",
) -> None:
    """Tells what is known as soon as it is known: who waits may lose patience in between."""
    try:
        their_first, their_value = first(*theirs)
    except Exception as error:  # whatever it lacks: then there is nothing to be beside
        tell({"theirs": None, "why": one_line(error)})
        their_first, their_value = 0.0, None
    else:
        tell({"first": {"theirs": their_first}, "their time": their_first})
    try:
        our_first, our_value = first(*ours)
    except Exception as error:  # the row is recorded with it
        tell({"error": one_line(error)})
        return
    result = result_of(our_value)
    tell({"first": {"ours": our_first, "theirs": their_first}, "bits": bits(result)})
    del our_value
    if their_first:
        fault = wrong(result, result_of(their_value), chance, dtype)
        if fault:
            tell({"wrong": fault})
            return
        del their_value, result
        tell(pairs(ours, theirs, patience, warm=our_first < patience.at_most / 2))


def warm_call(library: Library, text: Text) -> float:
    """Seconds of a call, the least of some where it is short.

    The first one finds no memory that an earlier result left. A sample of fewer calls than the
    other's would be the colder one: what the other has read lies in the caches where it begins.
    """
    seconds = timed(library, text)
    for _ in range(WARM if seconds < 4 * SAMPLE else 0):
        seconds = min(seconds, timed(library, text))
    return seconds


def pairs(
    ours: tuple[Library, Text], theirs: tuple[Library, Text], patience: Patience, warm: bool = True
) -> dict[str, Any]:
    """Samples of both in turn, each first in half of them; theirs / ours, pair by pair.

    Without ``warm`` a call takes so long that no more are made than need be.
    """
    calls = [1, 1]
    if warm:
        seconds = [warm_call(*each) for each in (ours, theirs)]
        calls = [max(1, round(SAMPLE / max(second, 1e-7))) for second in seconds]
    start = time.perf_counter()
    samples: list[tuple[float, float]] = []
    while True:
        spent = time.perf_counter() - start
        enough = len(samples) >= patience.pairs and spent > patience.seconds
        if samples and (enough or spent > patience.at_most):
            break
        if len(samples) % 2:
            b = timed(*theirs, calls[1])
            a = timed(*ours, calls[0])
        else:
            a = timed(*ours, calls[0])
            b = timed(*theirs, calls[1])
        samples.append((a, b))
    return {
        "ratio": statistics.median(b / a for a, b in samples),
        "ours": [a for a, _ in samples],
        "theirs": [b for _, b in samples],
        "calls": calls,
    }


def one_line(error: BaseException) -> str:
    """An error's kind and the first line of what it says, not too long."""
    text = str(error).partition("\n")[0]
    return f"{type(error).__name__}: {text[:200]}".removesuffix(": ")
