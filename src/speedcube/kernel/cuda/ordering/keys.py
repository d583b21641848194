"""Numbers and the unsigned integers that order like them, from one to the other on a GPU.

    void kernel(count, values, keys, words)

Forwards, NaN has the greatest key and -0 that of 0; ``words[0]`` counts the -0. Backwards the key
of a NaN gives NumPy's. Values and keys may lie in the same place.
"""

from __future__ import annotations

from typing import Final

from .... import dtypes
from ....dataclass import dataclass
from ..emit import CTYPE
from ..prelude import PRELUDE


@dataclass(frozen=True)
class DeviceKeys:
    """A kernel that makes keys of numbers of ``dtype``, or ``back`` numbers of keys."""

    dtype: str
    back: bool


_NAN: Final = {2: "0x7e00u", 4: "0x7fc00000u", 8: "0x7ff8000000000000ull"}


def emit_keys(program: DeviceKeys) -> str:
    """The CUDA text of ``program``."""
    size = dtypes.itemsize(program.dtype)
    key, bits = CTYPE[f"uint{8 * size}"], 8 * size
    sign = f"({key})1 << {bits - 1}"
    lines = [f"{key} x = ((const {key} *)values)[k];"]
    if program.dtype in dtypes.SIGNED:
        lines.append(f"x ^= {sign};")
    elif dtypes.is_float(program.dtype) and program.back:
        lines.append(f"if (x == ({key})~({key})0) x = ({key}){_NAN[size]};")
        lines.append(f"else x = x & ({sign}) ? x ^ ({sign}) : ({key})~x;")
    elif dtypes.is_float(program.dtype):
        infinity = {2: "0x7c00u", 4: "0x7f800000u", 8: "0x7ff0000000000000ull"}[size]
        lines.append(f"{key} size = x & ({key})~({sign});")
        lines.append(f"if (x == ({sign})) {{ zeros++; x = 0; }}")
        lines.append(f"if (size > ({key}){infinity}) x = ({key})~({key})0;")
        lines.append(f"else x = x & ({sign}) ? ({key})~x : x | ({sign});")
    return "\n".join(
        [
            PRELUDE,
            'extern "C" __global__ void __launch_bounds__(THREADS) '
            "kernel(u64 count, u64 values, u64 keys, u64 *words) {",
            "  u64 zeros = 0ull, step = (u64)gridDim.x * THREADS;",
            "  for (u64 k = (u64)blockIdx.x * THREADS + threadIdx.x; k < count; k += step) {",
            *(f"    {line}" for line in lines),
            f"    (({key} *)keys)[k] = x;",
            "  }",
            "  if (zeros) atomicAdd(words, zeros);",
            "}",
            "",
        ]
    )
