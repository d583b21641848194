"""Running products: of all whole pieces before, times the elements of the own piece one by one.

A thread takes a piece of `PIECE` elements. The product of the pieces before is that of groups of
`2**k` pieces, which lie in ``kept``: level after level, in each the groups of all lines in a row,
the first ones of all lines before the second ones.
"""

from __future__ import annotations

from typing import Final

from ....expr.space import TILE
from .fixed import begin
from .layout import GROUPS, DeviceScan
from .lines import HEAD, PLACES, PUT
from .trees import TIMES

PIECE: Final = TILE

_BEFORE: Final = """\
/* The product of the first `count` of a line's `pieces`: the last groups come first. */
__device__ __forceinline__ VALUE before_piece(i64 count, i64 line, i64 lines, i64 pieces,
                                              const VALUE *groups) {
  VALUE all = 1;
  for (; count; count >>= 1) {
    if (count & 1) all = times(groups[(count - 1) * lines + line], all);
    groups += pieces * lines;
    pieces = (pieces + 1) / 2;
  }
  return all;
}
"""

# Groups of two of `length` groups a line, then of four, and so on: `GROUPS` of a line a block.
_GROUPS: Final = f"""\
{HEAD}
  __shared__ VALUE shared[{GROUPS}];
  int t = threadIdx.x;
  i64 blocks = (length + {GROUPS - 1}) / {GROUPS}, line = blockIdx.x / blocks;
  i64 first = (blockIdx.x - line * blocks) * {GROUPS};
  const VALUE *level = (const VALUE *)in;
  for (int n = t; n < {GROUPS}; n += THREADS)
    shared[n] = first + n < length ? level[(first + n) * lines + line] : (VALUE)1;
  VALUE *to = (VALUE *)in;
  for (int left = {GROUPS // 2}; left && length > 1; left /= 2) {{
    to += length * lines;
    length = (length + 1) / 2;
    first /= 2;
    __syncthreads();
    VALUE x = t < left ? times(shared[2 * t], shared[2 * t + 1]) : (VALUE)1;
    __syncthreads();
    if (t < left) {{
      shared[t] = x;
      if (first + t < length) to[(first + t) * lines + line] = x;
    }}
  }}
}}
"""

# A block has `side` pieces, and takes as many elements of each at once as it has room for.
_LINES: Final = f"""\
{HEAD}
  __shared__ VALUE elements[ITEMS * THREADS + THREADS];
  __shared__ i64 froms[THREADS], tos[THREADS];
  __shared__ short counts[THREADS];
  int t = threadIdx.x, own_pieces = (int)side, each = ITEMS * THREADS / own_pieces;
  int shift = 31 - leading_zeros((u64)each << 32);
  i64 pieces = (length + {PIECE - 1}) / {PIECE}, number = (i64)blockIdx.x * own_pieces + t;
  i64 line = pieces == 1 ? number : number / pieces, piece = number - line * pieces;
  i64 first = piece * {PIECE}, left = line < lines && t < own_pieces ? length - first : 0;
  froms[t] = line * in_matrix + first * in_row;
  tos[t] = line * out_matrix + first * out_row;
  counts[t] = (short)(left < {PIECE} ? left : {PIECE});
  VALUE base = 1, own = 1;
  if (left > 0) base = before_piece(piece, line, lines, pieces, (const VALUE *)kept);
  int most = length < {PIECE} ? (int)length : {PIECE};
  __syncthreads();
  READ loaded[ITEMS];
  for (int begin = -each; begin < most; begin += each) {{
    if (begin >= 0) {{
#pragma unroll
      for (int j = 0; j < ITEMS; j++) {{
        int n = t + j * THREADS;
        elements[n + (n >> shift)] = (VALUE)loaded[j];
      }}
    }}
    __syncthreads();
    /* The next ones are on their way while these are multiplied. */
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {{
      int n = t + j * THREADS, which = n >> shift, p = begin + each + (n & (each - 1));
      if (p < counts[which]) loaded[j] = in[froms[which] + p * in_row];
    }}
    if (begin < 0) continue;
    if (t < own_pieces) {{
      VALUE *mine = elements + t * (each + 1);
#pragma unroll 8
      for (int j = 0; j < each; j++) {{
        own = times(own, mine[j]);
        mine[j] = times(base, own);
      }}
    }}
    __syncthreads();
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {{
      int n = t + j * THREADS, which = n >> shift, p = begin + (n & (each - 1));
      if (p < counts[which]) put(out[tos[which] + p * out_row], elements[n + (n >> shift)]);
    }}
    __syncthreads();
  }}
}}
"""

_COLUMNS: Final = f"""\
{HEAD}
  i64 pieces = (length + {PIECE - 1}) / {PIECE}, number = (i64)blockIdx.x * THREADS + threadIdx.x;
  i64 piece = number / lines, line = number - piece * lines, first = piece * {PIECE};
  if (piece >= pieces) return;
  i64 left = length - first;
  int count = left < {PIECE} ? (int)left : {PIECE};
  const READ *from = in + place(line, inner, in_matrix, in_column) + first * in_row;
  OUT *to = out + place(line, inner, out_matrix, out_column) + first * out_row;
  VALUE base = before_piece(piece, line, lines, pieces, (const VALUE *)kept), own = 1;
  for (int p = 0; p < count; p += ITEMS) {{
    READ x[ITEMS];
#pragma unroll
    for (int j = 0; j < ITEMS; j++)
      if (p + j < count) x[j] = from[(p + j) * in_row];
#pragma unroll
    for (int j = 0; j < ITEMS; j++) {{
      if (p + j >= count) break;
      own = times(own, (VALUE)x[j]);
      put(to[(p + j) * out_row], times(base, own));
    }}
  }}
}}
"""


def piece_groups(program: DeviceScan) -> str:
    """The text of the kernel that makes groups of pieces."""
    return begin(program) + TIMES + _GROUPS


def running_line_products(program: DeviceScan) -> str:
    """The text of the kernel of lines one after the other."""
    return begin(program) + PUT + TIMES + _BEFORE + _LINES


def running_column_products(program: DeviceScan) -> str:
    """The text of the kernel of lines side by side."""
    return begin(program) + PUT + TIMES + PLACES + _BEFORE + _COLUMNS
