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


class ThreadTally(CudaSink):
    """Elements, int64, are counted by number."""

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
        self.text.serial += 1
        number = f"number{self.text.serial}"
        self.put(f"u64 {number} = (u64){outputs['x']};")
        self.put(f"if ({number} > length) {number} = length;")
        if self.wide:
            self.put(f"atomicAdd({self.out} + {COUNTS} + {number}, 1ull);")
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
        self.put(f"if (total) atomicAdd({self.out} + {COUNTS} + w, total);")
        self.text.close()
        self.put(WAIT)
