"""Which machine code runs a program: code that is quick to compile, then code that is quick.

A program starts with its quick kernel. Once it has computed so many elements that full code would
have paid for its compilation, or where full code lies in the cache, it has full code. Both give
the same bits; the rule counts work, never time, so that runs repeat.
"""

from __future__ import annotations

import threading
from dataclasses import field
from functools import cached_property, lru_cache
from typing import Final

from ..dataclass import dataclass
from ..kernel.cache import kernel_cache
from ..kernel.llvm.compile import NativeKernel, build, is_stored, load, styles
from ..kernel.llvm.emit import has_many_rare
from ..kernel.llvm.text import Style
from ..kernel.program import Program

# A full kernel takes 80 ms more to compile and saves about a nanosecond an element.
FULL_PAYS: Final = 1 << 26
# So much sooner where it calls what is rare, too: of 63 sines it takes 250 ms more and saves 100.
SOONER: Final = 16


@dataclass(eq=False)
class Tiers:
    """The kernels of one program for one target, for all threads of the process."""

    program: Program
    target: str
    seen: int = 0  # elements computed or about to be
    kernels: dict[Style, NativeKernel] = field(default_factory=dict)
    full: NativeKernel | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    @cached_property
    def styles(self) -> tuple[Style, Style]:
        return styles(self.program, self.target)

    @cached_property
    def enough(self) -> int:
        """How many elements pay for full code."""
        return FULL_PAYS // SOONER if has_many_rare(self.program.element) else FULL_PAYS

    def kernel(self, visits: int) -> NativeKernel:
        """The kernel to compute ``visits`` elements with."""
        if self.full is not None:
            return self.full
        with self.lock:  # one thread compiles, others wait
            self.seen += visits
            return self._full() if self.seen >= self.enough else self._quick()

    def _full(self) -> NativeKernel:
        style = self.styles[1]
        self.full = self._get(style) or self._build(style)
        return self.full

    def _quick(self) -> NativeKernel:
        quick, full = self.styles
        if quick in self.kernels:
            return self.kernels[quick]
        if is_stored(self.program, self.target, full, kernel_cache()):
            return self._full()
        return self._get(quick) or self._build(quick)

    def _get(self, style: Style) -> NativeKernel | None:
        kernel = self.kernels.get(style) or load(self.program, self.target, style, kernel_cache())
        if kernel is not None:
            self.kernels[style] = kernel
        return kernel

    def _build(self, style: Style) -> NativeKernel:
        kernel = self.kernels[style] = build(self.program, self.target, style, kernel_cache())
        return kernel


@lru_cache(maxsize=512)
def tiers(program: Program, target: str) -> Tiers:
    """The `Tiers` of ``program``; kernels in use outlive their being dropped from here."""
    return Tiers(program, target)
