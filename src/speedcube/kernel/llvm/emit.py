"""The LLVM printer: a `Body` as vector instructions, operation for operation."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Final

from ... import dtypes
from ..ir import Body, Instr
from .memory import ALIGN, gather
from .text import SCALAR, Text, literal

# Instructions of a body that is rare from which on it may be a function, and how many such bodies
# are always: calls cost the others registers, a tenth of a sine's speed, and a sine for any number
# is compiled in a seventh of the time.
_LONG: Final = 150
_MANY: Final = 8


def has_many_rare(body: Body) -> bool:
    """Whether ``body`` would take long to compile for bodies in it that are rare."""
    rare: list[Body] = [one.imm for one in body.instrs if one.op == "rare"]
    return sum(inner.longest >= _LONG for inner in rare) >= _MANY


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


def _quotient(t: Text, i: Instr, types: list[str], a: list[str]) -> str:
    """``x / y`` towards zero, by floats: there are no vectors of quotients of integers.

    One of floats is rounded once. Of integers x below 2**p, where floats have p digits, it stays
    below the next integer: x / y is 1 / y away from that at least, a part of more than 2**-p.
    No lane of y is 0, and none -1 where x is the least.
    """
    size = dtypes.itemsize(i.type)
    if size < 8:
        return _by_floats(t, i.type, "double" if size == 4 else "float", *a)
    v, signed = t.vector("i64"), i.type in dtypes.SIGNED
    fill = t.op(f"ashr {v} {a[0]}, {t.constant(63, 'int64')}") if signed else "zeroinitializer"
    beyond = t.op(f"lshr {v} {t.op(f'xor {v} {a[0]}, {fill}')}, {t.constant(53, 'int64')}")
    any_ = t.call("i64", f"llvm.vector.reduce.or.v{t.lanes}i64", v, beyond)
    found = t.variable(v, _by_floats(t, i.type, "double", *a), "quotient")
    with t.when(t.op(f"icmp ne i64 {any_}, 0"), rarely=True):
        t.store(v, t.op(f"{'s' if signed else 'u'}div {v} {a[0]}, {a[1]}"), found)
    return t.load(v, found)


def _by_floats(t: Text, dtype: str, floating: str, x: str, y: str) -> str:
    v, f = t.vector(SCALAR[dtype]), t.vector(floating)
    there, back = ("sitofp", "fptosi") if dtype in dtypes.SIGNED else ("uitofp", "fptoui")
    a, b = (t.op(f"{there} {v} {one} to {f}") for one in (x, y))
    return t.op(f"{back} {f} {t.op(f'fdiv {f} {a}, {b}')} to {v}")


def _rest(t: Text, i: Instr, types: list[str], a: list[str]) -> str:
    """What `_quotient` leaves of x."""
    v = t.vector(SCALAR[i.type])
    return t.op(f"sub {v} {a[0]}, {t.op(f'mul {v} {_quotient(t, i, types, a)}, {a[1]}')}")


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
    pointers = t.op(f"getelementptr {scalar}, ptr {name}, {t.vector('i64')} {a[0]}")
    return gather(t, scalar, pointers, t.constant(True, "bool"))


def _gather(t: Text, i: Instr, types: list[str], a: list[str]) -> str:
    """From the memory of a leaf, whose address is among the kernel's buffers."""
    scalar = "i8" if i.type == "bool" else SCALAR[i.type]
    v, indices = t.vector(scalar), f"{t.vector('i64')} {a[0]}"
    data = t.load("ptr", t.at("%buffers", i.imm, "ptr"))
    pointers = t.op(f"getelementptr {scalar}, ptr {data}, {indices}")
    if t.in_rows:
        raw = _of_a_row(t, scalar, pointers, indices)
    else:
        raw = gather(t, scalar, pointers, t.constant(True, "bool"))
    return t.op(f"icmp ne {v} {raw}, zeroinitializer") if i.type == "bool" else raw


def _of_a_row(t: Text, scalar: str, pointers: str, indices: str) -> str:
    """One load where all ``indices`` of a vector follow each other, else a gather."""
    v, first = t.vector(scalar), t.op(f"extractelement {indices}, i64 0")
    apart = t.op(f"icmp ne {indices}, {t.iota(first)}")
    lanes = t.op(f"bitcast {t.vector('i1')} {apart} to i{t.lanes}")
    together = t.op(f"icmp eq i{t.lanes} {lanes}, 0")
    result = t.variable(v, "zeroinitializer")
    with t.when(together):
        begin = t.op(f"extractelement {t.vector('ptr')} {pointers}, i64 0")
        t.store(v, t.load(v, begin, ALIGN[scalar]), result)
    with t.when(t.op(f"xor i1 {together}, true")):
        t.store(v, gather(t, scalar, pointers, t.constant(True, "bool")), result)
    return t.load(v, result)


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
    variable = t.variable(v, a[1], "rare")
    wanted = t.call("i1", f"llvm.vector.reduce.or.v{t.lanes}i1", ones, a[0])
    with t.when(wanted, rarely=True):
        names, values = [name for name, _ in i.imm.inputs], a[2:]
        if t.calls and len(i.imm.instrs) >= _LONG:
            own = t.function(t.vector(SCALAR[one]) for one in types[2:])
            made = emit(own, i.imm, dict(zip(names, own.given, strict=True)), "")["x"]
            rare = t.called(own, v, made, values)
        else:
            rare = emit(t, i.imm, dict(zip(names, values, strict=True)), "")["x"]
        t.store(v, t.op(f"select {ones} {a[0]}, {v} {rare}, {v} {a[1]}"), variable)
    return t.load(v, variable)


def _loop(t: Text, i: Instr, types: list[str], a: list[str]) -> str:
    """The body for as long as any lane goes on; the others keep what they have."""
    v, ones = t.vector(SCALAR[i.type]), t.vector("i1")
    variable, going = t.variable(v, a[1], "loop"), t.variable(ones, a[0], "going")
    head, body, done = (t.name(h) for h in ("head", "body", "done"))
    t.line(f"br label %{head}")
    t.label(head)
    x, on = t.load(v, variable), t.load(ones, going)
    wanted = t.call("i1", f"llvm.vector.reduce.or.v{t.lanes}i1", ones, on)
    t.line(f"br i1 {wanted}, label %{body}, label %{done}")
    t.label(body)
    inputs = dict(zip((name for name, _ in i.imm.inputs), [x, *a[2:]], strict=True))
    outputs = emit(t, i.imm, inputs, "")
    t.store(v, t.op(f"select {ones} {on}, {v} {outputs['x']}, {v} {x}"), variable)
    t.store(ones, t.op(f"and {ones} {on}, {outputs['more']}"), going)
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
    "idiv": _quotient,
    "irem": _rest,
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
    "gather": _gather,
    "pick": _pick,
    "rare": _rare,
    "loop": _loop,
}
