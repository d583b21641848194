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

static void __threadfence() {} /* one thread after the other sees all that was written */
static void __syncwarp() {} /* nothing but speed depends on it */
static void __syncthreads() { swapcontext(&fibers[current], &scheduler); }

/* Shuffles: every thread of a block takes part in each, though only its warp's matter. */
static u64 exchanged[THREADS];
template <typename T> static T across(T x, unsigned distance) {
  std::memcpy(&exchanged[current], &x, sizeof x);
  __syncthreads();
  std::memcpy(&x, &exchanged[current ^ distance], sizeof x);
  __syncthreads();
  return x;
}

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
  for (unsigned left = THREADS; left;) {
    left = 0;
    for (current = 0; current < THREADS; current++) {
      threadIdx.x = current;
      swapcontext(&scheduler, &fibers[current]);
      left += !finished[current];
    }
    if (left && left < THREADS) return 1;
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
