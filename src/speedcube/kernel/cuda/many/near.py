"""Sums of a thread on a GPU: a double, what was rounded away from it, and how much that may miss.

A term is added by a two-sum (Knuth), whose error is exact; the errors are added in the same way,
or, coarsely, as ordinary sums, whose error is below their number times 2**-53 of the sum of their
sizes. Sums are put together by two-sums, too. There is no unit to find and no range to leave: what
is infinite or overflows shows in a tail that is NaN. A bound of zero says that a sum is exact.

Eight float32 add up to a double that is nearly always exact, for their exponents are near each
other: they are added as they are, and then at once. A thread that takes a whole short row keeps
what its tail rounds away, too: there a tail may well be a tie that only this decides.
"""

from __future__ import annotations

from typing import Final

AT_ONCE: Final = 8  # elements that a thread loads before it adds any
SLACK: Final = (1.0 + 2.0**-30).hex()  # more than the roundings of bounds
TINY: Final = 1023 - 480  # biased exponent below which the tail of a square may be no double

SUMS: Final = """\
/* The exact value is value + tail, at most bound away. */
struct Near {
  double value, tail, bound;
};
__device__ __forceinline__ double two_sum(double a, double b, double &left) {
  double s = a + b, z = s - a;
  left = (a - (s - z)) + (b - z);
  return s;
}
/* N sums, the largest magnitude's bits, and the least of those that are not zero, less one; of
   float32 that are added some at once the upper half is enough. */
template <int N> struct Sums {
  Near of[N];
  unsigned most, low;
  u64 least;
  __device__ __forceinline__ void clear() {
    for (int k = 0; k < N; k++) of[k].value = of[k].tail = of[k].bound = 0.0;
    most = 0u;
    low = ~0u;
    least = ~0ull;
  }
};
__device__ __forceinline__ void add_fine(Near &to, double x) {
  double e, left;
  to.value = two_sum(to.value, x, e);
  to.tail = two_sum(to.tail, e, left);
  to.bound += fabs(left);
}
/* The same, and what the tail rounds away goes to `third`. */
__device__ __forceinline__ void add_finest(Near &to, double &third, double x) {
  double e, left, lost;
  to.value = two_sum(to.value, x, e);
  to.tail = two_sum(to.tail, e, left);
  third = two_sum(third, left, lost);
  to.bound += fabs(lost);
}
/* Takes `third` into the tail: rounded to odd, so that what was a tie is none, where the sum is
   rounded as it is or after a division by a power of two (`straight`). */
__device__ __forceinline__ void take_third(Near &to, double third, bool straight) {
  double left, tail = two_sum(to.tail, third, left), rest;
  to.value = two_sum(to.value, tail, rest);
  to.tail = rest;
  if (left == 0.0) return;
  u64 bits = double_to_bits(rest);
  if (!straight || rest == 0.0) {
    to.bound += fabs(left);
  } else if ((bits & 1ull) == 0ull) {
    to.tail = bits_to_double((left > 0.0) == (rest > 0.0) ? bits + 1ull : bits - 1ull);
  }
}
/* The bound is the sum of the sizes of the tail's terms until a thread is done (scaled). */
__device__ __forceinline__ void add_coarse(Near &to, double x) {
  double e;
  to.value = two_sum(to.value, x, e);
  to.tail += e;
  to.bound += fabs(e);
}
__device__ __forceinline__ void add_square(Near &to, double x) {
  double e, p = x * x, q = fma(x, x, -p);
  to.value = two_sum(to.value, p, e);
  to.tail += e;
  to.tail += q;
  to.bound += fabs(e) + fabs(q);
}
/* A product, or a whole number, and what was rounded away from it: below 2**-900 that may be no
   double itself, and then nothing is certain. */
__device__ __forceinline__ void add_pair(Near &to, double x, double error) {
  double e, size = fabs(x);
  to.value = two_sum(to.value, x, e);
  to.tail += e;
  to.tail += error;
  to.bound += fabs(e) + fabs(error);
  if (size < 0x1p-900 && (x != 0.0 || error != 0.0)) to.bound = bits_to_double(0x7ffull << 52);
}
__device__ __forceinline__ void scaled(Near &sum, i64 added) {
  sum.bound *= (double)(4 * added + 4) * 0x1p-53;
}
template <int N> __device__ __forceinline__ void note_most(Sums<N> &s, double x) {
  unsigned size = (unsigned)(double_to_bits(x) >> 32) & 0x7fffffffu;
  if (size > s.most) s.most = size;
}
/* A float32 among some that are added at once. */
template <int N> __device__ __forceinline__ void note_single(Sums<N> &s, double x) {
  unsigned size = (unsigned)(double_to_bits(x) >> 32) & 0x7fffffffu;
  if (size > s.most) s.most = size;
  if (size - 1u < s.low) s.low = size - 1u;
}
/* What the sums of eight float32 may have rounded away, of `added` in all: nothing where all are
   multiples of a unit of which no sum has 2**53. */
template <int N> __device__ __forceinline__ void at_once(Sums<N> &s, i64 added) {
  int high = (int)(s.most >> 20), low = (int)((s.low + 1u) >> 20);
  if (s.low == ~0u || high - low + 3 <= 29) return;
  s.of[0].bound += bits_to_double((u64)(high - 52) << 52) * (double)(8 * (added + 8));
}
template <int N> __device__ __forceinline__ void note_least(Sums<N> &s, double x) {
  u64 size = (double_to_bits(x) << 1) - 1ull;
  if (size < s.least) s.least = size;
}
__device__ __forceinline__ void merge(Near &a, const Near &b) {
  double e, f, g;
  a.value = two_sum(a.value, b.value, e);
  a.tail = two_sum(a.tail, b.tail, f);
  a.tail = two_sum(a.tail, e, g);
  a.bound += b.bound + (fabs(f) + fabs(g));
}
template <int N> __device__ __forceinline__ void merge(Sums<N> &a, const Sums<N> &b) {
#pragma unroll
  for (int k = 0; k < N; k++) merge(a.of[k], b.of[k]);
  if (b.most > a.most) a.most = b.most;
  if (b.least < a.least) a.least = b.least;
}
/* Sums in memory, a word of each `stride` words from the next. */
template <int N> __device__ __forceinline__ void keep(volatile double *to, i64 stride,
                                                      const Sums<N> &s) {
#pragma unroll
  for (int k = 0; k < N; k++) {
    to[(3 * k + 0) * stride] = s.of[k].value;
    to[(3 * k + 1) * stride] = s.of[k].tail;
    to[(3 * k + 2) * stride] = s.of[k].bound;
  }
  to[3 * N * stride] = bits_to_double((u64)s.most);
  if (N > 1) to[(3 * N + 1) * stride] = bits_to_double(s.least);
}
template <int N> __device__ __forceinline__ void take(const volatile double *from, i64 stride,
                                                      Sums<N> &s) {
#pragma unroll
  for (int k = 0; k < N; k++) {
    s.of[k].value = from[(3 * k + 0) * stride];
    s.of[k].tail = from[(3 * k + 1) * stride];
    s.of[k].bound = from[(3 * k + 2) * stride];
  }
  s.most = (unsigned)double_to_bits(from[3 * N * stride]);
  s.least = N > 1 ? double_to_bits(from[(3 * N + 1) * stride]) : ~0ull;
}
/* The sums of the thread whose number differs in one bit. */
template <int N> __device__ __forceinline__ Sums<N> crossed(const Sums<N> &mine, unsigned bit) {
  Sums<N> other;
#pragma unroll
  for (int k = 0; k < N; k++) {
    other.of[k].value = across(mine.of[k].value, bit);
    other.of[k].tail = across(mine.of[k].tail, bit);
    other.of[k].bound = across(mine.of[k].bound, bit);
  }
  other.most = across(mine.most, bit);
  other.least = N > 1 ? across(mine.least, bit) : ~0ull;
  return other;
}
"""

TOGETHER: Final = """\
/* a / b, and the rest: 64 bits are divided by a hundred instructions. */
__device__ __forceinline__ i64 quotient_of(i64 a, i64 b, i64 &rest) {
  if (((u64)a | (u64)b) >> 32 == 0ull) {
    unsigned q = (unsigned)a / (unsigned)b;
    rest = (unsigned)a - q * (unsigned)b;
    return q;
  }
  i64 q = a / b;
  rest = a - q * b;
  return q;
}
/* Puts together the sums of threads whose numbers differ in the bits [first, last). */
template <typename S> __device__ __forceinline__ void together(S &mine, unsigned first,
                                                               unsigned last, double *waiting) {
  for (unsigned bit = first; bit < last; bit <<= 1) {
    S other;
    if (bit < 32u) {
      other = crossed(mine, bit);
    } else {
      __syncthreads();
      keep(waiting + threadIdx.x, THREADS, mine);
      __syncthreads();
      take(waiting + (threadIdx.x ^ bit), THREADS, other);
    }
    merge(mine, other);
  }
}
"""


def words(sums: int) -> int:
    """Words of ``sums`` sums in memory."""
    return 3 * sums + (2 if sums > 1 else 1)
