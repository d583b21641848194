"""Sources that are made a box at a time: scans, pieces and windows of files, and large sorts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ... import dtypes
from ...dataclass import dataclass
from ...expr.graph import below, below_up_to
from ...expr.nodes import (
    Expr,
    Leaf,
    Map,
    Node,
    Piecewise,
    Reduced,
    Scanned,
    Staged,
    Stored,
    Through,
    Tiled,
)
from ...expr.piecewise.regions import window
from ...expr.through.table import OPERATIONS
from ...plan.streams import tiled, walks
from ...plan.working import working_bytes
from ..known.spans import reading
from .made.cells import plain
from .made.grouped import GroupedRows, grouped_rows
from .made.later import Make, Weigh, read_later
from .made.pieced import PiecedBlocks, has_large_chunks, pieced_blocks
from .made.reduced import ReducedBlocks, put_beside, reduced_blocks
from .made.scanned import ScanBlocks, scan_blocks
from .ordered.lines import LineBlocks
from .ordered.long import SortedBlocks, can_be_walked

_MOST_NODES: Final = 1 << 12  # of a program
_SORTED: Final = ("sort", "argsort")  # one long line


@dataclass(frozen=True)
class SortRoom:
    """What sorts that do not fit in memory may take: bytes, and threads.

    ``least``: bytes that one takes in memory, where it is made there all the same.
    """

    size: int
    threads: int
    least: int = 1 << 24

    def shared(self, sources: Sequence[object]) -> SortRoom:
        """The room for each sort of ``sources``."""
        sorts = sum(isinstance(one, Through) and one.op in _SORTED for one in sources)
        return replace(self, size=self.size // max(1, sorts))


def made_boxwise(
    roots: Sequence[Expr],
    make: Make,
    weigh: Weigh,
    room: SortRoom | None = None,
    threads: int = 1,
) -> Sequence[Expr]:
    """``roots`` in which large scans of what is read a box at a time are read so, too.

    Results of groups also, by ``threads``. Sorts, within ``room``. ``make`` gives the values of
    what their elements are made of, ``weigh`` the bytes it takes.
    """
    while True:
        nodes = below_up_to(roots, _MOST_NODES)
        if nodes is None or not (room or any(map(_is_tiled, nodes))):
            return roots
        sources = {id(node.source): node.source for node in nodes if isinstance(node, Leaf)}
        found: dict[int, tuple[Stored | Tiled, int]] = {}
        each = None if room is None else room.shared([*sources.values()])
        for name, source in sources.items():
            if isinstance(source, (Piecewise, Reduced, Scanned, Through)):
                made = None if _stays(source, nodes) else _made(source, make, weigh, each)
                if made is None and isinstance(source, Through):
                    made = _grouped(source, make, weigh, threads)
                if made is not None:
                    found[name] = Tiled(made, source.dtype), 0
        if not found:
            return roots
        made_of = (one.tiles for one, _ in found.values() if isinstance(one, Tiled))
        put_beside([one for one in made_of if isinstance(one, ReducedBlocks)])
        roots = reading(roots, nodes, found)


def goes_on(source: object) -> bool:
    """Whether ``source`` is made box by box, and knows how far it is."""
    return isinstance(source, Tiled) and isinstance(source.tiles, (ScanBlocks, SortedBlocks))


def _made(
    source: Piecewise | Staged, make: Make, weigh: Weigh, room: SortRoom | None
) -> PiecedBlocks | ReducedBlocks | ScanBlocks | SortedBlocks | LineBlocks | GroupedRows | None:
    """``source`` box by box; None where it is made in memory."""
    if isinstance(source, Piecewise):
        return pieced_blocks(source, make, weigh)
    if isinstance(source, Reduced):
        return reduced_blocks(source, make, weigh)
    if isinstance(source, Scanned):
        return scan_blocks(source, make, weigh)
    return None if room is None else _ordered(source, make, weigh, room)


def _grouped(source: Through, make: Make, weigh: Weigh, threads: int) -> GroupedRows | None:
    """``source`` block after block of rows; None where it is made in memory."""
    row = OPERATIONS.get(source.op)
    if row is None or row.of != "groups" or not any(map(_reads_boxes, source.args)):
        return None
    files = {id(x.source): x.source for x in below(source.arg) if isinstance(x, Leaf)}
    takes = _in_memory(source, threads) + sum(map(_bytes, files.values()))
    several = source.args[0], read_later(source.args[-1], make, weigh)
    arg = Map("several", several, source.arg.shape, source.arg.dtype)
    return grouped_rows(replace(source, arg=arg), threads, takes)


def _reads_boxes(root: Expr) -> bool:
    return any(map(_is_tiled, below(root)))


def _bytes(source: object) -> int:
    """Bytes of a file: in memory it lies whole, whatever is read of it."""
    if not isinstance(source, Tiled):
        return 0
    return math.prod(source.shape) * int(dtypes.itemsize(source.dtype))


def _stays(source: object, nodes: Sequence[Node]) -> bool:
    """Whether ``source`` is pieces in whose regions chunks are decoded once, as it is.

    A scan and windows need it box by box all the same.
    """
    if not isinstance(source, Piecewise) or not has_large_chunks(source):
        return False
    scans = [node for node in nodes if isinstance(node, Scanned)]
    if any(node is source for node in below(*scans)):
        return False
    readers = (node for node in nodes if isinstance(node, Leaf) and node.source is source)
    return all(window(leaf, source.shape) is not None for leaf in readers)


def _ordered(
    source: Through, make: Make, weigh: Weigh, room: SortRoom
) -> SortedBlocks | LineBlocks | None:
    """The same of what is sorted, or selected from."""
    row = OPERATIONS.get(source.op)
    if row is None or row.of != "lines" or len(source.args) > 1 or not source.count:
        return None
    if _in_memory(source, room.threads) <= room.least or walks(source):
        return None
    root = plain(read_later(source.arg, make, weigh))
    if root is None or dtypes.stored(root.dtype) != root.dtype:
        return None
    if source.line < source.count:
        return LineBlocks(source, root) if tiled(root) else None
    if source.op not in _SORTED or not can_be_walked(root):
        return None
    return SortedBlocks(source, root, room.size, room.threads)


def _in_memory(source: Through, threads: int) -> int:
    """Bytes that it takes in memory."""
    elements = source.count * dtypes.itemsize(source.arg.dtype)
    return elements + working_bytes(source, threads)


def _is_tiled(node: object) -> bool:
    return isinstance(node, Leaf) and isinstance(node.source, Tiled)
