"""Which element of each number comes first, by value or by place, on a GPU.

Values are compared as integers that order like them; those of "greatest" are their complements, so
the least key is the one that is meant. NaN has the key 0 in both orders. The words of ``out``: a
length and where the keys, the places, the results of each number are. A pass finds keys; one more
the first place of a key; one more the elements at places.
"""

from __future__ import annotations

from typing import Final

from ....dataclass import dataclass
from ..hooks import CudaSink
from ..prelude import PRELUDE

LENGTH, KEYS, PLACES, RESULTS, HEAD = range(5)
NOTHING: Final = 2**64 - 1  # the key, and the place, of a number without elements

_KEYS: Final = """\
__device__ __forceinline__ u64 order_of(double x) {
  u64 bits = double_to_bits(x);
  return bits >> 63 ? ~bits : bits | 0x8000000000000000ull;
}
__device__ __forceinline__ u64 order_of(i64 x) { return (u64)x ^ 0x8000000000000000ull; }
__device__ __forceinline__ u64 order_of(u64 x) { return x; }
template <typename T> __device__ __forceinline__ u64 least_key(T x) {
  return x != x ? 0ull : order_of(x);
}
template <typename T> __device__ __forceinline__ u64 greatest_key(T x) {
  return x != x ? 0ull : ~order_of(x);
}
__device__ __forceinline__ u64 bits_of(double x) { return double_to_bits(x); }
__device__ __forceinline__ u64 bits_of(i64 x) { return (u64)x; }
__device__ __forceinline__ u64 bits_of(u64 x) { return x; }
"""


class ThreadForemost(CudaSink):
    """``kind``: least, greatest (their keys), least place, greatest place (of a key), picked."""

    def support(self) -> list[str]:
        return [_KEYS]

    def declare(self) -> None:
        self.put(f"u64 length = {self.out}[{LENGTH}];")
        for name, word in self._arrays().items():
            self.put(f"u64 *{name} = (u64 *){self.out}[{word}];")

    def _arrays(self) -> dict[str, int]:
        if self.sink.kind == "picked":
            return {"places": PLACES, "results": RESULTS}
        return {"keys": KEYS, "places": PLACES} if "place" in self.sink.kind else {"keys": KEYS}

    def consume(self, outputs: dict[str, str], j: str, e: str, a: str) -> None:
        put, text = self.put, self.text
        order, _, place = self.sink.kind.partition(" ")
        text.open("")
        put(f"u64 number = (u64){outputs['x']};")
        text.open("if (number < length)")
        if order == "picked":
            put(f"if (places[number] == (u64){outputs['p']})")
            put(f"  results[number] = bits_of({outputs['w']});")
        else:
            put(f"u64 key = {order}_key({outputs['w']});")
            if place:
                put(f"u64 place = (u64){outputs['p']};")
                put("if (keys[number] == key && place < *(volatile u64 *)(places + number))")
                put("  atomicMin(places + number, place);")
            else:
                put("if (key < *(volatile u64 *)(keys + number)) atomicMin(keys + number, key);")
        text.close()
        text.close()

    def after_tile(self) -> None:
        self.put("__syncwarp();")


@dataclass(frozen=True)
class DeviceValues:
    """A kernel from keys to values: ``void kernel(count, keys, out, nothing)``.

    ``dtype``: float64, int64 or uint64; ``nothing``: the bits of what stands for no key.
    """

    dtype: str
    greatest: bool


_DECODED: Final = {
    "float64": "x >> 63 ? x ^ 0x8000000000000000ull : ~x",
    "int64": "x ^ 0x8000000000000000ull",
    "uint64": "x",
}


def emit_values(program: DeviceValues) -> str:
    """The CUDA text of ``program``."""
    turned = "~keys[k]" if program.greatest else "keys[k]"
    nan = "keys[k] == 0ull ? 0x7ff8000000000000ull : " if program.dtype == "float64" else ""
    return "\n".join(
        [
            PRELUDE,
            'extern "C" __global__ void __launch_bounds__(THREADS) '
            "kernel(u64 count, const u64 *keys, u64 *out, u64 nothing) {",
            "  u64 step = (u64)gridDim.x * THREADS;",
            "  for (u64 k = (u64)blockIdx.x * THREADS + threadIdx.x; k < count; k += step) {",
            f"    u64 x = {turned};",
            f"    u64 value = {nan}{_DECODED[program.dtype]};",
            f"    out[k] = keys[k] == 0x{NOTHING:x}ull ? nothing : value;",
            "  }",
            "}",
            "",
        ]
    )
