"""The IR: straight-line but for two operations, typed, single assignment; no memory.

    Body  ::= Instr*                     instruction k defines value k
    Instr ::= op type (value id)* imm    operands precede; imm is a constant, a shift or a name

    input  imm=name        a value handed in for this element     const  imm=number
    param  imm=number      a uniform parameter of the kernel
    add sub mul neg        wrapping on integers, rounded to nearest on floats
    div sqrt fma           floats, correctly rounded
    nsqrt                  sqrt of a positive normal number: a hint that special cases cannot come
    idiv irem              integers, towards zero, divisor not 0 (the rules guard it)
    floor ceil trunc rint  floats
    and or xor not         integers and bool
    shl shr                imm = amount; shr is logical on uint*, arithmetic on int*
    shlv shrv              amount is an operand below the width
    mul32                  uint64: the product of the operands' low 32 bits
    eq ne lt le gt ge      bool; float comparisons are false on NaN, except ne
    select cast bitcast    cast float -> integer needs a value in range (the rules guard it)
    table  imm=entries     integers: the entry at an int64 index in range (the rules guard it)
    gather imm=leaf        what the memory of a leaf holds at an int64 index in range
    pick   imm=16 entries  float32: the entry at a uint32's low four bits, from one register
    rare   imm=Body        (condition, otherwise, inputs...): the body's output "x" where the
                           condition holds, else otherwise; skipped where no element needs it,
                           so the body must be harmless for every input
    loop   imm=Body        (condition, x, inputs...): while the condition holds in an element, the
                           body's outputs "x" and "more" of (x, inputs...) become x and condition;
                           it may gather, and reads no parameters

A `Body` is what two printers (`llvm/emit.py`, `cuda/emit.py`) emit operation for operation and what
`evaluate.py` executes with NumPy: the same bits then follow from the same sequence.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any, Final

from ..dataclass import dataclass

PICKED: Final = 16  # entries of a pick

OUTPUTS: Final = {"rare": ("x",), "loop": ("x", "more")}  # of the bodies inside


@dataclass(frozen=True, slots=True)
class Instr:
    """One instruction: ``op`` over earlier values, giving a value of ``type``."""

    op: str
    type: str
    args: tuple[int, ...] = ()
    imm: Any = None


@dataclass(frozen=True)
class Body:
    """Instructions and the ids of the values they hand out, by name."""

    instrs: tuple[Instr, ...]
    outputs: tuple[tuple[str, int], ...]

    @cached_property
    def _hash(self) -> int:
        return hash((self.instrs, self.outputs))

    def __hash__(self) -> int:
        return self._hash  # bodies lie inside bodies, and are looked up again and again

    @cached_property
    def longest(self) -> int:
        """Instructions of the longest of this body and those inside it."""
        inner: list[Body] = [i.imm for i in self.instrs if i.op in OUTPUTS]
        return max(len(self.instrs), *(body.longest for body in inner), 0)

    @property
    def inputs(self) -> tuple[tuple[str, str], ...]:
        """(name, type) of each input."""
        return tuple((i.imm, i.type) for i in self.instrs if i.op == "input")

    def part(self, prefixes: str | tuple[str, ...]) -> Body:
        """What gives the outputs whose names begin with one of ``prefixes``."""
        wanted = [(name, v) for name, v in self.outputs if name.startswith(prefixes)]
        needed = {v for _, v in wanted}
        for number in range(len(self.instrs) - 1, -1, -1):
            if number in needed:
                needed.update(self.instrs[number].args)
        place = {number: k for k, number in enumerate(sorted(needed))}
        kept = (self.instrs[number] for number in place)
        instrs = tuple(replace(i, args=tuple(place[a] for a in i.args)) for i in kept)
        return Body(instrs, tuple((name, place[v]) for name, v in wanted))

    def output_type(self, name: str) -> str:
        return self.instrs[dict(self.outputs)[name]].type

    def __str__(self) -> str:
        lines = []
        for k, i in enumerate(self.instrs):
            operands = " ".join(f"%{a}" for a in i.args)
            imm = "" if i.imm is None else f" {i.imm!r}"
            lines.append(f"%{k} = {i.op} {i.type} {operands}{imm}".rstrip())
        return "\n".join([*lines, *(f"{name} <- %{v}" for name, v in self.outputs)])
