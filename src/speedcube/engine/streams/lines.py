"""Tiles of files that follow one another: which do, where in a file they lie, how far apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import groupby, product
from typing import Any, Final, TypeAlias

from ...expr.nodes import Expr
from ...plan.reads import BlockRoom, StreamBlock, chunk_along
from ...plan.streams import BlockFinder, cuts_of, tiled
from .apart import Apart

Item: TypeAlias = tuple[slice, ...]
LEAST: Final = 4  # tiles that are worth a call
_ASKED: Final = 4  # tiles that are asked for again and again


At: TypeAlias = Callable[[int], StreamBlock]
# A file, and of a tile the byte of it where it begins, how many pieces it has, how far apart.
Place: TypeAlias = tuple[str, int, int, int]


def lines(root: Expr, room: BlockRoom) -> Iterator[tuple[At, int]]:
    """The tiles of ``root``: those of one shape that follow one another along an axis.

    That is the one along which a tile is several pieces, so that their results stay in the cache:
    where there are some tiles along it, and in one file.
    """
    cuts = cuts_of(root, room)
    long = [k for k, along in enumerate(cuts) if len(along) > 1]
    finder, last = BlockFinder(root, long), max(long, default=0)
    first = room.down if room.down in long and _follow(root, room.down, cuts) else last
    for some in _alike(cuts[first]):
        here = [some if k == first else along for k, along in enumerate(cuts)]
        axis = first if len(some) >= LEAST else last
        others = [along[:1] if k == axis else along for k, along in enumerate(here)]
        for item, line in product(product(*others), _alike(here[axis])):
            before, behind = item[:axis], item[axis + 1 :]
            at = partial(_block, finder, before, line, behind)
            yield lru_cache(_ASKED)(at), len(line)


def _block(
    finder: BlockFinder, before: Item, line: Sequence[slice], behind: Item, k: int
) -> StreamBlock:
    return finder.at((*before, line[k], *behind))


def _follow(root: Expr, down: int, cuts: Sequence[Sequence[slice]]) -> bool:
    """Whether some tiles of ``cuts`` along ``down`` lie in one chunk."""
    rows = cuts[down][0].stop - cuts[down][0].start
    return all(chunk_along(leaf, down)[0] >= LEAST * rows for leaf in tiled(root))


def _alike(along: Sequence[slice]) -> list[list[slice]]:
    """Those ``along`` an axis that are as long as the one before, together."""
    return [list(some) for _, some in groupby(along, key=lambda one: one.stop - one.start)]


def with_pieces_apart(at: At, apart: Apart) -> At:
    """The tiles ``at`` gives, over memory in which their pieces lie ``apart``."""

    def wider(k: int) -> StreamBlock:
        return apart.of(at(k))

    return lru_cache(_ASKED)(wider)


def pieces_of(block: StreamBlock) -> int:
    """How many pieces of its file ``block`` is; one, where it lies in another way."""
    place = place_of(block)
    return 1 if place is None else place[2]


def place_of(block: StreamBlock) -> Place | None:
    if len(block.reads) != 1:
        return None
    tiles: Any = block.reads[0].source.tiles
    place: Place | None = tiles.lies_at(block.reads[0].box)
    return place


def evenly(at: At, k: int, here: Place, most: int) -> tuple[int, int]:
    """How far the next tile is from the one ``here``, and how many are so: ``most`` or fewer."""
    if most < 2 or at(k + 1).root is not at(k).root:
        return 0, 1
    second = place_of(at(k + 1))
    if second is None or (second[0], *second[2:]) != (here[0], *here[2:]):
        return 0, 1
    step = second[1] - here[1]
    while most > 2 and place_of(at(k + most - 1)) != (
        *(here[0], here[1] + (most - 1) * step),
        *here[2:],
    ):
        most = (most + 1) // 2
    return step, most
