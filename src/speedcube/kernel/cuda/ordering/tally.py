"""How often each number comes on a GPU: counts in shared memory, several copies of them.

The words of ``out``: a length, of what power of two there are copies, then a count for each number
below the length, and one for what is no such number. The lanes of a warp add to copies that lie in
banks of their own, as far as there is room: equal numbers do not wait for each other. Where there
is no room for one copy, numbers are counted in device memory.
"""

from __future__ import annotations

from typing import Final

from ..hooks import WAIT, CudaSink

SHARED: Final = 8192  # counts of a thread block
LENGTH, COPIES, COUNTS = range(3)


def copies(length: int) -> int | None:
    """Of what power of two there are copies of ``length`` counts; None: there is no room."""
    most = SHARED // (length + 1)
    return min(5, most.bit_length() - 1) if most else None


# What comes before the counts of even bins: the first and the last edge, bins for each unit, how
# near an edge is looked at, and where the edges are.
LOW, HIGH, SCALE, MARGIN, EDGES, BINNED = range(2, 8)
_HALF_WAY: Final = "6755399441055744.0"  # 1.5 * 2**52: what is added to it becomes whole


class ThreadTally(CudaSink):
    """Elements, int64, are counted by number."""

    counts = COUNTS

    @property
    def wide(self) -> bool:
        """Whether there are too many counts for shared memory."""
        return self.sink.kind == "wide tally"

    def declare(self) -> None:
        if not self.wide:
            self.put(f"__shared__ unsigned counts[{SHARED}];")
            self.put(f"unsigned lg = (unsigned){self.out}[{COPIES}];")
            self.put("unsigned copy = threadIdx.x & ((1u << lg) - 1u);")
        self.put(f"u64 length = {self.out}[{LENGTH}];")

    def begin(self) -> None:
        if not self.wide:
            self.put("unsigned used = (unsigned)(length + 1ull) << lg;")
            self.put("for (unsigned w = threadIdx.x; w < used; w += THREADS) counts[w] = 0u;")
            self.put(WAIT)

    def consume(self, outputs: dict[str, str], j: str, e: str, a: str) -> None:
        self.text.open("")
        self.put(f"u64 number = (u64){outputs['x']};")
        self.put("if (number > length) number = length;")
        self.count("number")
        self.text.close()

    def count(self, number: str) -> None:
        """Add one to the count of ``number``."""
        if self.wide:
            self.put(f"atomicAdd({self.out} + {self.counts} + {number}, 1ull);")
        else:
            self.put(f"atomicAdd(counts + (((unsigned){number} << lg) | copy), 1u);")

    def end(self) -> None:
        if self.wide:
            return
        self.put(WAIT)
        self.text.open("for (unsigned w = threadIdx.x; w <= (unsigned)length; w += THREADS)")
        self.put("u64 total = 0ull;")
        self.put("for (unsigned c = 0; c < 1u << lg; c++)")
        self.put("  total += counts[(w << lg) | ((c + threadIdx.x) & ((1u << lg) - 1u))];")
        self.put(f"if (total) atomicAdd({self.out} + {self.counts} + w, total);")
        self.text.close()
        self.put(WAIT)


class ThreadBins(ThreadTally):
    """Elements, float64, are counted by even bins.

    The place between the ends rises with the element. So where it is farther from a whole number
    than the place of any edge is from its own, no edge need be looked at.
    """

    counts = BINNED

    def declare(self) -> None:
        super().declare()
        for name, word in (("low", LOW), ("high", HIGH), ("scale", SCALE), ("margin", MARGIN)):
            self.put(f"double bin_{name} = bits_to_double({self.out}[{word}]);")
        self.put(f"const double *edges = (const double *){self.out}[{EDGES}];")
        self.put("int last_bin = (int)length - 1;")

    def after_batch(self, size: int) -> None:
        if size > 1:  # a warp's threads are all here: one that looked at edges is waited for
            self.put("__syncwarp();")

    def consume(self, outputs: dict[str, str], j: str, e: str, a: str) -> None:
        put, text = self.put, self.text
        text.open("")
        put(f"double x = {outputs['x']};")
        text.open("if (x >= bin_low && x <= bin_high)")
        put("double place = (x - bin_low) * bin_scale;")
        put(f"double whole = place + {_HALF_WAY};")
        put(f"double rest = place - (whole - {_HALF_WAY});")
        put("int number = (int)(unsigned)double_to_bits(whole) - (rest < 0.0);")
        text.open("if (rest <= bin_margin && rest >= -bin_margin)")
        put("number = (int)place;")
        put("if (number > last_bin) number = last_bin;")
        put("bool lower = x < edges[number];")
        put("bool higher = x >= edges[number + 1] && number < last_bin;")
        put("number += (int)higher - (int)lower;")
        text.close()
        self.count("number")
        text.close()
        text.close()
