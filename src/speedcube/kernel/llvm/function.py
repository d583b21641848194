"""The function around a kernel's lines, which sets the processor's floating-point mode.

Kernels round to nearest and keep subnormals, whatever the caller's thread is set to; on return it
has its own mode again.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import Final

from .text import Text

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


# What a kernel keeps on the stack begins a page. Else its place follows from how deep the caller
# is: gamma variates took 5.9 to 6.9 ns, as the depth of calls had it. (Perhaps because a constant
# whose last 12 bits are those of a word just written seems to be that word; nobody counted it.)
_OWN_PAGE: Final = ("  %page = alloca i8, align 4096", "  store volatile i8 0, ptr %page")


def floating_point_mode(machine: str | None = None) -> tuple[list[str], list[str], list[str]]:
    """Lines that set round-to-nearest without flushing, lines that restore, declarations."""
    return _MODES.get(machine or platform.machine(), ([], [], []))


def function(text: Text, arguments: Sequence[str], support: Sequence[str]) -> str:
    """The kernel that ``text`` holds, a function of addresses; before it the functions it calls."""
    from_mode, to_mode, declares = floating_point_mode()
    pointers = ", ".join(f"ptr %{name}" for name in arguments)
    return "\n".join(
        [
            *sorted({*text.declares, *declares}),
            *support,
            f"define void @kernel({pointers}) #0 {{",
            "entry:",
            *text.allocas,
            *_OWN_PAGE,
            *from_mode,
            *text.lines,
            *to_mode,
            "  ret void",
            "}",
            'attributes #0 = { nounwind "no-builtins" }',
            "",
        ]
    )
