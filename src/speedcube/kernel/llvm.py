"""The LLVM printer: a `Body` as vector instructions, operation for operation.

`Text` collects a function: fresh names, blocks, loops. Every IR value becomes an ``<L x T>``
vector; LLVM cuts it to the machine's registers, so one text serves AVX-512, AVX2 and plain code.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from .. import dtypes
from .ir import Body, Instr

SCALAR: Final = {
    "bool": "i1",
    **{f"{s}int{n}": f"i{n}" for s in ("", "u") for n in (8, 16, 32, 64)},
    "float32": "float",
    "float64": "double",
}
_ORDER: Final = {"lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}


def literal(value: Any, dtype: str) -> str:
    """A scalar constant in LLVM's notation; floats by the bits of their double."""
    if dtype == "bool":
        return "true" if value else "false"
    if dtypes.is_float(dtype):
        if dtype == "float32":
            value = struct.unpack("<f", struct.pack("<f", value))[0]
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    return str(int(value))


@dataclass
class Text:
    """The text of one function under construction."""

    lanes: int
    permuted: int = 16  # float32 numbers that one permutation chooses from
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
        slot = f"%{self.name(hint)}"
        self.allocas.append(f"  {slot} = alloca {llvm_type}")
        self.line(f"store {llvm_type} {start}, ptr {slot}")
        return slot

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


def kept(text: Text, scalar: str, mask: str | None, value: str, otherwise: str) -> str:
    """``value``, or ``otherwise`` in the lanes outside ``mask``."""
    if mask is None:
        return value
    v = text.vector(scalar)
    return text.op(f"select {text.vector('i1')} {mask}, {v} {value}, {v} {otherwise}")


def emit(text: Text, body: Body, inputs: Mapping[str, str], params: str) -> dict[str, str]:
    """``body`` as vector instructions; the names of its outputs."""
    values: list[str] = []
    for instr in body.instrs:
        types = [body.instrs[a].type for a in instr.args]
        if instr.op == "input":
            values.append(inputs[instr.imm])
        elif instr.op == "const":
            values.append(text.constant(instr.imm, instr.type))
        elif instr.op == "param":
            values.append(_param(text, instr, params))
        else:
            args = [values[a] for a in instr.args]
            values.append(_EMIT[instr.op](text, instr, types, args))
    return {name: values[v] for name, v in body.outputs}


def _param(text: Text, instr: Instr, params: str) -> str:
    scalar = SCALAR[instr.type]
    pointer = text.at(params, instr.imm)
    if scalar == "i1":
        value = text.op(f"icmp ne i8 {text.load('i8', pointer)}, 0")
    else:
        value = text.load(scalar, pointer)
    return text.splat(scalar, value)


_Emitter = Callable[[Text, Instr, list[str], list[str]], str]


def _binary(integer: str, floating: str = "") -> _Emitter:
    def make(t: Text, i: Instr, types: list[str], a: list[str]) -> str:
        name = floating if dtypes.is_float(i.type) else integer
        return t.op(f"{name} {t.vector(SCALAR[i.type])} {a[0]}, {a[1]}")

    return make


def _signed(signed: str, unsigned: str) -> _Emitter:
    def make(t: Text, i: Instr, types: list[str], a: list[str]) -> str:
        name = signed if i.type in dtypes.SIGNED else unsigned
        other = a[1] if len(a) > 1 else t.constant(i.imm, i.type)
        return t.op(f"{name} {t.vector(SCALAR[i.type])} {a[0]}, {other}")

    return make


def _neg(t: Text, i: Instr, types: list[str], a: list[str]) -> str:
    v = t.vector(SCALAR[i.type])
    if dtypes.is_float(i.type):
        return t.op(f"fneg {v} {a[0]}")
    return t.op(f"sub {v} zeroinitializer, {a[0]}")


def _intrinsic(name: str) -> _Emitter:
    def make(t: Text, i: Instr, types: list[str], a: list[str]) -> str:
        v = t.vector(SCALAR[i.type])
        suffix = f"v{t.lanes}{'f64' if i.type == 'float64' else 'f32'}"
        return t.call(v, f"llvm.{name}.{suffix}", v, *a)

    return make


