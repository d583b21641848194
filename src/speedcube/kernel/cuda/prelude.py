"""What every CUDA text begins with: types, names the host's compiler can replace, limb_add."""

from __future__ import annotations

from typing import Final

from ..program import FOUND_UNIT, LEAST_FOUND, MOST_FOUND, SECOND_UNIT

THREADS: Final = 256
TILE: Final = 2048  # stream blocks a thread block takes before its next tile
ELEMENTS: Final = 16384  # or elements, where they are taken one by one

PRELUDE: Final = """\
typedef long long i64;
typedef unsigned long long u64;
#ifndef SPEEDCUBE_HOST
#define THREADS 256
#define bits_to_double(x) __longlong_as_double((i64)(x))
#define double_to_bits(x) ((u64)__double_as_longlong(x))
#define bits_to_float(x) __uint_as_float(x)
#define float_to_bits(x) __float_as_uint(x)
#define picked(table, lane, index) __shfl_sync(0xffffffffu, lane, (int)(index), 16)
#define across(x, distance) __shfl_xor_sync(0xffffffffu, x, (int)(distance))
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
/* m * 2**(place - 1074), or less that. Written into both functions below: one that called the other
   made kernels 10 % slower, which call them once in a million elements. */
__device__ __forceinline__ void put(u64 *limbs, u64 m, unsigned place, bool negative) {
  unsigned digit = place >> 5, shift = place & 31u;
  u64 low = m << shift, high = shift ? m >> (64u - shift) : 0ull;
  unsigned *half = (unsigned *)(limbs + digit);
  digit_add(half, (unsigned)low, negative);
  digit_add(half + 2, (unsigned)(low >> 32), negative);
  digit_add(half + 4, (unsigned)high, negative);
}
__device__ __noinline__ void limb_put(u64 *limbs, u64 m, unsigned place, bool negative) {
  put(limbs, m, place, negative);
}
__device__ __noinline__ void limb_add(u64 *limbs, double x) {
  u64 bits = double_to_bits(x), fraction = bits & 0xfffffffffffffull;
  unsigned e = (unsigned)(bits >> 52) & 2047u;
  bool negative = (bits >> 63) != 0;
  if (e == 2047u)
    atomicAdd(limbs + (fraction ? 68 : negative ? 70 : 69), 1ull);
  else
    put(limbs, e ? fraction | 0x10000000000000ull : fraction, e ? e - 1u : 0u, negative);
}
"""

# Sums in doubles that do not leave their binade (`llvm/exact_sum.py` tells how).
BINS: Final = """\
/* Adds x to an accumulator: what of x is in it. */
__device__ __forceinline__ double absorb(double &total, double x) {
  double before = total;
  total = before + x;
  return total - before;
}
/* What an accumulator holds that began at unit: in one binade bits count steps. Also where that is
   nothing: a branch would leave the threads of a warp apart. */
__device__ __forceinline__ void empty(u64 *limbs, double &total, double unit) {
  i64 steps = (i64)(double_to_bits(total) - double_to_bits(unit));
  unsigned place = (unsigned)(double_to_bits(unit) >> 52) - 1u;
  limb_put(limbs, (u64)(steps < 0 ? -steps : steps), place, steps < 0);
  total = unit;
}
"""

# Units that nothing but zeros and subnormals go with: 1.5 * 2**-1022.
NO_UNIT: Final = "0x18000000000000ull"
# Terms that do not go with a thread's units: it takes units for the largest of them. What is too
# large for any, infinite, NaN, or left over goes to the limbs.
SEARCH: Final = f"""\
template <int N>
__device__ __forceinline__ void refit(u64 *limbs, double (&x)[N], double &high, double &low,
                                      double &first, double &second) {{
  u64 most = {LEAST_FOUND}ull;
#pragma unroll
  for (int a = 0; a < N; a++) {{
    u64 e = (double_to_bits(x[a]) >> 52) & 2047ull;
    if (e > {MOST_FOUND}ull) {{
      limb_add(limbs, x[a]);
      x[a] = 0.0;
    }} else if (e > most)
      most = e;
  }}
  empty(limbs, high, first);
  empty(limbs, low, second);
  high = first = bits_to_double((most + {FOUND_UNIT}ull) << 52 | 0x8000000000000ull);
  low = second = bits_to_double((most - {SECOND_UNIT - FOUND_UNIT}ull) << 52 | 0x8000000000000ull);
#pragma unroll
  for (int a = 0; a < N; a++) {{
    double rest = x[a] - absorb(high, x[a]), fine = absorb(low, rest);
    if (fine != rest) limb_add(limbs, rest - fine);
  }}
}}
"""
