"""The orders in which raw words of stream v1 are dealt out to a test battery.

A layout is an endless iterator of pieces; a piece is a uint64 array (turns, streams): in each turn
every stream gives its next word. The words are those of the source ``bits64``, the numbers A and B
of docs/stream-v1.md that float64 draws and integers are made of.

``rows`` and ``columns`` read that source as any program does. The others need a key for each
stream, so they compute Philox as an array expression, whose keys and positions are rewritten in
place from piece to piece: it is planned once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count, islice
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...api.array import Array
from ...api.elementwise import where
from ...api.sources import asarray
from ...engine.rungs import Rung
from ...errors import ParameterError
from ...expr.nodes import Random, whole
from ...philox import derive_key, philox4x32
from ...shown import quoted

Pieces: TypeAlias = Iterator[NDArray[np.uint64]]
Layout: TypeAlias = Callable[[int, Rung], Pieces]

PIECE: Final = 2**21  # words, 16 MiB: planning takes little of its time
COLUMN: Final = 2**20  # words of a column of the array that `rows` and `columns` read
WIDTH: Final = 2**42  # columns of that array; its 2**65 bytes have no end in practice
EACH: Final = 256  # words that `seeds` and `calls` take of a stream
MOST_STREAMS: Final = 2**20


def rows(seed: int, on: Rung) -> Pieces:
    """The first array that ``default_rng(seed)`` draws, in C order."""
    words = _array(seed).reshape(-1)
    for first in count(0, PIECE):
        yield words[first : first + PIECE].compute(on=on).reshape(-1, 1)


def columns(seed: int, on: Rung) -> Pieces:
    """The same array column by column: a word of each of its rows in turn."""
    array, several = _array(seed), PIECE // COLUMN
    for first in count(0, several):
        yield array[:, first : first + several].T.compute(on=on)


def interleaved(seed: int, on: Rung, streams: int) -> Pieces:
    """The first arrays of ``default_rng(seed).spawn(streams)``, a word of each in turn."""
    turns = max(1, PIECE // streams)
    keys = _keys(derive_key((seed,), (child,), 0) for child in range(streams))
    positions = np.arange(turns, dtype=np.uint64)
    words = _words(asarray(keys), asarray(positions).reshape(-1, 1))
    while True:
        yield words.compute(on=on)
        positions += np.uint64(turns)


def seeds(seed: int, on: Rung) -> Pieces:
    """`EACH` words of ``default_rng(seed)``, then of ``default_rng(seed + 1)``, and so on."""
    return _one_after_the_other((derive_key((one,), (), 0) for one in count(seed)), on)


def calls(seed: int, on: Rung) -> Pieces:
    """`EACH` words of each array that ``default_rng(seed)`` draws, one after the other."""
    return _one_after_the_other((derive_key((seed,), (), call) for call in count()), on)


PLAIN: Final[dict[str, Layout]] = {
    "rows": rows,
    "columns": columns,
    "seeds": seeds,
    "calls": calls,
}


def layout(name: str) -> Layout:
    """The layout called ``name``; `ParameterError` where there is none."""
    if name in PLAIN:
        return PLAIN[name]
    match = re.fullmatch(r"interleaved:([0-9]{1,7})", name)
    streams = int(match[1]) if match else 0
    if not 1 <= streams <= MOST_STREAMS:
        raise ParameterError(
            f"--layout {quoted(name)} is none of {', '.join(PLAIN)} and interleaved:K, like "
            f"interleaved:8192, with K streams from 1 to {MOST_STREAMS}"
        )
    return partial(interleaved, streams=streams)


def dealt(piece: NDArray[np.uint64], bits: int) -> NDArray[Any]:
    """``piece`` in the order and the bytes in which it is written, words of ``bits`` 64 or 32.

    At 32 bits a stream's words are the low half of each of its numbers, then the high half: every
    stream gives the low half in one turn, the high half in the next.
    """
    little = piece.astype("<u8", copy=False)
    if bits == 64:
        return little
    return np.ascontiguousarray(little.view("<u4").reshape(*piece.shape, 2).swapaxes(1, 2))


def _array(seed: int) -> Array:
    key = derive_key((seed,), (), 0)
    return Array(whole(Random("bits64", key, (0, 0), "uint64"), (COLUMN, WIDTH)))


def _keys(keys: Iterator[int]) -> NDArray[np.uint64]:
    return np.fromiter(keys, np.uint64)


def _one_after_the_other(keys: Iterator[int], on: Rung) -> Pieces:
    """`EACH` words of the stream of each key."""
    several = PIECE // EACH
    current = _keys(islice(keys, several))
    positions = np.arange(EACH, dtype=np.uint64)
    words = _words(asarray(current).reshape(-1, 1), asarray(positions))
    while True:
        yield words.compute(on=on).reshape(-1, 1)
        current[:] = _keys(islice(keys, several))


def _words(keys: Array, positions: Array) -> Array:
    """The word of each stream at each position: docs/stream-v1.md, n = 2, as it stands there."""
    block = (positions >> 10 << 9) + (positions & 511)
    w0, w1, w2, w3 = philox4x32((block & 0xFFFF_FFFF, block >> 32, 0, 0), keys)
    return where((positions & 512) == 0, (w1 << 32) | w0, (w3 << 32) | w2)
