"""What of elements their running sums depend on: the greatest exponent, the least bit, the special.

The answer is three words, the largest of any element's: its biased exponent, `LEAST` less the place
of its least bit (in steps of 2**-1074), 1 if it is infinite or NaN.
"""

from __future__ import annotations

from typing import Final

from .fixed import begin
from .layout import DeviceScan
from .lines import HEAD, PLACES

LEAST: Final = 4096

_KERNEL: Final = f"""\
__device__ __forceinline__ void look(double x, unsigned &most, unsigned &least, unsigned &odd) {{
  u64 bits = double_to_bits(x), m = bits & 0xfffffffffffffull;
  unsigned e = (unsigned)(bits >> 52) & 2047u;
  if (e == 2047u) {{
    odd = 1u;
    return;
  }}
  if (e) m |= 0x10000000000000ull;
  if (m == 0ull) return;
  if (e == 0u) e = 1u;
  unsigned bit = {LEAST}u - (e - 1u + (unsigned)trailing_zeros(m));
  if (e > most) most = e;
  if (bit > least) least = bit;
}}
{HEAD}
  unsigned found[3] = {{0u, 0u, 0u}};
  i64 all = lines * length, step = (i64)gridDim.x * THREADS, batch = 8 * step;
  i64 f = (i64)blockIdx.x * THREADS + threadIdx.x;
  if (flat & 1) {{
    for (; f + batch - step < all; f += batch) {{
      READ x[8];
#pragma unroll
      for (int a = 0; a < 8; a++) x[a] = in[(f + a * step) * in_row];
#pragma unroll
      for (int a = 0; a < 8; a++) look((double)x[a], found[0], found[1], found[2]);
    }}
    for (; f < all; f += step) look((double)in[f * in_row], found[0], found[1], found[2]);
  }} else
    for (; f < all; f += step) {{
      i64 rest = f / inner, matrix = rest / length;
      i64 at = matrix * in_matrix + (rest - matrix * length) * in_row;
      at += (f - rest * inner) * in_column;
      look((double)in[at], found[0], found[1], found[2]);
    }}
  for (int k = 0; k < 3; k++) {{
    for (int d = 1; d < 32; d *= 2) {{
      unsigned other = across(found[k], d);
      if (other > found[k]) found[k] = other;
    }}
    if ((threadIdx.x & 31) == 0 && found[k]) atomicMax(told + k, (u64)found[k]);
  }}
}}
"""


def element_range(program: DeviceScan) -> str:
    """The text of the kernel that looks at the elements."""
    return begin(program) + PLACES + _KERNEL
