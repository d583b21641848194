"""From sums to results on a GPU, given where they are certain: `llvm/many/finish.py` as CUDA C."""

from __future__ import annotations

from typing import Final

from ...many import Many
from .near import SLACK, TINY

FINISH: Final = f"""\
/* A bound that may underflow, and not zero unless that is which it is made of: it breaks ties. */
__device__ __forceinline__ double some(double bound, double of) {{
  return of == 0.0 ? bound : bound + 0x1p-1000;
}}
__device__ __forceinline__ Near quotient(const Near &a, double divisor) {{
  double lost, value = a.value / divisor;
  double rest = two_sum(fma(-value, divisor, a.value), a.tail, lost), tail = rest / divisor;
  double whole = a.bound + fabs(lost) + fabs(fma(-tail, divisor, rest));
  return {{value, tail, some(whole / divisor * {SLACK}, whole)}};
}}
/* (count * squares - total * total) / spread: of each product two doubles and a rest. */
__device__ __forceinline__ Near variance(const Near &total, const Near &squares, double count,
                                         double spread) {{
  double a = count * squares.value, a_left = fma(count, squares.value, -a);
  double a_rest = count * squares.tail;
  double b = total.value * total.value, b_left = fma(total.value, total.value, -b);
  double b_rest = (total.value + total.value) * total.tail;
  double low, tail, high = two_sum(a, -b, low);
  double middle = a_left - b_left;
  double value = two_sum(high, low + middle + (a_rest - b_rest), tail);
  double sizes = fabs(low) + fabs(middle) + fabs(a_rest) + fabs(b_rest);
  double own = sizes * 0x1p-49 + total.tail * total.tail;
  double twice = (fabs(total.value) + fabs(total.tail)) * 2.0;
  double of_total = some((twice + total.bound) * total.bound, total.bound);
  double bound = (own + of_total + count * squares.bound) * {SLACK};
  return quotient({{value, tail, bound}}, spread);
}}
/* The square root, by one step of Newton's. */
__device__ __forceinline__ Near root_of(const Near &a) {{
  if (a.value == 0.0 && a.tail == 0.0 && a.bound == 0.0) return {{0.0, 0.0, 0.0}};
  double value = root(a.value);
  double rest = fma(-value, value, a.value) + a.tail, tail = rest / (value + value);
  double bound = a.bound + fabs(rest) * 0x1p-51;
  return {{value, tail, some((bound / value + tail * tail / value) * {SLACK}, a.bound)}};
}}
/* Whether a double is no tie of float32's or float16's. */
__device__ __forceinline__ bool untied(double x) {{
  return (double_to_bits(x) & 0xfffffffull) != 0ull;
}}
/* The double that a is for certain when it is rounded to nearest; to odd, where it is rounded once
   more: to float32 in the kernel (where both of its ends may be the same), else later. */
template <bool ODD, bool SINGLE>
__device__ __forceinline__ double rounded(const Near &a, bool &certain) {{
  if (a.tail == 0.0 && a.bound == 0.0) {{  /* as nearly always of few float32: it is a double */
    certain = true;
    return a.value;
  }}
  double tail, value = two_sum(a.value, a.tail, tail);
  bool exact = a.bound == 0.0;
  double more = exact ? 0.0 : a.bound + fabs(tail) * 0x1p-51;
  double up = tail + more, down = tail - more, size = fabs(value);
  bool usual = size >= 0x1p-700 && size <= 0x1p900;
  certain = value + up == value && value + down == value;
  certain = certain && (usual || (exact && value == 0.0));
  if (!ODD) return value;
  u64 bits = double_to_bits(value);
  bool above = down > 0.0, below = up < 0.0;
  bool known = above || below || tail == up || untied(value);
  double odd = value;
  if ((above || below) && (bits & 1ull) == 0ull) {{
    bool outwards = above == ((i64)bits >= 0);
    odd = bits_to_double(outwards ? bits + 1ull : bits - 1ull);
  }}
  certain = certain && known;
  if (SINGLE && !certain && usual) {{
    double one = value + up, other = value + down;
    certain = (float)one == (float)other && untied(one) && untied(other);
    return value;
  }}
  return odd;
}}
/* A result in its place, or, where it is not certain, its code in the list of those. */
template <typename T>
__device__ __forceinline__ void give(T value, bool certain, T *out, i64 place, u64 *failed,
                                     u64 *places, u64 room, i64 code) {{
  if (certain) {{
    out[place] = value;
    return;
  }}
  u64 number = atomicAdd(failed, 1ull);
  if (number < room) places[number] = (u64)code;
}}
"""

_NEAR: Final = {
    "sum": "sums.of[0]",
    "dot": "sums.of[0]",
    "mean": "quotient(sums.of[0], count)",
    "var": "variance(sums.of[0], sums.of[1], count, spread)",
    "std": "root_of(variance(sums.of[0], sums.of[1], count, spread))",
}


def giving(many: Many, dtype: str, place: str, number: int = 0, code: str = "") -> list[str]:
    """Statements that give result ``number`` of ``sums`` to ``place`` of the output.

    ``code`` (else the place) goes to the list of those that are not certain.
    """
    first, kind = many.parameter, "float" if dtype == "float32" else "double"
    op = many.ops[number]
    odd, single = str(many.odd).lower(), str(dtype == "float32").lower()
    lines = [
        f"double count = bits_to_double(p{first}), "
        f"spread = bits_to_double(p{many.spread(number)});",
        "for (int k = 0; k < SUMS; k++) {",
        "  Near &sum = sums.of[k];",
        "  double tail;",
        "  sum.value = two_sum(sum.value, sum.tail, tail);",
        "  sum.tail = tail;",
        f"  sum.bound *= {SLACK};",
        "}",
        "bool certain;",
        f"double value = rounded<{odd}, {single}>({_NEAR[op]}, certain);",
    ]
    if op in ("var", "std"):
        lines.append("certain = certain && value >= 0.0;")
        if not many.whole:
            lines.append(f"certain = certain && sums.least >= {(TINY << 53) - 1:#x}ull;")
    nan = "bits_to_float(0x7fc00000u)" if kind == "float" else "bits_to_double(0x7ff8ull << 48)"
    lines += [
        "bool nan = sums.most >= 0x7ff80000u;  /* an element is NaN */",
        f"{kind} result = nan ? {nan} : ({kind})value;",
        f"give(result, certain || nan, ({kind} *)out, {place}, failed, places, room, "
        f"{code or place});",
    ]
    return lines
