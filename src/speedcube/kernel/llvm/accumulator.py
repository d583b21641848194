"""Text that every CPU kernel carries: exact addition to limbs, and the floating-point mode.

The limbs are a fixed-point number of 68 digits of 32 bits (least digit 2**-1074) held in int64
words, carries left for later: 2**31 additions cannot overflow. It is the superaccumulator of
Kulisch (1971) in carry-save form. `limbs_add` adds doubles in memory; NaN and infinities are
counted in words 68-70. `limb_put` adds mantissa * 2**(place - 1074).
"""

from __future__ import annotations

import platform
from typing import Final

# A signed mantissa, shifted by s < 32 bits, is cut at multiples of 32 bits without 128-bit numbers:
# the low digit is that of mantissa << s, all above it mantissa >> (32 - s), rounded down.
_PUT: Final = """\
  %digit = lshr i64 %place, 5
  %shift = and i64 %place, 31
  %left = shl i64 %mantissa, %shift
  %d0 = and i64 %left, 4294967295
  %right = sub i64 32, %shift
  %above = ashr i64 %mantissa, %right
  %d1 = and i64 %above, 4294967295
  %d2 = ashr i64 %above, 32
  %p0 = getelementptr i64, ptr %limbs, i64 %digit
  %p1 = getelementptr i64, ptr %p0, i64 1
  %p2 = getelementptr i64, ptr %p0, i64 2
  %l0 = load i64, ptr %p0
  %r0 = add i64 %l0, %d0
  store i64 %r0, ptr %p0
  %l1 = load i64, ptr %p1
  %r1 = add i64 %l1, %d1
  store i64 %r1, ptr %p1
  %l2 = load i64, ptr %p2
  %r2 = add i64 %l2, %d2
  store i64 %r2, ptr %p2"""

LIMBS_ADD: Final = f"""\
define internal void @limbs_add(ptr %limbs, ptr %terms, i64 %count) noinline nounwind {{
entry:
  br label %term
term:
  %j = phi i64 [ 0, %entry ], [ %next, %done ]
  %where = getelementptr i64, ptr %terms, i64 %j
  %bits = load i64, ptr %where
  %e0 = lshr i64 %bits, 52
  %e = and i64 %e0, 2047
  %fraction = and i64 %bits, 4503599627370495
  %special = icmp eq i64 %e, 2047
  br i1 %special, label %odd, label %finite
odd:
  %nan = icmp ne i64 %fraction, 0
  %negative = icmp slt i64 %bits, 0
  %which = select i1 %negative, i64 70, i64 69
  %word = select i1 %nan, i64 68, i64 %which
  %pc = getelementptr i64, ptr %limbs, i64 %word
  %c0 = load i64, ptr %pc
  %c1 = add i64 %c0, 1
  store i64 %c1, ptr %pc
  br label %done
finite:
  %normal = icmp ne i64 %e, 0
  %one = zext i1 %normal to i64
  %hidden = shl i64 %one, 52
  %size = or i64 %fraction, %hidden
  %sign = ashr i64 %bits, 63
  %flipped = xor i64 %size, %sign
  %mantissa = sub i64 %flipped, %sign
  %place = sub i64 %e, %one
{_PUT}
  br label %done
done:
  %next = add i64 %j, 1
  %more = icmp slt i64 %next, %count
  br i1 %more, label %term, label %end
end:
  ret void
}}
define internal void @limb_put(ptr %limbs, i64 %mantissa, i64 %place) noinline nounwind {{
entry:
{_PUT}
  ret void
}}"""

_X86: Final[tuple[list[str], list[str], list[str]]] = (
    [
        "  %mode_slot = alloca i32",
        "  %mode_saved = alloca i32",
        "  store i32 8064, ptr %mode_slot",  # 0x1F80: nearest, no flush to zero, no traps
        "  call void @llvm.x86.sse.stmxcsr(ptr %mode_saved)",
        "  call void @llvm.x86.sse.ldmxcsr(ptr %mode_slot)",
    ],
    ["  call void @llvm.x86.sse.ldmxcsr(ptr %mode_saved)"],
    ["declare void @llvm.x86.sse.stmxcsr(ptr)", "declare void @llvm.x86.sse.ldmxcsr(ptr)"],
)
_ARM: Final[tuple[list[str], list[str], list[str]]] = (
    [
        '  %mode_saved = call i64 asm sideeffect "mrs $0, fpcr", "=r"()',
        '  call void asm sideeffect "msr fpcr, $0", "r"(i64 0)',
    ],
    ['  call void asm sideeffect "msr fpcr, $0", "r"(i64 %mode_saved)'],
    [],
)
_MODES: Final[dict[str, tuple[list[str], list[str], list[str]]]] = {
    "x86_64": _X86,
    "AMD64": _X86,
    "aarch64": _ARM,
    "arm64": _ARM,
}


def floating_point_mode(machine: str | None = None) -> tuple[list[str], list[str], list[str]]:
    """Lines that set round-to-nearest without flushing, lines that restore, declarations."""
    return _MODES.get(machine or platform.machine(), ([], [], []))
