"""What a GPU kernel does with its elements: store them, or fold them into one result record.

Each thread folds its own elements; a unit's threads meet in shared memory at its end, and units in
the record, by atomics on integers: their order cannot matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Final

from ..program import LIMBS, Term
from .prelude import BINS, ELEMENTS, LIMB_ADD, NO_UNIT, SEARCH, THREADS, TILE
from .wide import memory, wide

if TYPE_CHECKING:
    from .loops import CudaLoops

_MOST: Final = "0x7fffffffffffffffll"
_WAIT: Final = "__syncthreads();"
# After a rare branch: it may leave the threads of a warp apart for all tiles that follow. Sums of
# stored data took 1.4 times, of float32 normals 3 times as long.
_MEET: Final = "__syncwarp();"


class CudaSink:
    """A sink's declarations, what it does as a unit begins, with each element, as a unit ends."""

    dealt: ClassVar[bool] = False  # tiles are dealt out to the pieces one by one

    def __init__(self, loops: CudaLoops) -> None:
        self.loops, self.put = loops, loops.put

    def support(self) -> list[str]:
        """Functions that the kernel calls."""
        return []

    def declare(self) -> None:
        """Shared memory of the kernel."""

    def begin(self) -> None:
        """A unit begins."""

    def batch(self, size: int) -> None:
        """A thread computes ``size`` elements."""

    def consume(self, outputs: dict[str, str], j: str, e: str, a: str) -> None:
        """Element (j, e) of the tile, number ``a`` of the batch, has been computed."""
        raise NotImplementedError

    def after_batch(self, size: int) -> None:
        """The elements of the batch have been computed."""

    def neighbours(self, count: int) -> None:
        """The next ``count`` elements, from ``e0``, lie side by side."""

    def after_neighbours(self, count: int) -> None:
        """They have been computed."""

    def after_tile(self) -> None:
        """A tile is done."""

    def end(self) -> None:
        """A unit ends."""


