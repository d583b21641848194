"""Elements beside bounds on a GPU: how many are not below; and those between, kept.

The words of ``out``: how many elements each bracket has room for; then for each bracket its two
bounds, where those between are to lie, and four counts: not below, between, no NaN, kept. NaN is
none of them. Those between lie in any order. A thread block stages what it keeps in shared
memory, and asks for room once for many: threads that asked one by one would wait for each other.
"""

from __future__ import annotations

from typing import Final

from ..hooks import WAIT, CudaSink
from ..text import memory

HELD: Final = 1024  # elements of a bracket that a thread block stages
WORDS: Final = 8  # of a bracket
LOW, HIGH, PLACE, REACH, INSIDE, KNOWN, KEPT = range(7)

SUPPORT: Final = f"""\
#ifdef SPEEDCUBE_HOST
#define bits_set(x) __builtin_popcount(x)
#else
#define bits_set(x) __popc(x)
#endif
#define HELD {HELD}u
/* An element between: staged, or where the stage is full, put in its place at once. */
template <typename T>
__device__ __noinline__ void keep(T *staged, unsigned *held, T x, u64 *words, u64 most) {{
  unsigned at = atomicAdd(held, 1u);
  if (at < HELD) {{ staged[at] = x; return; }}
  if (*(volatile u64 *)(words + {KEPT}) >= most) return;
  u64 place = atomicAdd(words + {KEPT}, 1ull);
  if (place < most) ((T *)words[{PLACE}])[place] = x;
}}
/* All that is staged goes to its place; every thread of the block calls it. */
template <typename T>
__device__ __noinline__ void unstage(T *staged, unsigned *held, u64 *words, u64 most, u64 *first) {{
  unsigned count = *held < HELD ? *held : HELD;
  if (threadIdx.x == 0) *first = atomicAdd(words + {KEPT}, (u64)count);
  __syncthreads();
  u64 place = *first;
  for (unsigned k = threadIdx.x; k < count; k += THREADS)
    if (place + k < most) ((T *)words[{PLACE}])[place + k] = staged[k];
  __syncthreads();
  if (threadIdx.x == 0) *held = 0u;
  __syncthreads();
}}
"""


class ThreadSieve(CudaSink):
    """Elements are counted beside each of several brackets, and kept where they lie in one."""

    @property
    def type(self) -> str:
        return memory(self.sink.dtype)

    def support(self) -> list[str]:
        return [SUPPORT]

    def words(self, k: int) -> str:
        return f"{self.out} + {1 + k * WORDS}"

    def word(self, k: int, which: int) -> str:
        return f"{self.out}[{1 + k * WORDS + which}]"

    def bound(self, k: int, which: int) -> str:
        """A bound, from the bits that lie in its word."""
        word = self.word(k, which)
        if self.sink.dtype == "float64":
            return f"bits_to_double({word})"
        if self.sink.dtype == "float32":
            return f"bits_to_float((unsigned){word})"
        return f"({self.type}){word}"

    def declare(self) -> None:
        put, many = self.put, self.sink.brackets
        put(f"__shared__ {self.type} staged[{many}][{HELD}];")
        put(f"__shared__ unsigned held[{many}], totals[{many}][2], numbers;")
        put("__shared__ u64 sieve_first;")
        put(f"u64 sieve_room = {self.out}[0];")
        put(f"{self.type} sieve_low[{many}], sieve_high[{many}];")
        for k in range(many):
            put(f"sieve_low[{k}] = {self.bound(k, LOW)};")
            put(f"sieve_high[{k}] = {self.bound(k, HIGH)};")

    def begin(self) -> None:
        many = self.sink.brackets
        self.put(f"if (threadIdx.x < {many}) {{ unsigned k = threadIdx.x;")
        self.put("  held[k] = totals[k][0] = totals[k][1] = numbers = 0u; }")
        self.put(f"unsigned reach[{many}] = {{}}, inside[{many}] = {{}}, known = 0u;")
        self.put(WAIT)

    def batch(self, size: int) -> None:
        self.put(f"{self.type} taken[{size}];")
        self.put("unsigned there = 0u;")
        self.put("bool some = false;")

    def consume(self, outputs: dict[str, str], j: str, e: str, a: str) -> None:
        put = self.put
        put(f"taken[{a}] = {outputs['x']}; there |= 1u << ({a});")
        if self.sink.nans:
            put(f"known += taken[{a}] == taken[{a}];")
        for k in range(self.sink.brackets):
            put(f"bool up{k} = taken[{a}] >= sieve_low[{k}];")
            put(f"reach[{k}] += up{k}; some |= up{k} && taken[{a}] <= sieve_high[{k}];")

    def after_batch(self, size: int) -> None:
        """Those between are few: which they are is asked again."""
        put, text = self.put, self.text
        if not self.sink.nans:
            put("known += bits_set(there);")
        text.open("if (some)")
        for k in range(self.sink.brackets):
            put("#pragma unroll")
            text.open(f"for (int a = 0; a < {size}; a++)")
            put(f"bool up = taken[a] >= sieve_low[{k}], down = taken[a] <= sieve_high[{k}];")
            text.open("if ((there >> a & 1u) && up && down)")
            put(f"inside[{k}]++;")
            where = f"staged[{k}], held + {k}, taken[a], {self.words(k)}"
            put(f"keep<{self.type}>({where}, sieve_room);")
            text.close()
            text.close()
        text.close()
        if size > 1:  # then a warp's threads are all here; else those that kept one go on alone
            put("__syncwarp();")

    def after_tile(self) -> None:
        full = " | ".join(
            f"(int)(*(volatile unsigned *)(held + {k}) > HELD / 2u)"
            for k in range(self.sink.brackets)
        )
        self.text.open(f"if (__syncthreads_or({full}))")
        self.flush()
        self.text.close()

    def flush(self) -> None:
        for k in range(self.sink.brackets):
            where = f"staged[{k}], held + {k}, {self.words(k)}"
            self.put(f"unstage<{self.type}>({where}, sieve_room, &sieve_first);")

    def end(self) -> None:
        put, many = self.put, self.sink.brackets
        put(WAIT)
        self.flush()
        put("#pragma unroll")
        self.text.open(f"for (int k = 0; k < {many}; k++)")
        for n, count in enumerate(("reach", "inside")):
            put(f"atomicAdd(&totals[k][{n}], {count}[k]);")
        self.text.close()
        put("atomicAdd(&numbers, known);")
        put(WAIT)
        self.text.open(f"if (threadIdx.x < {2 * many})")
        put("unsigned k = threadIdx.x / 2u, n = threadIdx.x % 2u;")
        put(f"atomicAdd({self.out} + {1 + REACH} + k * {WORDS}u + n, (u64)totals[k][n]);")
        put(f"if (n == 0u) atomicAdd({self.out} + {1 + KNOWN} + k * {WORDS}u, (u64)numbers);")
        self.text.close()
        put(WAIT)
