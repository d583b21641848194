"""Simple folds (`kernel/folds.py`) of many results on a GPU: what a thread has of one, its result.

They have the names of `near.py`'s sums, so that the same kernel puts either together.
"""

from __future__ import annotations

from typing import Final

from .... import dtypes
from ...folds import FOLDS, KEYED
from ...program import Sink
from ..emit import CTYPE
from ..hooks import CudaSink
from ..text import CudaText, memory

_WORDS: Final = """\
template <int N> struct Sums {
  i64 word[N];
  __device__ __forceinline__ void clear() {
    for (int k = 0; k < N; k++) word[k] = START;
  }
};
template <int N> __device__ __forceinline__ void merge(Sums<N> &a, const Sums<N> &b) {
  COMBINE
}
template <int N> __device__ __forceinline__ void keep(volatile double *to, i64 stride,
                                                      const Sums<N> &s) {
#pragma unroll
  for (int k = 0; k < N; k++) to[k * stride] = bits_to_double((u64)s.word[k]);
}
template <int N> __device__ __forceinline__ void take(const volatile double *from, i64 stride,
                                                      Sums<N> &s) {
#pragma unroll
  for (int k = 0; k < N; k++) s.word[k] = (i64)double_to_bits(from[k * stride]);
}
template <int N> __device__ __forceinline__ Sums<N> crossed(const Sums<N> &mine, unsigned bit) {
  Sums<N> other;
#pragma unroll
  for (int k = 0; k < N; k++) other.word[k] = across(mine.word[k], bit);
  return other;
}
"""

_ADD: Final = "a.word[0] = (i64)((u64)a.word[0] + (u64)b.word[0]);"
_LESSER: Final = "if (b.word[0] < a.word[0]) a.word[0] = b.word[0];"
_SOONER: Final = (
    "if (b.word[0] < a.word[0] || (b.word[0] == a.word[0] && b.word[N - 1] < a.word[N - 1])) a = b;"
)


def fold_words(kind: str) -> int:
    """Words that a thread has of a result of fold ``kind``."""
    return len(FOLDS[kind].outputs)


def folding(kind: str, name: str = "Sums") -> str:
    """What a thread has of a result of fold ``kind``, and how that is combined."""
    fold = FOLDS[kind]
    pair = _SOONER if len(fold.outputs) > 1 else _LESSER
    combine = _ADD if fold.combine == "add" else pair
    return (
        _WORDS.replace("Sums", name)
        .replace("START", f"(i64){fold.start:#x}ull")
        .replace("COMBINE", combine)
    )


class Taking(CudaSink):
    """Takes elements into what a thread has of a result."""

    fine = True  # nothing is scaled at the end

    def consume(self, outputs: dict[str, str], j: str, e: str, a: str) -> None:
        self.take(outputs, None)

    def take(self, outputs: dict[str, str], condition: str | None) -> None:
        """Take an element, where ``condition`` holds."""
        raise NotImplementedError

    def start(self) -> None:
        """The thread begins with a result."""

    def begin(self) -> None:
        """As many elements as a thread loads at once are taken from here on."""

    def end(self) -> None:
        """They have been taken."""

    def done(self) -> None:
        """The thread has taken all of its elements."""


class Folding(Taking):
    """Folds elements into the thread's words."""

    def __init__(self, text: CudaText, sink: Sink, type_: str = "Sums<SUMS>") -> None:
        super().__init__(text, sink, "")
        self.outputs, self.type = FOLDS[sink.kind].outputs, type_

    def take(self, outputs: dict[str, str], condition: str | None) -> None:
        self.text.open("" if condition is None else f"if ({condition})")
        self.put(f"{self.type} one;")
        for k, name in enumerate(self.outputs):
            self.put(f"one.word[{k}] = (i64){outputs[name]};")
        self.put("merge(sums, one);")
        self.text.close()

    def done(self) -> None:
        """The thread has taken all of its elements."""


def giving_fold(op: str, dtype: str, place: str) -> list[str]:
    """Statements that give the result of ``sums`` to ``place`` of an output of ``dtype``."""
    if op.startswith("arg"):
        value = "sums.word[1]"
    elif op == "sum":
        value = f"({CTYPE[dtype]})sums.word[0]"
    else:
        key = "~sums.word[0]" if KEYED[op].highest else "sums.word[0]"
        value = _value(key, dtype, KEYED[op].skips)
    return [f"(({memory(dtype)} *)out)[{place}] = {value};"]


def _value(key: str, dtype: str, skips: bool) -> str:
    """The value whose order key (`lower/rules.py`) is ``sums.word[0]``, ``key`` if reversed."""
    if not dtypes.is_float(dtype):
        lifted = f"((u64)({key}) ^ 0x8000000000000000ull)" if dtype == "uint64" else f"({key})"
        return f"({memory(dtype)}){lifted}"
    single = dtype == "float32"
    word, most = ("int", "0x7fffffff") if single else ("i64", "0x7fffffffffffffffll")
    bits = f"(({word})({key}) < 0 ? ({word})({key}) ^ {most} : ({word})({key}))"
    value = f"bits_to_float((unsigned){bits})" if single else f"bits_to_double((u64){bits})"
    nan = "bits_to_float(0x7fc00000u)" if single else "bits_to_double(0x7ff8ull << 48)"
    end = "0x7fffffffffffffffull" if skips else "0x8000000000000000ull"
    return f"(u64)sums.word[0] == {end} ? {nan} : {value}"
