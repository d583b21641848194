"""A whole tile of stored leaves that a GPU stores element by element: 16 bytes at once.

Each thread takes neighbours: it loads them together, where their address allows, and stores their
results together. First all its loads: one in flight for each thread leaves the memory idle, and a
compiler cannot move the next one before a store that might alias it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from ... import dtypes
from .emit import CTYPE
from .prelude import THREADS, TILE

if TYPE_CHECKING:
    from .loops import CudaLoops
    from .sinks import CudaSink

EACH: Final = TILE // THREADS  # elements a thread takes of a tile
WIDE: Final = 16  # bytes that one instruction loads or stores at most

SUPPORT: Final = """\
/* Neighbours in memory, moved at once where they lie well. */
template <typename T, int N> struct alignas(N * sizeof(T)) Wide {
  T x[N];
  __device__ __forceinline__ void load(const T *from) {
    if ((u64)from % sizeof(Wide) == 0ull) *this = *(const Wide *)from;
    else for (int k = 0; k < N; k++) x[k] = from[k];
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


def memory(dtype: str) -> str:
    """``dtype`` as it lies in memory."""
    return "unsigned char" if dtype == "bool" else CTYPE[dtype]


def whole_tile(loops: CudaLoops, sink: CudaSink, loaded: list[int]) -> None:
    """The tile whose elements are all there, with the leaves ``loaded`` beforehand."""
    put, leaves, result = loops.put, loops.program.leaves, loops.program.sink
    types = [leaves[k].dtype for k in loaded]
    near = min(EACH, WIDE // max(map(dtypes.itemsize, [*types, result.dtype])))
    loops.open(f"if (high == {TILE})")
    for k, dtype in zip(loaded, types, strict=True):
        put(f"{wide(dtype, near)} ahead{k}[{EACH // near}];")
    put(f"int e0 = threadIdx.x * {near};")
    each = f"for (int a = 0; a < {EACH // near}; a++, e0 += THREADS * {near})"
    put("#pragma unroll")
    loops.open(each)
    for k in loaded:
        _load(loops, k, near)
    loops.close()
    put(f"e0 = threadIdx.x * {near};")
    put("#pragma unroll")
    loops.open(each)
    sink.neighbours(near)
    put("#pragma unroll")
    loops.open(f"for (int v = 0, at = e0; v < {near}; v++, at++)")
    loops.constants.together = True
    loops.element(sink, "(j0 + at)", "at", {f"leaf{k}": _ahead(loops, k) for k in loaded})
    loops.constants.together = False
    loops.close()
    sink.after_neighbours(near)
    loops.close()
    put("e = high;")
    loops.close()


def batches(loops: CudaLoops, sink: CudaSink, loaded: list[int], batch: int) -> None:
    """Whole batches of a tile that is folded: each thread loads ``batch`` elements, then adds them.

    The compiler puts half of the loads off unless something keeps it: 3855 -> 3990 GB/s.
    """
    put, leaves = loops.put, loops.program.leaves
    near = math.gcd(batch, WIDE // max(dtypes.itemsize(leaves[k].dtype) for k in loaded))
    put("int m = 0;")
    put("#pragma unroll 1")
    loops.open(f"for (; m + {batch} * THREADS <= high; m += {batch} * THREADS)")
    for k in loaded:
        put(f"{wide(leaves[k].dtype, near)} ahead{k}[{batch // near}];")
    put(f"int e0 = m + threadIdx.x * {near};")
    each = f"for (int a = 0; a < {batch // near}; a++, e0 += THREADS * {near})"
    put("#pragma unroll")
    loops.open(each)
    for k in loaded:
        _load(loops, k, near)
    loops.close()
    put("__syncwarp();")
    sink.batch(batch)
    put(f"e0 = m + threadIdx.x * {near};")
    put("#pragma unroll")
    loops.open(each)
    put("#pragma unroll")
    loops.open(f"for (int v = 0, at = e0; v < {near}; v++, at++)")
    loops.constants.together = True
    fetched = {f"leaf{k}": _ahead(loops, k) for k in loaded}
    loops.element(sink, "(j0 + at)", "at", fetched, f"a * {near} + v")
    loops.constants.together = False
    loops.close()
    loops.close()
    sink.after_batch(batch)
    loops.close()
    put("e = m + threadIdx.x;")


def _load(loops: CudaLoops, k: int, near: int) -> None:
    """Leaf ``k`` of the elements from ``e0``."""
    leaf = loops.program.leaves[k]
    if leaf.mode == "unit":
        place = loops.position(k, "(j0 + e0)", "e0")
        loops.put(f"ahead{k}[a].load((const {memory(leaf.dtype)} *)b{k} + {place});")
        return
    for v in range(near):
        fetched = loops.fetch(k, f"(j0 + (e0 + {v}))", f"(e0 + {v})")
        loops.put(f"ahead{k}[a].x[{v}] = {fetched};")


def _ahead(loops: CudaLoops, k: int) -> str:
    """What `_load` put there, as the element body takes it."""
    loaded = f"ahead{k}[a].x[v]"
    return f"({loaded} != 0)" if loops.program.leaves[k].dtype == "bool" else loaded
