"""The whole idea of speedcube in one file: expression -> plan -> kernel -> engine, with NumPy as the machine.

Run it: ``python docs/from-scratch.py``. Each section ends with a check of what was just built, and bears the
name of the folder where the package has it. The words are those of docs/glossary.md: a *leaf* reads
*positions*, a *view* changes its *strides*, a *plan* cuts the expression into *parts*, a *kernel* computes a
part *tile* by tile, an *exact sum* is a big integer until the end.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

# 1. expr: leaves and maps -------------------------------------------------------------------------------
#
# A leaf knows how to turn an index into a position: offset + strides . index. That is all a view can
# change, so a slice of a sum of leaves is the sum of sliced leaves, and nothing else needs a node.


@dataclass(frozen=True, eq=False)
class Leaf:
    """Normals of the stream ``key`` at positions ``offset + strides . i``."""

    key: int
    shape: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Map:
    """``function`` of one argument, element by element."""

    function: object
    arg: Leaf | Map
    shape: tuple[int, ...]


def source(key: int, shape: tuple[int, ...]) -> Leaf:
    """Normals in C order."""
    strides = [1] * len(shape)
    for k in range(len(shape) - 2, -1, -1):
        strides[k] = strides[k + 1] * shape[k + 1]
    return Leaf(key, shape, 0, tuple(strides))


def sliced(expr: Leaf | Map, item: tuple[slice, ...]) -> Leaf | Map:
    """``expr[item]``: pushed down to the leaf."""
    if isinstance(expr, Map):
        arg = sliced(expr.arg, item)
        return Map(expr.function, arg, arg.shape)
    ranges = [range(*s.indices(n)) for s, n in zip(item, expr.shape, strict=True)]
    offset = expr.offset + sum(r.start * s for r, s in zip(ranges, expr.strides, strict=True))
    strides = tuple(r.step * s for r, s in zip(ranges, expr.strides, strict=True))
    return Leaf(expr.key, tuple(map(len, ranges)), offset, strides)


x = source(1, (1000, 3000))
y = sliced(Map(lambda v: v + 1, x, x.shape), (slice(None, None, 2), slice(None, None, 2)))
assert y.shape == (500, 1500)
assert y.arg.strides == (6000, 2)  # the slice is in the source: three quarters are never made


# 2. plan: slice the expression, one part a worker ---------------------------------------------------------
#
# A part is the same expression with a shorter axis, so nothing about a part is special.


def parts(expr: Leaf | Map, workers: int) -> list[Leaf | Map]:
    """``expr`` cut along its first axis."""
    n = expr.shape[0]
    cuts = [n * k // workers for k in range(workers + 1)]
    rest = (slice(None),) * (len(expr.shape) - 1)
    return [sliced(expr, (slice(a, b), *rest)) for a, b in zip(cuts, cuts[1:], strict=False)]


assert [part.shape for part in parts(y, 3)] == [(166, 1500), (167, 1500), (167, 1500)]
assert parts(y, 3)[1].arg.offset == 166 * 6000


# 3. kernel/math: a random number that is a function of its position ---------------------------------------
#
# Sequential generators make element 7 depend on who computed elements 0 to 6. A counter-based generator
# (Salmon et al. 2011) scrambles the position itself, so any worker can make any element.

M0, M1, W0, W1 = 0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85
LOW, THIRTY_TWO = np.uint64(0xFFFFFFFF), np.uint64(32)


def philox(block: np.ndarray, key: int) -> tuple[np.ndarray, np.ndarray]:
    """128 random bits, as two uint64 arrays, for each block number."""
    c0, c1 = block & LOW, block >> THIRTY_TWO
    c2 = c3 = np.zeros_like(block)
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p0, p1 = c0 * np.uint64(M0), c2 * np.uint64(M1)
        c0, c1, c2, c3 = (
            (p1 >> THIRTY_TWO) ^ c1 ^ np.uint64(k0),
            p1 & LOW,
            (p0 >> THIRTY_TWO) ^ c3 ^ np.uint64(k1),
            p0 & LOW,
        )
        k0, k1 = (k0 + W0) & 0xFFFFFFFF, (k1 + W1) & 0xFFFFFFFF
    return (c1 << THIRTY_TWO) | c0, (c3 << THIRTY_TWO) | c2


# One block makes two normals (Box & Muller 1958). Which positions share it? Not neighbours: `x[::2]`
# would throw half of all work away. Within a segment of 1024 positions, j shares with j + 512.


def normal(position: np.ndarray, key: int) -> np.ndarray:
    """A standard normal for each position."""
    position = position.astype(np.uint64)
    segment, inside = position >> np.uint64(10), position & np.uint64(1023)
    a, b = philox(segment * np.uint64(512) + (inside & np.uint64(511)), key)
    u = ((a >> np.uint64(12)).astype(float) + 0.5) * 2.0**-52
    angle = (b >> np.uint64(12)).astype(float) * (2.0**-52 * 2 * math.pi)
    radius = np.sqrt(-2 * np.log(u))
    return radius * np.where(inside < 512, np.cos(angle), np.sin(angle))


sample = normal(np.arange(1_000_000), key=1)
assert abs(sample.mean()) < 0.005
assert abs(sample.std() - 1) < 0.005
assert np.array_equal(normal(np.arange(0, 1_000_000, 2), 1), sample[::2])


# 4. kernel/exact: the exact sum -----------------------------------------------------------------------------
#
# Floating-point addition depends on order, so a different number of workers gives different bits. But every
# double is an integer times 2**-1074, and integers do not round. Adding and subtracting a large M splits x
# into a multiple of M's last place and a rest; a tile of such pieces adds up in a double without rounding.


def exact_sum(values: np.ndarray) -> int:
    """The sum of ``values`` in units of 2**-1074, where |value| < 2**6 and multiples of 2**-60."""
    big = 1.5 * 2.0**32  # last place 2**-20
    high = (values + big) - big
    low = values - high
    assert np.all(values == high + low)
    total = 0
    for piece in (high, low):  # at most 4096 terms: 12 bits of room, 26 + 12 and 40 + 12 bits < 53
        total += int(Fraction(float(piece.sum())) * 2**1074)
    return total


assert exact_sum(np.array([32.0, 2.0**-60, -32.0])) == 2 ** (1074 - 60)  # np.sum gives 0


# 5. kernel/llvm, kernel/cuda: one loop over tiles, no array in between --------------------------------------
#
# The real package prints this loop as LLVM IR and as CUDA C; here NumPy executes it a tile at a time.

TILE = 4096


def tile(expr: Leaf | Map, start: int, stop: int) -> np.ndarray:
    """Elements start .. stop of ``expr``, counted in C order."""
    if isinstance(expr, Map):
        return expr.function(tile(expr.arg, start, stop))
    index = np.unravel_index(np.arange(start, stop), expr.shape)
    return normal(
        expr.offset + sum(i * s for i, s in zip(index, expr.strides, strict=True)), expr.key
    )


def kernel(part: Leaf | Map) -> int:
    """A part's record: its exact sum."""
    size = math.prod(part.shape)
    return sum(
        exact_sum(np.round(tile(part, k, min(k + TILE, size)) * 2.0**40) * 2.0**-40)
        for k in range(0, size, TILE)
    )


assert tile(y, 1500, 1502).tolist() == (normal(np.array([6000, 6002]), 1) + 1).tolist()


# 6. engine: any number of workers, the same bits -------------------------------------------------------------


def compute(expr: Leaf | Map, workers: int) -> float:
    """The sum of ``expr``: records merged exactly, rounded once."""
    with ThreadPoolExecutor(workers) as pool:
        total = sum(pool.map(kernel, parts(expr, workers)))
    return total / 2**1074  # Python rounds the quotient of two integers correctly


results = {workers: compute(y, workers).hex() for workers in (1, 2, 3, 7)}
print("sum of (x + 1)[::2, ::2]:", float.fromhex(results[1]))
print("bits by number of workers:", results)
assert len(set(results.values())) == 1
