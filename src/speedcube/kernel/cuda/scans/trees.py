"""Products of `span` neighbours of a line, a power of two: a tree fixed by places in the line.

Neighbours are multiplied, then the products of neighbours; what has no neighbour stays. The
products of a line's spans are a line of their own. ``unit`` is the span.
"""

from __future__ import annotations

from typing import Final

from .fixed import begin
from .layout import ITEMS, DeviceScan
from .lines import HEAD, PLACES, PUT

TIMES: Final = """\
__device__ __forceinline__ double times(double a, double b) { return a * b; }
__device__ __forceinline__ i64 times(i64 a, i64 b) { return (i64)((u64)a * (u64)b); }
__device__ __forceinline__ u64 times(u64 a, u64 b) { return a * b; }
template <int N> __device__ __forceinline__ VALUE tree(const VALUE *x) {
  if constexpr (N == 1) return x[0];
  else return times(tree<N / 2>(x), tree<N / 2>(x + N / 2));
}
"""

# A level of a thread's products. Each is printed: a loop that halves is not unrolled.
_LEVEL: Final = """\
  if (span * SOME == ITEMS) {
#pragma unroll
    for (int m = 0; m < SOME; m++) {
      i64 number = first + t * SOME + m, line = each == 1 ? number : number / each;
      if (number < spans) put(out[line * out_matrix + (number - line * each) * out_row], x[m]);
    }
    return;
  }
#pragma unroll
  for (int m = 0; m < SOME / 2; m++) x[m] = times(x[2 * m], x[2 * m + 1]);
"""

_LINES: Final = f"""\
constexpr int BLOCK = ITEMS * THREADS, WARPS = THREADS / 32;
__device__ __forceinline__ int slot(int n) {{ return n + n / ITEMS; }}
{HEAD}
  __shared__ VALUE elements[BLOCK + THREADS];
  __shared__ VALUE warps[WARPS];
  int t = threadIdx.x, span = (int)unit, shift = 31 - leading_zeros((u64)span << 32);
  i64 each = (length + span - 1) >> shift, first = (i64)blockIdx.x * (BLOCK >> shift);
  i64 first_line = each == 1 ? first : first / each, first_span = first - first_line * each;
  READ loaded[ITEMS];
  bool there[ITEMS];
#pragma unroll
  for (int j = 0; j < ITEMS; j++) {{
    int n = t + j * THREADS, k = n >> shift;
    i64 line = first_line, number = first_span + k;
    if (each == 1) {{
      line += k;
      number = 0;
    }} else
      for (; number >= each; line++) number -= each;
    i64 p = (number << shift) + (n & (span - 1));
    there[j] = line < lines && p < length;
    if (there[j]) loaded[j] = in[line * in_matrix + p * in_row];
  }}
#pragma unroll
  for (int j = 0; j < ITEMS; j++)
    elements[slot(t + j * THREADS)] = there[j] ? (VALUE)loaded[j] : (VALUE)1;
  __syncthreads();
  VALUE x[ITEMS];
#pragma unroll
  for (int j = 0; j < ITEMS; j++) x[j] = elements[slot(t * ITEMS + j)];
  i64 spans = lines * each;
LEVELS
  int team = span / ITEMS;
  for (int d = 1; d < 32; d *= 2) {{
    VALUE other = across(x[0], d);
    if (d < team) x[0] = times(x[0], other);
  }}
  if (team > 32) {{
    if ((t & 31) == 0) warps[t >> 5] = x[0];
    __syncthreads();
    VALUE w[WARPS];
    int from = t / team * (team / 32);
#pragma unroll
    for (int k = 0; k < WARPS; k++) w[k] = k < team / 32 ? warps[from + k] : (VALUE)1;
    x[0] = tree<WARPS>(w);
  }}
  i64 number = first + t / team;
  if (t % team == 0 && number < spans) {{
    i64 line = number / each;
    put(out[line * out_matrix + (number - line * each) * out_row], x[0]);
  }}
}}
"""

