"""Writing a body: values with operators, a builder that appends their instructions, rounds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import field
from typing import Any

from .. import dtypes
from ..dataclass import dataclass
from .ir import Body, Instr
from .legal import verify


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a body under construction; operators append instructions."""

    builder: Builder
    id: int
    type: str

    def __add__(self, other: Value) -> Value:
        return self.builder.emit("add", self.type, self, other)

    def __sub__(self, other: Value) -> Value:
        return self.builder.emit("sub", self.type, self, other)

    def __mul__(self, other: Value) -> Value:
        return self.builder.emit("mul", self.type, self, other)

    def __and__(self, other: Value) -> Value:
        return self.builder.emit("and", self.type, self, other)

    def __or__(self, other: Value) -> Value:
        return self.builder.emit("or", self.type, self, other)

    def __xor__(self, other: Value) -> Value:
        return self.builder.emit("xor", self.type, self, other)

    def __neg__(self) -> Value:
        return self.builder.emit("neg", self.type, self)

    def __lshift__(self, amount: int) -> Value:
        return self.builder.emit("shl", self.type, self, imm=amount)

    def __rshift__(self, amount: int) -> Value:
        return self.builder.emit("shr", self.type, self, imm=amount)

    def compare(self, op: str, other: Value) -> Value:
        return self.builder.emit(op, "bool", self, other)

    def cast(self, dtype: str) -> Value:
        return self if dtype == self.type else self.builder.emit("cast", dtype, self)

    def bitcast(self, dtype: str) -> Value:
        return self.builder.emit("bitcast", dtype, self)


@dataclass
class Builder:
    """Appends instructions; equal instructions are the same value."""

    instrs: list[Instr] = field(default_factory=list)
    _known: dict[Instr, int] = field(default_factory=dict)
    _outputs: dict[str, int] = field(default_factory=dict)
    prefix: str = ""  # of the names of outputs

    def emit(self, op: str, dtype: str, *args: Value, imm: Any = None) -> Value:
        # A float constant is keyed by its bits: 0.0 == -0.0 must not merge.
        instr = Instr(op, dtype, tuple(a.id for a in args), imm)
        key = instr if not isinstance(imm, float) else Instr(op, dtype, instr.args, imm.hex())
        if key not in self._known:
            self._known[key] = len(self.instrs)
            self.instrs.append(instr)
        return Value(self, self._known[key], dtype)

    def input(self, name: str, dtype: str) -> Value:
        return self.emit("input", dtype, imm=name)

    def param(self, number: int, dtype: str) -> Value:
        return self.emit("param", dtype, imm=number)

    def const(self, value: bool | int | float, dtype: str) -> Value:
        if not dtypes.is_float(dtype):
            return self.emit("const", dtype, imm=value)
        # One object is each NaN: no other is equal to it, and programs are looked up by equality.
        return self.emit("const", dtype, imm=float(value) if value == value else math.nan)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        return self.emit("fma", a.type, a, b, c)

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        return self.emit("select", a.type, condition, a, b)

    def table(self, entries: tuple[int, ...], index: Value, dtype: str = "uint64") -> Value:
        return self.emit("table", dtype, index, imm=entries)

    def gather(self, leaf: int, index: Value, dtype: str) -> Value:
        return self.emit("gather", dtype, index, imm=leaf)

    def pick(self, entries: tuple[float, ...], index: Value) -> Value:
        return self.emit("pick", "float32", index, imm=entries)

    def rare(
        self, condition: Value, otherwise: Value, rule: Callable[..., Value], *args: Value
    ) -> Value:
        """``rule(builder, *args)`` where ``condition`` holds, else ``otherwise``."""
        inner = Builder()
        inputs = [inner.input(f"a{k}", a.type) for k, a in enumerate(args)]
        inner.output("x", rule(inner, *inputs))
        body = inner.body()
        return self.emit("rare", otherwise.type, condition, otherwise, *args, imm=body)

    def loop(
        self, condition: Value, rule: Callable[..., tuple[Value, Value]], x: Value, *args: Value
    ) -> Value:
        """``x, condition = rule(builder, x, *args)`` while ``condition`` holds."""
        inner = Builder()
        inputs = [inner.input(f"a{k}", a.type) for k, a in enumerate((x, *args))]
        following, more = rule(inner, *inputs)
        inner.output("x", following)
        inner.output("more", more)
        return self.emit("loop", x.type, condition, x, *args, imm=inner.body())

    def unary(self, op: str, a: Value) -> Value:
        return self.emit(op, a.type, a)

    def inline(self, body: Body, inputs: dict[str, Value], shift: int = 0) -> dict[str, Value]:
        """``body`` on ``inputs``, its parameters ``shift`` numbers further on; its outputs."""
        values: list[Value] = []
        for instr in body.instrs:
            if instr.op == "input":
                values.append(inputs[instr.imm])
                continue
            imm = instr.imm + shift if instr.op == "param" else instr.imm
            values.append(
                self.emit(instr.op, instr.type, *(values[a] for a in instr.args), imm=imm)
            )
        return {name: values[v] for name, v in body.outputs}

    def output(self, name: str, value: Value) -> None:
        self._outputs[self.prefix + name] = value.id

    def body(self) -> Body:
        built = Body(tuple(self.instrs), tuple(self._outputs.items()))
        verify(built)
        return built


@dataclass(frozen=True)
class Rounds:
    """A body that is a loop: ``first``, so many ``times`` ``each`` on its own outputs, ``last``.

    The parameters of ``each`` move on by ``step`` a round. Printers that would pay for the
    length of the text keep the loop; the others, and the evaluator, take `unrolled`.
    """

    first: Body
    each: Body
    last: Body
    times: int
    step: int

    @property
    def inputs(self) -> tuple[tuple[str, str], ...]:
        return self.first.inputs

    @property
    def outputs(self) -> tuple[tuple[str, int], ...]:
        return self.last.outputs

    def output_type(self, name: str) -> str:
        return self.last.output_type(name)

    def unrolled(self) -> Body:
        b = Builder()
        values = {name: b.input(name, dtype) for name, dtype in self.inputs}
        values = b.inline(self.first, values)
        for r in range(self.times):
            values = b.inline(self.each, values, r * self.step)
        for name, value in b.inline(self.last, values).items():
            b.output(name, value)
        return b.body()
