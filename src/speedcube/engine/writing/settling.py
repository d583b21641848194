"""What all blocks read, made before the first of them: reductions, scans, what Dask computes."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any, Final

import numpy as np

from ...dataclass import dataclass
from ...expr.graph import below, memories
from ...expr.nodes import (
    Const,
    Expr,
    Leaf,
    Map,
    Piecewise,
    Position,
    Random,
    StageResult,
    Stored,
    Tiled,
    walk,
    whole,
)
from ...expr.pairs.node import is_pair, of_parts
from ...expr.push import in_place, places
from ...expr.views import rebuild
from ...late import hashlib
from ...plan.writing import reals
from ..compute import compute_all, plan_for, staged_values
from ..foreign.planned import going_on
from ..rungs import Rung
from ..stepwise.on_host import rung_of

_AS_THEY_ARE: Final = (Const, Position, Random, Stored)
_SAY: Final = ("zarr.json", ".zarray", ".zattrs")  # of Zarr, what an array is
_SAMPLE: Final = 4096  # elements of an array in memory that its digest looks at


@dataclass(eq=False)
class _Rebuilt:
    """Expressions with some sources replaced, what is shared once.

    ``new`` gives what takes the place of a source that no block alone can make.
    """

    new: Callable[[Any], Any]
    known: dict[int, tuple[Any, Any]] = field(default_factory=dict)  # keeps the ids alive

    def of(self, root: Expr) -> Expr:
        """``root``, rebuilt."""
        if is_pair(root):
            return of_parts(self.of, root)
        gathered = memories(walk(root))

        def leaf(one: Leaf) -> Leaf:
            source = one.source
            if isinstance(source, _AS_THEY_ARE):
                return one
            if id(one) in gathered or not _in_boxes(one):
                new = self._known(source, self.new)
            else:
                new = self._known(source, self._inside)
            return one if new is source else Leaf(new, one.shape, one.offset, one.strides)

        return rebuild(root, root.shape, leaf)

    def _known(self, source: Any, make: Callable[[Any], Any]) -> Any:
        if id(source) not in self.known:
            self.known[id(source)] = source, make(source)
        return self.known[id(source)][1]

    def _inside(self, source: Any) -> Any:
        """``source``, of which boxes are read, with what it reads itself replaced."""
        if isinstance(source, (Leaf, Map)):
            return self.of(source)
        if isinstance(source, Piecewise):
            pieces = tuple(replace(piece, expr=self.of(piece.expr)) for piece in source.pieces)
            return replace(source, boxes=pieces, call=(source.call[0], (), ""))
        return source


def _in_boxes(leaf: Leaf) -> bool:
    """Whether each box of ``leaf`` reads a box of its source, which can be made alone."""
    source = leaf.source
    if not isinstance(source, (Tiled, Leaf, Map, Piecewise)):
        return False
    return places(leaf, source.shape) is not None


def settled(roots: Sequence[Expr], on: Any, prefers_gpu: bool) -> tuple[list[Expr], int]:
    """``roots`` that read nothing which has to be computed whole, and the bytes of what was.

    All of it is computed together, on the rung ``on``.
    """
    roots = [_pushed(root) for root in roots]
    wanted = _wanted(roots)
    if not wanted:
        return roots, 0
    found = compute_all([whole(one, one.shape) for one in wanted], on, None, prefers_gpu)
    flat = [np.ascontiguousarray(value).reshape(-1) for value in found]
    stored = {id(one): Stored(value, one.dtype) for one, value in zip(wanted, flat, strict=True)}
    rebuilt = _Rebuilt(lambda source: stored[id(source)])
    return [rebuilt.of(root) for root in roots], sum(value.nbytes for value in flat)


def left_to_blocks(roots: Sequence[Expr]) -> list[Expr]:
    """``roots`` as `settled` leaves them; what it would compute is there in name only."""
    rebuilt = _Rebuilt(lambda source: StageResult(source.shape, source.dtype))
    return [rebuilt.of(_pushed(root)) for root in roots]


def settled_here(roots: Sequence[Expr]) -> list[Expr] | None:
    """`settled`, and scans of files go on from box to box; None where others than cores compute."""
    rung = rung_of(roots, None, None, False)
    if rung.kind not in ("core", "cores"):
        return None
    return settled(going_on(roots, rung, partial(staged_values, rung=rung)), rung, False)[0]


def settled_first(roots: Sequence[Expr]) -> list[Expr]:
    """The leaves of what `settled` would compute."""
    wanted = _wanted([_pushed(root) for root in roots])
    nodes = below(*(whole(one, one.shape) for one in wanted))
    return [node for node in nodes if isinstance(node, Leaf)]


def bytes_of_settling(roots: Sequence[Expr], rung: Rung, prefers_gpu: bool) -> tuple[int, int, int]:
    """Bytes of what `settled` would compute and keep, and of a process that computes it.

    And those of decoded chunks that it holds besides.
    """
    wanted = _wanted([_pushed(root) for root in roots])
    if not wanted:
        return 0, 0, 0
    plan, _ = plan_for([whole(one, one.shape) for one in wanted], rung, None, prefers_gpu)
    kept = plan.kept_bytes
    return plan.result_bytes, plan.peak_bytes - kept, kept  # a process has all threads of a rung


def _pushed(root: Expr) -> Expr:
    return of_parts(in_place, root) if is_pair(root) else in_place(root)


def _wanted(roots: Sequence[Expr]) -> list[Any]:
    """The sources that ``roots`` read and no block alone can make."""
    wanted: dict[int, Any] = {}

    def look(source: Any) -> Any:
        wanted[id(source)] = source
        return source

    rebuilt = _Rebuilt(look)
    for root in roots:
        rebuilt.of(root)
    return list(wanted.values())


def digest(roots: Sequence[Expr]) -> str:
    """What tells ``roots``, which are settled, from other expressions: the same in each process."""
    state = hashlib.blake2b(digest_size=16)
    seen: dict[int, int] = {}
    for root in reals(roots):
        _digest(root, state, seen)
    return state.hexdigest()


def _digest(root: Expr, state: Any, seen: dict[int, int]) -> None:
    for node in walk(root):
        if id(node) in seen:
            continue
        if isinstance(node, Map):
            text: Any = node.op, [seen[id(arg)] for arg in node.args], node.shape, node.dtype
        else:
            text = node.shape, node.offset, node.strides, _source(node.source, state, seen)
        seen[id(node)] = len(seen)
        state.update(repr(text).encode())
    state.update(f"root {seen[id(root)]}".encode())


def _source(source: Any, state: Any, seen: dict[int, int]) -> Any:
    """What tells a source from others, as far as its text can."""
    if isinstance(source, (Leaf, Map)):
        _digest(source, state, seen)
        return "elements", seen[id(source)]
    if isinstance(source, Piecewise):
        for piece in source.pieces:
            _digest(piece.expr, state, seen)
        return "pieces", source.shape, [(p.at, seen[id(p.expr)]) for p in source.pieces]
    if isinstance(source, (Const, Random)):
        return repr(source)
    if isinstance(source, Tiled):
        for root in getattr(source.tiles, "made_of", ()):
            _digest(root, state, seen)
        state.update(getattr(source.tiles, "tells_apart", b""))
        return "file", source.shape, source.dtype, source.tiles.label, _states(source.tiles)
    if isinstance(source, Stored) and not source.on_device:
        flat = np.atleast_1d(source.buffer)
        sample = flat[tuple(slice(None, None, max(1, n // _SAMPLE)) for n in flat.shape)]
        state.update(np.ascontiguousarray(sample).tobytes())
        return "memory", flat.shape, source.dtype
    return type(source).__name__, source.dtype


def _states(tiles: Any) -> list[tuple[int, int]]:
    """Sizes and times of the files that ``tiles`` read: of a folder, that which says what it holds.

    All files of a folder may be very many.
    """
    found = []
    for place in getattr(tiles, "lies_in", ()):
        for path in (place, *(os.path.join(place, name) for name in _SAY)):
            with contextlib.suppress(OSError):
                status = os.stat(path)
                if stat.S_ISREG(status.st_mode):
                    found.append((status.st_size, status.st_mtime_ns))
    return found
