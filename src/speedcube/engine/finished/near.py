"""Long arrays reduced to numbers, in pieces: a kernel says what it knows of each sum of a piece.

That is two doubles and how far off they are at most (`kernel/llvm/many/sums.py`). Integers add up
what is known of all pieces. Where the least and the most that a sum may be give the same result, it
is the exact one rounded once; where they do not, records are made. For threads of one process:
what is left over has to be made where the elements are.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ... import dtypes
from ...dataclass import dataclass
from ...expr import views
from ...expr.nodes import Map, Reduced
from ...expr.push import push
from ...expr.space import build
from ...kernel.exact.integers import NEAREST
from ...kernel.folds import KEYED
from ...kernel.llvm.many.singles import off_by
from ...kernel.lower.certificates import COUNTED, SPREADS
from ...kernel.lower.many import LONG_LINE
from ...kernel.lower.together import (
    Shared,
    finished_layout,
    is_fold,
    lower_finished,
    shared_sinks,
    with_squares,
)
from ...kernel.many import NEAR
from ...plan.passes import Pass
from ...plan.stages import Part, Stage
from ..boxes import Stop
from ..prepare import Prepared, prepared_of, remembered
from .cpu import run_together
from .dots import dot_ends
from .ends import PIECE, End, all_of, ends_of

Array: TypeAlias = NDArray[Any]
Inputs: TypeAlias = Mapping[int, Array]
FLOATS: Final = ("float32", "float64")
_WORD: Final = {"float32": np.uint32, "float64": np.uint64}


@dataclass(frozen=True, eq=False)
class Partial:
    """What a part knows of one reduction: the least and the most of its sums, or a fold's result.

    Sums are in units of `2**-1074`. ``again`` makes the part's record.
    """

    ends: tuple[End, ...]
    folded: Any
    again: Callable[[], Array]


def numbers_of(
    one: Pass,
    part: Part,
    inputs: Inputs,
    stop: Stop,
    own: Sequence[tuple[Stage, Part]],
    record: Callable[[Stage, Part, Inputs], Array],
) -> tuple[Partial, ...]:
    """What ``part`` knows of each stage of ``one``; none where there is no such kernel.

    ``own`` are the stages with their parts, of which ``record`` makes what is not known.
    """
    sources = [stage.source for stage in one.stages]
    reduced = [source for source in sources if isinstance(source, Reduced)]
    if len(reduced) < len(sources) or len(one.visited.axes) < len(part.root.shape):
        return ()
    again = [partial(record, *its, inputs) for its in own]
    return _partials(part, one.places, reduced, inputs, stop, again)


def number_of(
    stage: Stage,
    part: Part,
    inputs: Inputs,
    stop: Stop,
    record: Callable[[Stage, Part, Inputs], Array],
) -> Partial | None:
    """The same of a stage of its own: of spreads and dots; records take ten times as long."""
    source = stage.source
    if not isinstance(source, Reduced) or stage.shape:
        return None
    again = [partial(record, stage, part, inputs)]
    if source.op == "dot" and source.dtype in FLOATS:
        ends = dot_ends(part, source, inputs, stop)
        return None if ends is None else Partial((ends,), None, *again)
    if source.op not in SPREADS:
        return None
    found = _partials(part, (0,), [source], inputs, stop, again)
    return found[0] if found else None


def from_partials(stage: Stage, parts: Sequence[Any]) -> Array | None:
    """The result of ``stage`` from what its ``parts`` know; None where that is not enough."""
    source = stage.source
    if not isinstance(source, Reduced) or not all(isinstance(one, Partial) for one in parts):
        return None
    if is_fold(source):
        return _folded(source, [part.folded for part in parts]).reshape(stage.shape)
    ends = all_of([part.ends for part in parts])
    bits = {
        NEAREST[source.op](some, source.dtype, source.count, source.ddof)
        for some in _extremes(source.op, ends)
    }
    if len(bits) > 1 or None in bits:
        return None
    word = _WORD[source.dtype]
    return np.array(list(bits), word).view(source.dtype).reshape(stage.shape)


def _extremes(op: str, ends: Sequence[End]) -> list[tuple[int, ...]]:
    """The sums by which a result is least, and those by which it is most."""
    low, high = ends[0]
    if op not in SPREADS:
        return [(low,), (high,)]
    sizes = sorted((abs(low), abs(high)))
    least = 0 if low <= 0 <= high else sizes[0]
    return [(sizes[1], ends[1][0]), (least, ends[1][1])]


def _folded(source: Reduced, values: Sequence[Array]) -> Array:
    """Results of folds as one: of NaN, and of -0.0 below 0.0, as NumPy has them."""
    stack: Array = np.concatenate([np.ravel(one) for one in values])
    if source.op == "sum":
        return np.asarray(stack.sum(dtype=stack.dtype))
    _, highest, skips = KEYED[source.op]
    if not dtypes.is_float(source.dtype):
        return np.asarray(stack.max() if highest else stack.min())
    unknown = np.isnan(stack)
    if unknown.all() if skips else unknown.any():
        return stack[unknown][:1]
    stack = stack[~unknown]
    order = np.lexsort((~np.signbit(stack), stack))
    return stack[order[-1:] if highest else order[:1]]


# Pieces ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Piece:
    """A piece of a part, and its reductions by their sinks."""

    part: Part
    sources: list[Reduced]
    sinks: list[Shared]
    axes: tuple[int, ...]

    def prepared(self) -> Prepared:
        def make() -> Prepared:
            root = self.part.root
            assert isinstance(root, Map)
            space = build(root, self.axes, (), None, reduction=True)
            layout = finished_layout(space, self.sources)
            assert layout is not None
            lowered = lower_finished(root, layout, self.sources, self.sinks, near=True)
            return prepared_of(layout.space, layout.tiling, lowered)

        return remembered(self.part, ("near", tuple(self.sinks)), make)


_known: weakref.WeakKeyDictionary[Part, dict[Any, list[_Piece]]] = weakref.WeakKeyDictionary()


def _pieces(part: Part, places: Sequence[int], sources: list[Reduced]) -> list[_Piece]:
    """``part`` in pieces; none where it has no kernel that says what it knows of sums."""
    known, key = _known.setdefault(part, {}), tuple(map(id, sources))
    if key not in known:
        known[key] = _made(part, places, sources)
    return known[key]


def _is_known(source: Reduced) -> bool:
    """Whether there is a kernel that says what it knows of the sums of ``source``."""
    dtype = source.arg.dtype
    return dtype in FLOATS or (source.op in SPREADS and dtype in COUNTED)


def _made(part: Part, places: Sequence[int], sources: list[Reduced]) -> list[_Piece]:
    root = part.root
    if not isinstance(root, Map) or root.op != "several":
        root = Map("several", (root,), root.shape, root.dtype)
    size, axes = math.prod(root.shape), tuple(range(len(root.shape)))
    sums = [one for one in sources if not is_fold(one)]
    if size < LONG_LINE or not sums or not all(map(_is_known, sums)):
        return []
    shared = shared_sinks(places, sources)
    sinks = with_squares(root, sources, shared)
    axis = max(axes, key=lambda k: root.shape[k])
    extent, pieces = root.shape[axis], []
    count = min(extent, -(-size // PIECE))
    for start, stop in pairwise(extent * k // count for k in range(count + 1)):
        item = (slice(None),) * axis + (slice(start, stop),)
        here = push(root, views.indexed(root.shape, item))
        assert isinstance(here, Map)
        own = [
            replace(one, arg=here.args[place], axes=axes, keepdims=False)
            for one, place in zip(sources, places, strict=True)
        ]
        # A last piece that is short may have fewer degrees of freedom than none.
        own = [replace(one, ddof=0.0) if one.op in SPREADS else one for one in own]
        if finished_layout(build(here, axes, (), None, reduction=True), own) is None:
            return []
        pieces.append(_Piece(Part(here, (), axis, start, stop), own, sinks, axes))
    return pieces


def _partials(
    part: Part,
    places: Sequence[int],
    sources: list[Reduced],
    inputs: Inputs,
    stop: Stop,
    again: Sequence[Callable[[], Array]],
) -> tuple[Partial, ...]:
    sums: list[list[list[End]]] = [[] for _ in sources]  # of each source, piece and sum
    folded: list[list[Array]] = [[] for _ in sources]
    pieces = _pieces(part, places, sources)
    for piece in pieces:
        if stop.is_set() or not _add(piece, inputs, stop, sums, folded):
            return ()
    if not pieces:
        return ()
    return tuple(
        Partial(all_of(some), _folded(one, each) if each else None, run)
        for one, some, each, run in zip(sources, sums, folded, again, strict=True)
    )


def _add(
    piece: _Piece,
    inputs: Inputs,
    stop: Stop,
    sums: list[list[list[End]]],
    folded: list[list[Array]],
) -> bool:
    """Add what is known of ``piece``; whether anything is."""
    prepared = piece.prepared()
    sinks = prepared.program.sink.sinks
    outs = [None for sink in sinks for _ in (sink.many.ops if sink.many else ("",))]
    made = iter(run_together(prepared, inputs, stop, outs))
    for shared, sink in zip(piece.sinks, sinks, strict=True):
        if sink.many is None:
            (number,) = shared.numbers
            folded[number].append(next(made)[0])
            continue
        each = [[next(made)[0] for _ in NEAR] for _ in range(sink.many.sums)]
        if not all(np.isfinite(one).all() for some in each for one in some):
            return False
        ends = [ends_of(*some) for some in each]
        # What squares round away has a sum of its own where the sum of squares is a result.
        both = [ends[0], *all_of([[end] for end in ends[1:]])]
        squares = ends[1:2]
        if sink.many.singles and shared.squares:
            both, squares = (
                ends[:2],
                [_of_rounded(ends[1], ends[2], math.prod(piece.part.root.shape))],
            )
        for number in shared.numbers:
            sums[number].append(both if piece.sources[number].op in SPREADS else both[:1])
        for number in shared.squares:
            sums[number].append(squares)
    return True


def _of_rounded(squares: End, added: End, count: int) -> End:
    """Of the sum of squares rounded to float32: what ``count`` add up to, and what that adds."""
    off = off_by(squares[1], count)
    return squares[0] + added[0] - off, squares[1] + added[1] + off
