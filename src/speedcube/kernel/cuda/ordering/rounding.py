"""From integers of some words to floats, each rounded once, on a GPU.

    void kernel(count, words, unit, sums, specials, counts, out)

``sums`` are in two's complement, in units of ``2**(unit - 1074)``; ``specials``: a byte for each
sum's NaN and infinities, or 0; ``counts``: what each is divided by for its mean, below 2**32.
"""

from __future__ import annotations

from typing import Final

from ....dataclass import dataclass
from ...exact.integers import FORMATS, LEAST
from ..emit import CTYPE
from ..prelude import PRELUDE
from .words import ABOVE, NAN, UNDER


@dataclass(frozen=True)
class DeviceRounding:
    """A kernel that makes sums, or ``means``, of ``dtype``."""

    dtype: str
    means: bool = False


_SPARE: Final = 4  # digits of a quotient below the unit
_INFINITY: Final = {"float64": 0x7FF0 << 48, "float32": 0x7F80 << 16, "float16": 0x7C00}
_NAN: Final = {"float64": 0x7FF8 << 48, "float32": 0x7FC0 << 16, "float16": 0x7E00}


def emit_rounding(program: DeviceRounding) -> str:
    """The CUDA text of ``program``."""
    mantissa, least, top = FORMATS[program.dtype]
    bits = {"float64": 64, "float32": 32, "float16": 16}[program.dtype]
    least, top = least - LEAST, top - LEAST  # places of the least double
    spare = _SPARE if program.means else 0
    divide = [
        "      u64 whole = rest << 32 | digit;",
        "      digit = (unsigned)(whole / n);",
        "      rest = whole - (u64)digit * n;",
    ]
    text = f"""\
{PRELUDE}
#ifndef SPEEDCUBE_HOST
#define leading_zeros(x) __clzll((i64)(x))
#endif
extern "C" __global__ void __launch_bounds__(THREADS) \
kernel(u64 count, u64 words, u64 unit, const u64 *sums, const unsigned char *specials, \
const u64 *counts, u64 out) {{
  u64 step = (u64)gridDim.x * THREADS;
  for (u64 i = (u64)blockIdx.x * THREADS + threadIdx.x; i < count; i += step) {{
    const u64 *sum = sums + i * words;
    bool negative = sum[words - 1ull] >> 63;
    u64 low = 0ull; /* the lowest word that is not 0: below it a complement has no ones */
    while (low + 1ull < words && sum[low] == 0ull) low++;
    unsigned taken[3] = {{0u, 0u, 0u}};
    int found = 0, first = 0;
    u64 sticky = 0ull, rest = 0ull, n = {"counts[i]" if program.means else "1ull"};
    if (!n) n = 1ull;
    for (int k = (int)(2ull * words) - 1; k >= -{spare}; k--) {{
      u64 word = k < 0 || (u64)(k >> 1) < low ? 0ull : sum[k >> 1];
      if (negative && k >= 0) word = (u64)(k >> 1) < low ? 0ull
                                   : (u64)(k >> 1) == low ? 0ull - word : ~word;
      unsigned digit = k & 1 ? (unsigned)(word >> 32) : (unsigned)word;
{chr(10).join(divide) if program.means else "      (void)rest;"}
      if (!found && !digit) continue;
      if (!found) first = k;
      if (found == 0) taken[0] = digit;
      else if (found == 1) taken[1] = digit;
      else if (found == 2) taken[2] = digit;
      else sticky |= digit;
      found++;
    }}
    sticky |= rest;
    u64 bits = 0ull;
    if (found) {{
      u64 high = (u64)taken[0] << 32 | taken[1];
      int lift = leading_zeros(high);
      u64 tail = (u64)taken[2] << lift;
      high = high << lift | tail >> 32;
      if ((unsigned)tail) sticky = 1ull;
      i64 place = (i64)unit + 32ll * (first - 1) - lift; /* of the last of the 64 bits */
      i64 end = place + {64 - mantissa};
      if (end < {least}) end = {least};
      i64 drop = end - place;
      u64 up = 0ull;
      if (drop > 64) bits = 0ull;
      else if (drop == 64) up = high > 0x8000000000000000ull || sticky;
      else {{
        bits = high >> drop;
        u64 left = high & ((1ull << drop) - 1ull), half = 1ull << (drop - 1);
        up = left > half || (left == half && (sticky || (bits & 1ull)));
      }}
      bits += up;
      bool over = end + {mantissa} + (bits == {1 << mantissa}ull) > {top};
      bits += (u64)(end - {least}) << {mantissa - 1};
      if (over) bits = {_INFINITY[program.dtype]}ull;
      if (negative) bits |= 1ull << {bits - 1};
    }}
    unsigned special = specials ? specials[i] : 0u;
    if (special) {{
      bits = {_INFINITY[program.dtype]}ull | (special & {UNDER}u ? 1ull << {bits - 1} : 0ull);
      if (special & {NAN}u || (special & {ABOVE | UNDER}u) == {ABOVE | UNDER}u)
        bits = {_NAN[program.dtype]}ull;
    }}
{f"    if (!counts[i]) bits = {_NAN[program.dtype]}ull;" if program.means else ""}
    (({CTYPE[f"uint{bits}"]} *)out)[i] = ({CTYPE[f"uint{bits}"]})bits;
  }}
}}
"""
    return text
