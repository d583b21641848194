"""Chunk grids for those who want them: what the same program would have in Dask.

No kernel and no plan reads a grid. It is checked when it is given, carried along as a recipe, and
worked out with Dask's own rules when `Array.chunks` is first asked for, because that imports
``dask.array`` and because a grid may have millions of chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, Final, TypeAlias

import numpy as np

from ..dataclass import dataclass
from ..errors import ParameterError
from ..late import dask
from .even_chunks import even_chunks

Axis: TypeAlias = tuple[int, ...]
Chunks: TypeAlias = tuple[Axis, ...]
Shape: TypeAlias = tuple[int, ...]

_DEEPEST: Final = 64  # nested recipes that are pickled; more are worked out for it
# And that are kept: chunks of arrays that are read one element on break up more with each step, so
# to work them out in the middle of a loop of 2,000 steps took minutes.
_LONGEST: Final = 1 << 16


@dataclass(eq=False)
class Grid:
    """``rule`` of the grids ``sources`` and of ``arguments``; ``depth`` counts nested recipes.

    Never changed; frozen it would take twice as long to make, and each operation makes one.
    """

    rule: Callable[..., Chunks]
    sources: tuple[Grid, ...]
    arguments: tuple[Any, ...]
    depth: int = 0

    @cached_property
    def chunks(self) -> Chunks:
        """The sizes of the chunks along every axis."""
        for source in _unknown(self):
            source.chunks  # noqa: B018  (from now on it is known)
        return self.rule(*(source.chunks for source in self.sources), *self.arguments)

    def __reduce__(self) -> Any:
        if self.depth > _DEEPEST:
            return Grid, (_as_they_are, (), (self.chunks,))
        return Grid, (self.rule, self.sources, self.arguments, self.depth)


def _unknown(grid: Grid) -> list[Grid]:
    """What has to be worked out for ``grid``, each after its own sources; no recursion."""
    found: dict[int, Grid] = {}
    stack = [(source, False) for source in grid.sources]
    while stack:
        one, visited = stack.pop()
        if visited:
            found[id(one)] = one
        elif id(one) not in found and "chunks" not in vars(one):
            stack.append((one, True))
            stack.extend((source, False) for source in one.sources)
    return list(found.values())


def derived(rule: Callable[..., Chunks], sources: Iterable[Grid], *arguments: Any) -> Grid:
    """The grid that ``rule`` makes of the chunks of ``sources`` and of ``arguments``."""
    known = tuple(sources)
    depth = 1 + (known[0].depth if len(known) == 1 else max([source.depth for source in known]))
    grid = Grid(rule, known, arguments, depth)
    return grid if depth <= _LONGEST else Grid(_as_they_are, (), (grid.chunks,))


def _as_they_are(chunks: Chunks) -> Chunks:
    return chunks


# Given by the user ------------------------------------------------------------------------------


def grid_of(hint: Any, shape: Shape, dtype: str) -> Grid:
    """The grid of a new array: ``hint`` is a `Grid`, what Dask takes as ``chunks=``, or None.

    Raises `ParameterError` for a hint that Dask could make no grid of.
    """
    if isinstance(hint, Grid):
        return hint
    if hint is None:
        return Grid(_normal, (), ("auto", shape, dtype))
    if isinstance(hint, np.ndarray):
        hint = hint.tolist()  # which can be compared
    wrong = _wrong(hint, shape)
    if wrong is not None:
        raise ParameterError(
            f"chunks={hint!r} does not fit shape {shape}: {wrong}. Give one size for "
            "all axes, or for each axis a size, -1 or None (the whole axis), 'auto', "
            "bytes as '128MiB', or sizes that add up to it"
        )
    return Grid(_normal, (), (hint, shape, dtype))


def eye_grid(hint: Any, shape: Shape, dtype: str) -> Grid:
    """Dask's ``eye`` cuts squares, whose side ``hint`` or ``auto`` gives."""
    if hint is not None and not isinstance(hint, (int, str)):
        raise ParameterError(f"eye takes chunks= as one size or a text, not {hint!r}")
    return derived(_squares, [grid_of(hint, shape, dtype)], shape, dtype)


