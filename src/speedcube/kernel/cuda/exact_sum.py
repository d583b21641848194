"""Exact sums on a GPU: a thread's doubles cannot round, the limbs are the thread block's."""

from __future__ import annotations

from typing import Final

from ..program import LIMBS, Term
from .hooks import WAIT, CudaSink
from .prelude import BINS, ELEMENTS, LIMB_ADD, NO_UNIT, SEARCH, THREADS, TILE

# After a rare branch: it may leave the threads of a warp apart for all tiles that follow. Sums of
# stored data took 1.4 times, of float32 normals 3 times as long.
_MEET: Final = "__syncwarp();"


class ThreadSum(CudaSink):
    """Exact sums: a thread's doubles cannot round (`program.Bins`), the limbs are the block's.

    Where the range of a term is unknown a batch is tried with the units that the thread has.
    """

    @property
    def terms(self) -> tuple[Term, ...]:
        return self.sink.terms

    @property
    def pending(self) -> str:
        """Terms that a thread's doubles have taken since they were emptied."""
        return f"pending{self.tag}"

    def of_mode(self, *modes: str) -> list[int]:
        return [k for k, term in enumerate(self.terms) if term.bins.mode in modes]

    def support(self) -> list[str]:
        return [LIMB_ADD, BINS, *([SEARCH] if self.of_mode("search") else [])]

    def declare(self) -> None:
        self.put(f"__shared__ u64 limbs{self.tag}[{self.sink.words}];")

    def limbs(self, k: int) -> str:
        return f"limbs{self.tag} + {self.terms[k].group * LIMBS}"

    def name(self, k: int) -> str:
        """What sets the names of term ``k`` apart."""
        return f"{k}{self.tag}"

    def units(self, k: int) -> tuple[str, str]:
        """What the two accumulators of term ``k`` begin at."""
        bins = self.terms[k].bins
        if bins.mode == "search":
            n = self.name(k)
            return f"first{n}", f"second{n}"
        return f"bits_to_double(p{bins.parameter})", f"bits_to_double(p{bins.parameter + 1})"

    def begin(self) -> None:
        words = self.sink.words
        self.put(f"for (int w = threadIdx.x; w < {words}; w += THREADS) limbs{self.tag}[w] = 0ull;")
        for k, term in enumerate(self.terms):
            n = self.name(k)
            if term.bins.mode == "rare":
                continue
            if term.bins.mode == "plain":
                self.put(f"double high{n} = 0.0;")
                continue
            first, second = self.units(k)
            if term.bins.mode == "search":
                self.put(f"double {first} = bits_to_double({NO_UNIT}), {second} = {first};")
            self.put(f"double high{n} = {first}, low{n} = {second};")
        self.put(f"int {self.pending} = 0;")
        self.put(WAIT)

    def batch(self, size: int) -> None:
        for k in self.of_mode("residual", "search", "rare"):
            self.put(f"double term{self.name(k)}[{size}] = {{}};")

    def consume(self, outputs: dict[str, str], j: str, e: str, a: str) -> None:
        for k, term in enumerate(self.terms):
            n, x = self.name(k), outputs[term.output]
            if term.bins.mode in ("search", "rare"):
                self.put(f"term{n}[{a}] = {x};")
            elif term.bins.mode == "plain":
                self.put(f"high{n} += {x};")
            else:
                self.accumulate(k, x, a)

    def accumulate(self, k: int, x: str, a: str) -> None:
        """Add ``x`` to the accumulators of term ``k``; what is left of it stays in the batch."""
        self.text.serial += 1
        n, rest = self.name(k), f"rest{self.text.serial}"
        self.put(f"double {rest} = {x} - absorb(high{n}, {x});")
        if self.terms[k].bins.mode == "split":
            self.put(f"absorb(low{n}, {rest});")
        else:
            self.put(f"term{n}[{a}] = {rest} - absorb(low{n}, {rest});")

    def after_batch(self, size: int) -> None:
        for k in self.of_mode("search"):
            self.add_batch(k, size)
        for k in self.of_mode("residual", "rare"):
            # All at once: calls between elements made the compiler compute values again after each.
            n = self.name(k)
            some = " | ".join(f"double_to_bits(term{n}[{a}])" for a in range(size))
            self.text.open(f"if (({some}) << 1 != 0ull)")
            for a in range(size):
                self.put(f"limb_add({self.limbs(k)}, term{n}[{a}]);")
            self.text.close()

    def add_batch(self, k: int, size: int) -> None:
        """Add a batch of term ``k``, and again with other units where one of it does not go."""
        put, text, n = self.put, self.text, self.name(k)
        text.open("")
        put(f"double was_high = high{n}, was_low = low{n};")
        put("bool left = false;")
        put("u64 out = 0ull;")
        put("#pragma unroll")
        text.open(f"for (int a = 0; a < {size}; a++)")
        put(f"double rest = term{n}[a] - absorb(high{n}, term{n}[a]);")
        put(f"left |= absorb(low{n}, rest) != rest;")
        put(f"out |= double_to_bits(high{n}) ^ double_to_bits(first{n});")
        text.close()
        text.open("if (left || out >> 52 != 0ull)")
        put(f"high{n} = was_high; low{n} = was_low;")
        put(f"refit({self.limbs(k)}, term{n}, high{n}, low{n}, first{n}, second{n});")
        text.close()
        text.close()

    def flush(self) -> None:
        for k, term in enumerate(self.terms):
            n = self.name(k)
            if term.bins.mode == "rare":
                continue
            if term.bins.mode == "plain":
                self.put(f"limb_add({self.limbs(k)}, high{n}); high{n} = 0.0;")
                continue
            for total, unit in zip((f"high{n}", f"low{n}"), self.units(k), strict=True):
                self.put(f"empty({self.limbs(k)}, {total}, {unit});")

    def after_tile(self) -> None:
        """Flush before a thread's doubles could round."""
        chunk = min(term.bins.chunk for term in self.terms if term.bins.mode != "rare")
        terms = max(ELEMENTS, 4 * TILE) // THREADS  # of one tile: a block has four at most
        self.put(f"{self.pending} += {terms};")
        self.text.open(f"if ({self.pending} > {(1 << chunk) - terms})")
        self.flush()
        self.put(f"{self.pending} = 0;")
        self.text.close()
        if self.of_mode("residual", "search", "rare"):
            self.put(_MEET)

    def end(self) -> None:
        words = self.sink.words
        self.flush()
        self.put(WAIT)
        self.put(f"u64 *record{self.tag} = {self.out} + (u / (i64)g7) * {words};")
        self.put(f"for (int w = threadIdx.x; w < {words}; w += THREADS)")
        self.put(f"  if (limbs{self.tag}[w]) atomicAdd(record{self.tag} + w, limbs{self.tag}[w]);")
        self.put(WAIT)
