"""The IR: straight-line but for two operations, typed, single assignment; no memory.

    Body  ::= Instr*                     instruction k defines value k
    Instr ::= op type (value id)* imm    operands precede; imm is a constant, a shift or a name

    input  imm=name        a value handed in for this element     const  imm=number
    param  imm=slot        a uniform parameter of the kernel
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
                           body's outputs "x" and "more" of (x, inputs...) become x and condition

A `Body` is what two printers (`llvm/emit.py`, `cuda/emit.py`) emit operation for operation and what
`evaluate.py` executes with NumPy: the same bits then follow from the same sequence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from .. import dtypes
from ..errors import KernelError

FLOAT_ONLY: Final = frozenset({"div", "sqrt", "nsqrt", "fma", "floor", "ceil", "trunc", "rint"})
INTEGER_ONLY: Final = frozenset({"idiv", "irem", "shl", "shr", "shlv", "shrv", "mul32", "table"})
BITS_ONLY: Final = frozenset({"and", "or", "xor", "not"})
COMPARE: Final = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
ARITY: Final[dict[str, int]] = {
    **dict.fromkeys(("input", "const", "param"), 0),
    **dict.fromkeys(("neg", "sqrt", "nsqrt", "floor", "ceil", "trunc", "rint", "not"), 1),
    **dict.fromkeys(("shl", "shr", "cast", "bitcast", "table", "pick", "gather"), 1),
    **dict.fromkeys(("add", "sub", "mul", "div", "idiv", "irem", "and", "or", "xor"), 2),
    **dict.fromkeys(("shlv", "shrv", "mul32", *sorted(COMPARE)), 2),
    **dict.fromkeys(("fma", "select"), 3),
    "rare": 2,  # and the body's inputs
    "loop": 1,  # and the body's inputs, x the first
}

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

    @property
    def inputs(self) -> tuple[tuple[str, str], ...]:
        """(name, type) of each input."""
        return tuple((i.imm, i.type) for i in self.instrs if i.op == "input")

    def output_type(self, name: str) -> str:
        return self.instrs[dict(self.outputs)[name]].type

    def __str__(self) -> str:
        lines = []
        for k, i in enumerate(self.instrs):
            operands = " ".join(f"%{a}" for a in i.args)
            imm = "" if i.imm is None else f" {i.imm!r}"
            lines.append(f"%{k} = {i.op} {i.type} {operands}{imm}".rstrip())
        return "\n".join([*lines, *(f"{name} <- %{v}" for name, v in self.outputs)])


@dataclass(frozen=True)
class Rounds:
    """A body that is a loop: ``first``, so many ``times`` ``each`` on its own outputs, ``last``.

    The parameters of ``each`` move on by ``step`` slots a round. Printers that would pay for the
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

    def param(self, slot: int, dtype: str) -> Value:
        return self.emit("param", dtype, imm=slot)

    def const(self, value: bool | int | float, dtype: str) -> Value:
        return self.emit("const", dtype, imm=float(value) if dtypes.is_float(dtype) else value)

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
        found, more = rule(inner, *inputs)
        inner.output("x", found)
        inner.output("more", more)
        return self.emit("loop", x.type, condition, x, *args, imm=inner.body())

    def unary(self, op: str, a: Value) -> Value:
        return self.emit(op, a.type, a)

    def inline(self, body: Body, inputs: dict[str, Value], shift: int = 0) -> dict[str, Value]:
        """``body`` on ``inputs``, its parameters ``shift`` slots further on; its outputs."""
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
        self._outputs[name] = value.id

    def body(self) -> Body:
        built = Body(tuple(self.instrs), tuple(self._outputs.items()))
        verify(built)
        return built


def verify(body: Body) -> None:
    """Raise `KernelError` at the first instruction that is not legal."""
    for k, instr in enumerate(body.instrs):
        problem = _problem(body, k, instr)
        if problem:
            raise KernelError(f"instruction %{k} ({instr.op} {instr.type}): {problem}\n{body}")
    for name, value in body.outputs:
        if not 0 <= value < len(body.instrs):
            raise KernelError(f"output {name!r} names %{value}, which does not exist\n{body}")


def _problem(body: Body, k: int, instr: Instr) -> str | None:
    if instr.op not in ARITY:
        return "unknown operation"
    if instr.type not in dtypes.COMPUTED:
        return "unknown type"
    arity = ARITY[instr.op] + (len(instr.imm.inputs) if instr.op in OUTPUTS else 0)
    if len(instr.args) != arity:
        return f"takes {arity} operands, not {len(instr.args)}"
    if any(not 0 <= a < k for a in instr.args):
        return "an operand is not defined before its use"
    return _type_problem(instr, [body.instrs[a].type for a in instr.args])


def _type_problem(instr: Instr, types: list[str]) -> str | None:
    if instr.op in FLOAT_ONLY and not dtypes.is_float(instr.type):
        return "is for floats"
    if instr.op in INTEGER_ONLY and not dtypes.is_integer(instr.type):
        return "is for integers"
    if instr.op in BITS_ONLY and dtypes.is_float(instr.type):
        return "is for integers and bool"
    if instr.op in COMPARE:
        return None if instr.type == "bool" and types[0] == types[1] else "operands differ in type"
    if instr.op == "select":
        ok = types == ["bool", instr.type, instr.type]
        return None if ok else "wants bool and two operands of its type"
    if instr.op == "bitcast":
        same = dtypes.itemsize(types[0]) == dtypes.itemsize(instr.type)
        return None if same else "changes the size"
    if instr.op == "table":
        return None if types == ["int64"] and instr.imm else "wants entries and an int64 index"
    if instr.op == "gather":
        return None if types == ["int64"] else "wants an int64 index"
    if instr.op == "pick":
        ok = instr.type == "float32" and types == ["uint32"] and len(instr.imm) == PICKED
        return None if ok else f"wants {PICKED} float32 entries and a uint32"
    if instr.op in OUTPUTS:
        return _inner_problem(instr, types)
    if instr.op in ("shl", "shr") and not 0 <= instr.imm < 8 * dtypes.itemsize(instr.type):
        return "shifts by its width or more"
    if instr.op not in ("cast",) and any(t != instr.type for t in types):
        return f"operands have types {types}"
    return None


def _inner_problem(instr: Instr, types: list[str]) -> str | None:
    body: Body = instr.imm
    if any(i.op in ("param", "gather") for i in body.instrs):
        return "its body may not read parameters or memory"
    if tuple(name for name, _ in body.outputs) != OUTPUTS[instr.op]:
        return f"its body must have the outputs {OUTPUTS[instr.op]}"
    inputs = [dtype for _, dtype in body.inputs]
    wanted = ["bool", instr.type, *inputs] if instr.op == "rare" else ["bool", *inputs]
    found = [body.output_type(name) for name in OUTPUTS[instr.op]]
    if types != wanted or found != [instr.type, "bool"][: len(found)]:
        return f"wants operands {wanted} and a body of its type, not {types}"
    if instr.op == "loop" and inputs[:1] != [instr.type]:
        return "its body's first input must be of its type"
    return None