def _normal(hint: Any, shape: Shape, dtype: str) -> Chunks:
    plain = even_chunks(hint, shape, dtype)
    if plain is not None:
        return plain
    from dask.array.core import normalize_chunks

    return tuple(normalize_chunks(hint, shape, dtype=np.dtype(dtype)))


def _squares(chunks: Chunks, shape: Shape, dtype: str) -> Chunks:
    return _normal(chunks[0][0], shape, dtype) if all(shape) else chunks


def _wrong(hint: Any, shape: Shape) -> str | None:
    """Why ``hint`` is no grid of ``shape``, or None."""
    if isinstance(hint, dict):
        unknown = [k for k in hint if k not in range(len(shape))]
        if unknown:
            return f"there is no axis {unknown[0]!r}"
        hint = [hint.get(k) for k in range(len(shape))]
    if not isinstance(hint, (list, tuple)):
        return _wrong_entries([hint] * len(shape), shape) if shape else _wrong_entry(hint, 1)
    if len(shape) == 1 and len(hint) > 1 and all(map(_is_size, hint)):
        hint = [hint]
    if not hint and not any(shape):
        return None
    if len(hint) != len(shape) and shape:
        return f"{len(hint)} entries for {len(shape)} axes"
    return _wrong_entries(hint, shape)


def _wrong_entries(hint: Sequence[Any], shape: Shape) -> str | None:
    sizes = {c for c in hint if isinstance(c, str) and c != "auto"}
    faults = (_wrong_entry(c, n) for c, n in zip(hint, shape, strict=False))
    several = f"one size in bytes at most, not {sorted(sizes)}" if len(sizes) > 1 else None
    return next((text for text in faults if text is not None), several)


def _wrong_entry(entry: Any, extent: int) -> str | None:
    if entry is None or entry == "auto":
        return None
    if isinstance(entry, str):
        try:
            return None if dask.utils.parse_bytes(entry) > 0 else f"{entry!r} holds nothing"
        except ValueError:
            return f"{entry!r} is neither 'auto' nor a size in bytes"
    if isinstance(entry, (list, tuple)):
        if not entry or not all(_is_size(c) and c >= 0 for c in entry):
            return f"{entry!r} are not sizes of chunks"
        total = sum(entry)
        return None if total == extent else f"{total} elements in chunks of an axis of {extent}"
    if not _is_size(entry):
        return f"{entry!r} is not the size of a chunk"
    if entry > 0 or entry == -1 or extent == entry == 0:
        return None
    return f"a chunk cannot hold {entry} elements"


def _is_size(entry: Any) -> bool:
    return isinstance(entry, (int, np.integer)) and not isinstance(entry, bool)


# Carried through views and operations -----------------------------------------------------------


def sliced(grid: Grid, item: Any, shape: Shape) -> Grid:
    """The grid of ``array[item]``, which has ``shape``."""
    return derived(_sliced, [grid], item, shape)


def _sliced(chunks: Chunks, item: Any, shape: Shape) -> Chunks:
    from dask.array.slicing import new_blockdim, normalize_index

    left = iter(chunks)
    axes: list[Axis] = []
    for index in normalize_index(item, tuple(map(sum, chunks))):
        if index is None:
            axes.append((1,))
            continue
        axis = next(left)
        if isinstance(index, slice):
            axes.append(tuple(new_blockdim(sum(axis), axis, index)))
    # Dask reads [-9:-6:-2] of eight elements, which holds none, as if it began at the last one.
    return tuple(axis if n else (0,) for axis, n in zip(axes, shape, strict=True))


def taken(grid: Grid, axis: int, count: int) -> Grid:
    """The grid of ``count`` elements along ``axis``, at whatever indices."""
    return derived(_taken, [grid], axis, count)


