"""Running sums of lines that a block takes one after the other, `BLOCK` elements at a time.

A thread takes neighbours, which pass through shared memory on their way in and out. Where a line
begins the sum begins anew. A block tells the next ones its elements' sum, then the line's so far,
as soon as it knows them (decoupled look-back): a warp reads what 32 blocks before it have told.
Blocks are numbered as they begin, so that those before a block run or have run.
"""

from __future__ import annotations

from typing import Final

from .fixed import begin, sums
from .layout import PAIRS, DeviceScan

# What a block has told: nothing yet, the sum of its last line's elements, that line's sum so far.
PART, WHOLE = 1, 2

# Memory of every kernel, and its steps.
ARGUMENTS: Final = ", ".join(
    (
        "u64 *elements_at",
        "u64 *results_at",
        *(f"i64 {name}" for name in ("lines", "length", "inner", "flat", "unit", "side")),
        *(f"i64 {name}" for name in ("in_matrix", "in_row", "in_column")),
        *(f"i64 {name}" for name in ("out_matrix", "out_row", "out_column")),
        "u64 *told",
        "u64 *kept",
        "u64 *begun",
    )
)
HEAD: Final = f"""\
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) kernel({ARGUMENTS}) {{
  const READ *in = (const READ *)elements_at;
  OUT *out = (OUT *)results_at;"""

# Results as they are given, with NumPy's NaN.
PUT: Final = """\
__device__ __forceinline__ void put(double &to, double x) {
  to = x != x ? bits_to_double(0x7ff8ull << 48) : x;
}
__device__ __forceinline__ void put(float &to, double x) {
  to = x != x ? bits_to_float(0x7fc00000u) : (float)x;
}
__device__ __forceinline__ void put(i64 &to, i64 x) { to = x; }
__device__ __forceinline__ void put(u64 &to, u64 x) { to = x; }
"""

# Lines are numbered matrix by matrix.
PLACES: Final = """\
__device__ __forceinline__ i64 place(i64 line, i64 inner, i64 matrix, i64 column) {
  if (inner == 1) return line * matrix;
  i64 m = line / inner;
  return m * matrix + (line - m * inner) * column;
}
"""