class Store(CudaSink):
    """Every element goes to its place in the result; neighbours together."""

    dealt: ClassVar[bool] = True
    together = False  # neighbours are being computed

    @property
    def memory(self) -> str:
        return memory(self.loops.program.sink.dtype)

    def neighbours(self, count: int) -> None:
        if self.loops.program.sink.unit_stride:
            self.together = True
            self.put(f"{wide(self.loops.program.sink.dtype, count)} made;")

    def after_neighbours(self, count: int) -> None:
        if self.together:
            place = self.loops.position(self.loops.count, "(j0 + e0)", "e0")
            self.put(f"made.store(({self.memory} *)out + {place});")
        self.together = False

    def consume(self, outputs: dict[str, str], j: str, e: str, a: str) -> None:
        if self.together:
            self.put(f"made.x[v] = {outputs['x']};")
            return
        place = self.loops.position(self.loops.count, j, e)
        self.put(f"(({self.memory} *)out)[{place}] = {outputs['x']};")


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

    def consume(self, outputs: dict[str, str], j: str, e: str, a: str) -> None:
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

    def consume(self, outputs: dict[str, str], j: str, e: str, a: str) -> None:
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

    Where the range of a term is unknown a batch is tried with the units that the thread has.
    """

    @property
    def terms(self) -> tuple[Term, ...]:
        return self.loops.program.sink.terms

    def of_mode(self, *modes: str) -> list[int]:
        return [k for k, term in enumerate(self.terms) if term.bins.mode in modes]

    def support(self) -> list[str]:
        return [LIMB_ADD, BINS, *([SEARCH] if self.of_mode("search") else [])]

    def declare(self) -> None:
        self.put(f"__shared__ u64 limbs[{self.loops.program.sink.words}];")

    def limbs(self, k: int) -> str:
        return f"limbs + {self.terms[k].group * LIMBS}"

    def units(self, k: int) -> tuple[str, str]:
        """What the two accumulators of term ``k`` begin at."""
        bins = self.terms[k].bins
        if bins.mode == "search":
            return f"first{k}", f"second{k}"
        return f"bits_to_double(p{bins.slot})", f"bits_to_double(p{bins.slot + 1})"

    def begin(self) -> None:
        words = self.loops.program.sink.words
        self.put(f"for (int w = threadIdx.x; w < {words}; w += THREADS) limbs[w] = 0ull;")
        for k, term in enumerate(self.terms):
            if term.bins.mode == "rare":
                continue
            if term.bins.mode == "plain":
                self.put(f"double high{k} = 0.0;")
                continue
            first, second = self.units(k)
            if term.bins.mode == "search":
                self.put(f"double {first} = bits_to_double({NO_UNIT}), {second} = {first};")
            self.put(f"double high{k} = {first}, low{k} = {second};")
        self.put("int pending = 0;")
        self.put(_WAIT)

    def batch(self, size: int) -> None:
        for k in self.of_mode("residual", "search", "rare"):
            self.put(f"double term{k}[{size}] = {{}};")

    def consume(self, outputs: dict[str, str], j: str, e: str, a: str) -> None:
        for k, term in enumerate(self.terms):
            x = outputs[term.output]
            if term.bins.mode in ("search", "rare"):
                self.put(f"term{k}[{a}] = {x};")
            elif term.bins.mode == "plain":
                self.put(f"high{k} += {x};")
            else:
                self.accumulate(k, x, a)

    def accumulate(self, k: int, x: str, a: str) -> None:
        """X into the accumulators of term ``k``; what is left of it stays in the batch."""
        self.loops.serial += 1
        rest = f"rest{self.loops.serial}"
        self.put(f"double {rest} = {x} - absorb(high{k}, {x});")
        if self.terms[k].bins.mode == "split":
            self.put(f"absorb(low{k}, {rest});")
        else:
            self.put(f"term{k}[{a}] = {rest} - absorb(low{k}, {rest});")

    def after_batch(self, size: int) -> None:
        for k in self.of_mode("search"):
            self.add_batch(k, size)
        for k in self.of_mode("residual", "rare"):
            # All at once: calls between elements made the compiler compute values again after each.
            some = " | ".join(f"double_to_bits(term{k}[{a}])" for a in range(size))
            self.loops.open(f"if (({some}) << 1 != 0ull)")
            for a in range(size):
                self.put(f"limb_add({self.limbs(k)}, term{k}[{a}]);")
            self.loops.close()

    def add_batch(self, k: int, size: int) -> None:
        """Add a batch of term ``k``, and again with other units where one of it does not go."""
        put, loops = self.put, self.loops
        loops.open("")
        put(f"double was_high = high{k}, was_low = low{k};")
        put("bool left = false;")
        put("u64 out = 0ull;")
        put("#pragma unroll")
        loops.open(f"for (int a = 0; a < {size}; a++)")
        put(f"double rest = term{k}[a] - absorb(high{k}, term{k}[a]);")
        put(f"left |= absorb(low{k}, rest) != rest;")
        put(f"out |= double_to_bits(high{k}) ^ double_to_bits(first{k});")
        loops.close()
        loops.open("if (left || out >> 52 != 0ull)")
        put(f"high{k} = was_high; low{k} = was_low;")
        put(f"refit({self.limbs(k)}, term{k}, high{k}, low{k}, first{k}, second{k});")
        loops.close()
        loops.close()

    def flush(self) -> None:
        for k, term in enumerate(self.terms):
            if term.bins.mode == "rare":
                continue
            if term.bins.mode == "plain":
                self.put(f"limb_add({self.limbs(k)}, high{k}); high{k} = 0.0;")
                continue
            for total, unit in zip((f"high{k}", f"low{k}"), self.units(k), strict=True):
                self.put(f"empty({self.limbs(k)}, {total}, {unit});")

    def after_tile(self) -> None:
        """Flush before a thread's doubles could round."""
        chunk = min(term.bins.chunk for term in self.terms if term.bins.mode != "rare")
        terms = max(ELEMENTS, 4 * TILE) // THREADS  # of one tile: a block has four at most
        self.put(f"pending += {terms};")
        self.loops.open(f"if (pending > {(1 << chunk) - terms})")
        self.flush()
        self.put("pending = 0;")
        self.loops.close()
        if self.of_mode("residual", "search", "rare"):
            self.put(_MEET)

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
