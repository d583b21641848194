"""What a thread of a GPU has of a result, of one sink or of several that take the same elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...folds import FOLDS
from ...program import Program, Sink
from ..text import CudaText
from .batches import Adding
from .folds import Folding, Taking, fold_words
from .near import words

FOLD_TYPES: Final = {"isum": "Wrapping", "min": "Least", "argmin": "First"}


def state_words(program: Program) -> int:
    """Words that a thread has of a result."""
    return sum(map(_words, program.sink.sinks))


def _words(sink: Sink) -> int:
    assert sink.many is not None
    return fold_words(sink.kind) if sink.kind in FOLDS else words(sink.many.sums)


def numbers_of(sink: Sink) -> range:
    """The numbers of the results of ``sink``."""
    assert sink.many is not None
    return range(len(sink.many.ops))


def state_type(sink: Sink) -> str:
    """The type of what a thread has of ``sink``, one of several."""
    assert sink.many is not None
    if sink.kind in FOLDS:
        return f"{FOLD_TYPES[sink.kind]}<{_words(sink)}>"
    return f"Sums<{sink.many.sums}>"


def state_of(sinks: Sequence[Sink]) -> str:
    """What a thread has of all ``sinks``, and how that is put together."""
    names = [f"part{k}" for k in range(len(sinks))]
    firsts = [sum(map(_words, sinks[:k])) for k in range(len(sinks))]
    words = list(zip(names, firsts, strict=True))
    head = "__device__ __forceinline__"
    return "\n".join(
        [
            "struct State {",
            *(f"  {state_type(s)} {name};" for s, name in zip(sinks, names, strict=True)),
            f"  {head} void clear() {{ {' '.join(f'{name}.clear();' for name in names)} }}",
            "};",
            f"{head} void merge(State &a, const State &b) {{",
            *(f"  merge(a.{name}, b.{name});" for name in names),
            "}",
            f"{head} void keep(volatile double *to, i64 stride, const State &s) {{",
            *(f"  keep(to + {first} * stride, stride, s.{name});" for name, first in words),
            "}",
            f"{head} void take(const volatile double *from, i64 stride, State &s) {{",
            *(f"  take(from + {first} * stride, stride, s.{name});" for name, first in words),
            "}",
            f"{head} State crossed(const State &mine, unsigned bit) {{",
            "  State other;",
            *(f"  other.{name} = crossed(mine.{name}, bit);" for name in names),
            "  return other;",
            "}",
            "",
        ]
    )


class Together(Taking):
    """Several sinks of the same elements: each has its own words of the thread's state."""

    def __init__(self, text: CudaText, parts: list[Adding | Folding]) -> None:
        super().__init__(text, text.program.sink, "")
        self.parts = parts
        coarse = [part for part in parts if not part.fine]
        self.fine = not coarse
        for part in coarse[1:]:
            if isinstance(part, Adding):
                part.counts = False  # the first does

    def take(self, outputs: dict[str, str], condition: str | None) -> None:
        for k, part in enumerate(self.parts):
            own = f"{k}."
            mine = {n.removeprefix(own): x for n, x in outputs.items() if n.startswith(own)}
            self.text.open("")
            self.put(f"auto &sums = state.part{k};")
            part.take(mine, condition)
            self.text.close()

    def start(self) -> None:
        for part in self.parts:
            part.start()

    def begin(self) -> None:
        for part in self.parts:
            part.begin()

    def end(self) -> None:
        self.each("end")

    def done(self) -> None:
        self.each("done")

    def each(self, what: str) -> None:
        """``what`` of every part, where ``sums`` are its own."""
        for k, part in enumerate(self.parts):
            self.text.open("")
            self.put(f"auto &sums = state.part{k};")
            getattr(part, what)()
            self.text.close()
