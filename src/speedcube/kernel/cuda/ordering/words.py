"""Exact sums of weights by number on a GPU: for each number an integer of several words.

The words of ``out``: a length, the place of the unit, how many words a number has, where a byte for
each number's NaN and infinities is; then the integers, in two's complement, those of a number side
by side. A weight is a mantissa at a place: it is added to one word, or to two, and what is carried
over to the next ones, which is seldom more. So integers add up in any order, and the sector of
memory that the first word is in has the second one, too.
"""

from __future__ import annotations

from typing import Final

from ..hooks import CudaSink
from .weigh import SUPPORT, raised

LENGTH, UNIT, WORDS, SPECIAL, SUMS = range(5)
NAN, ABOVE, UNDER = 1, 2, 4  # bits of the byte

_ADD: Final = f"""\
/* m * 2**(place - unit), or less that, to an integer of some words. */
__device__ __forceinline__ void words_add(u64 *sum, unsigned words, u64 m, unsigned place,
                                          bool negative) {{
  unsigned k = place >> 6, shift = place & 63u;
  u64 low = m << shift, more = shift ? m >> (64u - shift) : 0ull;
  if (low) {{
    u64 old = atomicAdd(sum + k, negative ? 0ull - low : low);
    more += negative ? old < low : old > ~low;
  }}
  if (!more) return;
  if (words == 2u) {{
    if (k == 0u) atomicAdd(sum + 1, negative ? 0ull - more : more);
    return;
  }}
  for (k++; more && k < words; k++) {{
    u64 old = atomicAdd(sum + k, negative ? 0ull - more : more);
    more = negative ? old < more : old > ~more;
  }}
}}
__device__ __noinline__ void words_special(u64 *out, u64 number, double x) {{
  unsigned kind = x != x ? {NAN}u : x > 0.0 ? {ABOVE}u : {UNDER}u;
  atomicOr((unsigned *)out[{SPECIAL}] + (number >> 2), kind << (8u * (unsigned)(number & 3ull)));
}}
"""


class ThreadWords(CudaSink):
    """Weights, or their squares, are added to integers by number."""

    def support(self) -> list[str]:
        return [SUPPORT, _ADD]

    def declare(self) -> None:
        for name, word in (("length", LENGTH), ("unit", UNIT), ("words", WORDS)):
            kind = "u64" if name == "length" else "unsigned"
            self.put(f"{kind} {name} = ({kind}){self.out}[{word}];")

    def consume(self, outputs: dict[str, str], j: str, e: str, a: str) -> None:
        put, text = self.put, self.text
        text.open("")
        put(f"u64 number = (u64){outputs['x']}; double weight = {outputs['w']};")
        text.open("if (number < length)")
        put(f"u64 *sum = {self.out} + {SUMS} + number * words;")
        if self.sink.kind.startswith("square"):
            put("double square = weight * weight, tail = fma(weight, weight, -square);")
            self.add("square")
            self.add("tail")
        else:
            self.add("weight")
        text.close()
        text.close()

    def add(self, term: str) -> None:
        """Add ``term`` to the sum of the number."""
        put, text = self.put, self.text
        text.open("")
        put(f"u64 bits = double_to_bits({term}); unsigned place; u64 m = mantissa({term}, place);")
        put("if ((bits >> 52 & 2047ull) == 2047ull)")
        put(f"  words_special({self.out}, number, {term});")
        text.open("else if (m)")
        if term == "tail":
            put(raised("unit"))
        put("words_add(sum, words, m, place - unit, bits >> 63 != 0ull);")
        text.close()
        text.close()

    def after_tile(self) -> None:
        self.put("__syncwarp();")


class ThreadScatter(CudaSink):
    """Integers are added by number; they wrap."""

    def declare(self) -> None:
        self.put(f"u64 length = {self.out}[{LENGTH}];")

    def consume(self, outputs: dict[str, str], j: str, e: str, a: str) -> None:
        number, value = f"(u64){outputs['x']}", f"(u64){outputs['w']}"
        self.put(f"if ({number} < length)")
        self.put(f"  atomicAdd({self.out} + {SUMS} + {number}, {value});")
