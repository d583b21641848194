"""Text that every CPU kernel carries: exact addition to limbs, and the floating-point mode.

`limb_add` adds one double to a fixed-point number of 68 digits of 32 bits (least digit 2**-1074)
held in int64 words, carries left for later: 2**31 additions cannot overflow. NaN and infinities
are counted in words 68-70. `limb_put` adds mantissa * 2**(place - 1074), or subtracts it where sign
is -1. It is the superaccumulator of Kulisch (1971) in carry-save form.
"""

from __future__ import annotations

import platform
from typing import Final

LIMB_ADD: Final = """\
define internal void @limb_add(ptr %limbs, double %x) noinline nounwind {
entry:
  %bits = bitcast double %x to i64
  %e0 = lshr i64 %bits, 52
  %e = and i64 %e0, 2047
  %special = icmp eq i64 %e, 2047
  br i1 %special, label %odd, label %finite
odd:
  %m = and i64 %bits, 4503599627370495
  %nan = icmp ne i64 %m, 0
  %negative = icmp slt i64 %bits, 0
  %which = select i1 %negative, i64 70, i64 69
  %word = select i1 %nan, i64 68, i64 %which
  %pc = getelementptr i64, ptr %limbs, i64 %word
  %c0 = load i64, ptr %pc
  %c1 = add i64 %c0, 1
  store i64 %c1, ptr %pc
  ret void
finite:
  %fraction = and i64 %bits, 4503599627370495
  %normal = icmp ne i64 %e, 0
  %hidden = select i1 %normal, i64 4503599627370496, i64 0
  %mantissa = or i64 %fraction, %hidden
  %e1 = sub i64 %e, 1
  %place = select i1 %normal, i64 %e1, i64 0
  %sign = ashr i64 %bits, 63
  call void @limb_put(ptr %limbs, i64 %mantissa, i64 %place, i64 %sign)
  ret void
}
define internal void @limb_put(ptr %limbs, i64 %mantissa, i64 %place, i64 %sign) noinline nounwind {
entry:
  %digit = lshr i64 %place, 5
  %shift = and i64 %place, 31
  %wide = zext i64 %mantissa to i128
  %shift128 = zext i64 %shift to i128
  %shifted = shl i128 %wide, %shift128
  %low64 = trunc i128 %shifted to i64
  %high128 = lshr i128 %shifted, 64
  %d2 = trunc i128 %high128 to i64
  %d0 = and i64 %low64, 4294967295
  %d1 = lshr i64 %low64, 32
  %x0 = xor i64 %d0, %sign
  %x1 = xor i64 %d1, %sign
  %x2 = xor i64 %d2, %sign
  %s0 = sub i64 %x0, %sign
  %s1 = sub i64 %x1, %sign
  %s2 = sub i64 %x2, %sign
  %p0 = getelementptr i64, ptr %limbs, i64 %digit
  %p1 = getelementptr i64, ptr %p0, i64 1
  %p2 = getelementptr i64, ptr %p0, i64 2
  %l0 = load i64, ptr %p0
  %l1 = load i64, ptr %p1
  %l2 = load i64, ptr %p2
  %r0 = add i64 %l0, %s0
  %r1 = add i64 %l1, %s1
  %r2 = add i64 %l2, %s2
  store i64 %r0, ptr %p0
  store i64 %r1, ptr %p1
  store i64 %r2, ptr %p2
  ret void
}"""

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
