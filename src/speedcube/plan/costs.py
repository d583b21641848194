"""What it costs to compute an element, and to keep one: nanoseconds on one core, measured.

They decide where an expression is cut (`cuts.py`), never what is computed. Measured by
`bench/costs.py` on a core of an AMD EPYC with AVX-512, in float64 on arrays of `10**7` elements;
other machines differ by a factor, the choices by little.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final

from .. import dtypes
from ..expr.nodes import Const, Expr, Leaf, Position, Random, StageResult, walk
from ..ops import ELEMENTARY, SAMPLERS, SEARCHES

ARITHMETIC: Final = 0.03  # an operation of a few instructions, on vectors
DIVISION: Final = 0.1
FUNCTION: Final = 0.8  # exp, sin ...
# Functions that take much longer: of numbers between 0.1 and 0.9.
FUNCTIONS: Final = {
    "acos": 1.4,
    "acosh": 1.8,
    "asin": 1.5,
    "asinh": 2.2,
    "atan2": 1.6,
    "atanh": 1.3,
    "erf": 4.5,
    "erfc": 4.6,
    "gammaln": 3.9,
    "power": 1.2,
}
SAMPLER: Final = 8.0  # draws until one is accepted
RANDOM: Final = 0.8
LOAD: Final = 0.04  # of a byte from memory; what others have just read lies in the cache
STORE: Final = 0.2  # of a byte; its cache line is read before
CACHED: Final = 0.01  # of a byte that lies in the cache
# So much of what keeping costs counts where a stage waits for what another gives, in a cache that
# cores share and beyond: beside making the same again (twelve functions on a Zen 4).
WAITED: Final = 0.25, 0.5
SHARED: Final = 1 << 24  # bytes of that cache
# The same on a GPU, and what a launch costs there: memory and processors are as much faster than a
# core's, and no launch is (nine functions on an H200).
GPU_WAITED: Final = 0.12
GPU_LAUNCH: Final = 1.5e6
DRAWN: Final = 2.0  # random numbers take no memory: storing them has to pay twice
LAUNCH: Final = 60_000.0  # of a stage, however small
CACHE: Final = 1 << 20  # bytes: what one core has for itself
# How much dearer a byte of memory is beside an operation on a GPU. Fifty steps of heat on 4096²
# took an H100 12.2 ms with 1, 10.3 with 3 (two steps a kernel), 12.6 with 10 (three).
GPU_TRAFFIC: Final = 3.0

# What makes a kernel long to compile, and the most of it that one kernel has: 0.3 s.
HEAVY: Final = 4
HEAVIER: Final = {"acosh": 5, "asinh": 5, "erf": 6, "erfc": 6, "gammaln": 13, "power": 5}
MOST: Final = 256
GROWN: Final = 8  # what is made of drawn numbers has grown in the steps of a loop
MOST_AGAIN: Final = 8  # steps of a loop whose kernels begin at the same array

_SLOW: Final = frozenset(("divide", "sqrt", "floor_divide", "remainder", "gcd", "gather"))
SEARCH: Final = 40.0  # a binary search, of which most steps read what is in the cache


def of_node(node: Expr) -> float:
    """Nanoseconds for an element of ``node`` alone."""
    if isinstance(node, Leaf):
        source = node.source
        if isinstance(source, Const | Position):
            return 0.0
        if isinstance(source, Random):
            return RANDOM
        return CACHED * dtypes.itemsize(node.dtype)
    if node.op in SAMPLERS:
        return SAMPLER
    if node.op in ELEMENTARY:
        return FUNCTIONS.get(node.op, FUNCTION)
    if node.op in SEARCHES:
        return SEARCH
    return DIVISION if node.op in _SLOW else ARITHMETIC


def of_element(root: Expr) -> float:
    """Nanoseconds for an element of ``root``; nothing where it is made of constants."""
    nodes = walk(root)
    if all(isinstance(n.source, Const) for n in nodes if isinstance(n, Leaf)):
        return 0.0
    return sum(map(of_node, nodes))


def weight(node: Expr) -> int:
    """How much ``node`` alone adds to a kernel."""
    if isinstance(node, Leaf):
        return 0
    heavy = node.op in ELEMENTARY or node.op in SAMPLERS
    return HEAVIER.get(node.op, HEAVY) if heavy else 1


def reads(leaf: Leaf) -> int:
    """How many elements ``leaf`` computes of an expression: one for all that repeat it."""
    size = math.prod(leaf.shape)
    return size if any(leaf.strides) else min(size, 1)


def of_keeping(size: int, itemsize: int, read: int, traffic: float = 1.0) -> float:
    """Nanoseconds to store ``size`` elements, and to read ``read`` of them.

    ``traffic``: how much dearer memory is than beside a CPU's core.
    """
    stored = size * itemsize
    each = traffic * (STORE + LOAD) if stored > CACHE else 2 * CACHED
    return LAUNCH + each * stored + of_reading(read, itemsize)


def of_keeping_all(root: Expr, traffic: float = 1.0, times: int = 1) -> float:
    """Nanoseconds to store the elements of ``root``, and to read each so many ``times``."""
    size = math.prod(root.shape)
    return of_keeping(size, dtypes.itemsize(root.dtype), times * size, traffic)


def is_better_kept(root: Expr, weight: int, pieces: float, traffic: float, times: int) -> bool:
    """Whether to make ``root`` so many ``times`` costs more than to keep it.

    ``pieces``: nanoseconds for an element of the arrays of pieces that it reads. ``times`` is 0
    where it is made twice because one stage waits for another.
    """
    size, waits = math.prod(root.shape), not times
    times = times or 2
    least = of_keeping_all(root, traffic, times)
    if waits and not _is_turned(root):
        on_gpu = traffic > 1.0
        part = GPU_WAITED if on_gpu else WAITED[size * dtypes.itemsize(root.dtype) > SHARED]
        least = (GPU_LAUNCH if on_gpu else LAUNCH) + part * (least - LAUNCH)
    again = (times - 1) * size
    if again * (weight * FUNCTION + pieces) < least:  # at a glance
        return False
    least *= DRAWN if times > 2 or is_drawn(root) else 1.0
    return least < again * (of_element(root) + pieces)


def _is_turned(root: Expr) -> bool:
    """Whether an array in memory is read in another order than ``root`` would be stored in.

    To store it and to read it in that order again are two turns more.
    """
    for node in walk(root):
        if isinstance(node, Leaf) and not isinstance(node.source, Const | Position | Random):
            steps = [abs(step) for step in node.strides if step]
            if steps and 0 != abs(node.strides[-1]) != min(steps):
                return True
    return False


def is_cheaper_read(
    root: Expr, readers: Iterable[Leaf], each: float, traffic: float, in_any_case: bool
) -> bool:
    """Whether to store ``root``, at ``each`` nanoseconds an element, costs its ``readers`` less.

    It may be made and stored ``in_any_case``.
    """
    size, itemsize = math.prod(root.shape), dtypes.itemsize(root.dtype)
    read = sum(map(reads, readers))
    if in_any_case:
        return of_reading(read, itemsize) < each * read
    once = each * size + of_keeping(size, itemsize, read, traffic)
    return once * (DRAWN if is_drawn(root) else 1.0) < each * read


def of_reading(read: int, itemsize: int) -> float:
    """Nanoseconds to read ``read`` elements that were kept."""
    return CACHED * read * itemsize


def is_drawn(root: Expr) -> bool:
    """Whether random numbers are drawn for ``root``, and none of its values lie in memory."""
    sources = [n.source for n in walk(root) if isinstance(n, Leaf)]
    drawn = any(isinstance(source, Random) for source in sources)
    kept = any(isinstance(s, StageResult) and math.prod(s.shape) > 1 for s in sources)
    return drawn and not kept


class Weights:
    """How much expressions add to a kernel, at most; ``arrays``: what arrays of pieces do."""

    __slots__ = ("_arrays", "_known")

    def __init__(self, arrays: dict[int, int]) -> None:
        self._arrays = arrays
        self._known: dict[int, int] = {}

    def note(self, root: Expr, total: int) -> None:
        self._known[id(root)] = min(total, self._known.get(id(root), total))

    def of(self, root: Expr) -> int:
        if isinstance(root, Leaf):
            return self._arrays.get(id(root.source), 0)
        if id(root) not in self._known:
            self._known[id(root)] = self.together([root])
        return self._known[id(root)]

    def has_grown(self, root: Expr) -> bool:
        """Whether ``root`` is of many operations, for which random numbers are drawn."""
        if isinstance(root, Leaf) or self.of(root) < GROWN:
            return False
        return any(isinstance(n, Leaf) and isinstance(n.source, Random) for n in walk(root))

    def together(self, roots: list[Expr]) -> int:
        """How much ``roots`` add to a kernel, what they share once."""
        seen: dict[int, Expr] = {}
        stack = list(roots)
        total = 0
        while stack and total <= MOST:
            node = stack.pop()
            if id(node) in seen:
                continue
            seen[id(node)] = node
            if isinstance(node, Leaf):
                total += self.of(node)
                continue
            total += weight(node)
            stack.extend(node.args)
        return total


class Again:
    """What it costs to make elements again in each step of a loop that reduces them and goes on.

    Of each expression, by its id: nanoseconds and steps since something below it was kept.
    """

    __slots__ = ("_counted", "_known")

    def __init__(self) -> None:
        self._known: dict[int, tuple[float, int]] = {}
        self._counted: set[int] = set()

    def take(self, root: Expr, below: Iterable[Expr]) -> None:
        """``root`` makes again what is ``below`` it."""
        known = [self._known[id(one)] for one in below if id(one) in self._known]
        if known:
            self._known[id(root)] = max(known)

    def is_too_much(self, root: Expr, each: float, traffic: float, is_stored: bool) -> bool:
        """Whether to keep ``root``, made by one more stage, at ``each`` nanoseconds an element.

        Steps of a loop that made all before again would take time by the square of their number.
        Kept are elements when to make them again has taken as long as ``keeping`` them: that is
        at most twice the time of the best choice. Each step until then is a kernel of its own.
        What ``is_stored`` in any case, as a library takes it, is kept from the second step on; what
        random numbers are drawn for, from the third, where that is twice as cheap.
        """
        if id(root) in self._counted:
            return False
        self._counted.add(id(root))
        spent, steps = self._known.get(id(root), (0.0, 0))
        spent += each * math.prod(root.shape)
        self._known[id(root)] = spent, steps + 1
        keeping = of_keeping_all(root, traffic)
        if is_drawn(root):
            return steps > 1 and spent >= DRAWN * keeping
        most = 2 if is_stored else MOST_AGAIN
        return steps > 0 and (spent >= keeping or steps + 1 >= most)


# Where work is cut -------------------------------------------------------------------------------

_EVEN: Final = 16  # steps of a part from which on parts are alike, whatever the length


def cut_along(shape: tuple[int, ...], axes: tuple[int, ...], workers: int) -> int:
    """The one of ``axes`` to cut: the first that is long enough, so that rows stay whole."""
    enough = (k for k in axes if shape[k] >= _EVEN * workers)
    return next(enough, max(axes, key=lambda k: shape[k]))


FEW: Final = 1 << 15  # elements below which a second worker costs more than it brings


def is_for_one(shape: tuple[int, ...], workers: int) -> bool:
    """Whether one worker does all."""
    return workers == 1 or math.prod(shape) < FEW


def axis_to_cut(
    shape: tuple[int, ...], axes: tuple[int, ...], workers: int
) -> tuple[int | None, str]:
    """The axis to cut and how its parts join: a kept axis if one is long enough, else any."""
    if is_for_one(shape, workers):
        return None, "one"
    kept = [k for k in range(len(shape)) if k not in axes]
    for k in kept:
        if shape[k] >= workers:
            return k, "concatenate"
    if axes:
        return cut_along(shape, axes, workers), "merge"
    longest = max(kept, key=lambda k: shape[k], default=None)
    return longest, "concatenate" if longest is not None else "one"
