"""Sums that are whole numbers of one unit, `2**unit`, in words of 64 bits: they cannot round.

The unit is the least bit of any element, the words hold as many elements as a line has. So sums
are added in any order, and rounded once. Integers are whole numbers of 1 in one word, and wrap.
"""

from __future__ import annotations

from typing import Final

from ..prelude import PRELUDE
from ..text import memory
from .layout import BLOCKS, ITEMS, PAIRS, DeviceScan

NAN, POSITIVE, NEGATIVE = 1, 2, 4  # in the word of special values
_FIRST: Final = """\
#ifndef SPEEDCUBE_HOST
#define shifted(x, distance) __shfl_up_sync(0xffffffffu, x, (int)(distance))
#define leading_zeros(x) __clzll((i64)(x))
#define trailing_zeros(x) (__ffsll((i64)(x)) - 1)
__device__ __forceinline__ int hidden(int x) {
  asm volatile("" : "+r"(x));
  return x;
}
#endif
"""

_SUM: Final = """\
struct Sum {
  u64 w[SIZE];
  __device__ __forceinline__ void clear() {
LOOP
    for (int k = 0; k < SIZE; k++) w[k] = 0ull;
  }
  __device__ __forceinline__ void add(const Sum &o) {
ADD
    if (SPECIAL) w[SIZE - 1] |= o.w[SIZE - 1];
  }
  __device__ __forceinline__ void keep(volatile u64 *to, i64 stride) const {
LOOP
    for (int k = 0; k < SIZE; k++) to[k * stride] = w[k];
  }
  __device__ __forceinline__ void take(const volatile u64 *from, i64 stride) {
LOOP
    for (int k = 0; k < SIZE; k++) w[k] = from[k * stride];
  }
};
"""

_ADD: Final = """\
    bool carry = false;
LOOP
    for (int k = 0; k < WORDS; k++) {
      u64 part = w[k] + o.w[k], all = part + (u64)carry;
      carry = part < o.w[k] || all < part;
      w[k] = all;
    }"""

# An element in units; a sum rounded to the nearest double, or to odd.
_EXACT: Final = f"""\
__device__ __forceinline__ Sum term(double x, int unit) {{
  u64 bits = double_to_bits(x), m = bits & 0xfffffffffffffull;
  int e = (int)(bits >> 52) & 2047;
  if (e) m |= 0x10000000000000ull;
  i64 v = (i64)bits < 0 ? -(i64)m : (i64)m;
  int shift = (e ? e : 1) - 1075 - unit;
  Sum s;
  if (SPECIAL) s.w[SIZE - 1] = 0ull;
  if (SPECIAL && e == 2047) {{
    s.w[SIZE - 1] = bits << 12 ? {NAN}ull : (i64)bits < 0 ? {NEGATIVE}ull : {POSITIVE}ull;
    v = 0;
    shift = 0;
  }}
  if (shift < 0) v >>= shift < -63 ? 63 : -shift;  /* the bits that go are zeros */
  if (shift < 0) shift = 0;
  if (WORDS == 1) {{
    s.w[0] = (u64)v << (shift & 63);
    return s;
  }}
  int first = shift >> 6, rest = shift & 63;
  u64 low = (u64)v << rest, high = (u64)(v >> 1 >> (63 - rest)), sign = (u64)(v >> 63);
LOOP
  for (int k = 0; k < WORDS; k++)
    s.w[k] = k < first ? 0ull : k == first ? low : k == first + 1 ? high : sign;
  return s;
}}
__device__ __forceinline__ double rounded(const Sum &s, int unit) {{
  bool negative = (i64)s.w[WORDS - 1] < 0, carry = negative;
  u64 high = 0ull, low = 0ull, rest = 0ull, below = 0ull, before = 0ull;
  int place = unit;
LOOP
  for (int k = 0; k < WORDS; k++) {{
    u64 m = (negative ? ~s.w[k] : s.w[k]) + (u64)carry;
    carry = carry && m == 0ull;
    if (k == 0 || m != 0ull) {{
      high = m;
      low = before;
      rest = below;
      place = unit + 64 * k;
    }}
    below |= before;
    before = m;
  }}
  int zeros = leading_zeros(high);
  u64 top = zeros ? high << (zeros & 63) | low >> (64 - zeros & 63) : high;
  if (zeros ? low << (zeros & 63) || rest : low || rest) top |= 1ull;
  int e = place - zeros + 1086;  /* biased */
  u64 bits, lost = top & 2047ull;
  if (e < 1) {{
    bits = top >> (12 - e);  /* a multiple of the least double */
    lost = 0ull;
  }} else
    bits = ((u64)(e - 1) << 52) + (top >> 11);
  u64 near = bits + (lost > 1024ull || (lost == 1024ull && (bits & 1ull)));
  if (ODD) bits |= (u64)(lost != 0ull); else bits = near;
  if (e > 2046 || near >= 0x7ff0000000000000ull) bits = 0x7ff0000000000000ull;
  if (high == 0ull) bits = 0ull;
  double x = bits_to_double(bits | (u64)negative << 63);
  if (SPECIAL && s.w[SIZE - 1]) {{
    u64 met = s.w[SIZE - 1];
    bool nan = met != {POSITIVE}ull && met != {NEGATIVE}ull;
    x = bits_to_double(nan ? 0x7ffull << 52 | 1ull << 51 : met == {POSITIVE}ull ? 0x7ffull << 52
                                                                          : 0xfffull << 52);
  }}
  return x;
}}
"""

_WRAPPING: Final = """\
__device__ __forceinline__ Sum term(VALUE x, int) {
  Sum s;
  s.w[0] = (u64)x;
  return s;
}
__device__ __forceinline__ VALUE rounded(const Sum &s, int) { return (VALUE)s.w[0]; }
"""


def begin(program: DeviceScan) -> str:
    """What the text of every scan's kernel begins with: its types."""
    types = {"READ": program.read, "VALUE": program.dtype, "OUT": program.out}
    return "\n".join(
        [
            PRELUDE + _FIRST,
            *(f"typedef {memory(dtype)} {name};" for name, dtype in types.items()),
            f"constexpr int ITEMS = {ITEMS}, WORDS = {program.words}, SIZE = {program.size};",
            f"constexpr int BLOCKS = {BLOCKS.get(program.kind, 3) if program.size <= 2 else 2};",
            f"constexpr bool SPECIAL = {str(program.special).lower()};",
            f"constexpr bool ODD = {str(program.odd).lower()};",
            "",
        ]
    )


def sums(program: DeviceScan) -> str:
    """Sums, and what makes them of elements and gives them as results."""
    few = program.words <= PAIRS
    text = _SUM.replace("ADD", _carried(program.words)) + (_EXACT if program.exact else _WRAPPING)
    return text.replace("LOOP", "#pragma unroll" if few else "#pragma unroll 1")


def _carried(words: int) -> str:
    """The addition of words with their carries: few by the hardware's."""
    if words == 1:
        return "    w[0] += o.w[0];"
    if words > PAIRS:
        return _ADD
    kinds = ["add.cc", *["addc.cc"] * (words - 2), "addc"]
    code = " ".join(f"{kind}.u64 %{k}, %{k}, %{words + k};" for k, kind in enumerate(kinds))
    own = ", ".join(f'"+l"(w[{k}])' for k in range(words))
    other = ", ".join(f'"l"(o.w[{k}])' for k in range(words))
    return f'#ifndef SPEEDCUBE_HOST\n    asm("{code}" : {own} : {other});\n#else\n{_ADD}\n#endif'
