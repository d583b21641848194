"""The text of an LLVM function under construction: fresh names, blocks, loops, vectors.

Every value becomes an ``<L x T>`` vector; LLVM cuts it to the machine's registers, so one text
serves AVX-512, AVX2 and plain code.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import Any, Final

from ... import dtypes
from ...dataclass import dataclass

SCALAR: Final = {
    "bool": "i1",
    **{f"{s}int{n}": f"i{n}" for s in ("", "u") for n in (8, 16, 32, 64)},
    "float32": "float",
    "float64": "double",
}


def literal(value: Any, dtype: str) -> str:
    """A scalar constant in LLVM's notation; floats by the bits of their double."""
    if dtype == "bool":
        return "true" if value else "false"
    if dtypes.is_float(dtype):
        if dtype == "float32":
            value = struct.unpack("<f", struct.pack("<f", value))[0]
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    return str(int(value))


@dataclass(frozen=True)
class Style:
    """How a kernel is written.

    Elements in a vector, whether rounds of a stream stay loops, how many float32 numbers one
    permutation chooses from, and whether what comes next along a line of memory is asked for.
    ``calls``: what is rare and long is a function of its own, for a tenth of the speed.
    ``adds_beside``: units that multiply are not those that add.
    """

    lanes: int
    rolled: bool
    permuted: int
    asks: bool
    calls: bool = False
    adds_beside: bool = False


