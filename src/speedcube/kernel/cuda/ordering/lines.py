"""Many short lines on a GPU, each sorted in shared memory, and of each what has some places.

    void kernel(lines, line, lg, values, many, places, out)

A thread block takes lines padded to ``2**lg`` elements, as many as it has room for, as integers
that order like them: a bitonic network (Batcher 1968) sorts all of them at once. ``places``: which
elements of a sorted line go out, ``many`` of them; 0: all. NaN is last and NumPy's; -0 and 0 are
equal, so where a line has both, one thread puts them in the order that they have in the line.
"""

from __future__ import annotations

from typing import Final

from .... import dtypes
from ....dataclass import dataclass
from ..emit import CTYPE
from ..prelude import PRELUDE

HELD: Final = 2048, 4096  # elements of a thread block: the longest lines


@dataclass(frozen=True)
class DeviceLines:
    """A kernel for elements of ``dtype`` whose thread blocks hold ``held`` of them."""

    dtype: str
    held: int


_INFINITY: Final = {2: "0x7c00", 4: "0x7f800000", 8: "0x7ff0000000000000"}
_NAN: Final = {2: "0x7e00", 4: "0x7fc00000", 8: "0x7ff8000000000000"}


def _conversions(dtype: str) -> list[str]:
    """``key_of`` and ``value_of``."""
    size = dtypes.itemsize(dtype)
    sign, last = f"((Key)1 << {8 * size - 1})", "(~(Key)0)"
    to, back = [], []
    if dtypes.is_float(dtype):
        to = [
            f"if ((x & (Key)({sign} - 1)) > (Key){_INFINITY[size]}ull) return {last};",
            f"return x & {sign} ? (Key)(~x & (Key)({sign} * 2 - 1)) : x | {sign};",
        ]
        back = [
            f"if (x == {last}) return (Key){_NAN[size]}ull;",
            f"return x & {sign} ? x ^ {sign} : ~x;",
        ]
    elif dtype in dtypes.SIGNED:
        to = back = [f"return x ^ {sign};"]
    else:
        to = back = ["return x;"]
    return [
        f"__device__ __forceinline__ Key key_of(Key x) {{ {' '.join(to)} }}",
        f"__device__ __forceinline__ Key value_of(Key x) {{ {' '.join(back)} }}",
    ]


_ZEROS: Final = """\
__device__ __forceinline__ unsigned below(const Key *keys, unsigned count, Key bound) {
  unsigned first = 0u;
  while (count) {
    unsigned half = count / 2u;
    bool up = keys[first + half] < bound;
    first = up ? first + half + 1u : first;
    count = up ? count - half - 1u : half;
  }
  return first;
}
"""


def emit_lines(program: DeviceLines) -> str:
    """The CUDA text of ``program``."""
    size, held = dtypes.itemsize(program.dtype), program.held
    word = CTYPE[f"uint{8 * size}"]
    sign = f"((Key)1 << {8 * size - 1})"
    floats = dtypes.is_float(program.dtype)
    zeros = f"""\
    for (unsigned l = threadIdx.x; l < here; l += THREADS) {{
      Key *own = keys + (l << lg);
      unsigned zero = below(own, (unsigned)line, {sign} - 1), end = zero;
      if (zero < line && own[zero] == {sign} - 1) end = below(own, (unsigned)line, {sign} + 1);
      if (end > zero && own[end - 1u] == {sign})
        for (u64 k = 0ull; k < line && zero < end; k++) {{
          Key key = key_of((Key)x[(first + l) * line + k]);
          if (key == {sign} || key == {sign} - 1) own[zero++] = key;
        }}
    }}
    __syncthreads();
"""
    return "\n".join(
        [
            PRELUDE,
            f"typedef {'u64' if size == 8 else 'unsigned'} Key;",
            *_conversions(program.dtype),
            _ZEROS if floats else "",
            f"""\
extern "C" __global__ void __launch_bounds__(THREADS) \
kernel(u64 lines, u64 line, u64 lg, u64 values, u64 many, const u64 *places, u64 out) {{
  __shared__ Key keys[{held}];
  const {word} *x = (const {word} *)values;
  unsigned padded = 1u << lg, each = {held}u >> lg;
  for (u64 first = (u64)blockIdx.x * each; first < lines; first += (u64)gridDim.x * each) {{
    unsigned here = lines - first < each ? (unsigned)(lines - first) : each;
    for (unsigned w = threadIdx.x; w < {held}u; w += THREADS) {{
      unsigned l = w >> lg, p = w & (padded - 1u);
      keys[w] = l < here && p < line ? key_of((Key)x[(first + l) * line + p]) : ~(Key)0;
    }}
    __syncthreads();
    for (unsigned span = 2u; span <= padded; span *= 2u)
      for (unsigned step = span / 2u; step; step /= 2u) {{
        for (unsigned w = threadIdx.x; w < {held // 2}u; w += THREADS) {{
          unsigned i = (w & ~(step - 1u)) << 1 | (w & (step - 1u));
          Key a = keys[i], b = keys[i | step];
          bool up = span == padded || !(i & span);
          if ((a > b) == up) {{ keys[i] = b; keys[i | step] = a; }}
        }}
        __syncthreads();
      }}
{zeros if floats else ""}\
    for (unsigned w = threadIdx.x; w < here * (unsigned)many; w += THREADS) {{
      unsigned l = w / (unsigned)many, k = w % (unsigned)many;
      Key key = keys[(l << lg) + (places ? (unsigned)places[k] : k)];
      (({word} *)out)[first * many + w] = ({word})value_of(key);
    }}
    __syncthreads();
  }}
}}
""",
        ]
    )
