"""The samples of each permutation: drawn, or all there are, in SciPy's order.

Of all permutations the digits of its number say which one it is, and a table of a byte for each
place has the permutations of one sample.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from ...api import elementwise as sc
from ...api.array import Array
from ...api.joining import concatenate
from ...api.namespace.axes import moveaxis
from ...api.sources import asarray
from ...dataclass import dataclass
from ...errors import MemoryLimitError
from ...expr import gather
from ..draws import Draws
from ..permutations import order
from ..ranges import integers
from .samples import at, places

_TABLE: Final = 1 << 30  # bytes of a table of permutations
Samples: TypeAlias = list[Array]


@dataclass(frozen=True)
class Permuting:
    """``all_of``: how many permutations there are; who draws some, and who lists all."""

    all_of: Callable[[Samples], int]
    drawn: Callable[[Samples, int, Draws], Samples]
    listed: Callable[[Samples, int], Samples]


def _front(sample: Array) -> Array:
    """Permutations, which lie along the last axis but one, first."""
    return moveaxis(sample, -2, 0) if sample.ndim > 2 else sample


def _split(samples: Samples, index: Array) -> Samples:
    """All observations in the order of each row of ``index``, dealt out to samples as before."""
    pool = concatenate(samples, axis=-1)
    ends = list(itertools.accumulate((s.shape[-1] for s in samples), initial=0))
    rows = (index[:, start:stop] for start, stop in itertools.pairwise(ends))
    return [_front(at(pool, row)) for row in rows]


def _table(rows: Iterator[Sequence[int]], count: int, width: int) -> Array:
    kind = np.uint8 if width < 256 else np.int32
    if count * width * np.dtype(kind).itemsize > _TABLE:
        raise MemoryLimitError(
            f"{count:,} permutations of {width} places need a table of more than {_TABLE:,} bytes;"
            " a smaller n_resamples draws some of them"
        )
    flat = np.fromiter(itertools.chain.from_iterable(rows), kind, count * width)
    return asarray(flat.reshape(count, width))


# Which sample an observation is in ----------------------------------------------------------------


def _partitions(samples: Samples) -> int:
    ends = itertools.accumulate(s.shape[-1] for s in samples)
    return math.prod(math.comb(n, s.shape[-1]) for n, s in zip(ends, samples, strict=True))


def _shuffled(samples: Samples, count: int, draws: Draws) -> Samples:
    total = sum(sample.shape[-1] for sample in samples)
    return _split(samples, order(draws, (count, total), 1))


def _dealt(samples: Samples, count: int) -> Samples:
    sizes = [sample.shape[-1] for sample in samples]
    rows = _deals(tuple(range(sum(sizes))), sizes)
    return _split(samples, _table(rows, count, sum(sizes)).astype("int64"))


def _deals(things: tuple[int, ...], sizes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    if not sizes:
        yield things
        return
    for first in itertools.combinations(things, sizes[0]):
        taken = set(first)
        for rest in _deals(tuple(k for k in things if k not in taken), sizes[1:]):
            yield first + rest


# Which observation of the other samples one belongs to --------------------------------------------


def _pairings(samples: Samples) -> int:
    return int(math.factorial(samples[0].shape[-1]) ** len(samples))


def _paired_anew(samples: Samples, count: int, draws: Draws) -> Samples:
    return [_front(at(s, order(draws, (count, s.shape[-1]), 1))) for s in samples]


def _all_pairings(samples: Samples, count: int) -> Samples:
    n, many = samples[0].shape[-1], math.factorial(samples[0].shape[-1])
    table = _table(itertools.permutations(range(n)), many, n)
    number, place = places((count, n), 0), places((count, n), 1)
    found = []
    for k, sample in enumerate(samples):
        row = number // many ** (len(samples) - 1 - k) % many
        index = _at_both(table, row, place).astype("int64")
        found.append(_front(at(sample, index)))
    return found


def _at_both(table: Array, row: Array, place: Array) -> Array:
    return Array(gather.take_several(table._expr, [row._expr, place._expr], [0, 1], 0))


# Which sample each observation of a row belongs to ------------------------------------------------


def _signed(samples: Samples) -> Samples:
    return samples if len(samples) > 1 else [samples[0], -samples[0]]


def _swaps(samples: Samples) -> int:
    return int(math.factorial(len(_signed(samples))) ** samples[0].shape[-1])


def _swapped(samples: Samples, count: int, draws: Draws) -> Samples:
    n, both = samples[0].shape[-1], _signed(samples)
    if len(both) == 2:
        coin = integers(draws, 2, size=(count, n))
        return _chosen(samples, [coin, 1 - coin])
    which = order(draws, (count, n, len(both)), 2)
    return _chosen(samples, [which[:, :, k] for k in range(len(both))])


def _all_swaps(samples: Samples, count: int) -> Samples:
    n, many = samples[0].shape[-1], len(_signed(samples))
    base = math.factorial(many)
    table = np.array(list(itertools.permutations(range(many))), np.int64)
    powers = asarray(np.array([base ** (n - 1 - k) for k in range(n)], np.int64))
    digit = places((count, n), 0) // powers % base
    columns = (asarray(np.ascontiguousarray(table[:, k])) for k in range(many))
    return _chosen(samples, [at(column, digit) for column in columns])


def _chosen(samples: Samples, which: Samples) -> Samples:
    """Of each observation that of sample ``which``, for as many samples as there are."""
    given = _signed(samples)
    wide = [s.reshape(1, *s.shape) for s in given]
    middle = (1,) * (samples[0].ndim - 1)
    found: list[Any] = []
    for index in which[: len(samples)]:
        spread = index.reshape(index.shape[0], *middle, index.shape[1])
        values = wide[-1]
        for k in range(len(wide) - 2, -1, -1):
            values = sc.where(sc.equal(spread, k), wide[k], values)
        found.append(values)
    return found


KINDS: Final[dict[str, Permuting]] = {
    "independent": Permuting(_partitions, _shuffled, _dealt),
    "pairings": Permuting(_pairings, _paired_anew, _all_pairings),
    "samples": Permuting(_swaps, _swapped, _all_swaps),
}
