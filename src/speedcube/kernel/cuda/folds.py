"""Simple folds (`kernel/folds.py`) on a GPU: each thread for itself, then the block, the record."""

from __future__ import annotations

from typing import Final

from ..folds import FOLDS, Fold
from ..program import Sink
from .emit import literal
from .hooks import WAIT, CudaSink
from .text import CudaText

# How a word is combined with another: its dtype, x into a thread's, and the atomic function. A
# wrapping sum is unsigned, since C leaves signed overflow undefined.
_COMBINE: Final[dict[str, tuple[str, str, str]]] = {
    "add": ("uint64", "folded += (u64)$;", "atomicAdd"),
    "least": ("int64", "if ($ < folded) folded = $;", "atomicMin"),
}


class ThreadFold(CudaSink):
    """A simple fold into one word: each thread's, then the block's, then the record's."""

    def __init__(self, text: CudaText, sink: Sink, tag: str, fold: Fold) -> None:
        super().__init__(text, sink, tag)
        self.output = fold.outputs[0]
        dtype, into, self.atomic = _COMBINE[fold.combine]
        self.into = into.replace("folded", f"folded{tag}")
        self.folded, self.whole = f"folded{tag}", f"whole{tag}"
        self.type = {"uint64": "u64", "int64": "i64"}[dtype]
        self.start = literal(fold.start, dtype)

    def declare(self) -> None:
        self.put(f"__shared__ {self.type} {self.whole};")

    def begin(self) -> None:
        self.put(f"{self.type} {self.folded} = {self.start};")
        self.put(f"if (threadIdx.x == 0) {self.whole} = {self.start};")
        self.put(WAIT)

    def consume(self, outputs: dict[str, str], j: str, e: str, a: str) -> None:
        self.put(self.into.replace("$", outputs[self.output]))

    def end(self) -> None:
        self.put(f"{self.atomic}(&{self.whole}, {self.folded});")
        self.put(WAIT)
        record = f"({self.type} *){self.out} + u / (i64)g7"
        self.put(f"if (threadIdx.x == 0) {self.atomic}({record}, {self.whole});")
        self.put(WAIT)


class ThreadPairFold(CudaSink):
    """The least of two words: a record for each unit, which the host merges."""

    def __init__(self, text: CudaText, sink: Sink, tag: str, fold: Fold) -> None:
        super().__init__(text, sink, tag)
        self.outputs = fold.outputs
        self.start = literal(fold.start, "int64")

    def declare(self) -> None:
        self.put("__shared__ i64 keys[THREADS], places[THREADS];")

    def begin(self) -> None:
        self.put(f"i64 key = {self.start}, place = {self.start};")
        self.put(WAIT)

    def consume(self, outputs: dict[str, str], j: str, e: str, a: str) -> None:
        self.take(*(outputs[name] for name in self.outputs))

    def take(self, key: str, place: str) -> None:
        """Another pair, where it is the lesser."""
        sooner = f"{key} < key || ({key} == key && {place} < place)"
        self.put(f"if ({sooner}) {{ key = {key}; place = {place}; }}")

    def end(self) -> None:
        self.put("keys[threadIdx.x] = key; places[threadIdx.x] = place;")
        self.put(WAIT)
        self.text.open("if (threadIdx.x == 0)")
        self.text.open("for (int w = 1; w < THREADS; w++)")
        self.take("keys[w]", "places[w]")
        self.text.close()
        self.put("out[2 * u] = (u64)key; out[2 * u + 1] = (u64)place;")
        self.text.close()
        self.put(WAIT)


def fold_of(text: CudaText, sink: Sink, tag: str) -> ThreadFold | ThreadPairFold:
    """What folds a kernel's elements."""
    fold = FOLDS[sink.kind]
    return (ThreadFold if len(fold.outputs) == 1 else ThreadPairFold)(text, sink, tag, fold)