_KERNEL: Final = f"""\
constexpr int BLOCK = ITEMS * THREADS, WARPS = THREADS / 32;
/* Threads read what lies `ITEMS` apart: one more keeps them out of each other's banks. */
__device__ __forceinline__ int slot(int n) {{ return n + n / ITEMS; }}
/* The sum of the blocks before `tile` that share a line with its first element. */
__device__ __forceinline__ Sum before_tile(i64 tile, int lane, volatile u64 *told,
                                           const u64 *kept) {{
  Sum all;
  all.clear();
  for (i64 last = tile - 1;; last -= 32) {{
    i64 mine = last - lane;
    u64 state = {WHOLE}ull;
    if (mine >= 0)
      while ((state = told[mine]) == 0ull);
    __threadfence();
    int nearest = state == {WHOLE}ull ? lane : 32;
    for (int d = 1; d < 32; d *= 2) {{
      int other = across(nearest, d);
      nearest = other < nearest ? other : nearest;
    }}
    Sum s;
    s.clear();
    if (mine >= 0 && lane <= nearest) s.take(kept + (2 * mine + (state == {WHOLE}ull)) * SIZE, 1);
    for (int d = 1; d < 32; d *= 2) {{
      Sum o;
      for (int k = 0; k < SIZE; k++) o.w[k] = across(s.w[k], d);
      s.add(o);
    }}
    all.add(s);
    if (nearest < 32) return all;
  }}
}}
__device__ __forceinline__ void tell(i64 tile, const Sum &s, u64 what, volatile u64 *told,
                                     u64 *kept) {{
  s.keep(kept + (2 * tile + (what == {WHOLE}ull)) * SIZE, 1);
  __threadfence();
  told[tile] = what;
}}
{HEAD}
  __shared__ VALUE elements[BLOCK + THREADS];
  __shared__ u64 warps[WARPS * SIZE], carried[SIZE];
  __shared__ bool begins[WARPS];
  __shared__ i64 number;
  int t = threadIdx.x, lane = t & 31, warp = t >> 5;
  if (t == 0) number = (i64)atomicAdd(begun, 1ull);
  __syncthreads();
  i64 tile = number, first = tile * BLOCK, left = lines * length - first;
  int count = left < BLOCK ? (int)left : BLOCK, scale = (int)unit;
  READ loaded[ITEMS];
#pragma unroll
  for (int j = 0; j < ITEMS; j++) {{
    int n = t + j * THREADS;
    i64 f = first + n, at = f * in_row;
    if (!(flat & 1)) {{
      i64 line = f / length;
      at = place(line, inner, in_matrix, in_column) + (f - line * length) * in_row;
    }}
    if (n < count) loaded[j] = in[at];
  }}
#pragma unroll
  for (int j = 0; j < ITEMS; j++) {{
    int n = t + j * THREADS;
    elements[slot(n)] = n < count ? (VALUE)loaded[j] : (VALUE)0;
  }}
  __syncthreads();
  /* Where in its line the thread begins. */
  i64 start = first % length, p = start + t * ITEMS;
  if (length >= BLOCK) {{
    if (p >= length) p -= length;
  }} else
    p = (unsigned)p % (unsigned)length;
  Sum s;
  s.clear();
  bool head = false;
  i64 q = p;
UNROLL
  for (int j = 0; j < ITEMS; j++) {{
    if (q == 0) {{
      s.clear();
      head = true;
    }}
    s.add(term(elements[slot(t * ITEMS + j)], scale));
    if (++q == length) q = 0;
  }}
  /* Of the threads before, from the last head on. */
  for (int d = 1; d < 32; d *= 2) {{
    Sum o;
    for (int k = 0; k < SIZE; k++) o.w[k] = shifted(s.w[k], d);
    bool begun_there = shifted((int)head, d) != 0;
    if (lane >= d) {{
      if (!head) s.add(o);
      head = head || begun_there;
    }}
  }}
  if (lane == 31) {{
    s.keep(warps + warp * SIZE, 1);
    begins[warp] = head;
  }}
  Sum before;
  for (int k = 0; k < SIZE; k++) before.w[k] = shifted(s.w[k], 1);
  bool own = shifted((int)head, 1) != 0;
  if (lane == 0) {{
    before.clear();
    own = false;
  }}
  __syncthreads();
  Sum earlier, total;
  earlier.clear();
  total.clear();
  bool begun_earlier = false, any = false;
  for (int v = 0; v < WARPS; v++) {{
    if (v == warp) {{
      earlier = total;
      begun_earlier = any;
    }}
    Sum o;
    o.take(warps + v * SIZE, 1);
    if (begins[v]) total.clear();
    total.add(o);
    any = any || begins[v];
  }}
  if (!own) before.add(earlier);
  own = own || begun_earlier;
  if (warp == 0) {{
    bool goes_on = start != 0, whole = any || !goes_on;
    if (lane == 0) tell(tile, total, whole ? {WHOLE}ull : {PART}ull, told, kept);
    if (goes_on) {{
      Sum all = before_tile(tile, lane, told, kept);
      if (lane == 0) {{
        all.keep(carried, 1);
        all.add(total);
        if (!whole) tell(tile, all, {WHOLE}ull, told, kept);
      }}
    }}
  }}
  __syncthreads();
  if (start != 0 && !own) {{
    Sum all;
    all.take(carried, 1);
    before.add(all);
  }}
UNROLL
  for (int j = 0; j < ITEMS; j++) {{
    if (p == 0) before.clear();
    VALUE &x = elements[slot(t * ITEMS + j)];
    before.add(term(x, scale));
    x = rounded(before, scale);
    if (++p == length) p = 0;
  }}
  __syncthreads();
#pragma unroll
  for (int j = 0; j < ITEMS; j++) {{
    int n = t + j * THREADS;
    if (n >= count) break;
    i64 f = first + n, at = f * out_row;
    if (!(flat & 2)) {{
      i64 line = f / length;
      at = place(line, inner, out_matrix, out_column) + (f - line * length) * out_row;
    }}
    put(out[at], elements[slot(n)]);
  }}
}}
"""


def running_lines(program: DeviceScan) -> str:
    """The text of the kernel of lines one after the other."""
    return begin(program) + sums(program) + PUT + PLACES + unrolled(_KERNEL, program)


def unrolled(text: str, program: DeviceScan) -> str:
    """``text``: sums of many words would make it long."""
    few = program.size <= PAIRS + 1
    return text.replace("UNROLL", f"#pragma unroll {4 if few else 1}")
