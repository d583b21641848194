"""What a GPU kernel does with its elements: store them, or fold them into one result record.

Each thread folds its own elements; a unit's threads meet in shared memory at its end, and units in
the record, by atomics on integers: their order cannot matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Final

from .cuda import CTYPE
from .cuda_support import LIMB_ADD, SEARCH_CHUNK, THREADS, TILE, WIDEN
from .program import LIMBS

if TYPE_CHECKING:
    from .cuda_loops import CudaLoops

_MOST: Final = "0x7fffffffffffffffll"
_WAIT: Final = "__syncthreads();"


class CudaSink:
    """A sink's declarations, what it does as a unit begins, with each element, as a unit ends."""

    def __init__(self, loops: CudaLoops) -> None:
        self.loops, self.put = loops, loops.put

    def support(self) -> list[str]:
        """Functions that the kernel calls."""
        return []

    def declare(self) -> None:
        """Shared memory of the kernel."""

    def begin(self) -> None:
        """A unit begins."""

    def consume(self, outputs: dict[str, str], j: str, e: str) -> None:
        """Element (j, e) of the tile has been computed."""
        raise NotImplementedError

    def after_tile(self) -> None:
        """A tile is done."""

    def end(self) -> None:
        """A unit ends."""


class Store(CudaSink):
    """Every element goes to its place in the result."""

    def consume(self, outputs: dict[str, str], j: str, e: str) -> None:
        loops = self.loops
        dtype = loops.program.sink.dtype
        memory = "unsigned char" if dtype == "bool" else CTYPE[dtype]
        place = loops.position(loops.count, j, e)
        self.put(f"(({memory} *)out)[{place}] = {outputs['x']};")


class Folded(CudaSink):
    """One 64-bit number: each thread's, then the block's, then the record's."""

    start: ClassVar[str]  # declares a thread's number
    whole: ClassVar[str]  # the block's number before it is folded into
    fold: ClassVar[str]  # x into the thread's number
    into_block: ClassVar[str]
    into_record: ClassVar[str]

    def declare(self) -> None:
        self.put("__shared__ i64 folded;")

    def begin(self) -> None:
        self.put(f"{self.start} if (threadIdx.x == 0) folded = {self.whole};")
        self.put(_WAIT)

    def consume(self, outputs: dict[str, str], j: str, e: str) -> None:
        self.put(self.fold.replace("$", outputs["x"]))

    def end(self) -> None:
        self.put(self.into_block)
        self.put(_WAIT)
        self.put(f"if (threadIdx.x == 0) {self.into_record}")
        self.put(_WAIT)


class IntegerSum(Folded):
    """A wrapping 64-bit sum."""

    start, whole, fold = "u64 total = 0ull;", "0", "total += (u64)$;"
    into_block = "atomicAdd((u64 *)&folded, total);"
    into_record = "atomicAdd(out + u / (i64)g7, (u64)folded);"


class Minimum(Folded):
    """The least order key (`rules.order_key`)."""

    start, whole, fold = f"i64 least = {_MOST};", _MOST, "if ($ < least) least = $;"
    into_block = "atomicMin(&folded, least);"
    into_record = "atomicMin((i64 *)out + u / (i64)g7, folded);"


class ArgMinimum(CudaSink):
    """The least (order key, place): a record for each unit, which the host merges."""

    def declare(self) -> None:
        self.put("__shared__ i64 keys[THREADS], places[THREADS];")

    def begin(self) -> None:
        self.put(f"i64 key = {_MOST}, place = {_MOST};")
        self.put(_WAIT)

    def consume(self, outputs: dict[str, str], j: str, e: str) -> None:
        x, at = outputs["x"], outputs["at"]
        sooner = f"{x} < key || ({x} == key && {at} < place)"
        self.put(f"if ({sooner}) {{ key = {x}; place = {at}; }}")

    def end(self) -> None:
        self.put("keys[threadIdx.x] = key; places[threadIdx.x] = place;")
        self.put(_WAIT)
        self.loops.open("if (threadIdx.x == 0)")
        self.loops.open("for (int w = 1; w < THREADS; w++)")
        self.put("bool sooner = keys[w] < key || (keys[w] == key && places[w] < place);")
        self.put("if (sooner) { key = keys[w]; place = places[w]; }")
        self.loops.close()
        self.put("out[2 * u] = (u64)key; out[2 * u + 1] = (u64)place;")
        self.loops.close()
        self.put(_WAIT)