def _not(t: Text, i: Instr, types: list[str], a: list[str]) -> str:
    ones = t.constant(True if i.type == "bool" else -1, i.type)
    return t.op(f"xor {t.vector(SCALAR[i.type])} {a[0]}, {ones}")


def _mul32(t: Text, i: Instr, types: list[str], a: list[str]) -> str:
    v, mask = t.vector("i64"), t.constant(0xFFFFFFFF, "uint64")
    x, y = (t.op(f"and {v} {value}, {mask}") for value in a)
    return t.op(f"mul nuw {v} {x}, {y}")


def _compare(t: Text, i: Instr, types: list[str], a: list[str]) -> str:
    v = t.vector(SCALAR[types[0]])
    if dtypes.is_float(types[0]):
        return t.op(f"fcmp {'une' if i.op == 'ne' else 'o' + i.op} {v} {a[0]}, {a[1]}")
    sign = "" if i.op in ("eq", "ne") else "s" if types[0] in dtypes.SIGNED else "u"
    return t.op(f"icmp {sign}{i.op} {v} {a[0]}, {a[1]}")


def _select(t: Text, i: Instr, types: list[str], a: list[str]) -> str:
    v = t.vector(SCALAR[i.type])
    return t.op(f"select {t.vector('i1')} {a[0]}, {v} {a[1]}, {v} {a[2]}")


def _cast(t: Text, i: Instr, types: list[str], a: list[str]) -> str:
    source, target = types[0], i.type
    frm, to = SCALAR[source], SCALAR[target]
    if dtypes.is_float(source) and dtypes.is_float(target):
        name = "fpext" if target == "float64" else "fptrunc"
    elif dtypes.is_float(source):
        name = "fptosi" if target in dtypes.SIGNED else "fptoui"
    elif dtypes.is_float(target):
        name = "sitofp" if source in dtypes.SIGNED else "uitofp"
    else:
        bits = dtypes.itemsize(source), dtypes.itemsize(target)
        extend = "sext" if source in dtypes.SIGNED else "zext"
        name = "bitcast" if bits[0] == bits[1] else extend if bits[0] < bits[1] else "trunc"
    return t.op(f"{name} {t.vector(frm)} {a[0]} to {t.vector(to)}")


def _bitcast(t: Text, i: Instr, types: list[str], a: list[str]) -> str:
    return t.op(f"bitcast {t.vector(SCALAR[types[0]])} {a[0]} to {t.vector(SCALAR[i.type])}")


def _table(t: Text, i: Instr, types: list[str], a: list[str]) -> str:
    """A gather from a constant array, which is written beside the declarations."""
    scalar = SCALAR[i.type]
    entries = ", ".join(f"{scalar} {literal(entry, i.type)}" for entry in i.imm)
    name = f"@table_{zlib.crc32(entries.encode()):08x}"
    t.declares.add(f"{name} = internal constant [{len(i.imm)} x {scalar}] [{entries}]")
    v, ones, p = t.vector(scalar), t.vector("i1"), t.vector("ptr")
    intrinsic = f"llvm.masked.gather.v{t.lanes}{scalar}.v{t.lanes}p0"
    t.declares.add(f"declare {v} @{intrinsic}({p}, i32, {ones}, {v})")
    pointers = t.op(f"getelementptr {scalar}, ptr {name}, {t.vector('i64')} {a[0]}")
    on = t.constant(True, "bool")
    size = dtypes.itemsize(i.type)
    args = f"{p} {pointers}, i32 {size}, {ones} {on}, {v} poison"
    return t.op(f"call {v} @{intrinsic}({args})")


