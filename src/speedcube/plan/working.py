"""What a worker needs to read, sort, select, count or scan, besides its result."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from .. import dtypes
from ..expr.nodes import Expr, Leaf, Map, Reduced
from ..expr.piecewise.regions import pieced
from ..expr.routines.row import bytes_of
from ..expr.routines.table import ROUTINES
from ..expr.through.node import Through
from ..expr.through.table import OPERATIONS
from .cutting.grouped import EXTREMES
from .passes import Pass
from .reads import AHEAD, STAGED, blocks_there
from .stages import Stage
from .streams import block_bytes, cuts_results, read_roots, room_for, tiled, walked_bytes

COLLECTED: Final = 1 << 22  # elements of a bracket that are kept of one array, for each thread
BY_DIGITS: Final = 1 << 27  # elements of a line that a thread sorts by digits
LEVEL_BYTES: Final = 1 << 26  # of sums of weights, in all units of a thread, but two units at least
WORD_BYTES: Final = 1 << 28  # of sums in a GPU's memory, but four words each at least
LINES: Final = 1 << 25  # elements of lines that a GPU holds at a time, but one line at least
BLOCK_BYTES: Final = 1 << 21  # of lines that a thread holds at a time, but one line at least


def _argsort(source: Through, threads: int) -> int:
    each = dtypes.itemsize(source.arg.dtype)
    entries = min(source.count, threads * BY_DIGITS) * 4 * each  # keys with places, twice
    # The elements, those of a thread, and their places.
    return source.count * (2 * each + 8) + entries


def _sort(source: Through, threads: int) -> int:
    each = dtypes.itemsize(source.dtype)
    keys = min(source.count, threads * BY_DIGITS) * each
    return source.count * (each + 1) + keys


def _select(source: Through, threads: int) -> int:
    each = dtypes.itemsize(source.arg.dtype)
    line = source.line
    if source.count == line:  # one line: two passes of what lies in brackets
        places = max(1, len(source.options))
        return threads * min(line, COLLECTED * places) * (each + 1) + (1 << 22) * each
    return threads * 3 * max(BLOCK_BYTES, line * each)


def _select_numbers(source: Through, threads: int) -> int:
    each = dtypes.itemsize(source.arg.dtype)
    return threads * 3 * max(2 * BLOCK_BYTES, source.line * each)


_SUM: Final = 3 * 8  # bytes of a sum to which blocks are added, and how far off it may be
_RECORD: Final = 2 * 8  # bytes of the place of an extreme, or of a sum of integers
_PARTS: Final = 8 * 8  # bytes of a group's sum while it is added up


def _group_places(source: Through) -> int:
    """The places of all elements by group, while they are sorted."""
    of_rows: int = source.args[-1].shape[0 if source.options[1] else -1]
    return 2 * of_rows * (8 + 8 + 2)


def _group_sums(source: Through, threads: int) -> int:
    groups, rows = int(source.options[0]), bool(source.options[1])
    sums = threads * (groups + 1) * _PARTS + (0 if rows else math.prod(source.shape) * _PARTS)
    return _elements(source) + _group_places(source) + sums


def _grouped(source: Through, threads: int) -> int:
    """All elements, where they are taken by group, their places and a copy of some."""
    return 3 * _elements(source) + _group_places(source) + source.count * 16


def _elements(source: Through) -> int:
    return source.count * dtypes.itemsize(source.args[-1].dtype)


def levels_of(length: int) -> int:
    """How many units a thread keeps sums of ``length`` numbers in."""
    return max(2, min(92, LEVEL_BYTES // (24 * (length + 1))))


def _weigh(source: Through, threads: int) -> int:
    length = math.prod(source.shape)
    held = 1 if 4 * length > source.count else threads
    kept = 16 * source.count if any(map(pieced, source.args)) else 0
    return held * (24 * levels_of(length) * (length + 1) + (1 << 25)) + 64 * length + kept


def _scatter(source: Through, threads: int) -> int:
    length = math.prod(source.shape)
    held = 1 if 4 * length > source.count else threads
    return held * (length * dtypes.itemsize(source.dtype) + (1 << 21))


# On a GPU -----------------------------------------------------------------------------------------


def device_room(size: int) -> int:
    """Elements of a bracket of ``size`` elements that a GPU keeps."""
    return min(size, (1 << 20) + (size >> 7))


def device_sample(size: int, computed: bool = True) -> int:
    """Elements of a sample by which a GPU brackets one of ``size`` that are read, or ``computed``.

    One in 200 of an array in memory is looked up in the time of the rest. What is kept of computed
    elements costs a thread of its own: then a larger sample is worth its sort.
    """
    more = 3 if computed else 0
    return 1 << min(27, max(16, round(math.log2(max(size, 1)) * 2 / 3) + more))


def _select_on_gpu(source: Through) -> int:
    each, places = dtypes.itemsize(source.arg.dtype), max(1, len(source.options))
    if source.line < source.count:  # lines, some at a time: those, their keys, and sorted
        return 4 * each * min(source.count, max(LINES, source.line))
    kept = (min(places, 4) + 1) * device_room(source.count)  # of which one is sorted
    return each * (kept + 4 * device_sample(source.count))


def words_of(length: int) -> int:
    """How many words of 64 bits a GPU keeps for a sum of ``length``; of all doubles 35 hold any."""
    return max(4, min(36, WORD_BYTES // (8 * max(1, length))))


def _weigh_on_gpu(source: Through) -> int:
    length = math.prod(source.shape)
    kept = 16 * source.count if any(map(pieced, source.args)) else 0
    return length * (8 * words_of(length) + 8 + 1) + kept


def _scatter_on_gpu(source: Through) -> int:
    kept = 16 * source.count if any(map(pieced, source.args)) else 0
    return math.prod(source.shape) * 16 + kept


def _grouped_on_gpu(source: Through) -> int:
    length = math.prod(source.shape)
    op = source.op.removeprefix("group_")
    sums = OPERATIONS[source.op].way in ("sums of groups", "numbers of groups")
    words = 8 * (1 + 2 * (op in ("var", "std"))) * words_of(length) if sums else 0
    kept = 16 * source.count if any(map(pieced, source.args)) else 0
    return length * (words + 4 * 8) + kept


_OF_GROUPS: Final = ("sums of groups", "foremost of groups", "numbers of groups")
# Bytes in the memory of a GPU, which are few beside what a host of it has.
_ON_GPU: Final[dict[str, Callable[[Through], int]]] = {
    "sort": lambda source: 2 * source.count * dtypes.itemsize(source.dtype),
    "argsort": lambda source: source.count * (2 * dtypes.itemsize(source.arg.dtype) + 16),
    "order_statistics": _select_on_gpu,
    "count": lambda source: math.prod(source.shape) * 16,
    "weigh": _weigh_on_gpu,
    **dict.fromkeys(("scatter_add", "scatter_min", "scatter_max"), _scatter_on_gpu),
    "group_count": lambda source: math.prod(source.shape) * 16,
    **{op: _grouped_on_gpu for op, row in OPERATIONS.items() if row.way in _OF_GROUPS},
}


_WORKING: Final[dict[str, Callable[[Through, int], int]]] = {
    "values in order": _sort,
    "places in order": _argsort,
    "selection": _select,
    "selection of numbers": _select_numbers,
    "partition": lambda source, threads: (
        _select(source, threads) + source.count * (2 * dtypes.itemsize(source.dtype) + 3)
    ),
    "lines": lambda source, threads: source.count * 40,
    "counts": lambda source, threads: (threads + 1) * math.prod(source.shape) * 8,
    "sums of weights": _weigh,
    "scatter": _scatter,
    "sums of groups": _group_sums,
    "numbers of groups": _group_sums,
    "foremost of groups": _grouped,
    "products of groups": _grouped,
    "groups in order": _grouped,
}

DEVICE_ROOM: Final = 1 << 30  # bytes of elements that a scan makes in a GPU's memory at most
LEAST_ON_GPU: Final = 1 << 20  # of a scan: a few thread blocks, though they have little to do


def working_bytes(source: Through, threads: int, gpu: bool = False) -> int:
    """Bytes that a worker of ``threads`` threads needs on the way to what ``source`` makes.

    On a ``gpu`` what is needed there, too.
    """
    if source.op in ROUTINES:
        return bytes_of(ROUTINES[source.op], source)
    here = _WORKING[OPERATIONS[source.op].way](source, threads)
    return max(here, _ON_GPU[source.op](source)) if gpu and source.op in _ON_GPU else here


def scan_on_gpu(stage: Stage) -> int:
    """Bytes beside its results that a GPU needs for the scan ``stage``.

    Elements that do not lie in memory as they are read, if they fit there (else they are made block
    after block), and of running sums what thread blocks tell each other: at most two sums of
    36 words for each of 32 columns side by side, 4096 elements a block.
    """
    root, size = stage.root, 8 * math.prod(stage.root.shape)
    lies = root.args[0] if isinstance(root, Map) and root.op == "cast" else root
    made = size if size <= DEVICE_ROOM and not isinstance(lies, Leaf) else 0
    sums = stage.op == "cumsum" and dtypes.is_float(root.dtype)
    return made + (size * 9 // 16 if sums else size // 64) + LEAST_ON_GPU


def adding_bytes(one: Pass) -> int:
    """Bytes for results of ``one`` of which blocks that are read in turn have some elements each.

    Those of all elements so far, and those of a block.
    """
    if not one.visited.streams:
        return 0
    cut, parts = one.visited.parts[0].axis, len(one.visited.parts)
    return sum(_added(s) * (parts if cut in s.axes else 1) for s in one.stages)


def _added(stage: Stage) -> int:
    source, root, count = stage.source, stage.root, math.prod(stage.shape)
    if not isinstance(source, Reduced) or count < 2:
        return 0
    if tiled(root) and not cuts_results(root, stage.axes, room_for(root, stage.axes)):
        return 0
    if source.op in EXTREMES or (source.op == "sum" and dtypes.is_integer(source.dtype)):
        return 2 * stage.result_bytes
    if source.op in ("var", "std"):
        return count * 2 * 2 * _SUM
    if source.op in ("sum", "mean", "dot") and dtypes.is_float(root.dtype):
        return count * 2 * _SUM
    return count * 6 * _RECORD  # merging takes some of each


def stream_bytes(root: Expr, source: object, gpu: bool = False) -> int:
    """Bytes of a thread that reads blocks of ``root``, and computes others meanwhile."""
    roots = read_roots(root, source)
    whole = sum(map(walked_bytes, roots)) if isinstance(source, Through) else 0
    blocks = sum(map(block_bytes, roots))
    return (blocks_there(blocks) * blocks + STAGED if gpu else AHEAD * blocks) + 2 * whole
