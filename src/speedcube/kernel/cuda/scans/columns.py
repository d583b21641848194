"""Running sums of lines that lie side by side: a block takes `side` of them, some rows at a time.

Its threads are `deep` groups, each of `side` neighbours that take a line each, `ITEMS` elements of
it. Blocks tell each other sums as in `lines.py`, here of each line; each group of a block reads
what another block before it has told. All lines' first rows come before any line's next ones.
"""

from __future__ import annotations

from typing import Final

from .fixed import begin, sums
from .layout import DeviceScan
from .lines import HEAD, PART, PLACES, PUT, WHOLE

_KERNEL: Final = f"""\
{HEAD}
  __shared__ u64 shared[SIZE * THREADS];
  __shared__ u64 seen[THREADS];
  __shared__ i64 number;
  int t = threadIdx.x, beside = (int)side, deep = THREADS / beside;
  int d = t / beside, i = t & (beside - 1), scale = (int)unit;
  if (t == 0) number = (i64)atomicAdd(begun, 1ull);
  __syncthreads();
  i64 across_all = (lines + beside - 1) / beside, wide = across_all * beside;
  i64 tile = number, row = tile / across_all, panel = tile - row * across_all;
  i64 line = panel * beside + i, first = (row * deep + d) * ITEMS, left = length - first;
  bool last = (row + 1) * deep * ITEMS >= length;
  int count = line >= lines || left <= 0 ? 0 : left < ITEMS ? (int)left : ITEMS;
  const READ *from = in + place(line, inner, in_matrix, in_column) + first * in_row;
  READ x[ITEMS];
#pragma unroll
  for (int j = 0; j < ITEMS; j++) x[j] = j < count ? from[j * in_row] : (READ)0;
  Sum s, own, before;
  s.clear();
#pragma unroll
  for (int j = 0; j < ITEMS; j++) s.add(term((VALUE)x[j], scale));
  s.keep(shared + t, THREADS);
  for (int step = 1; step < deep; step *= 2) {{
    Sum o;
    __syncthreads();
    if (d >= step) o.take(shared + t - step * beside, THREADS);
    __syncthreads();
    if (d >= step) {{
      s.add(o);
      s.keep(shared + t, THREADS);
    }}
  }}
  __syncthreads();
  own.clear();
  if (d > 0) own.take(shared + t - beside, THREADS);
  before.clear();
  volatile u64 *states = told;
  u64 *mine = kept + row * 2 * SIZE * wide + panel * beside + i;
  if (!last) {{
    if (d == deep - 1) s.keep(mine + (row == 0) * SIZE * wide, wide);
    __threadfence();
    __syncthreads();
    if (t == 0) states[tile] = row == 0 ? {WHOLE}ull : {PART}ull;
  }}
  if (row > 0) {{
    int nearest = deep;
    for (i64 next = row - 1; nearest == deep; next -= deep) {{
      i64 there = next - d;
      u64 state = {WHOLE}ull;
      if (there >= 0)
        while ((state = states[there * across_all + panel]) == 0ull);
      __threadfence();
      Sum o;
      o.clear();
      if (there >= 0)
        o.take(kept + (there * 2 + (state == {WHOLE}ull)) * SIZE * wide + panel * beside + i, wide);
      __syncthreads();
      o.keep(shared + t, THREADS);
      if (i == 0) seen[d] = state;
      __syncthreads();
      for (nearest = 0; nearest < deep && seen[nearest] != {WHOLE}ull; nearest++);
      for (int k = 0; k < deep && k <= nearest; k++) {{
        o.take(shared + k * beside + i, THREADS);
        before.add(o);
      }}
    }}
    if (!last) {{
      if (d == deep - 1) {{
        s.add(before);
        s.keep(mine + SIZE * wide, wide);
      }}
      __threadfence();
      __syncthreads();
      if (t == 0) states[tile] = {WHOLE}ull;
    }}
    own.add(before);
  }}
  scale = hidden(scale);  /* elements are made terms again: kept ones would take registers */
  OUT *to = out + place(line, inner, out_matrix, out_column) + first * out_row;
#pragma unroll
  for (int j = 0; j < ITEMS; j++) {{
    if (j >= count) break;
    own.add(term((VALUE)x[j], scale));
    put(to[j * out_row], rounded(own, scale));
  }}
}}
"""


def running_columns(program: DeviceScan) -> str:
    """The text of the kernel of lines side by side."""
    return begin(program) + sums(program) + PUT + PLACES + _KERNEL
