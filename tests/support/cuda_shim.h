/* Enough of CUDA to run a kernel of speedcube on the host: one block at a time, its threads as
   fibers that take turns at __syncthreads(). Atomics need no more, for only one fiber runs.

   Include it once, after THREADS is defined; then each kernel's text in a namespace of its own.
   Compile with -ffp-contract=off: every line of a kernel rounds once. */

#include <cmath>
#include <cstdint>
#include <cstring>
#include <ucontext.h>

#define SPEEDCUBE_HOST
#define __global__
#define __device__
#define __constant__ static
#define __shared__ static
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)

typedef long long i64;
typedef unsigned long long u64;

/* The thread that runs now. */

struct Place {
  unsigned x;
};
static Place threadIdx, blockIdx, gridDim;

/* What the text asks of the hardware. */

static inline double bits_to_double(u64 bits) {
  double x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
static inline u64 double_to_bits(double x) {
  u64 bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
static inline float bits_to_float(unsigned bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
static inline unsigned float_to_bits(float x) {
  unsigned bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
#define picked(table, lane, index) table[(index) & 15u]
static inline u64 mul_wide(unsigned a, unsigned b) { return (u64)a * b; }
static inline double root(double x) { return std::sqrt(x); }
static inline double normal_root(double x) { return std::sqrt(x); }
static inline float rootf(float x) { return std::sqrt(x); }

static inline unsigned atomicAdd(unsigned *word, unsigned term) {
  unsigned old;
  std::memcpy(&old, word, sizeof old); /* it may be half of a u64 */
  unsigned sum = old + term;
  std::memcpy(word, &sum, sizeof sum);
  return old;
}

static inline u64 atomicAdd(u64 *word, u64 term) {
  u64 before = *word;
  *word += term;
  return before;
}
static inline unsigned atomicOr(unsigned *word, unsigned bits) {
  unsigned old = *word;
  *word = old | bits;
  return old;
}
static inline u64 atomicMin(u64 *word, u64 value) {
  u64 before = *word;
  if (value < before) *word = value;
  return before;
}
static inline u64 atomicMax(u64 *word, u64 value) {
  u64 before = *word;
  if (value > before) *word = value;
  return before;
}
static inline i64 atomicMin(i64 *word, i64 value) {
  i64 before = *word;
  if (value < before) *word = value;
  return before;
}

/* Fibers. */

static const size_t STACK = 1 << 16;
static ucontext_t scheduler, fibers[THREADS];
static char *stacks;
static bool finished[THREADS];
static unsigned current;
static void (*body)(const u64 *);
static const u64 *arguments;

/* Where threads wait for each other: all of a block, or the 32 of a warp. */
struct Barrier {
  unsigned arrived, passed;
};
static Barrier whole, warps_of[(THREADS + 31) / 32];
static bool went_on;
static void meet(Barrier &barrier, unsigned count) {
  unsigned before = barrier.passed;
  if (++barrier.arrived == count) {
    barrier.arrived = 0;
    barrier.passed++;
    went_on = true;
  }
  while (barrier.passed == before) swapcontext(&fibers[current], &scheduler);
}

static void __threadfence() {} /* one thread after the other sees all that was written */
static void __syncwarp() {} /* nothing but speed depends on it */
static void __syncthreads() { meet(whole, THREADS); }
static int votes;
static int __syncthreads_or(int vote) {
  votes |= vote;
  __syncthreads();
  int any = votes;
  __syncthreads();
  votes = 0;
  __syncthreads();
  return any;
}

/* Shuffles: every thread of a warp takes part in each. */
static u64 exchanged[THREADS];
template <typename T> static T from_lane(T x, unsigned lane) {
  Barrier &barrier = warps_of[current / 32];
  std::memcpy(&exchanged[current], &x, sizeof x);
  meet(barrier, 32);
  std::memcpy(&x, &exchanged[current / 32 * 32 + lane], sizeof x);
  meet(barrier, 32);
  return x;
}
template <typename T> static T across(T x, unsigned distance) {
  return from_lane(x, (current ^ distance) % 32);
}
template <typename T> static T shifted(T x, unsigned distance) {
  unsigned lane = current % 32;
  return from_lane(x, lane < distance ? lane : lane - distance);
}
static inline int hidden(int x) { return x; }
static inline int leading_zeros(u64 x) { return x ? __builtin_clzll(x) : 64; }
static inline int trailing_zeros(u64 x) { return x ? __builtin_ctzll(x) : -1; }

static void fiber() {
  body(arguments);
  finished[current] = true;
}

/* 0, or 1 where some threads of a block reached a barrier that others did not. */
static int run_block() {
  for (unsigned k = 0; k < THREADS; k++) {
    getcontext(&fibers[k]);
    fibers[k].uc_stack.ss_sp = stacks + k * STACK;
    fibers[k].uc_stack.ss_size = STACK;
    fibers[k].uc_link = &scheduler;
    makecontext(&fibers[k], fiber, 0);
    finished[k] = false;
  }
  whole = {0, 0};
  for (Barrier &warp : warps_of) warp = {0, 0};
  for (unsigned left = THREADS; left;) {
    went_on = false;
    for (current = 0; current < THREADS; current++) {
      if (finished[current]) continue;
      threadIdx.x = current;
      swapcontext(&scheduler, &fibers[current]);
      if (finished[current]) left--, went_on = true;
    }
    if (left && !went_on) return 1;
  }
  return 0;
}

static int run_grid(void (*kernel)(const u64 *), unsigned blocks, const u64 *words) {
  if (!stacks) stacks = new char[THREADS * STACK];
  body = kernel;
  arguments = words;
  gridDim.x = blocks;
  for (blockIdx.x = 0; blockIdx.x < blocks; blockIdx.x++)
    if (run_block()) return 1;
  return 0;
}
