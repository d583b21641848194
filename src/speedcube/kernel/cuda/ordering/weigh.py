"""Exact sums of weights by number on a GPU, and between which powers of two the weights lie.

The words of ``out`` of a sum: a length, the first digit, how many digits a number has, where the
three counts of each number's NaN, infinities and negative infinities are; then the first digits of
each number below the length and of what is none, the second digits ... A digit has 16 bits, of
``sum * 2**1074``, in 64: so many weights are added in any order without a carry. A thread block
adds up in 32 bits of shared memory, where 2**15 weights need no carry either. Where there is no
room for that, `words.py` adds them.
"""

from __future__ import annotations

from typing import Final

from ..hooks import WAIT, CudaSink
from ..prelude import ELEMENTS, TILE

SHARED: Final = 12_000  # digits of a thread block
BITS: Final = 16  # of a digit
SPREAD: Final = 5  # digits that a weight may have bits in
_PENDING: Final = 1 << 15  # weights between two flushes
LENGTH, FIRST, DIGITS, SPECIAL, SUMS = range(5)
# Of the reach: the highest place, 4096 less the lowest, and whether there is no finite weight.
TOP, BOTTOM, STRANGE = range(3)
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
"""


def raised(least: str) -> str:
    """Take the zeros off a mantissa that has no bit below place ``least``, as a square's tail."""
    return f"if (place < {least}) {{ m >>= {least} - place; place = {least}; }}"


class ThreadWeigh(CudaSink):
    """Weights, or their squares, are added up by number."""

    def support(self) -> list[str]:
        return [SUPPORT]

    def declare(self) -> None:
        self.put(f"__shared__ unsigned sums[{SHARED}];")
        self.put("int pending = 0;")
        self.put(f"u64 length = {self.out}[{LENGTH}];")
        self.put(f"unsigned digit0 = (unsigned){self.out}[{FIRST}];")
        self.put("u64 plane = length + 1ull;")

    def begin(self) -> None:
        self.put(f"unsigned words = (unsigned)(plane * {self.out}[{DIGITS}]);")
        self.put("for (unsigned w = threadIdx.x; w < words; w += THREADS) sums[w] = 0u;")
        self.put(WAIT)

    @property
    def _squares(self) -> bool:
        return self.sink.kind.startswith("square")

    def consume(self, outputs: dict[str, str], j: str, e: str, a: str) -> None:
        put, text = self.put, self.text
        text.open("")
        put(f"u64 number = (u64){outputs['x']}; double weight = {outputs['w']};")
        put("if (number > length) number = length;")
        if self._squares:
            put("double square = weight * weight, tail = fma(weight, weight, -square);")
            self.term("square")
            self.term("tail")
        else:
            self.term("weight")
        text.close()

    def term(self, weight: str) -> None:
        """Add ``weight`` to the sum of the number."""
        put, text = self.put, self.text
        text.open("")
        put(f"unsigned place; u64 m = mantissa({weight}, place);")
        text.open(f"if ((double_to_bits({weight}) >> 52 & 2047ull) == 2047ull)")
        put(f"weigh_special({self.out}, number, {weight});")
        text.depth -= 1
        text.open("} else if (m)")
        if weight == "tail":
            self.put(raised(f"digit0 * {BITS}u"))
        put(f"unsigned shift = place % {BITS}u;")
        put(f"u64 at = number + plane * (u64)(place / {BITS}u - digit0);")
        put(f"u64 sign = double_to_bits({weight}) >> 63 ? ~0ull : 0ull;")
        put(f"u64 low = m << shift & 0xffffull, rest = m >> ({BITS}u - shift);")
        self.add("low")
        for _ in range(SPREAD - 1):
            put(f"low = rest & 0xffffull; rest >>= {BITS}; at += plane;")
            self.add("low")
        text.close()
        text.close()

    def add(self, digit: str) -> None:
        """Add a digit to the sum at ``at``."""
        self.put(f"if ({digit}) atomicAdd(sums + at, (unsigned)(({digit} ^ sign) - sign));")

    def after_tile(self) -> None:
        """Flush before 32 bits could overflow."""
        most = max(ELEMENTS, 4 * TILE)  # of a tile: a block of a stream has four at most
        most *= 2 if self._squares else 1
        self.put(f"pending += {most};")
        self.text.open(f"if (pending + {most} > {_PENDING})")
        self.flush()
        self.put("pending = 0;")
        self.text.close()

    def flush(self) -> None:
        self.put(WAIT)
        self.text.open("for (unsigned w = threadIdx.x; w < words; w += THREADS)")
        self.put("int sum = (int)sums[w];")
        self.put(f"if (sum) {{ atomicAdd({self.out} + {SUMS} + w, (u64)(i64)sum); sums[w] = 0u; }}")
        self.text.close()
        self.put(WAIT)

    def end(self) -> None:
        self.flush()
        self.put("pending = 0;")


class ThreadReach(CudaSink):
    """The highest and the lowest place of a bit of all finite weights that are not 0."""

    def support(self) -> list[str]:
        return [SUPPORT]

    def declare(self) -> None:
        self.put("__shared__ u64 ends[3];")

    def begin(self) -> None:
        self.put("unsigned highest = 0u, lowest = 0u, strange = 0u;")
        self.put("if (threadIdx.x < 3u) ends[threadIdx.x] = 0ull;")
        self.put(WAIT)

    def consume(self, outputs: dict[str, str], j: str, e: str, a: str) -> None:
        put, text = self.put, self.text
        text.open("")
        put("unsigned place;")
        put(f"u64 m = mantissa({outputs['x']}, place);")
        put("bool counts = m != 0ull && place < 2046u;")
        put("strange |= (unsigned)(place >= 2046u);")
        put("if (counts && place + 1u > highest) highest = place + 1u;")
        put(f"if (counts && {PLACES}u - place > lowest) lowest = {PLACES}u - place;")
        text.close()

    def end(self) -> None:
        self.put("atomicMax(ends, (u64)highest); atomicMax(ends + 1, (u64)lowest);")
        self.put("if (strange) atomicMax(ends + 2, 1ull);")
        self.put(WAIT)
        self.put(f"if (threadIdx.x < 3u) atomicMax({self.out} + threadIdx.x, ends[threadIdx.x]);")
        self.put(WAIT)
