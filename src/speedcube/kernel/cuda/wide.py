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
    else for (int k = 0; k < N; k++) x[k] = from[k];
  }
  /* Wherever they lie, without a branch that would wait for them: from the aligned words round
     them. Each holds a byte of theirs, so it can be read. */
  __device__ __forceinline__ void load_shifted(const T *from) {
    const unsigned *at = (const unsigned *)((u64)from & ~3ull);
    int shift = (int)((u64)from & 3ull) * 8, many = (int)sizeof(Wide) / 4;
    unsigned words[sizeof(Wide) / 4 + 1];
    for (int k = 0; k < many; k++) words[k] = at[k];
    words[many] = at[shift ? many : many - 1];
    union { unsigned moved[(sizeof(Wide) + 3) / 4]; Wide all; } is;
    for (int k = 0; k < many; k++)
      is.moved[k] = (unsigned)(((u64)words[k + 1] << 32 | words[k]) >> shift);
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


def tile_of_neighbours(text: CudaText, sink: CudaSink, loaded: list[int]) -> str:
    """The tile's elements with the leaves ``loaded`` beforehand; what comes round those left over.

    Where tiles lie in rows, the last of each row is rarely whole, and may be half of all: it is
    taken in the same way, each thread asking whether its neighbours are there, and neighbours begin
    where their results can be stored at once. Elsewhere only whole tiles are, and nobody asks. Nor
    do picks, which want all lanes of a warp.
    """
    put, leaves = text.put, text.program.leaves
    types = [leaves[k].dtype for k in loaded]
    stored = [one.dtype for one in text.program.sink.sinks]
    near = min(EACH, WIDE // max(map(dtypes.itemsize, [*types, *stored])))
    if not any(one.unit_stride for one in text.program.sink.sinks):
        near = 1  # then a warp's results lie as near to each other as they can
    in_rows = text.program.kept > 0 and not _picks(text.program)
    ahead = EACH // near  # groups of neighbours that are loaded before they are used
    while ahead > 1 and ahead * near * sum(map(dtypes.itemsize, types)) > HELD:
        ahead //= 2
    begin = f"threadIdx.x * {near}"
    if in_rows:
        _first_neighbours(text, sink, near)
        begin = f"skew + {begin}"
    there = f" if (e0 + {near} <= high)" if in_rows else ""
    text.open("" if in_rows else f"if (high == {TILE})")
    put("#pragma unroll 1")
    step = f"{ahead * near} * THREADS"
    text.open(f"for (int first = {begin}; first < {TILE}; first += {step})")
    for k, dtype in zip(loaded, types, strict=True):
        put(f"{wide(dtype, near)} ahead{k}[{ahead}];")
    put("int e0 = first;")
    each = f"for (int a = 0; a < {ahead}; a++, e0 += THREADS * {near}){there}"
    put("#pragma unroll")
    text.open(each)
    for k in loaded:
        _load(text, k, near, in_rows)
    text.close()
    put("e0 = first;")
    put("#pragma unroll")
    text.open(each)
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
    if not in_rows:
        put("e = high;")
    text.close()
    if not in_rows:
        return "for (; e < high; e += THREADS)"
    put("e = threadIdx.x < skew ? (int)threadIdx.x : end + (int)threadIdx.x - skew;")
    return "if (e < high)"


def _first_neighbours(text: CudaText, sink: CudaSink, near: int) -> None:
    """``skew``: the first element whose neighbours' results begin at a multiple of their size.

    From ``end`` on there are too few. Those before and behind, of each fewer than ``near``, are
    left over: a thread takes one of them.
    """
    size = dtypes.itemsize(text.program.sink.sinks[0].dtype)
    place = sink.place("j0", "0")
    text.put(f"int skew = (int)((0ull - (u64)({place}) / {size}ull) & {near - 1}ull);")
    text.put("if (skew > high) skew = high;")
    text.put(f"int end = skew + (high - skew) / {near} * {near};")


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


def _load(text: CudaText, k: int, near: int, in_rows: bool = False) -> None:
    """Leaf ``k`` of the elements from ``e0``."""
    leaf = text.program.leaves[k]
    if leaf.mode == "unit":
        place = text.position(k, "(j0 + e0)", "e0")
        size = dtypes.itemsize(leaf.dtype)
        load = "load_shifted" if in_rows and size < 4 and near * size % 4 == 0 else "load"
        text.put(f"ahead{k}[a].{load}((const {memory(leaf.dtype)} *)b{k} + {place});")
        return
    for v in range(near):
        fetched = text.fetch(k, f"(j0 + (e0 + {v}))", f"(e0 + {v})")
        text.put(f"ahead{k}[a].x[{v}] = {fetched};")


def _ahead(text: CudaText, k: int) -> str:
    """What `_load` put there, as the element body takes it."""
    loaded = f"ahead{k}[a].x[v]"
    return f"({loaded} != 0)" if text.program.leaves[k].dtype == "bool" else loaded