class ExactSum(CudaSink):
    """Exact sums: a thread's doubles cannot round (`program.Bins`), the limbs are the block's.

    Where the range of a term is unknown each thread widens its units as it meets larger terms.
    """

    def support(self) -> list[str]:
        search = any(term.bins.mode == "search" for term in self.loops.program.sink.terms)
        return [LIMB_ADD, *([WIDEN] if search else [])]

    def declare(self) -> None:
        self.put(f"__shared__ u64 limbs[{self.loops.program.sink.words}];")

    def begin(self) -> None:
        sink = self.loops.program.sink
        self.put(f"for (int w = threadIdx.x; w < {sink.words}; w += THREADS) limbs[w] = 0ull;")
        for k, term in enumerate(sink.terms):
            if term.bins.mode != "rare":
                self.put(f"double high{k} = 0.0, low{k} = 0.0;")
            if term.bins.mode == "search":
                self.put(f"u64 limit{k} = 1ull; double first{k} = 0.0, second{k} = 0.0;")
        self.put("int pending = 0;")
        self.put(_WAIT)

    def consume(self, outputs: dict[str, str], j: str, e: str) -> None:
        for k, term in enumerate(self.loops.program.sink.terms):
            self.accumulate(k, outputs[term.output])

    def accumulate(self, k: int, x: str) -> None:
        """X into the bins of term ``k``: plain, or high part, low part, and what is left over."""
        put, term = self.put, self.loops.program.sink.terms[k]
        mode, slot, group = term.bins.mode, term.bins.slot, term.group * LIMBS
        if mode == "plain":
            put(f"high{k} += {x};")
            return
        if mode == "rare":
            put(f"if ({x} != 0.0) limb_add(limbs + {group}, {x});")
            return
        self.loops.serial += 1
        s = self.loops.serial
        first, second = f"bits_to_double(p{slot})", f"bits_to_double(p{slot + 1})"
        if mode == "search":
            first, second = f"first{k}", f"second{k}"
            state = f"high{k}, low{k}, limit{k}, {first}, {second}"
            put(f"double x{s} = {x};")
            x = f"x{s}"
            put(f"if ((double_to_bits({x}) & 0x7fffffffffffffffull) >= limit{k})")
            put(f"  {x} = widen(limbs + {group}, {x}, {state});")
        put(f"double part{s} = ({x} + {first}) - {first};")
        put(f"double rest{s} = {x} - part{s};")
        put(f"high{k} += part{s};")
        if mode == "split":
            put(f"low{k} += rest{s};")
            return
        put(f"double fine{s} = (rest{s} + {second}) - {second};")
        put(f"low{k} += fine{s};")
        put(f"double left{s} = rest{s} - fine{s};")
        put(f"if (left{s} != 0.0) limb_add(limbs + {group}, left{s});")

    def flush(self) -> None:
        for k, term in enumerate(self.loops.program.sink.terms):
            if term.bins.mode == "rare":
                continue
            group = term.group * LIMBS
            self.put(f"limb_add(limbs + {group}, high{k}); high{k} = 0.0;")
            if term.bins.mode != "plain":
                self.put(f"limb_add(limbs + {group}, low{k}); low{k} = 0.0;")

    def after_tile(self) -> None:
        """Flush before a thread's doubles could round."""
        bins = [t.bins for t in self.loops.program.sink.terms if t.bins.mode != "rare"]
        chunk = min(SEARCH_CHUNK if b.mode == "search" else b.chunk for b in bins)
        terms = TILE // THREADS * 4  # a thread's in one tile: four values a block at most
        self.put(f"pending += {terms};")
        self.loops.open(f"if (pending > {(1 << chunk) - terms})")
        self.flush()
        self.put("pending = 0;")
        self.loops.close()

    def end(self) -> None:
        words = self.loops.program.sink.words
        self.flush()
        self.put(_WAIT)
        self.put(f"u64 *record = out + (u / (i64)g7) * {words};")
        self.put(f"for (int w = threadIdx.x; w < {words}; w += THREADS)")
        self.put("  if (limbs[w]) atomicAdd(record + w, limbs[w]);")
        self.put(_WAIT)


SINKS: Final[dict[str, Callable[[CudaLoops], CudaSink]]] = {
    "store": Store,
    "isum": IntegerSum,
    "min": Minimum,
    "argmin": ArgMinimum,
    "exact": ExactSum,
}