def _taken(chunks: Chunks, axis: int, count: int) -> Chunks:
    size = count if len(chunks[axis]) == 1 else max(chunks[axis])
    cut = (size,) * (count // size) + ((count % size,) if count % size else ())
    return (*chunks[:axis], cut, *chunks[axis + 1 :])


def transposed(grid: Grid, order: tuple[int, ...]) -> Grid:
    """The grid of an array whose axis k is axis ``order[k]``."""
    return derived(_transposed, [grid], order)


def _transposed(chunks: Chunks, order: tuple[int, ...]) -> Chunks:
    return tuple(chunks[k] for k in order)


def reshaped(grid: Grid, shape: Shape, dtype: str) -> Grid:
    """The grid of the same elements in ``shape``; ``auto`` where Dask cannot reshape."""
    return derived(_reshaped, [grid], shape, dtype)


def _reshaped(chunks: Chunks, shape: Shape, dtype: str) -> Chunks:
    from dask.array.reshape import reshape_rechunk

    before = tuple(map(sum, chunks))
    if before == shape:
        return chunks
    if all(len(axis) == 1 for axis in chunks):
        return tuple((n,) for n in shape)
    try:
        return tuple(map(tuple, reshape_rechunk(before, shape, chunks)[1]))
    except NotImplementedError:
        return _normal("auto", shape, dtype)


def broadcast(grid: Grid, shape: Shape) -> Grid:
    """The grid of an array repeated to ``shape``: repeated axes are one chunk."""
    return derived(_broadcast, [grid], shape)


def _broadcast(chunks: Chunks, shape: Shape) -> Chunks:
    new = len(shape) - len(chunks)
    pairs = zip(chunks, shape[new:], strict=True)
    repeated = tuple(axis if sum(axis) != 1 else (n,) for axis, n in pairs)
    return (*((n,) for n in shape[:new]), *repeated)


def joined(grids: Sequence[Grid]) -> Grid:
    """The grid of an element-wise operation: the cuts of all its arrays."""
    first = grids[0]
    rule, arguments = first.rule, first.arguments
    for grid in grids:
        if grid is not first and (grid.sources or (grid.rule, grid.arguments) != (rule, arguments)):
            break
    else:  # the same, most often Dask's own for arrays of one shape
        return first
    return derived(_joined, grids)


def _joined(*grids: Chunks) -> Chunks:
    from dask.array.core import common_blockdim

    longest = max(map(len, grids))
    joined_axes = []
    for k in range(-longest, 0):
        axes = {chunks[k] for chunks in grids if len(chunks) >= -k}
        joined_axes.append(tuple(common_blockdim(axes - {(1,)} or axes)))
    return tuple(joined_axes)


def concatenated(grids: Sequence[Grid], axis: int) -> Grid:
    """The grid of arrays one after the other along ``axis``."""
    return derived(_concatenated, grids, axis)


def _concatenated(*given: Any) -> Chunks:
    from dask.array.core import common_blockdim

    *grids, axis = given
    ndim = len(grids[0])
    rest = [
        tuple(common_blockdim({chunks[k] for chunks in grids})) for k in range(ndim) if k != axis
    ]
    rest.insert(axis, tuple(size for chunks in grids for size in chunks[axis]))
    return tuple(rest)


def reduced(grid: Grid, axes: tuple[int, ...], keepdims: bool) -> Grid:
    """The grid of a reduction along ``axes``."""
    depth = grid.depth + 1
    if depth > _LONGEST:
        return derived(_reduced, [grid], axes, keepdims)
    return Grid(_reduced, (grid,), (axes, keepdims), depth)


def _reduced(chunks: Chunks, axes: tuple[int, ...], keepdims: bool) -> Chunks:
    all_axes = enumerate(chunks)
    return tuple((1,) if k in axes else c for k, c in all_axes if keepdims or k not in axes)
