"""The first of each run of equal elements in a sorted line, in order, on a GPU.

    void kernel(count, values, out, starts)

A thread block takes ``CHUNK`` elements. Counting, it writes how many of them differ from the one
before to ``starts``; keeping, it writes those from place ``starts`` of it on. All NaN are one where
``equal_nan``.
"""

from __future__ import annotations

from typing import Final

from .... import dtypes
from ....dataclass import dataclass
from ..prelude import PRELUDE, THREADS
from ..text import memory

EACH: Final = 8  # elements of a thread
CHUNK: Final = EACH * THREADS


@dataclass(frozen=True)
class DeviceDistinct:
    """A kernel that counts (``keeps``: keeps) what differs from the one before in a sorted line."""

    dtype: str
    keeps: bool
    equal_nan: bool = True


def emit_distinct(program: DeviceDistinct) -> str:
    """The CUDA text of ``program``."""
    kind = memory(program.dtype)
    differs = "x != before"
    if dtypes.is_float(program.dtype) and program.dtype != "float16" and program.equal_nan:
        differs += " && (x == x || before == before)"
    lines = [
        "  __shared__ unsigned sums[THREADS];",
        f"  const {kind} *line = (const {kind} *)values;",
        f"  u64 first = (u64)blockIdx.x * {CHUNK}ull + threadIdx.x * {EACH}ull;",
        f"  {kind} taken[{EACH}], before = ({kind})0;",
        "  if (first && first < count) before = line[first - 1ull];",
        "  unsigned starts_here = 0u, own = 0u;",
        "#pragma unroll",
        f"  for (int a = 0; a < {EACH}; a++) {{",
        "    if (first + a >= count) break;",
        f"    {kind} x = line[first + a];",
        "    taken[a] = x;",
        f"    if (first + a == 0ull || ({differs})) {{ starts_here |= 1u << a; own++; }}",
        "    before = x;",
        "  }",
        "  sums[threadIdx.x] = own;",
        "  __syncthreads();",
        "  for (unsigned step = 1u; step < THREADS; step *= 2u) {",
        "    unsigned left = threadIdx.x >= step ? sums[threadIdx.x - step] : 0u;",
        "    __syncthreads();",
        "    sums[threadIdx.x] += left;",
        "    __syncthreads();",
        "  }",
    ]
    if program.keeps:
        lines += [
            f"  {kind} *place = ({kind} *)out + (starts[blockIdx.x] + sums[threadIdx.x] - own);",
            "#pragma unroll",
            f"  for (int a = 0; a < {EACH}; a++)",
            "    if (starts_here >> a & 1u) *place++ = taken[a];",
        ]
    else:
        lines.append("  if (threadIdx.x == THREADS - 1u) starts[blockIdx.x] = sums[threadIdx.x];")
    head = 'extern "C" __global__ void __launch_bounds__(THREADS) kernel('
    arguments = "u64 count, u64 values, u64 out, u64 *starts"
    return "\n".join([PRELUDE, f"{head}{arguments}) {{", *lines, "}", ""])
