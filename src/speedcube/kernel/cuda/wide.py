"""A whole tile of stored leaves that a GPU stores element by element: 16 bytes at once.

Each thread takes neighbours: it loads them together, where their address allows, and stores their
results together. First all its loads: one in flight for each thread leaves the memory idle, and a
compiler cannot move the next one before a store that might alias it.
"""

from __future__ import annotations

import math
from typing import Final

from ... import dtypes
from ..program import Program
from .hooks import CudaSink
from .prelude import THREADS, TILE
from .text import CudaText, memory

EACH: Final = TILE // THREADS  # elements a thread takes of a tile
HELD: Final = 256  # bytes that it loads at most before it uses the first: 64 registers
WIDE: Final = 16  # bytes that one instruction loads or stores at most

SUPPORT: Final = """\
/* Neighbours in memory, moved at once where they lie well. */
template <typename T, int N> struct alignas(N * sizeof(T)) Wide {
  T x[N];
  __device__ __forceinline__ void load(const T *from) {
    if ((u64)from % sizeof(Wide) == 0ull) *this = *(const Wide *)from;
    else if (sizeof(T) < 8 && sizeof(Wide) % 8 == 0) shifted((u64)from);
    else for (int k = 0; k < N; k++) x[k] = from[k];
  }
  /* The aligned words around them: each holds a byte of theirs, so it can be read. */
  __device__ __forceinline__ void shifted(u64 from) {
    const u64 *at = (const u64 *)(from & ~7ull);
    int shift = (int)(from & 7ull) * 8;
    union { u64 words[(sizeof(Wide) + 7) / 8]; Wide all; } is;
    u64 word = at[0];
    for (int k = 0; k < (int)(sizeof(Wide) / 8); k++) {
      bool last = shift == 0 && k + 1 == (int)(sizeof(Wide) / 8);
      u64 next = last ? 0ull : at[k + 1];
      is.words[k] = shift == 0 ? word : (word >> shift) | (next << (64 - shift));
      word = next;
    }
    *this = is.all;
  }
  __device__ __forceinline__ void store(T *to) const {
    if ((u64)to % sizeof(Wide) == 0ull) *(Wide *)to = *this;
    else for (int k = 0; k < N; k++) to[k] = x[k];
  }
};
"""


def wide(dtype: str, near: int) -> str:
    """``near`` neighbours as one thing."""
    return f"Wide<{memory(dtype)}, {near}>"


def tile_of_neighbours(text: CudaText, sink: CudaSink, loaded: list[int]) -> None:
    """The tile's elements with the leaves ``loaded`` beforehand; those left over come afterwards.

    Where tiles lie in rows, the last of each row is rarely whole, and may be half of all: it is
    taken in the same way, each thread asking whether its neighbours are there. Elsewhere only
    whole tiles are, and nobody asks. Nor do picks, which want all lanes of a warp.
    """
    put, leaves = text.put, text.program.leaves
    types = [leaves[k].dtype for k in loaded]
    stored = [one.dtype for one in text.program.sink.sinks]
    near = min(EACH, WIDE // max(map(dtypes.itemsize, [*types, *stored])))
    in_rows = text.program.kept > 0 and not _picks(text.program)
    there = f"if (e0 + {near} <= high)" if in_rows else ""
    ahead = EACH // near  # groups of neighbours that are loaded before they are used
    while ahead > 1 and ahead * near * sum(map(dtypes.itemsize, types)) > HELD:
        ahead //= 2
    text.open("" if in_rows else f"if (high == {TILE})")
    put("#pragma unroll 1")
    text.open(
        f"for (int first = threadIdx.x * {near}; first < {TILE}; first += {ahead * near} * THREADS)"
    )
    for k, dtype in zip(loaded, types, strict=True):
        put(f"{wide(dtype, near)} ahead{k}[{ahead}];")
    put("int e0 = first;")
    each = f"for (int a = 0; a < {ahead}; a++, e0 += THREADS * {near})"
    put("#pragma unroll")
    text.open(f"{each} {there}")
    for k in loaded:
        _load(text, k, near)
    text.close()
    put("e0 = first;")
    put("#pragma unroll")
    text.open(f"{each} {there}")
    sink.neighbours(near)
    put("#pragma unroll")
    text.open(f"for (int v = 0, at = e0; v < {near}; v++, at++)")
    text.constants.together = not in_rows
    fetched = {f"leaf{k}": _ahead(text, k) for k in loaded}
    sink.consume(text.element("(j0 + at)", "at", fetched), "(j0 + at)", "at", "0")
    text.constants.together = False
    text.close()
    sink.after_neighbours(near)
    text.close()
    text.close()
    put(f"e += high / {near} * {near};" if in_rows else "e = high;")
    text.close()


def _picks(program: Program) -> bool:
    """Whether elements are looked up in tables, which the lanes of a warp hold together."""
    bodies = [program.element]
    bodies += [body for leaf in program.leaves if leaf.stream for body in leaf.stream.bodies]
    return any("pick" in instr.op for body in bodies for instr in body.instrs)


def batches(text: CudaText, sink: CudaSink, loaded: list[int], batch: int) -> None:
    """Whole batches of a tile that is folded: each thread loads ``batch`` elements, then adds them.

    The compiler puts half of the loads off unless something keeps it: 3855 -> 3990 GB/s.
    """
    put, leaves = text.put, text.program.leaves
    near = math.gcd(batch, WIDE // max(dtypes.itemsize(leaves[k].dtype) for k in loaded))
    put("int m = 0;")
    put("#pragma unroll 1")
    text.open(f"for (; m + {batch} * THREADS <= high; m += {batch} * THREADS)")
    for k in loaded:
        put(f"{wide(leaves[k].dtype, near)} ahead{k}[{batch // near}];")
    put(f"int e0 = m + threadIdx.x * {near};")
    each = f"for (int a = 0; a < {batch // near}; a++, e0 += THREADS * {near})"
    put("#pragma unroll")
    text.open(each)
    for k in loaded:
        _load(text, k, near)
    text.close()
    put("__syncwarp();")
    sink.batch(batch)
    put(f"e0 = m + threadIdx.x * {near};")
    put("#pragma unroll")
    text.open(each)
    put("#pragma unroll")
    text.open(f"for (int v = 0, at = e0; v < {near}; v++, at++)")
    text.constants.together = True
    fetched = {f"leaf{k}": _ahead(text, k) for k in loaded}
    sink.consume(text.element("(j0 + at)", "at", fetched), "(j0 + at)", "at", f"a * {near} + v")
    text.constants.together = False
    text.close()
    text.close()
    sink.after_batch(batch)
    text.close()
    put("e = m + threadIdx.x;")


def _load(text: CudaText, k: int, near: int) -> None:
    """Leaf ``k`` of the elements from ``e0``."""
    leaf = text.program.leaves[k]
    if leaf.mode == "unit":
        place = text.position(k, "(j0 + e0)", "e0")
        text.put(f"ahead{k}[a].load((const {memory(leaf.dtype)} *)b{k} + {place});")
        return
    for v in range(near):
        fetched = text.fetch(k, f"(j0 + (e0 + {v}))", f"(e0 + {v})")
        text.put(f"ahead{k}[a].x[{v}] = {fetched};")


def _ahead(text: CudaText, k: int) -> str:
    """What `_load` put there, as the element body takes it."""
    loaded = f"ahead{k}[a].x[v]"
    return f"({loaded} != 0)" if text.program.leaves[k].dtype == "bool" else loaded
