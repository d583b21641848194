"""Results of groups of rows of files: block after block of rows is added to each group's sums.

So the climatology of a file takes the memory of the climatology, whatever the file has. The sums
are those of rows in memory, and the few results that they leave open are made of integers, in one
more reading: the bits are the same.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .... import dtypes
from ....expr.graph import below
from ....expr.nodes import Expr, Leaf, Map, Stored, Through, Tiled, whole
from ....expr.push import push_shape
from ....expr.sources.tiled import Box
from ....expr.through.grouping import Options
from ....late import futures
from ....plan.stages import Part, Stage
from ....plan.streams import readers_in, steps_of, tiled
from ....plan.touched import of_leaves
from ...boxes import Stop
from ...cpu import run_store
from ...grouping.rows import parts_of_rows
from ...ordering.run import in_memory_made
from ...prepare import prepare
from .cells import Cells, plain
from .combined import COMBINED
from .summed import Summed, most_at_once

Array: TypeAlias = NDArray[Any]

LEAST: Final = 512 << 20  # bytes that groups in memory take: what is less lies there, and is faster
MOST_ROWS: Final = 64 << 20  # bytes of the rows that are read at once
_ENOUGH: Final = 256 << 20  # bytes that it may take at any rate
_PLAIN: Final = 1 << 53  # integers up to here are doubles
_SUMS: Final = ("sum", "mean", "var", "std")


class GroupedRows:
    """What ``source`` makes of groups of rows, which ``root`` has in the shape of the file."""

    noun = "chunks"
    decodes = False
    few = True  # results, beside what they are made of

    def __init__(self, source: Through, root: Expr, threads: int) -> None:
        self.source, self.root, self.threads = source, root, threads
        self.made_of = (root,)
        self.shape = source.shape
        self.chunks = tuple(max(1, n) for n in source.shape)
        self.op = source.op.removeprefix("group_")
        self.options = Options(*source.options)
        self._values: Array | None = None
        self._lock = threading.Lock()

    def __reduce__(self) -> Any:
        """As it was made: the results are made anew where they are read."""
        return GroupedRows, (self.source, self.root, self.threads)

    @property
    def label(self) -> str:
        """What a plan calls it."""
        read = dict.fromkeys(one.label for one in readers_in([self.root]))
        return f"{self.source.op} of {', '.join(read)}"

    @property
    def tells_apart(self) -> bytes:
        """What tells it from others of the same shape and file."""
        return repr((self.source.op, self.source.options)).encode() + self.codes().tobytes()

    @property
    def lies_in(self) -> tuple[str, ...]:
        """The files and folders that hold the elements."""
        each = (getattr(one, "lies_in", ()) for one in readers_in([self.root]))
        return tuple(place for some in each for place in some)

    @property
    def shared_bytes(self) -> int:
        """Bytes of a process: two blocks of rows, all sums and their results."""
        rows = self._step * math.prod(self.root.shape[1:])
        read = Cells([self.root], [0]).bytes_of((self._step, *self.root.shape[1:]))
        inner = sum(int(getattr(one, "working_bytes", 0)) for one in readers_in([self.root]))
        block = rows * dtypes.itemsize(self.root.dtype)
        own = (self._ahead + 2) * block + (self._ahead + 1) * read
        results = math.prod(self.shape) * (dtypes.itemsize(self.source.dtype) + 1)
        return own + self._sums_bytes + 2 * results + inner + 32 * self.root.shape[0]

    @cached_property
    def _sums_bytes(self) -> int:
        """Bytes of the sums of those groups whose rows have begun and are not at their end."""
        if not self._is_summed:
            return math.prod(self.shape) * dtypes.itemsize(self.source.dtype)
        most = most_at_once(self.codes(), self._ends(), self.shape[0])
        return 8 * parts_of_rows(self.op in ("var", "std")) * most * self.shape[1]

    @property
    def _is_summed(self) -> bool:
        if self.op not in _SUMS or np.dtype(self.source.dtype).kind == "f":
            return self.op in _SUMS
        kind = np.dtype(self.root.dtype)  # of short integers all sums are doubles
        return kind.kind in "biu" and self.root.shape[0] << (8 * kind.itemsize) <= _PLAIN

    @property
    def _step(self) -> int:
        """How many rows are read at once."""
        return min(self.root.shape[0], steps_of(self.root)[0][0])

    @property
    def _ahead(self) -> int:
        """How many blocks are read at once."""
        row = math.prod(self.root.shape[1:]) * dtypes.itemsize(self.root.dtype)
        return max(1, min(self.threads, MOST_ROWS // max(1, self._step * row)))

    def touched(self, box: Box) -> tuple[int, int]:
        """Bytes and number of the chunks that are read for ``box``: of all of it."""
        found = [of_leaves([leaf]) for leaf in tiled(self.root)]
        return sum(size for size, _ in found), sum(count for _, count in found)

    def read(self, box: Box, out: Array) -> None:
        """Put the results of ``box`` into ``out``; they are made when it is first asked for."""
        with self._lock:
            if self._values is None:
                self._values = self._made()
        out[...] = self._values[box]

    def codes(self) -> Array:
        """The number of each row's group."""
        root = self.source.args[0]
        stage = Stage(root, None, (), (Part(root, (), None, 0, 0),), "one")
        out = np.empty(root.shape, root.dtype)
        run_store(prepare(stage, stage.parts[0], None), {}, out, Stop())
        return out.reshape(-1)

    def _made(self) -> Array:
        codes = self.codes()
        with futures.ThreadPoolExecutor(max(1, self.threads) + self._ahead) as pool:
            if self._is_summed:
                return Summed(self, codes, pool).made()
            return self._combined(codes, pool)

    def blocks(self, pool: Any) -> Iterator[tuple[int, Array]]:
        """The first row of each block, and its rows, which are gone when the next is asked for."""
        cells, spans = Cells([self.root], [0]), list(pairwise(self._ends()))
        longest = max(stop - start for start, stop in spans)
        shape, ahead = (longest, *self.root.shape[1:]), self._ahead
        memory = [np.empty(shape, self.root.dtype) for _ in range(ahead + 1)]

        def read(k: int) -> Array:
            start, stop = spans[k]
            out = memory[k % len(memory)][: stop - start]
            cells.make((slice(start, stop), *(slice(0, n) for n in self.root.shape[1:])), [out])
            return out.reshape(stop - start, -1)

        coming = deque(pool.submit(read, k) for k in range(min(ahead, len(spans))))
        for k, (start, _) in enumerate(spans):
            block = coming.popleft().result()
            if k + ahead < len(spans):
                coming.append(pool.submit(read, k + ahead))
            yield start, block

    def _ends(self) -> list[int]:
        """Where blocks of rows begin, and where the last one ends."""
        rows, (step, first) = self.root.shape[0], steps_of(self.root)[0]
        return sorted({0, *range(first or step, rows, step), rows})

    def _combined(self, codes: Array, pool: Any) -> Array:
        """Block after block made in memory, and what they have put together."""
        combine = COMBINED[self.op](self.shape, np.dtype(self.source.dtype), self.options.skip)
        for start, block in self.blocks(pool):
            numbers = codes[start : start + len(block)]
            present, own = np.unique(numbers, return_inverse=True)
            valid = (present >= 0) & (present < self.options.groups)
            if valid.any():
                shift = int(np.argmax(valid))
                here = own.reshape(-1).astype(np.int64) - shift
                combine.add(present[valid], self._of_block(block, here, int(valid.sum())))
        return combine.found

    def _of_block(self, block: Array, numbers: Array, groups: int) -> Array:
        leaves = [
            whole(Stored(np.ascontiguousarray(x).reshape(-1), x.dtype.name), x.shape)
            for x in (numbers, block)
        ]
        options = tuple(self.options._replace(groups=groups))
        arg = Map("several", tuple(leaves), block.shape, block.dtype.name)
        shape = (groups, block.shape[1])
        return in_memory_made(replace(self.source, arg=arg, shape=shape, options=options))


