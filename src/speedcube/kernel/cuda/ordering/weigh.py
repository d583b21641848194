"""Exact sums of weights by number on a GPU, and between which powers of two the weights lie.

The words of ``out`` of a sum: a length, the first digit, how many digits a number has, where the
three counts of each number's NaN, infinities and negative infinities are; then digits for each
number below the length and for what is none. A digit has 32 bits, of ``sum * 2**1074``, in 64: so
many weights are added in any order without a carry. Where there is no room in shared memory, sums
are in device memory.
"""

from __future__ import annotations

from typing import Final

from ..hooks import WAIT, CudaSink
from ..prelude import LIMB_ADD

SHARED: Final = 6000  # digits of a thread block
LENGTH, FIRST, DIGITS, SPECIAL, SUMS = range(5)
TOP, BOTTOM = range(2)  # of the reach: the highest place, and 4096 less the lowest
PLACES: Final = 4096

SUPPORT: Final = f"""\
/* The mantissa of a finite weight and the place of its last bit. */
__device__ __forceinline__ u64 mantissa(double x, unsigned &place) {{
  u64 bits = double_to_bits(x), fraction = bits & 0xfffffffffffffull;
  unsigned e = (unsigned)(bits >> 52) & 2047u;
  place = e ? e - 1u : 0u;
  return e ? fraction | 0x10000000000000ull : fraction;
}}
/* An infinite weight, or a NaN, is counted. */
__device__ __noinline__ void weigh_special(u64 *out, u64 number, double x) {{
  u64 *counts = (u64 *)out[{SPECIAL}], many = out[{LENGTH}] + 1ull;
  u64 kind = x != x ? 0ull : x > 0.0 ? 1ull : 2ull;
  atomicAdd(counts + kind * many + number, 1ull);
}}
__device__ __forceinline__ void wide_add(u64 *sum, unsigned digit, bool negative) {{
  if (digit) atomicAdd(sum, negative ? 0ull - (u64)digit : (u64)digit);
}}
"""


class ThreadWeigh(CudaSink):
    """Weights are added up by number."""

    @property
    def wide(self) -> bool:
        """Whether there are too many digits for shared memory."""
        return self.sink.kind == "wide weigh"

    def support(self) -> list[str]:
        return [LIMB_ADD, SUPPORT]

    def declare(self) -> None:
        if not self.wide:
            self.put(f"__shared__ u64 sums[{SHARED}];")
        self.put(f"u64 length = {self.out}[{LENGTH}], many = {self.out}[{DIGITS}];")
        self.put(f"unsigned digit0 = (unsigned){self.out}[{FIRST}];")

    def begin(self) -> None:
        if not self.wide:
            self.put("unsigned words = (unsigned)((length + 1ull) * many);")
            self.put("for (unsigned w = threadIdx.x; w < words; w += THREADS) sums[w] = 0ull;")
            self.put(WAIT)

    def consume(self, outputs: dict[str, str], j: str, e: str, a: str) -> None:
        put, text = self.put, self.text
        text.open("")
        put(f"u64 number = (u64){outputs['x']}; double weight = {outputs['w']};")
        put("if (number > length) number = length;")
        put("bool negative = double_to_bits(weight) >> 63 != 0ull;")
        put("unsigned place; u64 m = mantissa(weight, place);")
        text.open("if ((double_to_bits(weight) >> 52 & 2047ull) == 2047ull)")
        put(f"weigh_special({self.out}, number, weight);")
        text.depth -= 1
        text.open("} else if (m)")
        put("unsigned shift = place & 31u;")
        put("u64 low = m << shift, top = shift ? m >> (64u - shift) : 0ull;")
        put("u64 at = number * many + (u64)((place >> 5) - digit0);")
        if self.wide:
            put(f"u64 *sum = {self.out} + {SUMS} + at;")
            put("wide_add(sum, (unsigned)low, negative);")
            put("wide_add(sum + 1, (unsigned)(low >> 32), negative);")
            put("wide_add(sum + 2, (unsigned)top, negative);")
        else:
            put("unsigned *half = (unsigned *)(sums + at);")
            put("digit_add(half, (unsigned)low, negative);")
            put("digit_add(half + 2, (unsigned)(low >> 32), negative);")
            put("digit_add(half + 4, (unsigned)top, negative);")
        text.close()
        text.close()

    def after_tile(self) -> None:
        self.put("__syncwarp();")

    def end(self) -> None:
        if self.wide:
            return
        self.put(WAIT)
        self.put("for (unsigned w = threadIdx.x; w < words; w += THREADS)")
        self.put(f"  if (sums[w]) atomicAdd({self.out} + {SUMS} + w, sums[w]);")
        self.put(WAIT)


class ThreadReach(CudaSink):
    """The highest and the lowest place of a bit of all finite weights that are not 0."""

    def support(self) -> list[str]:
        return [SUPPORT]

    def declare(self) -> None:
        self.put("__shared__ u64 ends[2];")

    def begin(self) -> None:
        self.put("unsigned highest = 0u, lowest = 0u;")
        self.put("if (threadIdx.x < 2u) ends[threadIdx.x] = 0ull;")
        self.put(WAIT)

    def consume(self, outputs: dict[str, str], j: str, e: str, a: str) -> None:
        put, text = self.put, self.text
        text.open("")
        put("unsigned place;")
        put(f"u64 m = mantissa({outputs['x']}, place);")
        put("bool counts = m != 0ull && place < 2046u;")
        put("if (counts && place + 1u > highest) highest = place + 1u;")
        put(f"if (counts && {PLACES}u - place > lowest) lowest = {PLACES}u - place;")
        text.close()

    def end(self) -> None:
        self.put("atomicMax(ends, (u64)highest); atomicMax(ends + 1, (u64)lowest);")
        self.put(WAIT)
        self.put(f"if (threadIdx.x < 2u) atomicMax({self.out} + threadIdx.x, ends[threadIdx.x]);")
        self.put(WAIT)