def _pick(t: Text, i: Instr, types: list[str], a: list[str]) -> str:
    """Lane by lane, which LLVM knows to be a permutation of one register where there is one.

    AVX2's register holds eight entries: there each half gives one, and the index's fourth bit says
    which of them it is.
    """
    v, words = t.vector("float"), t.vector("i32")
    size = min(t.permuted, len(i.imm))
    low = t.op(f"and {words} {a[0]}, {t.constant(size - 1, 'uint32')}")
    indices = [t.op(f"extractelement {words} {low}, i64 {lane}") for lane in range(t.lanes)]
    parts = []
    for first in range(0, len(i.imm), size):
        numbers = (f"float {literal(x, i.type)}" for x in i.imm[first : first + size])
        table, value = f"<{size} x float> <{', '.join(numbers)}>", "poison"
        for lane, index in enumerate(indices):
            one = t.op(f"extractelement {table}, i32 {index}")
            value = t.op(f"insertelement {v} {value}, float {one}, i64 {lane}")
        parts.append(value)
    if len(parts) == 1:
        return parts[0]
    fourth = t.op(f"and {words} {a[0]}, {t.constant(size, 'uint32')}")
    upper = t.op(f"icmp ne {words} {fourth}, zeroinitializer")
    return t.op(f"select {t.vector('i1')} {upper}, {v} {parts[1]}, {v} {parts[0]}")


def _rare(t: Text, i: Instr, types: list[str], a: list[str]) -> str:
    """The body behind a branch that is taken where any lane needs it."""
    v, ones = t.vector(SCALAR[i.type]), t.vector("i1")
    slot = t.variable(v, a[1], "rare")
    wanted = t.call("i1", f"llvm.vector.reduce.or.v{t.lanes}i1", ones, a[0])
    with t.when(wanted, rarely=True):
        inputs = dict(zip((name for name, _ in i.imm.inputs), a[2:], strict=True))
        found = emit(t, i.imm, inputs, "")["x"]
        t.store(v, t.op(f"select {ones} {a[0]}, {v} {found}, {v} {a[1]}"), slot)
    return t.load(v, slot)


def _loop(t: Text, i: Instr, types: list[str], a: list[str]) -> str:
    """The body for as long as any lane goes on; the others keep what they have."""
    v, ones = t.vector(SCALAR[i.type]), t.vector("i1")
    slot, going = t.variable(v, a[1], "loop"), t.variable(ones, a[0], "going")
    head, body, done = (t.name(h) for h in ("head", "body", "done"))
    t.line(f"br label %{head}")
    t.label(head)
    x, on = t.load(v, slot), t.load(ones, going)
    wanted = t.call("i1", f"llvm.vector.reduce.or.v{t.lanes}i1", ones, on)
    t.line(f"br i1 {wanted}, label %{body}, label %{done}")
    t.label(body)
    inputs = dict(zip((name for name, _ in i.imm.inputs), [x, *a[2:]], strict=True))
    found = emit(t, i.imm, inputs, "")
    t.store(v, t.op(f"select {ones} {on}, {v} {found['x']}, {v} {x}"), slot)
    t.store(ones, t.op(f"and {ones} {on}, {found['more']}"), going)
    t.line(f"br label %{head}")
    t.label(done)
    return x


_EMIT: Final[dict[str, _Emitter]] = {
    "add": _binary("add", "fadd"),
    "sub": _binary("sub", "fsub"),
    "mul": _binary("mul", "fmul"),
    "div": _binary("", "fdiv"),
    "and": _binary("and"),
    "or": _binary("or"),
    "xor": _binary("xor"),
    "neg": _neg,
    "not": _not,
    "idiv": _signed("sdiv", "udiv"),
    "irem": _signed("srem", "urem"),
    "shl": _signed("shl", "shl"),
    "shr": _signed("ashr", "lshr"),
    "shlv": _signed("shl", "shl"),
    "shrv": _signed("ashr", "lshr"),
    "mul32": _mul32,
    "sqrt": _intrinsic("sqrt"),
    "nsqrt": _intrinsic("sqrt"),
    "fma": _intrinsic("fma"),
    "floor": _intrinsic("floor"),
    "ceil": _intrinsic("ceil"),
    "trunc": _intrinsic("trunc"),
    "rint": _intrinsic("rint"),
    **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge"), _compare),
    "select": _select,
    "cast": _cast,
    "bitcast": _bitcast,
    "table": _table,
    "pick": _pick,
    "rare": _rare,
    "loop": _loop,
}
