"""How much of the sources that are read a box at a time a plan reads: bytes, and chunks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from .. import dtypes
from ..expr.nodes import Deferred, Leaf, Tiled
from ..expr.piecewise.regions import pieces_within
from ..numbers import bytes_text
from .passes import Pass
from .reads import reading
from .streams import read_roots, tiled


def readings(passes: Sequence[Pass], held: Iterable[Deferred | Tiled]) -> Iterator[str]:
    """A line for each source: its bytes and chunks that ``passes`` read, of all it has.

    What a pass reads it reads once; two passes may read the same. Those that are ``held`` in memory
    are read whole.
    """
    whole = [one for one in held if isinstance(one, Tiled)]
    totals = {id(one): (one, *_all_of(one)) for one in whole}
    for one in passes:
        for leaves in _by_source(one, {id(source) for source in whole}):
            source, size, count = leaves[0].source, *of_leaves(leaves)
            assert isinstance(source, Tiled)
            _, before, chunks = totals.get(id(source), (source, 0, 0))
            totals[id(source)] = source, before + size, chunks + count
    for source, size, count in totals.values():
        all_bytes, all_chunks = _all_of(source)
        yield (
            f"reads {bytes_text(size)} of {bytes_text(all_bytes)} of {source.tiles.label}, "
            f"{count:,} of {all_chunks:,} {getattr(source.tiles, 'noun', 'chunks')}"
        )


def making_bytes(one: Pass) -> int:
    """Bytes of a thread that reads sources which say what they hold while they make a box."""
    read = (getattr(leaves[0].source, "tiles", None) for leaves in _by_source(one, set()))
    return max((getattr(tiles, "working_bytes", 0) for tiles in read), default=0)


def shared_bytes(one: Pass) -> int:
    """Bytes of a process for sources of which all is made when they are first read."""
    waiting = [leaf.source for leaves in _by_source(one, set()) for leaf in leaves[:1]]
    seen, size = set[int](), 0
    while waiting:
        source = waiting.pop()
        if isinstance(source, Tiled) and id(source.tiles) not in seen:
            seen.add(id(source.tiles))
            size += getattr(source.tiles, "shared_bytes", 0)
            roots = getattr(source.tiles, "made_of", ())
            waiting += [leaf.source for root in roots for leaf in tiled(root)]
    return size


def _by_source(one: Pass, held: set[int]) -> Iterator[list[Leaf]]:
    """The leaves of a pass that read each source a box at a time, but for those ``held``."""
    found: dict[int, list[Leaf]] = {}
    seen = set()
    for stage in one.stages:
        pieces = (piece.expr for source in pieces_within(stage.root) for piece in source.pieces)
        for root in (*read_roots(stage.root, stage.source), *pieces):
            for leaf in tiled(root):
                if id(leaf.source) not in held and id(leaf) not in seen:
                    seen.add(id(leaf))
                    found.setdefault(id(leaf.source), []).append(leaf)
    yield from found.values()


def _all_of(source: Tiled) -> tuple[int, int]:
    if (counted := getattr(source.tiles, "touched", None)) is not None and 0 not in source.shape:
        size, count = counted(tuple(slice(0, n, 1) for n in source.shape))
        return size, count
    counts = (-(-n // c) for n, c in zip(source.shape, source.tiles.chunks, strict=True))
    return math.prod(source.shape) * dtypes.itemsize(source.dtype), math.prod(counts)


def of_leaves(leaves: Sequence[Leaf]) -> tuple[int, int]:
    """Bytes and number of the chunks that ``leaves``, of one source, have elements of."""
    if not all(math.prod(leaf.shape) for leaf in leaves):
        return 0, 0
    one, _ = reading(leaves)
    source = one.source
    if (counted := getattr(source.tiles, "touched", None)) is not None:  # of chunks that differ
        size, count = counted(one.box)
        return size, count
    pieces: int | None = getattr(source.tiles, "pieces_bytes", lambda _: None)(one.box)
    size, count = dtypes.itemsize(source.dtype), 1
    for n, chunk, along in zip(source.shape, source.tiles.chunks, one.box, strict=True):
        first, last = along.start // chunk, (along.stop - 1) // chunk
        if along.step <= chunk:  # none between the first and the last is left out
            chunks, extent = last - first + 1, min(n, (last + 1) * chunk) - first * chunk
        else:
            chunks = len(range(along.start, along.stop, along.step))
            extent = min(n, chunks * chunk)
        size, count = size * extent, count * chunks
    return size if pieces is None else pieces, count
