"""What every CUDA text begins with: types, names the host's compiler can replace, limb_add."""

from __future__ import annotations

from typing import Final

THREADS: Final = 256
TILE: Final = 2048  # stream blocks (or elements) a thread block takes before its next tile

PRELUDE: Final = """\
typedef long long i64;
typedef unsigned long long u64;
#ifndef SPEEDCUBE_HOST
#define THREADS 256
#define bits_to_double(x) __longlong_as_double((i64)(x))
#define double_to_bits(x) ((u64)__double_as_longlong(x))
#define bits_to_float(x) __uint_as_float(x)
#define float_to_bits(x) __float_as_uint(x)
#define rootf __fsqrt_rn
#define root __dsqrt_rn
__device__ __forceinline__ u64 mul_wide(unsigned a, unsigned b) {
  u64 product;
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
  return product;
}
/* sqrt of a normal number, correctly rounded: the hardware's estimate, one third-order step, and a
   last step on the exact remainder (Markstein 1990). No test for zero, infinity or subnormals. */
__device__ __forceinline__ double normal_root(double x) {
  double y;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  double e = fma(x, -(y * y), 1.0);
  y = fma(fma(e, 0.375, 0.5), y * e, y);
  double s = x * y;
  return fma(fma(s, -s, x), 0.5 * y, s);
}
#endif
"""

LIMB_ADD: Final = """\
/* The low and high half of a limb in shared memory, plus or minus a digit. The hardware adds 32-bit
   words there; 64-bit words it compares and swaps, again and again while threads collide. */
__device__ __forceinline__ void digit_add(unsigned *half, unsigned digit, bool negative) {
  if (digit == 0u) return;
  unsigned old = atomicAdd(half, negative ? 0u - digit : digit);
  bool carry = negative ? old < digit : old > ~digit;
  if (carry) atomicAdd(half + 1, negative ? 0xffffffffu : 1u);
}
__device__ __noinline__ void limb_add(u64 *limbs, double x) {
  u64 bits = double_to_bits(x), fraction = bits & 0xfffffffffffffull;
  unsigned e = (unsigned)(bits >> 52) & 2047u;
  bool negative = (bits >> 63) != 0;
  if (e == 2047u) {
    atomicAdd(limbs + (fraction ? 68 : negative ? 70 : 69), 1ull);
    return;
  }
  u64 m = e ? fraction | 0x10000000000000ull : fraction;
  unsigned place = e ? e - 1u : 0u, digit = place >> 5, shift = place & 31u;
  u64 low = m << shift, high = shift ? m >> (64u - shift) : 0ull;
  unsigned *half = (unsigned *)(limbs + digit);
  digit_add(half, (unsigned)low, negative);
  digit_add(half + 2, (unsigned)(low >> 32), negative);
  digit_add(half + 4, (unsigned)high, negative);
}
"""

SEARCH_CHUNK: Final = 12  # a thread adds at most 2**12 terms between flushes
# A thread meets a term that its two doubles have no room for: their sums go to the limbs, and units
# for four times the term's size are taken. What is left to add: the term, or 0 where it is in the
# limbs already (near overflow, infinite, NaN).
WIDEN: Final = f"""\
__device__ __forceinline__ double widen(u64 *limbs, double x, double &high, double &low,
                                        u64 &limit, double &first, double &second) {{
  u64 e = (double_to_bits(x) & 0x7fffffffffffffffull) >> 52;
  if (e > 1900ull) {{
    limb_add(limbs, x);
    return 0.0;
  }}
  limb_add(limbs, high);
  limb_add(limbs, low);
  high = low = 0.0;
  e = (e < 223ull ? 223ull : e) + 2ull;
  limit = (e + 1ull) << 52;
  first = bits_to_double(((e + {SEARCH_CHUNK}ull) << 52) | 0x8000000000000ull);
  second = bits_to_double(((e + {2 * SEARCH_CHUNK}ull - 54ull) << 52) | 0x8000000000000ull);
  return x;
}}
"""