@dataclass
class Text:
    """The text of one function under construction."""

    lanes: int
    permuted: int = 16  # float32 numbers that one permutation chooses from
    in_rows: bool = False  # what is gathered may lie side by side, as where whole rows are taken
    calls: bool = False  # what is rare and long is a function of its own
    adds_beside: bool = False  # units that multiply are not those that add
    lines: list[str] = field(default_factory=list)
    allocas: list[str] = field(default_factory=list)
    declares: set[str] = field(default_factory=set)
    _count: int = 0

    def name(self, hint: str = "v") -> str:
        self._count += 1
        return f"{hint}{self._count}"

    def line(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def op(self, text: str, hint: str = "v") -> str:
        """One instruction; its result's name."""
        result = f"%{self.name(hint)}"
        self.line(f"{result} = {text}")
        return result

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def variable(self, llvm_type: str, start: str, hint: str = "x") -> str:
        """A mutable local (an alloca that LLVM keeps in registers)."""
        pointer = f"%{self.name(hint)}"
        self.allocas.append(f"  {pointer} = alloca {llvm_type}")
        self.line(f"store {llvm_type} {start}, ptr {pointer}")
        return pointer

    def load(self, llvm_type: str, pointer: str, align: int = 0) -> str:
        return self.op(f"load {llvm_type}, ptr {pointer}" + (f", align {align}" if align else ""))

    def store(self, llvm_type: str, value: str, pointer: str, align: int = 0) -> None:
        suffix = f", align {align}" if align else ""
        self.line(f"store {llvm_type} {value}, ptr {pointer}{suffix}")

    def at(self, pointer: str, index: str | int, llvm_type: str = "i64") -> str:
        """The address of element ``index``."""
        return self.op(f"getelementptr {llvm_type}, ptr {pointer}, i64 {index}", "p")

    def i64(self, op: str, a: str | int, b: str | int) -> str:
        return self.op(f"{op} i64 {a}, {b}", "i")

    def minimum(self, a: str, b: str) -> str:
        less = self.op(f"icmp slt i64 {a}, {b}")
        return self.op(f"select i1 {less}, i64 {a}, i64 {b}", "i")

    def maximum(self, a: str, b: str) -> str:
        less = self.op(f"icmp slt i64 {a}, {b}")
        return self.op(f"select i1 {less}, i64 {b}, i64 {a}", "i")

    def vector(self, scalar: str) -> str:
        return f"<{self.lanes} x {scalar}>"

    def splat(self, scalar: str, value: str) -> str:
        """``value`` in every lane."""
        v = self.vector(scalar)
        one = self.op(f"insertelement {v} poison, {scalar} {value}, i64 0")
        zeros = f"<{self.lanes} x i32> zeroinitializer"
        return self.op(f"shufflevector {v} {one}, {v} poison, {zeros}")

    def multiples(self, stride: str | int) -> str:
        """``stride * lane`` as a vector of i64."""
        if isinstance(stride, int):
            return f"<{', '.join(f'i64 {stride * k}' for k in range(self.lanes))}>"
        return self.op(f"mul {self.vector('i64')} {self.multiples(1)}, {self.splat('i64', stride)}")

    def iota(self, start: str, multiples: str = "") -> str:
        """``start + lane``, or ``start + multiples``, as a vector of i64."""
        lanes = multiples or self.multiples(1)
        return self.op(f"add {self.vector('i64')} {self.splat('i64', start)}, {lanes}")

    def constant(self, value: Any, dtype: str) -> str:
        return f"splat ({SCALAR[dtype]} {literal(value, dtype)})"

    def call(self, result: str, function: str, argument: str, *values: str) -> str:
        """A call of an intrinsic whose arguments are all of one type."""
        self.declares.add(f"declare {result} @{function}({', '.join([argument] * len(values))})")
        return self.op(f"call {result} @{function}({', '.join(f'{argument} {v}' for v in values)})")

    def function(self, types: Iterable[str]) -> FunctionText:
        """The text of a function of arguments of these ``types``."""
        return FunctionText(self.lanes, self.permuted, types=tuple(types))

    def called(self, own: FunctionText, result: str, value: str, values: Iterable[str]) -> str:
        """What the function ``own`` gives: its ``value``. Those of the same text are one."""
        lines = "\n".join([*own.allocas, *own.lines, f"  ret {result} {value}"])
        name = f"@rare_{zlib.crc32(lines.encode()):08x}"
        given = ", ".join(map(" ".join, zip(own.types, own.given, strict=True)))
        head = f'define internal {result} {name}({given}) noinline cold nounwind "no-builtins"'
        self.declares |= {*own.declares, f"{head} {{\n{lines}\n}}"}
        arguments = ", ".join(map(" ".join, zip(own.types, values, strict=True)))
        return self.op(f"call {result} {name}({arguments})")

    @contextmanager
    def loop(self, start: str | int, stop: str, step: str | int = 1) -> Iterator[str]:
        """``for (i = start; i < stop; i += step)``."""
        head, body, done = (self.name(h) for h in ("head", "body", "done"))
        counter = self.variable("i64", str(start), "n")
        self.line(f"br label %{head}")
        self.label(head)
        i = self.load("i64", counter)
        more = self.op(f"icmp slt i64 {i}, {stop}")
        self.line(f"br i1 {more}, label %{body}, label %{done}")
        self.label(body)
        yield i
        self.store("i64", self.i64("add", i, step), counter)
        self.line(f"br label %{head}")
        self.label(done)

    @contextmanager
    def when(self, condition: str, rarely: bool = False) -> Iterator[None]:
        """``if (condition)``; ``rarely``: laid out so that the other case is the fast one."""
        then, done = self.name("then"), self.name("done")
        if rarely:
            self.declares.add('!0 = !{!"branch_weights", i32 1, i32 100000}')
        weights = ", !prof !0" if rarely else ""
        self.line(f"br i1 {condition}, label %{then}, label %{done}{weights}")
        self.label(then)
        yield
        self.line(f"br label %{done}")
        self.label(done)


@dataclass
class FunctionText(Text):
    """The text of a function that another one calls."""

    types: tuple[str, ...] = ()

    @property
    def given(self) -> list[str]:
        """Its arguments."""
        return [f"%given{k}" for k in range(len(self.types))]


def masked(text: Text, scalar: str, mask: str | None, value: str, otherwise: str) -> str:
    """``value``, or ``otherwise`` in the lanes outside ``mask``."""
    if mask is None:
        return value
    v = text.vector(scalar)
    return text.op(f"select {text.vector('i1')} {mask}, {v} {value}, {v} {otherwise}")