_COLUMNS: Final = f"""\
{HEAD}
  __shared__ VALUE shared[THREADS];
  int t = threadIdx.x, beside = (int)side, deep = THREADS / beside;
  int d = t / beside, i = t & (beside - 1);
  i64 across_all = (lines + beside - 1) / beside, row = blockIdx.x / across_all;
  i64 line = (blockIdx.x - row * across_all) * beside + i;
  i64 first = (row * deep + d) * ITEMS, left = length - first;
  int count = line >= lines || left <= 0 ? 0 : left < ITEMS ? (int)left : ITEMS;
  const READ *from = in + place(line, inner, in_matrix, in_column) + first * in_row;
  READ loaded[ITEMS];
#pragma unroll
  for (int j = 0; j < ITEMS; j++) loaded[j] = j < count ? from[j * in_row] : (READ)1;
  VALUE x[ITEMS];
#pragma unroll
  for (int j = 0; j < ITEMS; j++) x[j] = (VALUE)loaded[j];
  x[0] = tree<ITEMS>(x);
  for (int step = 1; step < deep; step *= 2) {{
    shared[t] = x[0];
    __syncthreads();
    if (d + step < deep) x[0] = times(x[0], shared[t + step * beside]);
    __syncthreads();
  }}
  if (d == 0 && line < lines)
    put(out[place(line, inner, out_matrix, out_column) + row * out_row], x[0]);
}}
"""


# A block takes a span of neighbours in memory. A warp multiplies eight rows of 64 of them; at each
# of three levels its threads give each other half of their rows, so that one product is left.
_SPANS: Final = f"""\
struct alignas(2 * sizeof(READ)) Two {{
  READ x[2];
}};
__device__ __forceinline__ void halve(VALUE *x, int some, int distance) {{
  bool upper = threadIdx.x & distance;
#pragma unroll
  for (int k = 0; k < ROWS / 2; k++) {{
    if (k >= some / 2) break;
    VALUE own = upper ? x[k + some / 2] : x[k], other = upper ? x[k] : x[k + some / 2];
    x[k] = times(own, across(other, distance));
  }}
}}
{HEAD}
  __shared__ VALUE warps[WARPS];
  int t = threadIdx.x;
  i64 each = (length + BLOCK - 1) / BLOCK;
  i64 line = blockIdx.x / each, number = blockIdx.x - line * each;
  int n = t / 32 * (64 * ROWS) + 2 * (t & 31);
  const READ *from = in + line * in_matrix + number * BLOCK + n;
  i64 left = length - number * BLOCK;
  Two loaded[ROWS];
  if (left >= BLOCK && (u64)from % sizeof(Two) == 0) {{
#pragma unroll
    for (int k = 0; k < ROWS; k++) loaded[k] = *(const Two *)(from + 64 * k);
  }} else {{
#pragma unroll
    for (int k = 0; k < ROWS; k++) {{
      loaded[k].x[0] = n + 64 * k < left ? from[64 * k] : (READ)1;
      loaded[k].x[1] = n + 64 * k + 1 < left ? from[64 * k + 1] : (READ)1;
    }}
  }}
  VALUE x[ROWS];
#pragma unroll
  for (int k = 0; k < ROWS; k++) x[k] = times((VALUE)loaded[k].x[0], (VALUE)loaded[k].x[1]);
  halve(x, 8, 1);
  halve(x, 4, 2);
  halve(x, 2, 4);
  x[0] = times(x[0], across(x[0], 8));
  x[0] = times(x[0], across(x[0], 16));
  for (int d = 4; d; d /= 2) x[0] = times(x[0], across(x[0], d));  /* the rows in their order */
  if ((t & 31) == 0) warps[t / 32] = x[0];
  __syncthreads();
  if (t == 0) put(out[line * out_matrix + number * out_row], tree<WARPS>(warps));
}}
"""


def span_products(program: DeviceScan) -> str:
    """The text of the kernel of lines of neighbours in memory, at least a block's each."""
    sizes = "constexpr int BLOCK = ITEMS * THREADS, WARPS = THREADS / 32, ROWS = ITEMS / 2;\n"
    return begin(program) + PUT + TIMES + sizes + _SPANS


def line_products(program: DeviceScan) -> str:
    """The text of the kernel of lines one after the other."""
    some = (ITEMS >> level for level in range(ITEMS.bit_length() - 1))
    levels = "".join(_LEVEL.replace("SOME", str(n)) for n in some)
    return begin(program) + PUT + TIMES + _LINES.replace("LEVELS\n", levels)


def column_products(program: DeviceScan) -> str:
    """The text of the kernel of lines side by side, each block's `side`; a span is its rows."""
    return begin(program) + PUT + TIMES + PLACES + _COLUMNS