def grouped_rows(source: Through, threads: int, takes: int) -> GroupedRows | None:
    """The results of ``source`` of rows that are read; None where they may lie in memory.

    ``takes``: bytes that they take there.
    """
    op = source.op.removeprefix("group_")
    if takes < LEAST or source.op == op or (op not in _SUMS and op not in COMBINED):
        return None
    if not Options(*source.options).rows or 0 in source.shape or len(source.args) != 2:
        return None
    codes, x = source.args
    numbers = plain(codes)
    if numbers is None or tiled(numbers) or not _is_read(op, x.dtype, source.dtype):
        return None
    root = _in_shape_of_file(x)
    if root is None:
        return None
    rows = min(root.shape[0], steps_of(root)[0][0]) * math.prod(root.shape[1:])
    made = GroupedRows(source, root, threads)
    if rows * dtypes.itemsize(root.dtype) > MOST_ROWS or made.shared_bytes > max(takes, _ENOUGH):
        return None
    return made


def _is_read(op: str, dtype: str, made: str) -> bool:
    """Whether elements of ``dtype`` can be added up as doubles, where they are added so."""
    kind = np.dtype(dtype)
    if op not in _SUMS or (op == "sum" and np.dtype(made).kind != "f"):
        return True
    return kind.kind == "f" or (kind.kind in "iu" and kind.itemsize < 8)


def _in_shape_of_file(x: Expr) -> Expr | None:
    """``x``, rows of two axes, in the shape of what it reads: its first axis are the rows."""
    found = plain(x)
    nodes = below(x)
    views = {node.shape for node in nodes if isinstance(node, (Leaf, Map))}
    sources = [node.source for node in nodes if isinstance(node, Leaf)]
    files = {one.shape for one in sources if isinstance(one, Tiled)}
    shapes = views | {(x.shape[0], *shape[1:]) for shape in files}
    for shape in sorted(shapes, key=len, reverse=True):
        if found is not None:
            break
        if math.prod(shape) == math.prod(x.shape) and shape[:1] == x.shape[:1]:
            lines = push_shape(x, shape)
            found = None if lines is None else plain(lines)
    if found is None or not tiled(found) or dtypes.stored(found.dtype) != found.dtype:
        return None
    return found
